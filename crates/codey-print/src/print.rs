//! The consumer: events in, lines out, an exit code at the end.

use std::io::{IsTerminal as _, Write};
use std::sync::Arc;
use std::time::Duration;

use codey_llm::{Block, Usage};
use codey_protocol::{Event, FailCode, Handle, Input, RunOutcome, StartError};
use serde::Serialize;
use tokio::io::AsyncBufRead;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::exit::{STDOUT_CLOSED, exit_code, explanation, presentable};
use crate::input::{Accepted, PROMPT_LINE, forward_lines};
use crate::line;
use crate::output::{Chunk, Output, Stdout, Written};
use crate::seen::Seen;
use crate::text::{TextOptions, TextView};

/// Events that are turned into one write.
const EVENTS_A_WRITE: usize = 128;
/// How long the agent may take to end its run after it was told to, before the process goes anyway.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// How long the last words may take once the reader of stdout is stuck: that of stderr may be the same.
const STDERR_PATIENCE: Duration = Duration::from_millis(100);

/// Warnings about inputs that were left out: what print itself could not read, and what the agent finds empty.
const BAD_INPUT: &str = "bad_input";
const EMPTY_INPUT: &str = "empty_message";

/// What stdout carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The answer.
    Text,
    /// Every event, one JSON object a line.
    Json,
}

/// How to print.
#[derive(Debug)]
pub struct PrintOptions {
    /// What stdout carries.
    pub mode: Mode,
    /// Only errors on stderr.
    pub quiet: bool,
    /// The first prompt.
    pub prompt: Option<String>,
    /// Whether inputs come as NDJSON on stdin; it ends when stdin has ended and all prompts are done.
    pub input_json: bool,
    /// Ends the run and then the printing, within 3 s even if the reader of stdout is stuck.
    pub stop: CancellationToken,
}

/// `run_end` as print writes it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct WithExitCode<'a> {
    #[serde(flatten)]
    event: &'a Event,
    /// What the process ends with if this is its last run.
    exit_code: u8,
}

/// Prints the agent behind `handle` until it ends. Returns the exit code.
pub async fn print(handle: Handle, options: PrintOptions) -> u8 {
    let stderr_is_terminal = std::io::stderr().is_terminal();
    let view = TextView::new(TextOptions {
        quiet: options.quiet,
        stdout_is_terminal: std::io::stdout().is_terminal(),
        stderr_is_terminal,
        colour: stderr_is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    });
    let output = Output::new(Stdout, std::io::stderr(), options.stop.clone());
    let printer = Printer::new(options.mode, view, output);
    let lines = options.input_json.then(|| tokio::io::BufReader::new(tokio::io::stdin()));
    follow(handle, options, lines, printer).await
}

/// Feeds the agent from `lines` and the printer from the agent.
async fn follow(
    handle: Handle,
    options: PrintOptions,
    lines: Option<impl AsyncBufRead + Unpin + Send + 'static>,
    mut printer: Printer,
) -> u8 {
    let Handle { inputs, mut events, cancel } = handle;
    let (complain, mut complaints) = channel(1);
    let accepted = Arc::new(Accepted::default());
    if let Some(prompt) = options.prompt {
        let prompt = Input::Prompt(vec![Block::text(prompt)]);
        accepted.count(&prompt);
        // A closed channel means that the agent is gone, which the event loop reports.
        let _ = inputs.send(prompt);
    }
    // Held and aborted below: stdin may stay silent for ever.
    let forwarder =
        lines.map(|lines| tokio::spawn(forward_lines(lines, inputs.clone(), complain, Arc::clone(&accepted))));
    drop(inputs);
    let mut late = None;
    let mut has_begun = false;
    loop {
        let more = tokio::select! {
            biased;
            () = options.stop.cancelled(), if late.is_none() => {
                cancel.cancel();
                late = Some(Instant::now() + END_PATIENCE);
                continue;
            }
            () = until(late) => break,
            // Before the events, but for the first: a line that was left out stands before the run that a later line began.
            Some(message) = complaints.recv(), if has_begun => {
                let mut more = vec![bad_input(message)];
                // Nonsense without end must not hold up the run.
                while more.len() < EVENTS_A_WRITE && let Ok(event) = events.try_recv() {
                    more.push(event);
                }
                more
            }
            more = next_events(&mut events, if has_begun { EVENTS_A_WRITE } else { 1 }) => match more {
                Some(more) => more,
                None => break,
            },
        };
        has_begun = true;
        if !printer.take(more).await {
            cancel.cancel();
            late = late.or_else(|| Some(Instant::now() + END_PATIENCE));
        }
    }
    while let Ok(message) = complaints.try_recv() {
        printer.take(vec![bad_input(message)]).await;
    }
    if let Some(forwarder) = forwarder {
        forwarder.abort();
    }
    printer.finish(late.is_some(), &accepted).await
}

