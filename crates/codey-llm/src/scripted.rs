//! A provider that plays given turns: for tests, the demo and replays. Only the model is fake, never the tools.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use serde_json::Value;

use crate::{
    Block, CallId, EventStream, Provider, ProviderError, ProviderErrorKind, Request, StopReason, StreamEvent, Usage,
};

/// What a scripted response does next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends an event.
    Event(StreamEvent),
    /// Fails the request.
    Fail(ProviderError),
    /// Waits before the next step.
    Wait(Duration),
    /// Never answers again.
    Hang,
}

/// One scripted response.
#[derive(Clone, Debug, Default)]
pub struct ScriptedTurn(pub Vec<Step>);

/// A response of whole blocks that ends with `stop`; each block comes as start, one delta and stop.
pub fn turn(blocks: Vec<Block>, stop: StopReason) -> ScriptedTurn {
    let mut steps = Vec::new();
    for (index, block) in blocks.into_iter().enumerate() {
        let (start, delta) = split(block);
        steps.push(Step::Event(StreamEvent::BlockStart { index, block: start }));
        if let Some(text) = delta {
            steps.push(Step::Event(StreamEvent::BlockDelta { index, text }));
        }
        steps.push(Step::Event(StreamEvent::BlockStop { index, opaque: None }));
    }
    let usage = Usage { input: 100, output: 20, ..Usage::default() };
    steps.push(Step::Event(StreamEvent::Done { stop, usage }));
    ScriptedTurn(steps)
}

/// A tool call block.
pub fn tool_use(id: &str, name: &str, input: Value) -> Block {
    Block::ToolUse { id: CallId::new(id), name: name.to_owned(), input, invalid: None, opaque: None }
}

fn split(block: Block) -> (Block, Option<String>) {
    match block {
        Block::Text { text } => (Block::text(""), Some(text)),
        Block::Thinking { text, opaque } => (Block::Thinking { text: String::new(), opaque }, Some(text)),
        Block::ToolUse { id, name, input, invalid, opaque } => {
            let text = invalid.unwrap_or_else(|| input.to_string());
            let input = Value::Object(serde_json::Map::new());
            (Block::ToolUse { id, name, input, invalid: None, opaque }, Some(text))
        }
        whole @ (Block::ToolResult { .. } | Block::Image { .. } | Block::Foreign { .. }) => (whole, None),
    }
}

/// Plays its turns in order, one a request, and keeps every request it got.
///
/// A request beyond the script fails with `ServerError`.
///
/// ```
/// use codey_llm::{Block, ScriptedProvider, StopReason, turn};
/// let provider = ScriptedProvider::new("test", vec![turn(vec![Block::text("hello")], StopReason::EndTurn)]);
/// assert!(provider.requests().is_empty());
/// ```
pub struct ScriptedProvider {
    id: String,
    turns: Mutex<VecDeque<ScriptedTurn>>,
    requests: Mutex<Vec<Request>>,
}

impl ScriptedProvider {
    /// A provider that plays `turns`.
    pub fn new(id: impl Into<String>, turns: Vec<ScriptedTurn>) -> Arc<Self> {
        Arc::new(Self { id: id.into(), turns: Mutex::new(turns.into()), requests: Mutex::default() })
    }

    /// The requests so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Provider for ScriptedProvider {
    fn id(&self) -> &str {
        &self.id
    }

    fn stream(&self, request: Request) -> EventStream {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let next = self.turns.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let steps = next.map_or_else(
            || {
                let message = "the script has no further turn";
                vec![Step::Fail(ProviderError::new(ProviderErrorKind::ServerError, message))]
            },
            |turn| turn.0,
        );
        stream::iter(steps)
            .filter_map(|step| async move {
                match step {
                    Step::Event(event) => Some(Ok(event)),
                    Step::Fail(error) => Some(Err(error)),
                    Step::Wait(delay) => {
                        tokio::time::sleep(delay).await;
                        None
                    }
                    Step::Hang => std::future::pending().await,
                }
            })
            .boxed()
    }
}
