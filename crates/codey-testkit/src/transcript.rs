//! Events as text for snapshots.

use std::fmt::Write as _;

use codey_protocol::Event;
use serde_json::{Map, Value};

/// Prints one line an event, the same for every run: ids are numbered in order of appearance, the root is `$ROOT`, and
/// times, durations, sizes of requests and versions are left out. Deltas of one kind that follow each other are one line.
pub fn transcript(events: &[Event]) -> String {
    let mut printer = Printer::default();
    for event in events {
        printer.print(event);
    }
    printer.flush();
    printer.out
}

/// Members that differ from run to run.
const LEFT_OUT: [&str; 8] =
    ["duration_ms", "wait_ms", "created_at", "version", "prefix", "request_bytes", "meta", "digest"];

#[derive(Default)]
struct Printer {
    out: String,
    /// Deltas that are not printed yet: their type and text.
    deltas: Option<(String, String)>,
    root: Option<String>,
    nodes: Vec<String>,
    calls: Vec<String>,
}

impl Printer {
    fn print(&mut self, event: &Event) {
        let Ok(Value::Object(members)) = serde_json::to_value(event) else { panic!("an event is an object") };
        let kind = members["type"].as_str().unwrap_or_default().to_owned();
        if kind.ends_with("_delta") {
            let text = members["text"].as_str().unwrap_or_default();
            match &mut self.deltas {
                Some((open, so_far)) if *open == kind => so_far.push_str(text),
                Some(_) | None => {
                    let text = text.to_owned();
                    self.flush();
                    self.deltas = Some((kind, text));
                }
            }
            return;
        }
        self.flush();
        if kind == "session_start" {
            self.root = members["root"].as_str().map(str::to_owned);
        }
        self.collect(&members);
        self.line(&kind, &members);
    }

    fn flush(&mut self) {
        if let Some((kind, text)) = self.deltas.take() {
            let members = Map::from_iter([("text".to_owned(), Value::from(text))]);
            self.line(&kind, &members);
        }
    }

    fn line(&mut self, kind: &str, members: &Map<String, Value>) {
        self.out.push_str(kind);
        for (name, value) in members {
            if name == "meta" && value["interrupted"] == true {
                self.out.push_str(" interrupted");
            }
            if name == "type" || LEFT_OUT.contains(&name.as_str()) {
                continue;
            }
            let value = self.masked(value.clone());
            // Writing to a string cannot fail.
            let _ = write!(self.out, " {name}={value}");
        }
        self.out.push('\n');
    }

    /// Learns the ids of calls; those of nodes are known by their form.
    fn collect(&mut self, members: &Map<String, Value>) {
        let is_call = members.get("type").is_some_and(|kind| kind == "tool_use");
        for (name, value) in members {
            match value {
                Value::String(id) if name == "call" || (name == "id" && is_call) => number(&mut self.calls, id),
                Value::Object(inner) => self.collect(inner),
                Value::Array(items) => items.iter().filter_map(Value::as_object).for_each(|inner| self.collect(inner)),
                Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    fn masked(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.masked_text(text)),
            Value::Array(items) => items.into_iter().map(|item| self.masked(item)).collect(),
            Value::Object(members) => {
                let kept = members.into_iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
                kept.map(|(name, value)| (name, self.masked(value))).collect()
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }

    fn masked_text(&mut self, text: String) -> String {
        if let Some(place) = self.calls.iter().position(|call| *call == text) {
            return format!("call{}", place + 1);
        }
        if is_ulid(&text) {
            number(&mut self.nodes, &text);
            let place = self.nodes.iter().position(|node| *node == text).unwrap_or_default();
            return format!("id{}", place + 1);
        }
        match &self.root {
            Some(root) if !root.is_empty() => text.replace(root.as_str(), "$ROOT"),
            Some(_) | None => text,
        }
    }
}

fn number(known: &mut Vec<String>, id: &str) {
    if !known.iter().any(|known| known == id) {
        known.push(id.to_owned());
    }
}

fn is_ulid(text: &str) -> bool {
    text.len() == 26 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use codey_protocol::{RunOutcome, ToolDisplay, ToolKind};
    use serde_json::json;

    use super::*;

    #[test]
    fn two_runs_print_the_same() {
        let events = |call: &str, duration_ms: u64, pieces: &[&str]| {
            let mut events = vec![Event::RunStart {}, Event::TurnStart { turn: 1 }];
            events.extend(pieces.iter().map(|piece| Event::TextDelta { text: (*piece).to_owned() }));
            events.push(Event::ToolStart {
                call: call.into(),
                name: "read".to_owned(),
                kind: ToolKind::Read,
                summary: "read a".to_owned(),
                input: json!({"path": "a"}),
            });
            events.push(Event::ToolEnd {
                call: call.into(),
                name: "read".to_owned(),
                code: None,
                text: "x".to_owned(),
                duration_ms,
                display: ToolDisplay::text("x"),
            });
            events.push(Event::RunEnd {
                outcome: RunOutcome::Completed {},
                turns: 1,
                usage: codey_llm::Usage::default(),
                cost_usd: None,
                text: "hello".to_owned(),
            });
            transcript(&events)
        };
        let printed = events("call_8f", 3, &["hel", "lo"]);
        assert_eq!(printed, events("call_9a", 900, &["hello"]));
        assert!(printed.contains("text_delta text=\"hello\"\ntool_start call=\"call1\" name=\"read\""), "{printed}");
    }
}
