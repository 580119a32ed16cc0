//! `--input json`: the person's side as NDJSON on stdin.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use codey_llm::{Block, CallId};
use codey_protocol::{Decision, Input};
use serde::Deserialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};
use tokio::sync::mpsc::{Sender, UnboundedSender};

/// Longest line that is read; more is a mistake of the sender. Source: contract section 1, the bound of piped prompts.
const LINE_BYTES: usize = 10 * 1024 * 1024;

/// What a line looks like, for error texts.
pub(crate) const PROMPT_LINE: &str = r#"{"type":"prompt","text":"…"}"#;

/// A line of `--input json`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields, expecting = "an object with a type")]
pub(crate) enum InputLine {
    /// Starts a run, or waits for the running one.
    Prompt {
        /// What is asked.
        text: String,
    },
    /// Joins the running run.
    Steer {
        /// What is said.
        text: String,
    },
    /// Answers an approval request.
    Resolve {
        /// Which call.
        call: CallId,
        /// `once`, `always_command`, `always_tool` or `reject`.
        decision: DecisionWord,
        /// Why it was rejected.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Ends the running run.
    Interrupt {},
    /// Makes the context smaller.
    Compact {
        /// What to keep.
        #[serde(default)]
        instruction: Option<String>,
    },
}

/// The word for an answer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum DecisionWord {
    /// Yes, this time.
    Once,
    /// Yes, for this exact command.
    AlwaysCommand,
    /// Yes, for this tool.
    AlwaysTool,
    /// No.
    Reject,
}

/// Inputs that were handed over, but for messages that say nothing: the agent leaves those out.
#[derive(Debug, Default)]
pub(crate) struct Accepted {
    any: AtomicBool,
    messages: AtomicU64,
}

impl Accepted {
    /// To be called before it is sent: the agent may fail as soon as it has it.
    pub(crate) fn count(&self, input: &Input) {
        let is_message = match input {
            Input::Prompt(blocks) | Input::Steer(blocks) if blocks.iter().all(is_blank) => return,
            Input::Prompt(_) | Input::Steer(_) => true,
            Input::Resolve { .. }
            | Input::Interrupt
            | Input::Compact { .. }
            | Input::Rewind { .. }
            | Input::SetMode(_)
            | Input::SetModel { .. } => false,
        };
        self.any.store(true, Ordering::Relaxed);
        self.messages.fetch_add(u64::from(is_message), Ordering::Relaxed);
    }

    /// Whether there was any.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Those that become a run or join one.
    pub(crate) fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }
}

fn is_blank(block: &Block) -> bool {
    block.as_text().is_some_and(|text| text.trim().is_empty())
}

impl From<InputLine> for Input {
    fn from(line: InputLine) -> Self {
        match line {
            InputLine::Prompt { text } => Self::Prompt(vec![Block::text(text)]),
            InputLine::Steer { text } => Self::Steer(vec![Block::text(text)]),
            InputLine::Resolve { call, decision, reason } => {
                let decision = match decision {
                    DecisionWord::Once => Decision::Once {},
                    DecisionWord::AlwaysCommand => Decision::AlwaysCommand {},
                    DecisionWord::AlwaysTool => Decision::AlwaysTool {},
                    DecisionWord::Reject => Decision::Reject { reason },
                };
                Self::Resolve { call, decision }
            }
            InputLine::Interrupt {} => Self::Interrupt,
            InputLine::Compact { instruction } => Self::Compact { instruction },
        }
    }
}

/// Sends each line of `reader` as an input until the reader or the agent ends. What is no input goes to `complaints`,
/// one text a line. Cancelled by drop.
pub(crate) async fn forward_lines(
    mut reader: impl AsyncBufRead + Unpin,
    inputs: UnboundedSender<Input>,
    complaints: Sender<String>,
    accepted: Arc<Accepted>,
) {
    let mut number = 0u64;
    loop {
        number += 1;
        let complaint = match next_line(&mut reader).await {
            Ok(None) => return,
            Ok(Some(Err(TooLong))) => format!("input line {number} was ignored: it is longer than {LINE_BYTES} bytes"),
            Ok(Some(Ok(line))) if line.trim_ascii().is_empty() => continue,
            Ok(Some(Ok(line))) => match serde_json::from_slice::<InputLine>(without_mark(&line, number)) {
                Ok(line) => {
                    let input = line.into();
                    accepted.count(&input);
                    if inputs.send(input).is_ok() {
                        continue;
                    }
                    return;
                }
                Err(error) => format!("input line {number} was ignored: {}", reason(&error)),
            },
            Err(error) => {
                // The reader cannot be trusted further; the end of input is what is left.
                let _ = complaints.send(format!("input ended at line {number}: {error}")).await;
                return;
            }
        };
        if complaints.send(complaint).await.is_err() {
            return;
        }
    }
}

/// The line without the byte order mark that some programs begin a text with.
fn without_mark(line: &[u8], number: u64) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").filter(|_| number == 1).unwrap_or(line)
}

/// What is wrong with a line; its own number is known already.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = text.strip_suffix(&place).unwrap_or(&text);
    // The parser has no column for what is wrong with the line as a whole.
    let column = if error.column() > 0 { format!(" (column {})", error.column()) } else { String::new() };
    format!("{what}{column}; a line is one object, such as {PROMPT_LINE}")
}

/// The next line without its end; `Err` inside for one that is too long, which is read to its end but not kept.
async fn next_line(reader: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<Result<Vec<u8>, TooLong>>> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            let rest = if is_too_long { Some(Err(TooLong)) } else { (!line.is_empty()).then_some(Ok(line)) };
            return Ok(rest);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        line.extend_from_slice(&available[..end.unwrap_or(taken)]);
        reader.consume(taken);
        if line.len() > LINE_BYTES {
            is_too_long = true;
            line.clear();
        }
        if end.is_some() {
            return Ok(Some(if is_too_long { Err(TooLong) } else { Ok(line) }));
        }
    }
}

/// A line over [`LINE_BYTES`].
struct TooLong;
