//! What a person reads of a run: the answer on stdout, the rest on stderr.

use std::collections::HashMap;
use std::fmt::Write as _;

use codey_llm::{CallId, Usage};
use codey_protocol::{ErrorCode, Event, ToolDisplay};

use crate::line::{message_line, one_line, shortened};

/// Most of a call's summary that is shown, in characters.
const LONGEST_SUMMARY: usize = 200;

/// Turns events into text. Pure: the caller writes it.
#[derive(Debug)]
pub(crate) struct TextView {
    options: TextOptions,
    /// Summaries of calls that have not ended.
    open: HashMap<CallId, String>,
    session: Option<String>,
    /// There was a message, and with it the session's file and something to sum up.
    began: bool,
    /// Whether the answer so far ends in the middle of a line.
    mid_line: bool,
}

/// How to show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextOptions {
    /// Only errors on stderr.
    pub(crate) quiet: bool,
    /// stdout is a terminal, so control characters in the answer are shown and not obeyed.
    pub(crate) stdout_is_terminal: bool,
    /// stderr is a terminal: diffs are shown.
    pub(crate) stderr_is_terminal: bool,
    /// Colours may be used on stderr.
    pub(crate) colour: bool,
}

/// Text for the two streams.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TextView {
    pub(crate) fn new(options: TextOptions) -> Self {
        Self { options, open: HashMap::new(), session: None, began: false, mid_line: false }
    }

    /// Whether the session can be gone on with later.
    pub(crate) fn is_session_kept(&self) -> bool {
        self.began && self.session.is_some()
    }

    /// What is to be shown of `event`.
    pub(crate) fn show(&mut self, event: &Event) -> Shown {
        let mut shown = Shown::default();
        match event {
            Event::SessionStart { session, .. } => self.session.clone_from(session),
            Event::Message { .. } => self.began = true,
            Event::TextDelta { text } => shown.stdout = self.answer(text),
            // The response is over: what comes on stderr now begins a line.
            Event::Usage { .. } => shown.stdout = self.end_of_line(),
            Event::ToolStart { call, summary, .. } => {
                self.open.insert(call.clone(), shortened(&one_line(summary), LONGEST_SUMMARY));
            }
            Event::ToolEnd { call, name, code, duration_ms, display, .. } => {
                let summary = self.open.remove(call).unwrap_or_else(|| name.clone());
                shown.stderr = self.tool_line(&summary, *code, display, *duration_ms);
            }
            Event::Retry { attempt, of, wait_ms, reason } => {
                let wait = seconds(*wait_ms);
                shown.stderr =
                    format!("codey: {}; try {attempt} of {of} failed, next in {wait}\n", message_line(reason));
            }
            Event::Warning { message, .. } => shown.stderr = format!("codey: warning: {}\n", message_line(message)),
            // Nothing happened that could be summed up.
            Event::RunEnd { .. } if !self.began => {}
            Event::RunEnd { turns, usage, cost_usd, .. } => {
                shown.stdout = self.end_of_line();
                shown.stderr = self.end_line(*turns, usage, *cost_usd);
            }
            Event::PathReset { .. }
            | Event::RunStart {}
            | Event::TurnStart { .. }
            | Event::ThinkingDelta { .. }
            | Event::ToolOutput { .. }
            | Event::ApprovalRequest { .. }
            | Event::ApprovalReply { .. }
            | Event::Compaction { .. }
            | Event::Steering { .. } => {}
        }
        if self.options.quiet {
            shown.stderr.clear();
        }
        shown
    }

    fn answer(&mut self, text: &str) -> String {
        let mut shown = String::new();
        if self.options.stdout_is_terminal {
            shown.extend(text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{FFFD}' } else { c }));
        } else {
            shown.push_str(text);
        }
        self.mid_line = !shown.ends_with('\n');
        shown
    }

    /// The newline that the answer so far lacks.
    fn end_of_line(&mut self) -> String {
        if std::mem::take(&mut self.mid_line) { "\n".to_owned() } else { String::new() }
    }

    fn tool_line(&self, summary: &str, code: Option<ErrorCode>, display: &ToolDisplay, duration_ms: u64) -> String {
        let result = match (code, display) {
            (Some(code), _) => code_word(code),
            (None, ToolDisplay::Command { exit: Some(exit), .. }) => format!("exit {exit}"),
            (None, ToolDisplay::Command { signal: Some(signal), .. }) => format!("killed by signal {signal}"),
            (None, ToolDisplay::Diff(diff)) => format!("+{} -{}", diff.added, diff.removed),
            (None, ToolDisplay::Matches { count, suppressed }) => format!("{} found", grouped(count + suppressed)),
            (None, ToolDisplay::Command { .. } | ToolDisplay::Text { .. } | ToolDisplay::Todo { .. }) => {
                "ok".to_owned()
            }
        };
        let mut line = format!("{summary} … {result}, {}\n", seconds(duration_ms));
        if let (true, None, ToolDisplay::Diff(diff)) = (self.options.stderr_is_terminal, code, display) {
            line.push_str(&self.diff(&diff.unified));
        }
        line
    }

    fn diff(&self, unified: &str) -> String {
        let mut shown = String::new();
        for line in unified.lines() {
            let line = one_line(line);
            let colour = match line.as_bytes().first() {
                Some(b'+') if self.options.colour => "\x1b[32m",
                Some(b'-') if self.options.colour => "\x1b[31m",
                _ => "",
            };
            let end = if colour.is_empty() { "" } else { "\x1b[0m" };
            let _ = writeln!(shown, "{colour}{line}{end}");
        }
        shown
    }

    fn end_line(&self, turns: u32, usage: &Usage, cost_usd: Option<f64>) -> String {
        let mut line = format!("codey: {turns} {}", if turns == 1 { "turn" } else { "turns" });
        let _ = write!(line, " · {} in", grouped(usage.context()));
        if usage.cache_read > 0 {
            let _ = write!(line, " ({} cached)", grouped(usage.cache_read));
        }
        let _ = write!(line, " · {} out", grouped(usage.output));
        if let Some(cost) = cost_usd {
            let _ = write!(line, " · ${cost:.2}");
        }
        if let Some(session) = &self.session {
            let _ = write!(line, " · session {session}");
        }
        line.push('\n');
        line
    }
}

