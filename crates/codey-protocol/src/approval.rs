//! Asking before something is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ToolDisplay;

/// What is asked.
///
/// ```
/// use codey_protocol::{Approval, Event, ToolDisplay};
/// /// What a person is asked.
/// fn question(event: &Event) -> Option<String> {
///     let Event::ApprovalRequest { approval, .. } = event else { return None };
///     let always = if approval.rememberable { ", a for always" } else { "" };
///     Some(format!("{}? [y, n{always}]", approval.summary))
/// }
/// let approval = Approval {
///     tool: "bash".into(),
///     summary: "bash make test".into(),
///     preview: ToolDisplay::text("make test"),
///     rememberable: true,
/// };
/// let event = Event::ApprovalRequest { call: "c1".into(), approval };
/// assert_eq!(question(&event).as_deref(), Some("bash make test? [y, n, a for always]"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Which tool.
    pub tool: String,
    /// One line that says what it would do.
    pub summary: String,
    /// What would change.
    pub preview: ToolDisplay,
    /// Whether an "always" answer is possible.
    pub rememberable: bool,
}

/// The answer.
///
/// ```
/// use codey_protocol::Decision;
/// let no = Decision::Reject { reason: Some("use the fast tests".into()) };
/// assert_eq!(serde_json::to_string(&no).unwrap(), r#"{"decision":"reject","reason":"use the fast tests"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Yes, this time.
    Once {},
    /// Yes, and always for this exact command.
    AlwaysCommand {},
    /// Yes, and always for this tool (edit and write count as one).
    AlwaysTool {},
    /// No.
    Reject {
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}