fn bad_input(message: String) -> Event {
    Event::Warning { code: BAD_INPUT.to_owned(), message }
}

async fn next_events(events: &mut Receiver<Event>, most: usize) -> Option<Vec<Event>> {
    let mut batch = Vec::new();
    let count = events.recv_many(&mut batch, most).await;
    (count > 0).then_some(batch)
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Says that nothing could start. Returns the exit code.
pub fn start_failed(mode: Mode, error: &StartError) -> u8 {
    not_started(mode, RunOutcome::Failed { code: error.code, message: error.message.clone(), hint: error.hint.clone() })
}

/// Says that it was told to end before anything started. Returns the exit code.
pub fn start_interrupted(mode: Mode) -> u8 {
    not_started(mode, RunOutcome::Interrupted {})
}

fn not_started(mode: Mode, outcome: RunOutcome) -> u8 {
    let outcome = presentable(outcome);
    let code = exit_code(&outcome);
    explain(&outcome, false);
    if mode == Mode::Json {
        let event = run_end(outcome);
        let mut line = json_line(&event, code);
        line.push(b'\n');
        // A closed stdout leaves nobody to tell; stderr has the message.
        let _ = std::io::stdout().lock().write_all(&line);
    }
    code
}

fn run_end(outcome: RunOutcome) -> Event {
    Event::RunEnd { outcome, turns: 0, usage: Usage::default(), cost_usd: None, text: String::new() }
}

/// The line of an event; `code` goes into that of a `run_end`.
pub(crate) fn json_line(event: &Event, code: u8) -> Vec<u8> {
    let written = match event {
        Event::RunEnd { .. } => serde_json::to_vec(&WithExitCode { event, exit_code: code }),
        other => serde_json::to_vec(other),
    };
    written.expect("events hold only strings, numbers and JSON values")
}

/// Writes `codey: MESSAGE. HINT` to stderr, on one line whatever the texts hold.
pub fn complain(message: &str, hint: &str) {
    write_stderr(&complaint(message, hint));
}

/// Says on stderr why a run did not complete, in both modes and however quiet.
fn explain(outcome: &RunOutcome, is_kept: bool) {
    write_stderr(&explained(outcome, is_kept));
}

fn explained(outcome: &RunOutcome, is_kept: bool) -> String {
    explanation(outcome, is_kept).map_or_else(String::new, |(message, hint)| complaint(&message, &hint))
}

fn complaint(message: &str, hint: &str) -> String {
    let (message, hint) = (line::message_line(message), line::message_line(hint));
    let stop = if message.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}\n", format!("codey: {message}{stop} {hint}").trim_end())
}

