//! The consumer: events in, lines out, an exit code at the end.

use std::io::{IsTerminal as _, Write};
use std::time::Duration;

use codey_llm::{Block, Usage};
use codey_protocol::{Event, FailCode, Handle, Input, RunOutcome, StartError};
use serde::Serialize;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::exit::{STDOUT_CLOSED, exit_code, explanation};
use crate::input::forward_lines;
use crate::output::{Chunk, Output, Written};
use crate::text::{TextOptions, TextView, one_line};

/// Events that are turned into one write.
const EVENTS_A_WRITE: usize = 128;
/// How long the agent may take to end its run after it was told to, before the process goes anyway.
const END_PATIENCE: Duration = Duration::from_secs(2);

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
struct WithExitCode<'a> {
    #[serde(flatten)]
    event: &'a Event,
    exit_code: u8,
}

/// Prints the agent behind `handle` until it ends. Returns the exit code.
pub async fn print(handle: Handle, options: PrintOptions) -> u8 {
    let Handle { inputs, mut events, cancel } = handle;
    let (complain, mut complaints) = channel(1);
    let prompted = options.prompt.is_some();
    if let Some(prompt) = options.prompt {
        // A closed channel means that the agent is gone, which the event loop reports.
        let _ = inputs.send(Input::Prompt(vec![Block::text(prompt)]));
    }
    // Held and aborted below: stdin may stay silent for ever.
    let forwarder = options.input_json.then(|| {
        let stdin = tokio::io::BufReader::new(tokio::io::stdin());
        tokio::spawn(forward_lines(stdin, inputs.clone(), complain))
    });
    drop(inputs);
    let mut printer = Printer::new(options.mode, options.quiet, options.stop.clone());
    let mut late = None;
    loop {
        tokio::select! {
            biased;
            () = options.stop.cancelled(), if late.is_none() => {
                cancel.cancel();
                late = Some(Instant::now() + END_PATIENCE);
            }
            () = until(late) => break,
            more = next_events(&mut events) => match more {
                Some(more) => {
                    if !printer.take(&more).await {
                        cancel.cancel();
                        late = late.or_else(|| Some(Instant::now() + END_PATIENCE));
                    }
                }
                None => break,
            },
            Some(message) = complaints.recv() => {
                printer.take(&[bad_input(message)]).await;
            }
        }
    }
    while let Ok(message) = complaints.try_recv() {
        printer.take(&[bad_input(message)]).await;
    }
    if let Some(forwarder) = forwarder {
        forwarder.abort();
    }
    printer.finish(late.is_some(), prompted).await
}

fn bad_input(message: String) -> Event {
    Event::Warning { code: "bad_input".to_owned(), message }
}

async fn next_events(events: &mut Receiver<Event>) -> Option<Vec<Event>> {
    let mut batch = Vec::new();
    let count = events.recv_many(&mut batch, EVENTS_A_WRITE).await;
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
    let code = exit_code(&outcome);
    complain(&outcome, false);
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

fn json_line(event: &Event, code: u8) -> Vec<u8> {
    let written = match event {
        Event::RunEnd { .. } => serde_json::to_vec(&WithExitCode { event, exit_code: code }),
        other => serde_json::to_vec(other),
    };
    written.expect("events hold only strings, numbers and JSON values")
}

/// `codey: MESSAGE. HINT` on stderr, in both modes and however quiet.
fn complain(outcome: &RunOutcome, is_kept: bool) {
    if let Some(line) = complaint(outcome, is_kept) {
        write_stderr(&line);
    }
}

fn complaint(outcome: &RunOutcome, is_kept: bool) -> Option<String> {
    let (message, hint) = explanation(outcome, is_kept)?;
    let message = one_line(&message);
    let stop = if message.ends_with(['.', '!', '?']) { "" } else { "." };
    let line = format!("codey: {message}{stop} {}", one_line(&hint));
    Some(format!("{}\n", line.trim_end()))
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
    last: Option<RunOutcome>,
    open: bool,
}

impl Printer {
    fn new(mode: Mode, quiet: bool, stop: CancellationToken) -> Self {
        let stderr_is_terminal = std::io::stderr().is_terminal();
        let view = TextView::new(TextOptions {
            quiet,
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal,
            colour: stderr_is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        });
        let output = Output::new(std::io::stdout(), std::io::stderr(), stop);
        Self { mode, output, view, running: false, last: None, open: true }
    }

    /// Prints events; `false` when nobody reads any more.
    async fn take(&mut self, events: &[Event]) -> bool {
        let mut out = Vec::new();
        for event in events {
            match event {
                Event::RunStart {} => self.running = true,
                Event::RunEnd { outcome, .. } => {
                    self.running = false;
                    self.last = Some(outcome.clone());
                }
                _ => {}
            }
            let mut shown = self.view.show(event);
            if let Event::RunEnd { outcome, .. } = event {
                shown.stderr.push_str(&complaint(outcome, self.view.is_session_kept()).unwrap_or_default());
            }
            match self.mode {
                Mode::Text => out.extend_from_slice(shown.stdout.as_bytes()),
                Mode::Json => {
                    let code = self.last.as_ref().map_or(0, exit_code);
                    out.extend_from_slice(&json_line(event, code));
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

    async fn write(&mut self, chunk: Chunk) {
        let is_empty = match &chunk {
            Chunk::Stdout(bytes) => bytes.is_empty(),
            Chunk::Stderr(text) => text.is_empty(),
        };
        if self.open && !is_empty {
            self.open = self.output.write(chunk).await;
        }
    }

    /// Waits for the reader and returns the exit code.
    async fn finish(mut self, told_to_end: bool, prompted: bool) -> u8 {
        if self.running || (self.last.is_none() && (told_to_end || prompted)) {
            let outcome = if told_to_end { RunOutcome::Interrupted {} } else { crashed() };
            self.take(&[run_end(outcome)]).await;
        }
        let code = self.last.as_ref().map_or(0, exit_code);
        match self.output.finish().await {
            Written::All => code,
            // Who is stuck or gone has not read why it ended; who closed stdout knows.
            Written::GaveUp => {
                self.last.iter().for_each(|outcome| complain(outcome, self.view.is_session_kept()));
                code
            }
            Written::ReaderGone => STDOUT_CLOSED,
            Written::Failed(error) => {
                write_stderr(&format!("codey: cannot write to stdout: {error}. Send it to another place.\n"));
                1
            }
        }
    }
}

fn crashed() -> RunOutcome {
    RunOutcome::Failed {
        code: FailCode::Internal,
        message: "the agent stopped because of a bug in Codey".to_owned(),
        hint: "The session is kept and --continue goes on; the log has the details.".to_owned(),
    }
}
