//! What the core tells a front end.

use codey_llm::{CallId, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Approval, Decision, ErrorCode, FailCode, NodeId, NodeView, PermissionMode, RunError, SandboxPolicy, ToolDisplay,
    ToolKind,
};

/// Something that happened. One JSON object a line in `--mode json`.
///
/// ```
/// use codey_protocol::Event;
/// let line = r#"{"type":"retry","attempt":1,"of":4,"wait_ms":500,"reason":"no room"}"#;
/// let event: Event = serde_json::from_str(line).unwrap();
/// assert!(matches!(event, Event::Retry { attempt: 1, wait_ms: 500, .. }));
/// assert_eq!(serde_json::to_string(&event).unwrap(), line);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The agent is ready; always first.
    SessionStart {
        /// Version of this vocabulary; raised when something is removed or renamed.
        v: u32,
        /// The session's id; `None` when none is kept.
        session: Option<String>,
        /// Top of the workspace.
        root: String,
        /// Where relative paths start.
        cwd: String,
        /// Which model.
        model: String,
        /// Where it is asked.
        endpoint: String,
        /// Tool names, in their order.
        tools: Vec<String>,
        /// When the person is asked.
        permission_mode: PermissionMode,
        /// How bash is confined.
        sandbox: SandboxStatus,
        /// Codey's version.
        version: String,
        /// Whether an older session goes on.
        resumed: bool,
    },
    /// The path is now this one (resume, rewind).
    PathReset {
        /// What the model sees, oldest first.
        path: Vec<NodeView>,
    },
    /// A node was appended.
    Message {
        /// The node.
        #[serde(flatten)]
        node: NodeView,
    },
    /// A run begins.
    RunStart {},
    /// A turn begins.
    TurnStart {
        /// Number in the run, from 1.
        turn: u32,
    },
    /// More of the answer.
    TextDelta {
        /// The new part.
        text: String,
    },
    /// More of the reasoning.
    ThinkingDelta {
        /// The new part.
        text: String,
    },
    /// A call is about to be settled.
    ToolStart {
        /// Which call.
        call: CallId,
        /// Which tool.
        name: String,
        /// What the tool is for.
        kind: ToolKind,
        /// One line that says what it does.
        summary: String,
        /// The arguments; always a JSON object.
        #[schemars(with = "serde_json::Map<String, Value>")]
        input: Value,
    },
    /// Output of a running call.
    ToolOutput {
        /// Which call.
        call: CallId,
        /// The new part.
        text: String,
    },
    /// The person is asked; the call waits for the answer ([`crate::Input::Resolve`]).
    ApprovalRequest {
        /// Which call.
        call: CallId,
        /// What is asked.
        approval: Approval,
    },
    /// The answer was taken.
    ApprovalReply {
        /// Which call.
        call: CallId,
        /// The answer.
        #[serde(flatten)]
        decision: Decision,
    },
    /// A call is settled.
    ToolEnd {
        /// Which call.
        call: CallId,
        /// Which tool.
        name: String,
        /// Why it failed, if it did.
        code: Option<ErrorCode>,
        /// What the model reads.
        text: String,
        /// Wall time, milliseconds.
        duration_ms: u64,
        /// What people see.
        display: ToolDisplay,
    },
    /// A request failed and is tried again.
    Retry {
        /// Number of the try that failed, from 1.
        attempt: u32,
        /// Tries in all.
        of: u32,
        /// Until the next, milliseconds.
        wait_ms: u64,
        /// What went wrong.
        reason: String,
    },
    /// What a response took.
    Usage {
        /// This request.
        request: Usage,
        /// All requests of the session.
        session: Usage,
        /// Cost of the session; `None` when a price is unknown.
        cost_usd: Option<f64>,
        /// Tokens of the context now.
        context_tokens: u64,
        /// The model's window.
        context_window: Option<u32>,
        /// The part of the prompt that changed and so missed the cache.
        cache_break: Option<String>,
        /// Wall time of the request, milliseconds.
        duration_ms: u64,
    },
    /// Context was made smaller.
    Compaction {
        /// How.
        kind: CompactionKind,
        /// Estimate before.
        before_tokens: u64,
        /// Estimate after.
        after_tokens: u64,
        /// The node that records it.
        node: NodeId,
        /// Nodes that are no longer seen whole.
        replaced: u64,
    },
    /// A steer joined the run.
    Steering {
        /// What was said.
        text: String,
    },
    /// Something was lost or left out.
    Warning {
        /// A stable word for scripts.
        code: String,
        /// For the user.
        message: String,
    },
    /// A run ended; exactly one for each `run_start`.
    RunEnd {
        /// How.
        outcome: RunOutcome,
        /// Responses in this run.
        turns: u32,
        /// Tokens of this run.
        usage: Usage,
        /// Cost of this run; `None` when a price is unknown.
        cost_usd: Option<f64>,
        /// The final answer.
        text: String,
    },
}

