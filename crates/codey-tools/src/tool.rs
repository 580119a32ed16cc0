//! What a tool is to the agent.

use std::sync::Arc;

use async_trait::async_trait;
use codey_llm::{Block, ToolSpec};
use codey_protocol::{Digest, Effect, ErrorCode, Observed, RelPath, ToolDisplay, ToolKind};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Workspace;

/// A tool as the agent runs it. Write a [`crate::TypedTool`]; an adapter makes it a `Tool`.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Name, schema and kind; the same for the tool's whole life.
    fn info(&self) -> &ToolInfo;

    /// Says what the call would do, without doing it. Reads only.
    ///
    /// # Errors
    /// Whatever can be known to fail beforehand: bad arguments, a path outside the root, a stale read.
    async fn plan(&self, input: &Value, workspace: &Workspace) -> Result<Plan, ToolError>;

    /// Does what was planned. Waits end early when the context's token is cancelled; the caller awaits the end.
    ///
    /// # Errors
    /// [`ErrorCode::StaleRead`] if a file is not as the plan expects it, and whatever else goes wrong.
    async fn run(&self, input: Value, plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError>;
}

/// What is known of a tool before any call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolInfo {
    /// What the model is told.
    pub spec: ToolSpec,
    /// What it is for.
    pub kind: ToolKind,
}

/// What a call would do; the person approves exactly this.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it does to the world.
    pub effect: Effect,
    /// Whether an "always" answer may cover it.
    pub rememberable: bool,
    /// One line for people.
    pub summary: String,
    /// What would change.
    pub preview: ToolDisplay,
    /// What the files must be like when it runs; compared again through the descriptor that is written.
    pub expects: Vec<(RelPath, Expect)>,
}

/// What a file must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// It does not exist.
    Absent,
    /// It has this content.
    Digest(Digest),
}

/// What a running call may use.
pub struct ToolContext<'a> {
    /// The files; cheap to clone.
    pub workspace: &'a Workspace,
    /// Ends the call.
    pub cancel: CancellationToken,
    /// Cancelled when Codey itself is told to end: leftovers get 0.5 s instead of 2 s.
    pub ending: CancellationToken,
    /// When the call's time is over.
    pub deadline: Instant,
    /// Takes output as it comes, for people.
    pub output: &'a (dyn Fn(&str) + Send + Sync),
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub for_model: Vec<Block>,
    /// What people see.
    pub for_user: ToolDisplay,
    /// File versions that the model knows from now on.
    pub observed: Vec<Observed>,
}

/// Why a call failed.
///
/// The model reads `message`: what was wrong, what is true now, what to do next. Metrics count `code`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What kind of failure.
    pub code: ErrorCode,
    /// For the model, without the leading `Error: `.
    pub message: String,
}

impl ToolError {
    /// An error for the model.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Tools in the order the model is told of them.
pub type ToolSet = Vec<Arc<dyn Tool>>;
