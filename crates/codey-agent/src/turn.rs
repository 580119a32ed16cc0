//! One request and its response.

use codey_llm::{
    Assembled, Assembler, Block, Message, ProviderError, ProviderErrorKind, Request, StopReason, StreamEvent, Usage,
};
use codey_protocol::Event;
use futures::StreamExt as _;
use tokio::time::Instant;

use crate::agent::Agent;

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
