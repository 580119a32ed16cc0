//! What the agent core and a front end say to each other.
//!
//! A front end holds one [`Handle`]: it reads [`Event`]s and sends [`Input`]s. This crate must not know terminals,
//! JSON-RPC or the core. Types that crates share without knowing each other live here too.
//!
//! ```
//! use codey_protocol::Event;
//! let line = serde_json::to_string(&Event::TurnStart { turn: 1 }).unwrap();
//! assert_eq!(line, r#"{"type":"turn_start","turn":1}"#);
//! ```

mod approval;
mod display;
mod error;
mod event;
mod host;
mod id;
mod input;
mod node;
mod observed;
mod settings;

pub use approval::{Approval, Decision};
pub use display::{Diff, TodoItem, TodoStatus, ToolDisplay};
pub use error::{ErrorCode, FailCode, RunError, StartError};
pub use event::{CompactionKind, Event, Limit, RunOutcome, SandboxStatus};
pub use host::{
    Check, CheckStatus, CommandInfo, ContextPart, ContextReport, Handle, Host, HostError, ModelEntry, ModelList,
    ModelRef, SessionChoice, SessionFilter, SessionSummary, SessionView, SkillEntry, SpawnRequest,
};
pub use id::{NodeId, RelPath, SnapshotId};
pub use input::Input;
pub use node::{Meta, NodeView, NodeViewKind};
pub use observed::{Digest, Observed, Seen};
pub use settings::{Effect, Limits, PermissionMode, SandboxPolicy, ToolKind};
