//! Runs the workspace's tests with cargo-nextest, or with cargo alone where that is not installed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use regex::Regex;

use crate::cargo;

/// Runs all tests of the workspace but the doctests; the last line printed is a summary of all.
pub fn run(root: &Path) -> Result<()> {
    if cargo::works(root, &["nextest", "--version"]) {
        let arguments = ["nextest", "run", "--workspace", "--locked", "--no-fail-fast", "--no-tests", "fail"];
        return cargo::run(root, &arguments, &[]);
    }
    let mut command = cargo::command(root, &["test", "--workspace", "--all-targets", "--locked", "--no-fail-fast"])?;
    let mut child = command.stdout(Stdio::piped()).spawn().context("cargo cannot be started")?;
    let mut total = Total::new();
    // Read as bytes: a test may print anything.
    for line in BufReader::new(child.stdout.take().expect("stdout is piped")).split(b'\n') {
        let line = line.context("the output of cargo cannot be read")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        total.add(&line);
    }
    let status = child.wait().context("cargo cannot be waited for")?;
    println!("\n{}", total.summary());
    ensure!(status.success(), "cargo test ended with {status}");
    ensure!(total.passed > 0, "no test ran");
    Ok(())
}

/// Runs the tests so that snapshots and golden files are written instead of compared.
pub fn bless(root: &Path, arguments: &[String]) -> Result<()> {
    let runner: &[&str] = if cargo::works(root, &["nextest", "--version"]) { &["nextest", "run"] } else { &["test"] };
    let scope: &[&str] = if arguments.is_empty() { &["--workspace"] } else { &[] };
    let given = arguments.iter().map(String::as_str);
    let command = runner.iter().chain(scope).copied().chain(given).collect::<Vec<_>>();
    cargo::run(root, &command, &[("INSTA_UPDATE", "always"), ("CODEY_BLESS", "1")])
}

/// Adds up what each test binary reports at its end.
struct Total {
    pattern: Regex,
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Total {
    fn new() -> Self {
        let pattern = r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;";
        Self { pattern: Regex::new(pattern).expect("the pattern is valid"), passed: 0, failed: 0, ignored: 0 }
    }

    fn add(&mut self, line: &str) {
        let Some(counts) = self.pattern.captures(line) else { return };
        let count = |index: usize| counts[index].parse::<u64>().unwrap_or_default();
        self.passed += count(1);
        self.failed += count(2);
        self.ignored += count(3);
    }

    fn summary(&self) -> String {
        let Self { passed, failed, ignored, .. } = self;
        let verdict = if *failed == 0 { "ok" } else { "FAILED" };
        format!("test result: {verdict}. {passed} passed; {failed} failed; {ignored} ignored")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_adds_up_all_binaries() {
        let mut total = Total::new();
        for line in [
            "running 2 tests",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "a test that prints test result: ok. 9 passed; 0 failed; 0 ignored; inside a line",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
        ] {
            total.add(line);
        }
        assert_eq!(total.summary(), "test result: FAILED. 5 passed; 1 failed; 1 ignored");
    }

    #[test]
    fn without_failures_the_summary_is_ok() {
        assert_eq!(Total::new().summary(), "test result: ok. 0 passed; 0 failed; 0 ignored");
    }
}
