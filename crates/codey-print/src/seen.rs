//! What was seen of a run, for the end of one that the agent did not end itself.

use codey_llm::{CallId, Usage};
use codey_protocol::{ErrorCode, Event, RunOutcome, ToolDisplay};
use tokio::time::Instant;

/// The run that goes on.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    turns: u32,
    usage: Usage,
    /// Calls that have not ended, in their order: id, tool, and since when.
    open: Vec<(CallId, String, Instant)>,
}

impl Seen {
    /// Takes note of an event.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::RunStart {} | Event::RunEnd { .. } => *self = Self::default(),
            Event::Usage { request, .. } => {
                self.turns += 1;
                self.usage += *request;
            }
            Event::ToolStart { call, name, .. } => self.open.push((call.clone(), name.clone(), Instant::now())),
            Event::ToolEnd { call, .. } => self.open.retain(|(open, ..)| open != call),
            Event::SessionStart { .. }
            | Event::PathReset { .. }
            | Event::Message { .. }
            | Event::TurnStart { .. }
            | Event::TextDelta { .. }
            | Event::ThinkingDelta { .. }
            | Event::ToolOutput { .. }
            | Event::ApprovalRequest { .. }
            | Event::ApprovalReply { .. }
            | Event::Retry { .. }
            | Event::Compaction { .. }
            | Event::Steering { .. }
            | Event::Warning { .. } => {}
        }
    }

    /// The events that are missing: the ends of open calls and of the run. What it cost is not known here.
    pub(crate) fn end(&mut self, outcome: RunOutcome) -> Vec<Event> {
        let Self { turns, usage, open } = std::mem::take(self);
        let cancelled = |(call, name, since): (CallId, String, Instant)| {
            let text = "Error: the run ended before this call did. What it did so far remains; look before going on.";
            let duration_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            let display = ToolDisplay::Text { text: text.to_owned() };
            let code = Some(ErrorCode::Cancelled);
            Event::ToolEnd { call, name, code, text: text.to_owned(), duration_ms, display }
        };
        let end = Event::RunEnd { outcome, turns, usage, cost_usd: None, text: String::new() };
        open.into_iter().map(cancelled).chain([end]).collect()
    }
}

#[cfg(test)]
mod tests {
    use codey_protocol::ToolKind;

    use super::*;

    fn start(call: &str) -> Event {
        let (name, summary) = ("bash".to_owned(), "bash x".to_owned());
        Event::ToolStart { call: call.into(), name, kind: ToolKind::Execute, summary, input: serde_json::json!({}) }
    }

    fn end(call: &str) -> Event {
        let display = ToolDisplay::Text { text: String::new() };
        Event::ToolEnd {
            call: call.into(),
            name: "bash".to_owned(),
            code: None,
            text: String::new(),
            duration_ms: 1,
            display,
        }
    }

    fn response(usage: Usage) -> Event {
        Event::Usage {
            request: usage,
            session: usage,
            cost_usd: None,
            context_tokens: 9,
            context_window: None,
            cache_break: None,
            duration_ms: 1,
        }
    }

    #[test]
    fn a_run_that_does_not_end_is_ended_with_what_was_seen_of_it() {
        let usage = Usage { input: 7, output: 2, ..Usage::default() };
        let mut seen = Seen::default();
        let before = [Event::RunStart {}, response(usage), start("c0")];
        for event in [&before[..], &[Event::RunStart {}, response(usage), start("c1"), start("c2"), end("c1")]].concat()
        {
            seen.note(&event);
        }
        let events = seen.end(RunOutcome::Interrupted {});
        let is_cancelled = |event: &Event| matches!(event, Event::ToolEnd { call, code: Some(ErrorCode::Cancelled), .. } if *call == "c2".into());
        assert!(events.len() == 2 && is_cancelled(&events[0]), "{events:?}");
        let outcome = RunOutcome::Interrupted {};
        assert_eq!(events[1], Event::RunEnd { outcome, turns: 1, usage, cost_usd: None, text: String::new() });
    }
}
