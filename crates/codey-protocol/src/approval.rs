//! Asking before something is done.

use serde::{Deserialize, Serialize};

use crate::ToolDisplay;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
