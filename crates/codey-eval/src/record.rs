//! What is kept of a run.

use std::collections::BTreeMap;

use codey_llm::Usage;
use codey_protocol::RunOutcome;
use serde::{Deserialize, Serialize};

/// What a task's program and rules say of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// The task is solved.
    Solved {},
    /// It is not.
    Unsolved {
        /// Why, one line.
        reason: String,
    },
    /// Nothing was measured (no model, no toolchain, a broken task): the run is in no rate.
    Void {
        /// Why, one line.
        reason: String,
    },
}

/// Who does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// The configured model.
    Model,
    /// A script that does what the task's solution says.
    Oracle,
    /// A script that answers at once.
    Nop,
    /// A script that does nothing and says it is done.
    Liar,
}

/// How the agent was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// As a library, in this process.
    Lib,
    /// As `codey -p --mode json`.
    Print,
}

/// Calls of one tool in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCounts {
    /// Settled calls.
    pub calls: u64,
    /// Those that failed, by error code.
    pub errors: BTreeMap<String, u64>,
    /// Wall time of all, milliseconds.
    pub ms: u64,
}

/// One run of one task, as `evals/runs/<time>/<task>/<n>.json` keeps it.
///
/// `None` in a figure means not measured, never zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of this shape: 1.
    pub v: u32,
    /// The task's name.
    pub task: String,
    /// Its category.
    pub category: String,
    /// Which repeat, from 1.
    pub number: u32,
    /// Who did it.
    pub agent: Agent,
    /// The model, as the session named it.
    pub model: String,
    /// Where it was asked.
    pub endpoint: String,
    /// How it was started.
    pub via: Via,
    /// Codey's version.
    pub version: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// Whether the task is solved.
    pub verdict: Verdict,
    /// How the agent's run ended; `None`: it did not (time-out, crash).
    pub outcome: Option<RunOutcome>,
    /// The last answer.
    pub answer: String,
    /// Model responses.
    pub turns: u32,
    /// Tokens; `None`: nobody reported any.
    pub usage: Option<Usage>,
    /// Cost; `None`: a price is unknown.
    pub cost_usd: Option<f64>,
    /// From the prompt to the end of the run, milliseconds.
    pub wall_ms: u64,
    /// Of that, waiting for the model.
    pub model_ms: u64,
    /// Sum over all tool calls; calls that ran side by side count each.
    pub tools_ms: u64,
    /// Calls by tool.
    pub tools: BTreeMap<String, ToolCounts>,
    /// Requests tried again.
    pub retries: u64,
    /// Requests whose prefix missed the cache because it changed.
    pub cache_breaks: Option<u64>,
    /// Times context was folded into a summary.
    pub folds: Option<u64>,
    /// Files that differ from the start, sorted; `.git` and `.codey` aside.
    pub changed: Vec<String>,
    /// Those of them that the reference solution leaves alone.
    pub collateral: Vec<String>,
    /// The transcript's file (NDJSON events), beside this record.
    pub transcript: String,
    /// The session's file, beside this record.
    pub session: Option<String>,
}

impl RunRecord {
    /// Whether the run counts: `None` for void runs, else whether it solved the task.
    pub fn solved(&self) -> Option<bool> {
        match self.verdict {
            Verdict::Solved {} => Some(true),
            Verdict::Unsolved { .. } => Some(false),
            Verdict::Void { .. } => None,
        }
    }
}
