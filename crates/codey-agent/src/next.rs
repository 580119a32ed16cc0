//! What follows a response: the message decides first, the stop reason second.

use codey_llm::{Block, Message, StopReason};

/// What the loop does after a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Store it, settle its calls, ask again.
    Settle,
    /// Store it; all it asked for was cut, at the output limit or the window's end.
    SettleCut,
    /// Store it; the run is completed.
    Complete,
    /// Store it; the answer was cut at the output limit.
    OutputLimit,
    /// Do not store it, ask once more.
    AskAgain,
    /// Store it; the model declined.
    Refused { category: Option<String> },
    /// Store it and send it back as it is.
    GoOn,
    /// Store it; the window is full.
    ContextFull,
}

/// Decides by the table of architecture section 3.
pub(crate) fn next(message: &Message, last_call_cut: bool, stop: &StopReason) -> Next {
    let calls = message.content.iter().filter(|block| matches!(block, Block::ToolUse { .. })).count();
    if calls > usize::from(last_call_cut) {
        return Next::Settle;
    }
    if calls > 0 {
        return Next::SettleCut;
    }
    let has_text = message.content.iter().any(|block| block.as_text().is_some_and(|text| !text.trim().is_empty()));
    match stop {
        StopReason::Refusal { category } => Next::Refused { category: category.clone() },
        StopReason::ContentFilter => Next::Refused { category: Some("content filter".to_owned()) },
        StopReason::ContextWindow => Next::ContextFull,
        StopReason::Pause if !message.content.is_empty() => Next::GoOn,
        StopReason::MaxTokens => Next::OutputLimit,
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) | StopReason::Pause if has_text => {
            Next::Complete
        }
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) | StopReason::Pause => Next::AskAgain,
    }
}
