//! What a person sees of a tool call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RelPath;

/// The shape of a tool's result for people. Closed, so that it crosses JSON and replays on resume.
///
/// ```
/// use codey_protocol::ToolDisplay;
/// /// One line for a log.
/// fn line(display: &ToolDisplay) -> String {
///     match display {
///         ToolDisplay::Text { text } => text.clone(),
///         ToolDisplay::Diff(diff) => format!("{} +{} -{}", diff.path, diff.added, diff.removed),
///         ToolDisplay::Command { exit: Some(code), .. } => format!("exit {code}"),
///         ToolDisplay::Command { exit: None, .. } => "did not end by itself".to_owned(),
///         ToolDisplay::Matches { count, .. } => format!("{count} matches"),
///         ToolDisplay::Todo { items } => format!("{} tasks", items.len()),
///     }
/// }
/// assert_eq!(line(&ToolDisplay::Matches { count: 3, suppressed: 0 }), "3 matches");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolDisplay {
    /// Plain words.
    Text {
        /// The words.
        text: String,
    },
    /// A change of one file.
    Diff(Diff),
    /// A command and what it printed.
    Command {
        /// stdout and stderr as shown to the model.
        output: String,
        /// Exit status, if it ended by itself.
        exit: Option<i32>,
        /// The signal that killed it.
        signal: Option<i32>,
        /// Whether `output` is not all of it.
        truncated: bool,
        /// File with more of the output, relative to the root.
        spill: Option<RelPath>,
    },
    /// Search hits.
    Matches {
        /// Hits shown.
        count: u64,
        /// Hits left out.
        suppressed: u64,
    },
    /// The task list.
    Todo {
        /// All items.
        items: Vec<TodoItem>,
    },
}

impl ToolDisplay {
    /// Plain words.
    ///
    /// ```
    /// use codey_protocol::ToolDisplay;
    /// assert_eq!(ToolDisplay::text("nothing found"), ToolDisplay::Text { text: "nothing found".into() });
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A change of one file.
///
/// ```
/// use codey_protocol::{Diff, RelPath, ToolDisplay};
/// let display = ToolDisplay::Diff(Diff {
///     path: RelPath::new("notes.txt"),
///     old: None, // a new file
///     new: "one\n".into(),
///     unified: "@@ -0,0 +1 @@\n+one\n".into(),
///     added: 1,
///     removed: 0,
/// });
/// let json = serde_json::to_value(&display).unwrap();
/// assert_eq!((&json["type"], &json["path"]), (&"diff".into(), &"notes.txt".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)] // a `$ref` beside the tag of ToolDisplay would hide its fields from generators
pub struct Diff {
    /// Which file.
    pub path: RelPath,
    /// Whole lines around each change, before it; those of several places follow one another without a mark, so a client
    /// that shows places uses `unified`. `None` for a new file.
    pub old: Option<String>,
    /// The same places afterwards.
    pub new: String,
    /// Unified diff of the change.
    pub unified: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

/// An entry of the task list.
///
/// ```
/// use codey_protocol::{TodoItem, TodoStatus, ToolDisplay};
/// let items = vec![TodoItem { content: "run the tests".into(), status: TodoStatus::Pending }];
/// let json = serde_json::to_string(&ToolDisplay::Todo { items }).unwrap();
/// assert_eq!(json, r#"{"type":"todo","items":[{"content":"run the tests","status":"pending"}]}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TodoItem {
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a task is.
///
/// ```
/// use codey_protocol::TodoStatus;
/// assert_eq!(serde_json::from_str::<TodoStatus>(r#""in_progress""#).unwrap(), TodoStatus::InProgress);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}