fn code_word(code: ErrorCode) -> String {
    match serde_json::to_value(code) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => "failed".to_owned(),
    }
}

fn seconds(milliseconds: u64) -> String {
    if milliseconds < 1_000 { format!("{milliseconds} ms") } else { format!("{:.1} s", milliseconds as f64 / 1_000.0) }
}

/// The number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use codey_protocol::{RelPath, RunOutcome};

    use super::*;

    const PLAIN: TextOptions =
        TextOptions { quiet: false, stdout_is_terminal: false, stderr_is_terminal: false, colour: false };

    fn check(options: TextOptions, events: &[Event], stdout: &str, stderr: &str) {
        let mut view = TextView::new(options);
        let mut all = Shown::default();
        for event in events {
            let shown = view.show(event);
            all.stdout += &shown.stdout;
            all.stderr += &shown.stderr;
        }
        assert_eq!((all.stdout.as_str(), all.stderr.as_str()), (stdout, stderr));
    }

    fn text(text: &str) -> Event {
        Event::TextDelta { text: text.into() }
    }

    fn end() -> Event {
        let usage = Usage { input: 2_300, output: 1_870, cache_read: 38_900, ..Usage::default() };
        Event::RunEnd { outcome: RunOutcome::Completed {}, turns: 7, usage, cost_usd: Some(0.061), text: String::new() }
    }

    const END: &str = "codey: 7 turns · 41,200 in (38,900 cached) · 1,870 out · $0.06\n";

    #[test]
    fn a_newline_stands_between_turns_and_at_the_end_where_the_text_has_none() {
        let over = Event::Usage {
            request: Usage::default(),
            session: Usage::default(),
            cost_usd: None,
            context_tokens: 0,
            context_window: None,
            cache_break: None,
            duration_ms: 0,
        };
        let message = r#"{"type":"message","id":"01KB9W2E000000000000000001","kind":"message","role":"user","content":[],"meta":{}}"#;
        let (start, over) = (|| serde_json::from_str(message).unwrap(), || over.clone());
        check(PLAIN, &[start(), text("a"), text("b"), over(), over(), text("c"), end()], "ab\nc\n", END);
        check(PLAIN, &[start(), text("a\n"), over(), text("b\n"), over(), end()], "a\nb\n", END);
        check(PLAIN, &[end()], "", "");
    }

    #[test]
    fn a_call_is_one_line_that_no_terminal_obeys() {
        let start = Event::ToolStart {
            call: "c".into(),
            name: "bash".into(),
            kind: codey_protocol::ToolKind::Execute,
            summary: "bash cargo test\u{1b}[2K\n\u{202e}x".into(),
            input: serde_json::json!({}),
        };
        let display = ToolDisplay::Command {
            output: String::new(),
            exit: Some(1),
            signal: None,
            truncated: false,
            spill: Some(RelPath::new("x")),
        };
        let ended = Event::ToolEnd {
            call: "c".into(),
            name: "bash".into(),
            code: None,
            text: String::new(),
            duration_ms: 2_345,
            display,
        };
        check(PLAIN, &[start.clone(), ended.clone()], "", "bash cargo test\\u{1b}[2K\\n\\u{202e}x … exit 1, 2.3 s\n");
        check(TextOptions { quiet: true, ..PLAIN }, &[start, ended], "", "");
    }
}
