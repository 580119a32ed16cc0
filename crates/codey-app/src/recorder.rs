//! Metrics: one line a tool call, model request, edit and run in `.codey/events.jsonl`. Names, durations, sizes, tokens
//! and codes; no contents. Nothing leaves the machine.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use codey_llm::{CallId, Usage};
use codey_protocol::{CompactionKind, ErrorCode, Event, FailCode, RunOutcome, ToolDisplay, ToolKind};
use codey_tools::prepare_codey_dir;
use jiff::Timestamp;
use nix::fcntl::OFlag;
use serde::Serialize;

/// What its writes are called where they can be made to fail.
const METRICS: &str = "metrics";

/// Writes the metrics of one agent.
pub(crate) struct Recorder {
    root: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Opened at the first line of a run; `None` inside after a failure, which is logged once.
    file: Option<Option<File>>,
    session: Option<String>,
    model: String,
    endpoint: String,
    kinds: HashMap<CallId, ToolKind>,
    /// Tries of the current request that failed.
    retries: u32,
    /// `.codey` is as it should be, so that metrics may be written there.
    prepared: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    v: u32,
    at: String,
    session: Option<&'a str>,
    #[serde(flatten)]
    metric: Metric<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Metric<'a> {
    Tool {
        name: &'a str,
        code: Option<ErrorCode>,
        duration_ms: u64,
        bytes: u64,
    },
    Edit {
        tool: &'a str,
        outcome: Option<ErrorCode>,
        applied: bool,
        added: u32,
        removed: u32,
    },
    Request {
        model: &'a str,
        endpoint: &'a str,
        input: u64,
        output: u64,
        cache_read: u64,
        cache_write: u64,
        reasoning: u64,
        duration_ms: u64,
        retries: u32,
        /// Why it failed, if it did; the numbers are then those of nothing.
        code: Option<FailCode>,
    },
    Compaction {
        kind: CompactionKind,
        before_tokens: u64,
        after_tokens: u64,
    },
    Run {
        outcome: &'a RunOutcomeName,
        turns: u32,
    },
}

/// The kind of an outcome, without its message.
#[derive(Serialize)]
#[serde(transparent)]
struct RunOutcomeName(serde_json::Value);

impl Recorder {
    /// Records in the workspace at `root`; nothing is written before the first run.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, state: Mutex::default() }
    }

    /// Takes note of an event.
    pub(crate) fn record(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::SessionStart { session, model, endpoint, .. } => {
                state.session.clone_from(session);
                state.model.clone_from(model);
                state.endpoint.clone_from(endpoint);
            }
            Event::ToolStart { call, kind, .. } => {
                state.kinds.insert(call.clone(), *kind);
            }
            Event::ToolEnd { call, name, code, text, duration_ms, display } => {
                let bytes = text.len() as u64;
                let metric = Metric::Tool { name, code: *code, duration_ms: *duration_ms, bytes };
                self.write(&mut state, metric);
                if state.kinds.remove(call) == Some(ToolKind::Edit) {
                    let (added, removed) = match display {
                        ToolDisplay::Diff(diff) if code.is_none() => (diff.added, diff.removed),
                        _ => (0, 0),
                    };
                    let metric = Metric::Edit { tool: name, outcome: *code, applied: code.is_none(), added, removed };
                    self.write(&mut state, metric);
                }
            }
            Event::Retry { .. } => state.retries += 1,
            Event::Usage { request, duration_ms, .. } => {
                self.write_request(&mut state, request, *duration_ms, None);
            }
            Event::Message { node } => {
                if let Some(model) = &node.meta.model {
                    state.model.clone_from(model);
                }
                if let Some(endpoint) = &node.meta.endpoint {
                    state.endpoint.clone_from(endpoint);
                }
            }
            Event::Compaction { kind, before_tokens, after_tokens, .. } => {
                let metric =
                    Metric::Compaction { kind: *kind, before_tokens: *before_tokens, after_tokens: *after_tokens };
                self.write(&mut state, metric);
            }
            Event::RunEnd { outcome, turns, .. } => {
                if let RunOutcome::Failed { code, .. } = outcome
                    && is_about_a_request(*code)
                {
                    self.write_request(&mut state, &Usage::default(), 0, Some(*code));
                }
                let name = outcome_name(outcome);
                self.write(&mut state, Metric::Run { outcome: &name, turns: *turns });
            }
            Event::RunStart {} => {
                // The session's folder is made right after this event; by then git must not list it any more.
                state.retries = 0;
                // Opened anew: the one of the last run may have been deleted since.
                state.file = None;
                state.prepared = match prepare_codey_dir(&self.root) {
                    Ok(()) => true,
                    Err(error) => {
                        tracing::warn!(root = %self.root.display(), %error, "metrics are not kept");
                        false
                    }
                };
            }
            Event::PathReset { .. }
            | Event::TurnStart { .. }
            | Event::TextDelta { .. }
            | Event::ThinkingDelta { .. }
            | Event::ToolOutput { .. }
            | Event::ApprovalRequest { .. }
            | Event::ApprovalReply { .. }
            | Event::Steering { .. }
            | Event::Warning { .. } => {}
        }
    }

    fn write_request(&self, state: &mut State, usage: &Usage, duration_ms: u64, code: Option<FailCode>) {
        let retries = std::mem::take(&mut state.retries);
        let (model, endpoint) = (state.model.clone(), state.endpoint.clone());
        let metric = Metric::Request {
            model: &model,
            endpoint: &endpoint,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
            duration_ms,
            retries,
            code,
        };
        self.write(state, metric);
    }

    fn write(&self, state: &mut State, metric: Metric<'_>) {
        if !state.prepared {
            return;
        }
        let path = self.root.join(".codey/events.jsonl");
        let file = state.file.get_or_insert_with(|| {
            open_plain(&path)
                .inspect_err(|error| tracing::warn!(path = %path.display(), %error, "metrics are not kept"))
                .ok()
        });
        let Some(open) = file else { return };
        let line = Line { v: 1, at: format!("{:.3}", Timestamp::now()), session: state.session.as_deref(), metric };
        let mut bytes = serde_json::to_vec(&line).expect("metrics hold only strings and numbers");
        bytes.push(b'\n');
        // One write a line with O_APPEND, so that agents in one workspace do not mix theirs.
        if let Err(error) = codey_faults::write(open, &bytes, METRICS) {
            tracing::warn!(path = %path.display(), %error, "metrics are not kept any more");
            *file = None;
        }
    }
}

