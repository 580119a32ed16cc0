//! What happened in a session, as an append-only tree.
//!
//! A [`Session`] appends nodes to a tree and each of them, at once, to a JSONL file of its own; [`list`], [`find`] and
//! [`view`] look at such files. This crate only stores nodes; `codey-ctx` says what they mean for the model. It must
//! not know tools, providers or the loop.
//!
//! Deliberately absent: fsync (a power cut may take the last records, which loading copes with), and any way to
//! change or remove a record.
//!
//! ```
//! use std::sync::Arc;
//! use codey_llm::{Block, Message};
//! use codey_protocol::Meta;
//! use codey_session::{NodeKind, Session, SessionStart};
//!
//! let start = SessionStart { root: "/w".into(), cwd: "/w".into(), version: "0.1.0".into(), parent: None };
//! let mut session = Session::in_memory(start);
//! let prompt = Arc::new(Message::user(vec![Block::text("fix the test")]));
//! let node = session.append(NodeKind::Message(prompt), Meta::default())?;
//! assert_eq!(session.head(), Some(node.id));
//! assert_eq!(session.lineage()?, [node]);
//! # Ok::<(), codey_session::SessionError>(())
//! ```

mod error;
mod listing;
mod load;
mod lock;
mod log;
mod node;
mod record;
mod session;
mod tree;

pub use error::{LoadWarning, SessionError};
pub use listing::{ListedSession, find, latest, list, view};
pub use load::Totals;
pub use node::{Node, NodeKind};
pub use record::{Fork, SetRecord};
pub use session::{Session, SessionStart};
pub use tree::Entry;
