//! What happened in a session, as an append-only tree.
//!
//! This crate only stores nodes; `codey-ctx` says what they mean for the model. It must not know tools, providers or
//! the loop.

mod node;

pub use node::{Node, NodeKind};
