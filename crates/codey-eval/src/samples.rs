//! Records for tests.

use codey_llm::Usage;
use codey_protocol::RunOutcome;

use crate::record::{Agent, RunRecord, Verdict, Via};

/// A run that solved the task: two turns, 1,100 tokens in of which 1,000 cached, 50 out, one file changed.
pub(crate) fn solved(task: &str, number: u32) -> RunRecord {
    RunRecord {
        v: 1,
        task: task.into(),
        category: "fix".into(),
        number,
        agent: Agent::Model,
        model: "m".into(),
        endpoint: "http://localhost".into(),
        via: Via::Lib,
        version: "0.1.0".into(),
        started_at: "2026-12-01T00:00:00.000Z".into(),
        verdict: Verdict::Solved {},
        outcome: Some(RunOutcome::Completed {}),
        answer: "Done.".into(),
        turns: 2,
        usage: Some(Usage { input: 100, output: 50, cache_read: 1_000, ..Usage::default() }),
        cost_usd: Some(0.02),
        wall_ms: 3_000,
        model_ms: 2_000,
        tools_ms: 500,
        tools: [].into(),
        retries: 0,
        cache_breaks: None,
        folds: None,
        changed: vec!["a.rs".into()],
        collateral: Vec::new(),
        transcript: "1.ndjson".into(),
        session: None,
    }
}

/// The same run, but the task's program refuses it.
pub(crate) fn unsolved(task: &str, number: u32) -> RunRecord {
    RunRecord { verdict: Verdict::Unsolved { reason: "tests fail".into() }, ..solved(task, number) }
}

/// A run in which nothing was measured, and nothing is known.
pub(crate) fn void(task: &str, number: u32, reason: &str) -> RunRecord {
    let verdict = Verdict::Void { reason: reason.into() };
    RunRecord { verdict, turns: 0, usage: None, cost_usd: None, changed: Vec::new(), ..solved(task, number) }
}

/// Runs of tasks by letter, `+` solved, `-` unsolved, `0` void: `a++- b0--` are three runs each of `a` and `b`.
pub(crate) fn runs(sketch: &str) -> Vec<RunRecord> {
    let of_task = |word: &str| {
        let (task, results) = word.split_at(1);
        let run = |(number, result)| match result {
            '+' => solved(task, number),
            '-' => unsolved(task, number),
            '0' => void(task, number, "no model"),
            other => panic!("{other} is no result"),
        };
        (1..).zip(results.chars()).map(run).collect::<Vec<_>>()
    };
    sketch.split_whitespace().flat_map(of_task).collect()
}
