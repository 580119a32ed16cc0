//! What a person sees of a tool call.

use serde::{Deserialize, Serialize};

use crate::RelPath;

/// The shape of a tool's result for people. Closed, so that it crosses JSON and replays on resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// Which file.
    pub path: RelPath,
    /// Whole lines around the change, before it; `None` for a new file.
    pub old: Option<String>,
    /// The same place afterwards.
    pub new: String,
    /// Unified diff of the change.
    pub unified: String,
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

/// An entry of the task list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}
