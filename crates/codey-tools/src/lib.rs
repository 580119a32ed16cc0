//! What may be done to the workspace.
//!
//! Tools reach files through a [`Workspace`] only: a directory handle whose lookups cannot leave the root. `bash` is
//! not jailed by it. This crate must not know models, sessions or the loop.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use codey_protocol::RelPath;
//! use codey_tools::{Workspace, WorkspaceOptions, builtin_tools, default_deny_paths};
//!
//! let workspace = Workspace::open(WorkspaceOptions {
//!     root: ".".into(),
//!     cwd: RelPath::root(),
//!     deny_paths: default_deny_paths(),
//!     hidden_env: Vec::new(),
//! })?;
//! let read = &builtin_tools()[0];
//! let plan = read.plan(&serde_json::json!({"path": "Cargo.toml"}), &workspace).await?;
//! assert_eq!(plan.summary, "read Cargo.toml");
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```

mod builtin;
mod cap;
mod guard;
mod process;
mod quoted;
mod tool;
mod typed;
mod workspace;

pub use builtin::builtin_tools;
pub use cap::{CapRule, cap_text};
pub use guard::{Guard, GuardedCall, PastCall, REPETITIONS_ALLOWED, Refusal, RepetitionGuard, repetitions};
pub use tool::{Expect, Plan, Tool, ToolContext, ToolError, ToolInfo, ToolOutput, ToolSet};
pub use typed::{Typed, TypedTool};
pub use workspace::{Workspace, WorkspaceError, WorkspaceOptions, default_deny_paths, prepare_codey_dir};