/// Opens the file to append to. Links are not followed and nothing but a plain file is opened: the folder may have come
/// with a repository.
fn open_plain(path: &Path) -> io::Result<File> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let mut file =
        OpenOptions::new().create(true).read(true).append(true).mode(0o600).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    let mut last = [b'\n'];
    if let Some(end) = found.len().checked_sub(1) {
        file.read_exact_at(&mut last, end)?;
    }
    if last != [b'\n'] {
        // Half a line that a killed Codey left must not take the next one along.
        codey_faults::write(&mut file, b"\n", METRICS)?;
    }
    Ok(file)
}

/// Whether a run that failed with this code failed at a request.
fn is_about_a_request(code: FailCode) -> bool {
    match code {
        FailCode::Auth
        | FailCode::RateLimit
        | FailCode::Quota
        | FailCode::Overloaded
        | FailCode::ServerError
        | FailCode::Network
        | FailCode::Stalled
        | FailCode::ContextOverflow
        | FailCode::ModelNotFound
        | FailCode::BadRequest => true,
        FailCode::OutputLimit | FailCode::Refusal | FailCode::Config | FailCode::Session | FailCode::Internal => false,
    }
}

/// The outcome without texts that may quote contents.
fn outcome_name(outcome: &RunOutcome) -> RunOutcomeName {
    let mut value = serde_json::to_value(outcome).unwrap_or_default();
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, _| matches!(key.as_str(), "kind" | "limit" | "code"));
    }
    RunOutcomeName(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_after_the_folder_was_deleted_is_recorded_again() {
        let root = tempfile::tempdir().unwrap();
        let recorder = Recorder::new(root.path().to_owned());
        let path = root.path().join(".codey/events.jsonl");
        let run = || {
            recorder.record(&Event::RunStart {});
            recorder.record(&Event::RunEnd {
                outcome: RunOutcome::Interrupted {},
                turns: 1,
                usage: Usage::default(),
                cost_usd: None,
                text: String::new(),
            });
            std::fs::read_to_string(&path).unwrap().lines().count()
        };
        assert_eq!((run(), run()), (1, 2));
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        assert_eq!(run(), 1);
    }

    #[test]
    fn what_a_killed_codey_left_half_written_spoils_no_line_but_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        for (before, after) in [("", "next\n"), ("one\n", "one\nnext\n"), ("one\ntw", "one\ntw\nnext\n")] {
            std::fs::write(&path, before).unwrap();
            codey_faults::write(&mut open_plain(&path).unwrap(), b"next\n", METRICS).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}
