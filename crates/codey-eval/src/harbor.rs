//! Task folders of Harbor, an engine that runs agents in containers: ours written as its, its read as ours.
//!
//! A Harbor task is `task.toml`, `instruction.md`, `environment/` (a Dockerfile and its context), `tests/test.sh`, which
//! writes a reward, and `solution/solve.sh`. `tests/` and `solution/` reach the container only when they are run.
//!
//! Source: Harbor 0.26, schema 1.4.

mod dockerfile;
mod export;
mod import;

pub use export::export;
pub use import::import;

/// The schema that exports follow.
const SCHEMA: &str = "1.4";
/// The table below `[metadata]` of Harbor's `task.toml` that keeps the rest of ours.
const OWN_TABLE: &str = "codey";
/// A variant's answer, in `solution/` of both.
const ANSWER: &str = "solution.answer.txt";
