//! One request and its response.

use codey_llm::{
    Assembled, Assembler, Block, Message, ProviderError, ProviderErrorKind, Request, StopReason, StreamEvent, Usage,
};
use codey_protocol::Event;
use futures::StreamExt as _;
use tokio::time::Instant;

use crate::agent::Agent;

/// Bytes of a response that are taken: several times what the largest output limits allow, and little enough to hold in
/// memory a few times over. Beyond it the server is at fault, or the model repeats itself for ever.
const MAX_RESPONSE: usize = 8 << 20;
/// What a block takes besides its text.
const BLOCK_BYTES: usize = 256;

/// How a request went.
pub(crate) enum Response {
    /// It has its end mark.
    Whole { assembled: Assembled, stop: StopReason, usage: Usage, duration_ms: u64 },
    /// It failed; `partial` is the text that came before.
    Failed { error: ProviderError, partial: Message },
    /// The run was interrupted; `partial` is the text that came before.
    Interrupted { partial: Message },
}

/// Which blocks are shown as they come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Text,
    Thinking,
    Not,
}

impl Agent {
    /// Sends `request` and forwards its deltas. Ends early when the run's token is cancelled.
    pub(crate) async fn respond(&mut self, request: Request) -> Response {
        let started = Instant::now();
        let provider = self.binding.provider.clone();
        let mut stream = provider.stream(request);
        let mut assembler = Assembler::default();
        let mut shown: Vec<Shown> = Vec::new();
        let mut bytes = 0;
        loop {
            let run = self.mail.run.clone();
            let next = self.mail.drive(async {
                tokio::select! {
                    biased;
                    () = run.cancelled() => None,
                    event = stream.next() => Some(event),
                }
            });
            let event = match next.await {
                None => return Response::Interrupted { partial: assembler.interrupted() },
                Some(None) => {
                    let error =
                        ProviderError::new(ProviderErrorKind::Network, "the response ended without its end mark");
                    return Response::Failed { error, partial: assembler.interrupted() };
                }
                Some(Some(Err(error))) => return Response::Failed { error, partial: assembler.interrupted() },
                Some(Some(Ok(event))) => event,
            };
            bytes += bytes_of(&event);
            if bytes > MAX_RESPONSE {
                let message = format!(
                    "the response of {} went over {} MiB and was given up; nothing of it was kept or run",
                    self.binding.model.id,
                    MAX_RESPONSE >> 20
                );
                let error = ProviderError::new(ProviderErrorKind::ServerError, message)
                    .hint("Try again, or choose another model with --model.");
                // Kept, it would fill the window of every request to come.
                return Response::Failed { error, partial: Message::assistant(Vec::new()) };
            }
            assembler.push(&event);
            match event {
                StreamEvent::Done { stop, usage } => {
                    let duration_ms = millis_since(started);
                    return Response::Whole { assembled: assembler.finish(&stop), stop, usage, duration_ms };
                }
                event => {
                    if let Some(event) = visible(event, &mut shown) {
                        self.mail.emit(event).await;
                    }
                }
            }
        }
    }
}

/// What an event adds to the response in memory.
fn bytes_of(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::BlockStart { block, .. } => {
            let text = match block {
                Block::Text { text } | Block::Thinking { text, .. } => text.len(),
                Block::ToolUse { name, .. } => name.len(),
                Block::Foreign { opaque } => opaque.raw.len(),
                Block::ToolResult { .. } | Block::Image { .. } => 0,
            };
            BLOCK_BYTES + text
        }
        StreamEvent::BlockDelta { text, .. } => text.len(),
        StreamEvent::BlockStop { opaque, .. } => opaque.as_ref().map_or(0, |opaque| opaque.raw.len()),
        StreamEvent::Retrying { .. } | StreamEvent::Done { .. } => 0,
    }
}

/// What people see of a stream event.
fn visible(event: StreamEvent, shown: &mut Vec<Shown>) -> Option<Event> {
    match event {
        StreamEvent::Retrying { attempt, of, delay, reason } => {
            Some(Event::Retry { attempt, of, wait_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX), reason })
        }
        StreamEvent::BlockStart { index, block } => {
            let (kind, text) = match block {
                Block::Text { text } => (Shown::Text, text),
                Block::Thinking { text, .. } => (Shown::Thinking, text),
                Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Image { .. } | Block::Foreign { .. } => {
                    (Shown::Not, String::new())
                }
            };
            if shown.len() <= index {
                shown.resize(index + 1, Shown::Not);
            }
            shown[index] = kind;
            delta(kind, text)
        }
        StreamEvent::BlockDelta { index, text } => delta(shown.get(index).copied().unwrap_or(Shown::Not), text),
        StreamEvent::BlockStop { .. } | StreamEvent::Done { .. } => None,
    }
}

fn delta(kind: Shown, text: String) -> Option<Event> {
    match kind {
        Shown::Text if !text.is_empty() => Some(Event::TextDelta { text }),
        Shown::Thinking if !text.is_empty() => Some(Event::ThinkingDelta { text }),
        Shown::Text | Shown::Thinking | Shown::Not => None,
    }
}

pub(crate) fn millis_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
