//! What the model sees next.
//!
//! The agent keeps one [`PathState`] and one [`Prefix`]; [`assemble`] makes a request of them, [`relieve`] says whether
//! the window has room for it, and [`seen`] which files the model knows. Everything here is pure and total: any
//! lineage gives a valid request. This crate must not know HTTP or run anything.
//!
//! ```
//! use codey_ctx::{PathState, Prefix, assemble};
//! use codey_llm::{Block, Capabilities, Message, ModelInfo};
//! use codey_protocol::Meta;
//! use codey_session::{NodeKind, Session, SessionStart};
//!
//! let start = SessionStart { root: "/w".into(), cwd: "/w".into(), version: "0.1.0".into(), parent: None };
//! let mut session = Session::in_memory(start);
//! let prompt = Message::user(vec![Block::text("fix the test")]).into();
//! let mut path = PathState::default();
//! path.append(&session.append(NodeKind::Message(prompt), Meta::default())?);
//!
//! let model =
//!     ModelInfo { id: "m".into(), window: None, max_output: 4_096, price: None, capabilities: Capabilities::default() };
//! let request = assemble(&Prefix::new(vec!["You are Codey.".into()], Vec::new()), &path, &model);
//! assert_eq!(request.messages[0].text(), "fix the test");
//! # Ok::<(), codey_session::SessionError>(())
//! ```

mod assemble;
mod files;
mod path;
mod prefix;
mod relieve;
mod seen;
mod system;

pub use assemble::{Assembly, LOST_RESULT, assemble};
pub use files::{ContextFile, FileOptions, context_files};
pub use path::PathState;
pub use prefix::Prefix;
pub use relieve::{FoldPolicy, Relief, relieve, what_fills};
pub use seen::seen;
pub use system::{Environment, SystemOptions, report, system_prompt};
