//! Words for what may be done and how much.

use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the person is asked.
///
/// ```
/// use codey_protocol::PermissionMode;
/// assert_eq!(PermissionMode::default(), PermissionMode::Default);
/// assert_eq!(serde_json::from_str::<PermissionMode>(r#""acceptEdits""#).unwrap(), PermissionMode::AcceptEdits);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Before each edit, write, command and outside tool.
    #[default]
    Default,
    /// Before commands and outside tools.
    AcceptEdits,
    /// Before commands that no active sandbox confines.
    Auto,
    /// Nothing is changed; only observing tools run.
    Plan,
    /// Never. Denials still hold.
    AlwaysApprove,
}

impl PermissionMode {
    /// The word of the `--permission-mode` flag and of events.
    ///
    /// ```
    /// use codey_protocol::PermissionMode;
    /// assert_eq!(PermissionMode::AcceptEdits.as_str(), "acceptEdits");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Auto => "auto",
            Self::Plan => "plan",
            Self::AlwaysApprove => "alwaysApprove",
        }
    }
}

/// What a call does to the world.
///
/// ```
/// use codey_protocol::Effect;
/// /// Whether two calls may run side by side.
/// fn may_overlap(effects: [Effect; 2]) -> bool {
///     effects == [Effect::Observe; 2]
/// }
/// assert!(!may_overlap([Effect::Observe, Effect::Edit]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Looks only; may run beside its neighbours and is never asked about.
    Observe,
    /// Changes files.
    Edit,
    /// Runs something.
    Execute,
}

/// What a tool is for; front ends pick an icon by it.
///
/// ```
/// use codey_protocol::ToolKind;
/// fn icon(kind: ToolKind) -> char {
///     match kind {
///         ToolKind::Read | ToolKind::Search => '?',
///         ToolKind::Edit => '+',
///         ToolKind::Execute => '$',
///         ToolKind::Fetch | ToolKind::Think | ToolKind::Other => '.',
///     }
/// }
/// assert_eq!(icon(ToolKind::Execute), '$');
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Shows content.
    Read,
    /// Changes files.
    Edit,
    /// Runs commands.
    Execute,
    /// Finds places.
    Search,
    /// Gets things from elsewhere.
    Fetch,
    /// Keeps thoughts in order.
    Think,
    /// Anything else.
    Other,
}

/// How bash is confined.
///
/// ```
/// use codey_protocol::SandboxPolicy;
/// assert_eq!(serde_json::to_string(&SandboxPolicy::ReadOnly).unwrap(), r#""read-only""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxPolicy {
    /// Not at all.
    Off,
    /// No writes.
    ReadOnly,
    /// Writes below the root only.
    Workspace,
}

/// Bounds of one run. `None` means no bound.
///
/// ```
/// use std::num::NonZeroU32;
/// use codey_protocol::Limits;
/// let limits = Limits { turns: NonZeroU32::new(5), cost_usd: Some(0.25), ..Limits::default() };
/// assert_eq!(limits.tokens_total, None, "no bound");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Model responses.
    pub turns: Option<NonZeroU32>,
    /// Input (cached too) and output of all requests.
    pub tokens_total: Option<NonZeroU64>,
    /// US dollars; needs a model of known price.
    pub cost_usd: Option<f64>,
}

impl Default for Limits {
    /// 50 turns. Source: contract section 8.
    fn default() -> Self {
        Self { turns: NonZeroU32::new(50), tokens_total: None, cost_usd: None }
    }
}
