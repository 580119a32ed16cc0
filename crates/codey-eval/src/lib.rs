//! Whether Codey gets better: tasks, repeated runs, verification by programs, statistics, reports.
//!
//! A consumer like the front ends: it starts agents through [`codey_protocol::Host`] or as a program, and must not know
//! the core. What is true of a run is decided by the task's own program, never by what the agent says.

mod agents;
mod campaign;
mod check;
mod compare;
mod document;
mod figures;
pub mod harbor;
mod metrics;
mod plot;
mod program;
mod record;
mod report;
mod run;
#[cfg(test)]
mod samples;
mod stats;
mod swebench;
mod task;
mod workspace;

pub use campaign::{Campaign, Plan, calibrate};
pub use check::{Proof, prove, verify};
pub use compare::{Comparison, Conclusion, Estimate, Pairs, TaskPair, compare};
pub use figures::{CodeCount, Figures, Mean, PassAll, Spread, ToolFigures};
pub use metrics::{MarkerError, update_metrics};
pub use plot::plot;
pub use record::{Agent, RunRecord, ToolCounts, Verdict, Via};
pub use report::{Collateral, Report, RunName, VoidRuns};
pub use run::Runner;
pub use stats::Interval;
pub use swebench::{patch, predictions};
pub use task::{Change, Spec, SuiteError, Task, Variant, load_suite};
pub use workspace::{Tree, Workspace, difference};
