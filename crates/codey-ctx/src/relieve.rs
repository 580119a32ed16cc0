//! What to do when the context window fills up.

use std::cmp::Reverse;

use codey_llm::{Block, Message, TokenEstimator, bytes_in_tokens_of};

use crate::{PathState, Prefix};

/// From which fill on something is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoldPolicy {
    /// Share of the window from which no further request is sent.
    pub floor: f32,
}

impl Default for FoldPolicy {
    /// Source: contract section 7.
    fn default() -> Self {
        Self { floor: 0.97 }
    }
}

/// What is to be done before the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relief {
    /// There is room.
    Nothing,
    /// There is none, and nothing that could make some.
    Stuck,
}

/// Says what must be done before a request that fills this share of the window.
///
/// Nothing on a path is ever pruned or folded here, so all that can be said of a full window is that it is full.
pub fn relieve(_path: &PathState, fill: f32, policy: &FoldPolicy) -> Relief {
    if fill >= policy.floor { Relief::Stuck } else { Relief::Nothing }
}

/// How many results are named when the window is full.
const NAMED_RESULTS: usize = 3;

/// Says in words what fills the window, for the user.
pub fn what_fills(prefix: &Prefix, path: &PathState, estimator: &TokenEstimator) -> String {
    let fixed = estimator.tokens(prefix.bytes());
    let conversation = estimator.tokens(path.bytes());
    let mut text = format!("system prompt and tools take about {fixed} tokens, the conversation about {conversation}");
    let mut results: Vec<(u64, &str)> = Vec::new();
    for block in path.messages().flat_map(|message| &message.content) {
        if let Block::ToolResult { call, content, .. } = block {
            let bytes = bytes_in_tokens_of(&Message::user(content.clone()));
            results.push((bytes, path.label(call)));
        }
    }
    results.sort_by_key(|(bytes, _)| Reverse(*bytes));
    let named = results.iter().take(NAMED_RESULTS);
    let named: Vec<String> = named.map(|(bytes, label)| format!("{label}: {}", estimator.tokens(*bytes))).collect();
    if !named.is_empty() {
        text.push_str(&format!("; its largest results are {}", named.join(", ")));
    }
    text
}
