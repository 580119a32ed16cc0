//! The events a response is made of.

use std::pin::Pin;
use std::time::Duration;

use futures::Stream;

use crate::{Block, Opaque, ProviderError, Usage};

/// Why a response ended.
///
/// ```
/// use codey_llm::StopReason;
/// /// Whether the answer is whole.
/// fn is_whole(stop: &StopReason) -> bool {
///     !matches!(stop, StopReason::MaxTokens | StopReason::ContextWindow)
/// }
/// assert!(is_whole(&StopReason::EndTurn) && !is_whole(&StopReason::MaxTokens));
/// ```
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
///
/// ```
/// use codey_llm::{Block, StreamEvent};
/// /// What a person could be shown of it.
/// fn shown(event: &StreamEvent) -> Option<String> {
///     match event {
///         StreamEvent::Retrying { attempt, of, .. } => Some(format!("try {attempt} of {of} failed")),
///         StreamEvent::BlockDelta { text, .. } => Some(text.clone()),
///         StreamEvent::BlockStart { .. } | StreamEvent::BlockStop { .. } | StreamEvent::Done { .. } => None,
///     }
/// }
/// assert_eq!(shown(&StreamEvent::BlockDelta { index: 0, text: "All".into() }), Some("All".to_owned()));
/// ```
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
///
/// ```
/// use codey_llm::{EventStream, ProviderError, ProviderErrorKind};
/// use futures::{StreamExt as _, stream};
/// /// A response that fails at once.
/// fn refused() -> EventStream {
///     stream::iter([Err(ProviderError::new(ProviderErrorKind::Refusal, "declined"))]).boxed()
/// }
/// let first = futures::executor::block_on(refused().next());
/// assert!(matches!(first, Some(Err(error)) if error.kind == ProviderErrorKind::Refusal));
/// ```
pub type EventStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ProviderError>> + Send>>;