/// How bash is confined, as set up and not as wished.
///
/// ```
/// use codey_protocol::{SandboxPolicy, SandboxStatus};
/// let status = SandboxStatus {
///     policy: SandboxPolicy::Workspace,
///     active: vec!["landlock".into(), "seccomp".into()],
///     network: "off".into(),
/// };
/// assert!(!status.active.is_empty(), "bash is confined");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxStatus {
    /// The policy in force.
    pub policy: SandboxPolicy,
    /// Mechanisms that are active: `namespaces`, `landlock`, `seccomp`, `seatbelt`.
    pub active: Vec<String>,
    /// `on` or `off`.
    pub network: String,
}

impl SandboxStatus {
    /// No confinement.
    ///
    /// ```
    /// use codey_protocol::SandboxStatus;
    /// let status = SandboxStatus::off();
    /// assert_eq!((status.active.len(), status.network.as_str()), (0, "on"));
    /// ```
    pub fn off() -> Self {
        Self { policy: SandboxPolicy::Off, active: Vec::new(), network: "on".to_owned() }
    }
}

/// How context was made smaller.
///
/// ```
/// use codey_protocol::CompactionKind;
/// assert_eq!(serde_json::to_string(&CompactionKind::Fold).unwrap(), r#""fold""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompactionKind {
    /// Old tool output became stubs.
    Prune,
    /// Old nodes became a summary.
    Fold,
}

/// Which bound ended a run.
///
/// ```
/// use codey_protocol::{Limit, RunOutcome};
/// let outcome = RunOutcome::LimitReached { limit: Limit::ContextFull };
/// assert_eq!(serde_json::to_string(&outcome).unwrap(), r#"{"kind":"limit_reached","limit":"context_full"}"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Model responses.
    Turns,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// The context window.
    ContextFull,
    /// The same call again and again.
    Repetition,
}

/// How a run ended.
///
/// ```
/// use codey_protocol::RunOutcome;
/// /// Whether the same prompt could be worth another try.
/// fn is_unfinished(outcome: &RunOutcome) -> bool {
///     match outcome {
///         RunOutcome::Completed {} | RunOutcome::NeedsApproval { .. } => false,
///         RunOutcome::Interrupted {} | RunOutcome::LimitReached { .. } | RunOutcome::Failed { .. } => true,
///     }
/// }
/// assert!(is_unfinished(&RunOutcome::Interrupted {}));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RunOutcome {
    /// The model stopped by itself.
    Completed {},
    /// The person stopped it.
    Interrupted {},
    /// A bound was reached.
    LimitReached {
        /// Which.
        limit: Limit,
    },
    /// Something had to be asked and nobody was there.
    NeedsApproval {
        /// The call.
        call: CallId,
    },
    /// It failed.
    Failed {
        /// What kind of failure.
        code: FailCode,
        /// What and where, one line.
        message: String,
        /// What to do, one sentence; may be empty.
        hint: String,
    },
}

impl From<RunError> for RunOutcome {
    fn from(error: RunError) -> Self {
        Self::Failed { code: error.code, message: error.message, hint: error.hint }
    }
}
