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
///
/// ```
/// use std::time::Duration;
/// use codey_llm::{ProviderError, ProviderErrorKind, ScriptedProvider, ScriptedTurn, Step};
/// let error = ProviderError::new(ProviderErrorKind::Overloaded, "no room");
/// let turn = ScriptedTurn(vec![Step::Wait(Duration::from_millis(5)), Step::Fail(error)]);
/// let provider = ScriptedProvider::new("test", vec![turn]);
/// assert!(provider.requests().is_empty(), "nothing happens before somebody asks");
/// ```
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
///
/// ```
/// use codey_llm::{Block, ScriptedTurn, Step, StopReason, turn};
/// // A response that stalls before its end mark.
/// let mut stalled = turn(vec![Block::text("Let me see")], StopReason::EndTurn);
/// stalled.0.pop();
/// stalled.0.push(Step::Hang);
/// assert!(matches!(stalled.0.last(), Some(Step::Hang)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedTurn(pub Vec<Step>);

/// A response of whole blocks that ends with `stop`; each block comes as start, one delta and stop.
///
/// ```
/// use codey_llm::{Block, StopReason, tool_use, turn};
/// let turns = [
///     turn(vec![tool_use("c1", "bash", serde_json::json!({"command": "make test"}))], StopReason::ToolUse),
///     turn(vec![Block::text("They pass.")], StopReason::EndTurn),
/// ];
/// assert_eq!(turns[1].0.len(), 4, "start, delta, stop, end mark");
/// ```
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
///
/// ```
/// use codey_llm::{Block, tool_use};
/// let block = tool_use("c1", "read", serde_json::json!({"path": "a.txt"}));
/// assert!(matches!(block, Block::ToolUse { invalid: None, .. }));
/// ```
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
    ///
    /// ```
    /// use codey_llm::{Provider as _, ScriptedProvider};
    /// assert_eq!(ScriptedProvider::new("recording", Vec::new()).id(), "recording");
    /// ```
    pub fn new(id: impl Into<String>, turns: Vec<ScriptedTurn>) -> Arc<Self> {
        Arc::new(Self { id: id.into(), turns: Mutex::new(turns.into()), requests: Mutex::default() })
    }

    /// The requests so far, oldest first.
    ///
    /// ```
    /// use codey_llm::{Block, Capabilities, Message, ModelInfo, Provider as _, Request, ScriptedProvider};
    /// let capabilities = Capabilities::default();
    /// let model = ModelInfo { id: "m".into(), window: None, max_output: 100, price: None, capabilities };
    /// let provider = ScriptedProvider::new("test", Vec::new());
    /// let _ = provider.stream(Request {
    ///     model,
    ///     system: [].into(),
    ///     tools: [].into(),
    ///     messages: vec![Message::user(vec![Block::text("hi")]).into()],
    ///     max_tokens: 100,
    ///     effort: None,
    ///     temperature: None,
    ///     cache_points: Vec::new(),
    /// });
    /// assert_eq!(provider.requests()[0].messages[0].text(), "hi");
    /// ```
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