fn write_stderr(text: &str) {
    // A closed stderr leaves nobody to tell.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

struct Printer {
    mode: Mode,
    output: Output,
    view: TextView,
    /// A run began and has not ended.
    running: bool,
    /// What was seen of it.
    seen: Seen,
    /// Messages that began a run or joined one.
    heard: u64,
    /// An input was left out.
    refused: bool,
    last: Option<RunOutcome>,
    open: bool,
}

impl Printer {
    fn new(mode: Mode, view: TextView, output: Output) -> Self {
        Self {
            mode,
            output,
            view,
            running: false,
            seen: Seen::default(),
            heard: 0,
            refused: false,
            last: None,
            open: true,
        }
    }

    /// Prints events; `false` when nobody reads any more.
    async fn take(&mut self, events: Vec<Event>) -> bool {
        let mut out = Vec::new();
        for event in events {
            let event = self.note(event);
            let mut shown = self.view.show(&event);
            if let Event::RunEnd { outcome, .. } = &event {
                shown.stderr.push_str(&explained(outcome, self.view.is_session_kept()));
            }
            match self.mode {
                Mode::Text => out.extend_from_slice(shown.stdout.as_bytes()),
                Mode::Json => {
                    let code = self.last.as_ref().map_or(0, exit_code);
                    out.extend_from_slice(&json_line(&event, code));
                    out.push(b'\n');
                }
            }
            if !shown.stderr.is_empty() {
                self.write(Chunk::Stdout(std::mem::take(&mut out))).await;
                self.write(Chunk::Stderr(shown.stderr)).await;
            }
        }
        self.write(Chunk::Stdout(out)).await;
        self.open
    }

    /// Keeps what the exit code depends on, and makes the event fit to be shown.
    fn note(&mut self, event: Event) -> Event {
        self.seen.note(&event);
        self.running |= matches!(event, Event::RunStart {});
        self.heard += u64::from(matches!(event, Event::RunStart {} | Event::Steering { .. }));
        if let Event::Warning { code, .. } = &event {
            self.refused |= matches!(code.as_str(), BAD_INPUT | EMPTY_INPUT);
        }
        let Event::RunEnd { outcome, turns, usage, cost_usd, text } = event else { return event };
        let outcome = presentable(outcome);
        self.running = false;
        self.last = Some(outcome.clone());
        Event::RunEnd { outcome, turns, usage, cost_usd, text }
    }

    async fn write(&mut self, chunk: Chunk) {
        let is_empty = match &chunk {
            Chunk::Stdout(bytes) => bytes.is_empty(),
            Chunk::Stderr(text) => text.is_empty(),
        };
        if self.open && !is_empty {
            self.open = self.output.write(chunk).await;
        }
    }

    /// Ends the runs that the agent did not end, waits for the reader and returns the exit code.
    async fn finish(mut self, told_to_end: bool, accepted: &Accepted) -> u8 {
        while let Some(outcome) = self.missing_end(told_to_end, accepted) {
            if !self.running {
                self.take(vec![Event::RunStart {}]).await;
            }
            let end = self.seen.end(outcome);
            self.take(end).await;
        }
        let code = self.last.as_ref().map_or(0, exit_code);
        match self.output.finish().await {
            Written::All => code,
            Written::GaveUp => {
                // Who is stuck has not read why it ended.
                let is_kept = self.view.is_session_kept();
                let why =
                    self.last.and_then(|outcome| explanation(&outcome, is_kept)).unwrap_or_else(|| cut_off(is_kept));
                let said = tokio::task::spawn_blocking(move || complain(&why.0, &why.1));
                let _ = tokio::time::timeout(STDERR_PATIENCE, said).await;
                if code == 0 { exit_code(&RunOutcome::Interrupted {}) } else { code }
            }
            // Who closed stdout knows.
            Written::ReaderGone => STDOUT_CLOSED,
            Written::Failed(error) => {
                complain(&format!("cannot write to stdout: {error}"), "Send it to another place.");
                1
            }
        }
    }

    /// How a run ended, where the agent did not say it.
    fn missing_end(&self, told_to_end: bool, accepted: &Accepted) -> Option<RunOutcome> {
        let is_short = self.running || self.heard < accepted.messages();
        if told_to_end {
            // Prompts that still waited need no end of their own after one that was interrupted.
            let is_said = !self.running && matches!(self.last, Some(RunOutcome::Interrupted {}));
            return ((is_short || self.last.is_none()) && !is_said).then_some(RunOutcome::Interrupted {});
        }
        if is_short {
            return Some(crashed(self.running));
        }
        // A program that only looks in may leave again; one that wanted something must not take silence for success.
        (self.refused && !accepted.any() && self.last.is_none()).then(nothing_asked)
    }
}

/// Message and hint for a run that completed while the reader of stdout was stuck.
fn cut_off(is_kept: bool) -> (String, String) {
    let hint = if is_kept { "The session file has all of it." } else { "" };
    ("interrupted before the reader of stdout took all of the output; the rest is lost".to_owned(), hint.to_owned())
}

fn nothing_asked() -> RunOutcome {
    RunOutcome::Failed {
        code: FailCode::Config,
        message: "nothing was asked: no line of stdin was a prompt".to_owned(),
        hint: format!("Send lines such as {PROMPT_LINE}."),
    }
}

/// How a run ended that the agent did not live to end, or to begin.
fn crashed(has_begun: bool) -> RunOutcome {
    let what = if has_begun { "" } else { "a prompt was not run: " };
    RunOutcome::Failed {
        code: FailCode::Internal,
        message: format!("{what}the agent stopped because of a bug in Codey"),
        hint: "The session is kept and --continue goes on; the log has the details.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    /// A stream that a test can look at.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Kept {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    /// Prints an agent that runs `runs` of its prompts and is then gone. Returns the exit code and both streams.
    async fn printed(lines: &'static str, runs: usize, stop: CancellationToken) -> (u8, Vec<String>, String) {
        let ((inputs, mut received), (events, receiver)) = (unbounded_channel(), channel(64));
        let cancel = CancellationToken::new();
        let handle = Handle { inputs, events: receiver, cancel: cancel.clone() };
        let agent = async move {
            let mut left = runs;
            while let Some(input) = received.recv().await {
                if left == 0 {
                    break;
                }
                if matches!(input, Input::Prompt(_) | Input::Steer(_)) {
                    left -= 1;
                    events.send(Event::RunStart {}).await.unwrap();
                    events.send(run_end(RunOutcome::Completed {})).await.unwrap();
                }
            }
            if cancel.is_cancelled() {
                events.send(Event::RunStart {}).await.unwrap();
                events.send(run_end(RunOutcome::Interrupted {})).await.unwrap();
            }
        };
        let (stdout, stderr) = (Kept::default(), Kept::default());
        let plain = TextOptions { quiet: false, stdout_is_terminal: false, stderr_is_terminal: false, colour: false };
        let output = Output::new(stdout.clone(), stderr.clone(), stop.clone());
        let printer = Printer::new(Mode::Json, TextView::new(plain), output);
        let options = PrintOptions { mode: Mode::Json, quiet: false, prompt: None, input_json: true, stop };
        let (code, ()) = tokio::join!(follow(handle, options, Some(lines.as_bytes()), printer), agent);
        let stdout = stdout.text();
        let count = |kind: &str| stdout.matches(&format!(r#""type":"{kind}""#)).count();
        assert_eq!(count("run_start"), count("run_end"), "{stdout}");
        (code, stdout.lines().map(str::to_owned).collect(), stderr.text())
    }

    const TWO: &str = "{\"type\":\"prompt\",\"text\":\"one\"}\n{\"type\":\"prompt\",\"text\":\"two\"}\n";

    async fn check(lines: &'static str, runs: usize, code: u8, last: &str, complaint: &str) {
        let (exit, stdout, stderr) = printed(lines, runs, CancellationToken::new()).await;
        assert_eq!(exit, code, "{lines}: {stdout:?} {stderr}");
        let end = stdout.last().map_or("", String::as_str);
        assert!(end.contains(last) && stderr.contains(complaint), "{lines}: {stdout:?} {stderr}");
    }

    #[tokio::test]
    async fn the_first_line_is_the_agents_however_early_a_bad_input_came() {
        let lines = "{\"type\":\"nonsense\"}\n{\"type\":\"prompt\",\"text\":\"one\"}\n";
        let (_, stdout, _) = printed(lines, 1, CancellationToken::new()).await;
        assert!(stdout[0].contains("run_start") && stdout[1].contains("bad_input"), "{stdout:?}");
    }

    #[tokio::test]
    async fn an_agent_that_is_gone_before_a_queued_prompt_crashed() {
        let not_run = "codey: a prompt was not run: the agent stopped because of a bug in Codey. ";
        check(TWO, 2, 0, r#""kind":"completed""#, "").await;
        check(TWO, 1, 1, r#""code":"internal""#, not_run).await;
        check(TWO, 0, 1, r#""code":"internal""#, not_run).await;
        // Without a run a steer is a prompt.
        let steered = "{\"type\":\"steer\",\"text\":\"one\"}\n{\"type\":\"prompt\",\"text\":\"two\"}\n";
        check(steered, 2, 0, r#""kind":"completed""#, "").await;
        check(steered, 1, 1, r#""code":"internal""#, not_run).await;
    }

    #[tokio::test]
    async fn each_prompt_that_the_agent_did_not_live_to_run_has_an_end() {
        let (code, stdout, stderr) = printed(TWO, 0, CancellationToken::new()).await;
        let kinds: Vec<&str> = stdout.iter().map(|line| line.split('"').nth(3).unwrap()).collect();
        assert_eq!((code, &kinds[..]), (1, &["run_start", "run_end", "run_start", "run_end"][..]), "{stdout:?}");
        assert_eq!(stderr.matches("codey: a prompt was not run: ").count(), 2, "{stderr}");
    }

    #[tokio::test]
    async fn an_agent_that_is_told_to_end_before_it_begins_a_run_was_interrupted() {
        let stop = CancellationToken::new();
        stop.cancel();
        let (code, stdout, _) = printed("", 0, stop).await;
        assert_eq!((code, stdout.len()), (3, 2), "{stdout:?}");
    }

    #[tokio::test]
    async fn a_byte_order_mark_costs_no_prompt() {
        check("\u{feff}{\"type\":\"prompt\",\"text\":\"one\"}\n", 9, 0, r#""kind":"completed""#, "").await;
    }

    #[tokio::test]
    async fn only_lines_that_are_no_prompt_are_no_success() {
        let asked = "codey: nothing was asked: no line of stdin was a prompt. Send lines such as ";
        check("nonsense\n", 9, 2, r#""code":"config""#, asked).await;
        check("{\"type\":\"fly\"}\n\n", 9, 2, r#""code":"config""#, asked).await;
        check("", 9, 0, "", "").await;
        check("\n{\"type\":\"interrupt\"}\n", 9, 0, "", "").await;
        check("nonsense\n{\"type\":\"compact\"}\n", 9, 0, "bad_input", "").await;
        check("nonsense\n{\"type\":\"prompt\",\"text\":\"one\"}\n", 9, 0, r#""kind":"completed""#, "").await;
    }

    #[tokio::test]
    async fn a_line_that_is_no_input_is_named_with_its_column() {
        let line = r#"input line 2 was ignored: unknown variant `a\u{1b}`, expected one of"#;
        let column = r#"(column 17); a line is one object, such as {"type":"prompt","text":"…"}"#;
        let (_, _, stderr) = printed("\n{\"type\":\"a\\u001b\"}\n", 9, CancellationToken::new()).await;
        assert!(stderr.contains(line) && stderr.contains(column), "{stderr}");
        let (_, _, stderr) = printed("{\"type\":\"prompt\"}\n", 9, CancellationToken::new()).await;
        assert!(stderr.contains("input line 1 was ignored: missing field `text`; a line is one object"), "{stderr}");
        let (_, _, stderr) = printed("7\n", 9, CancellationToken::new()).await;
        assert!(stderr.contains("expected an object with a type"), "{stderr}");
    }

    #[tokio::test]
    async fn prompts_that_waited_when_it_was_told_to_end_are_an_interrupt() {
        let stop = CancellationToken::new();
        stop.cancel();
        let (code, stdout, _) = printed(TWO, 2, stop).await;
        assert_eq!(code, 3, "{stdout:?}");
        assert_eq!(stdout.iter().filter(|line| line.contains(r#""kind":"interrupted""#)).count(), 1, "{stdout:?}");
    }

    #[test]
    fn what_a_server_said_cannot_break_the_line() {
        let failed = |message: &str, hint: &str| RunOutcome::Failed {
            code: FailCode::BadRequest,
            message: message.to_owned(),
            hint: hint.to_owned(),
        };
        let raw = ("a\nb: Is a directory (os error 21)", "h\u{1b}[2J");
        let shown = ("a\\nb: Is a directory", "h\\u{1b}[2J");
        assert_eq!(presentable(failed(raw.0, raw.1)), failed(shown.0, shown.1));
        assert_eq!(complaint(raw.0, raw.1), format!("codey: {}. {}\n", shown.0, shown.1));
    }
}
