//! `cargo xtask ci`: every check, in order, until one fails.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::{cargo, known_failures, runner};

/// A check. The order is the order of running: cheap ones first, the tests last, since their summary has to be the
/// last thing printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Step {
    Fmt,
    Clippy,
    Doc,
    Deny,
    KnownFailures,
    Doctests,
    Evals,
    Tests,
}

/// How a step ended that did not fail.
enum Outcome {
    Passed,
    Skipped(&'static str),
}

/// Runs all steps, or one alone.
pub fn run(root: &Path, only: Option<Step>) -> Result<()> {
    for step in Step::value_variants().iter().filter(|step| only.is_none_or(|only| only == **step)) {
        println!("== {}", step.name());
        let start = Instant::now();
        let outcome = step.run(root);
        let seconds = start.elapsed().as_secs_f32();
        match outcome.with_context(|| format!("step {} failed after {seconds:.1} s", step.name()))? {
            // Nothing may follow the test runner's summary.
            Outcome::Passed if *step == Step::Tests => {}
            Outcome::Passed => println!("== {}: passed, {seconds:.1} s", step.name()),
            Outcome::Skipped(why) => println!("== {}: skipped, {why}", step.name()),
        }
    }
    Ok(())
}

impl Step {
    fn name(self) -> String {
        self.to_possible_value().expect("no step is hidden").get_name().to_owned()
    }

    fn run(self, root: &Path) -> Result<Outcome> {
        match self {
            Self::Fmt => cargo::run(root, &["fmt", "--all", "--check"], &[])?,
            Self::Clippy => {
                let arguments = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
                cargo::run(root, &arguments, &[])?;
            }
            Self::Doc => {
                let arguments = ["doc", "--workspace", "--no-deps", "--locked"];
                cargo::run(root, &arguments, &[("RUSTDOCFLAGS", "-D warnings")])?;
            }
            Self::Deny if !cargo::works(root, &["deny", "--version"]) => {
                return Ok(Outcome::Skipped(
                    "cargo-deny is not installed; the tests of xtask check licences, sources and bans of this platform",
                ));
            }
            Self::Deny => cargo::run(root, &["deny", "--locked", "check", "bans", "licenses", "sources"], &[])?,
            Self::KnownFailures => known_failures::check(root)?,
            Self::Doctests => cargo::run(root, &["test", "--doc", "--workspace", "--locked"], &[])?,
            // Without a model: whether the suite's checkers can tell right from wrong.
            Self::Evals => cargo::run(root, &["run", "--quiet", "--locked", "-p", "codey-evals", "--", "verify"], &[])?,
            Self::Tests => runner::run(root)?,
        }
        Ok(Outcome::Passed)
    }
}
