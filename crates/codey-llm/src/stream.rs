//! The events a response is made of.

use std::pin::Pin;
use std::time::Duration;

use futures::Stream;

use crate::{Block, Opaque, ProviderError, Usage};

/// Why a response ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model had no more to say.
    EndTurn,
    /// It waits for tool results.
    ToolUse,
    /// It was cut at the output limit.
    MaxTokens,
    /// It declined.
    Refusal {
        /// The provider's word for what was refused.
        category: Option<String>,
    },
    /// A filter stopped it.
    ContentFilter,
    /// The provider paused a long turn: send it back as it is to go on.
    Pause,
    /// The context window filled up while it answered.
    ContextWindow,
    /// A reason this version does not know; treated as an end.
    Other(String),
}

/// A step of a response.
///
/// Blocks may overlap: a block with index 1 can start before block 0 stops.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// A try failed and the next one waits. Only before the first `BlockStart`.
    Retrying {
        /// Number of the try that failed, from 1.
        attempt: u32,
        /// Tries in all.
        of: u32,
        /// How long until the next.
        delay: Duration,
        /// What went wrong, for the user.
        reason: String,
    },
    /// A block begins; a `ToolUse` has an empty input so far.
    BlockStart {
        /// Its place in the message.
        index: usize,
        /// What is known of it.
        block: Block,
    },
    /// More of a block. For a `ToolUse` the text is partial JSON.
    BlockDelta {
        /// Which block.
        index: usize,
        /// Text to append.
        text: String,
    },
    /// A block is whole.
    BlockStop {
        /// Which block.
        index: usize,
        /// Provider ballast that arrived with it.
        opaque: Option<Opaque>,
    },
    /// The end mark.
    Done {
        /// Why it ended.
        stop: StopReason,
        /// What it took.
        usage: Usage,
    },
}

/// A response in progress. Yields exactly one `Done` or one error, last. Dropping it aborts the request.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ProviderError>> + Send>>;
