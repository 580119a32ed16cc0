//! `cargo xtask bench-turn`: what the harness adds to a turn, beside a loop without an agent.
//!
//! A server in this process answers at once and notes when each request was there and when each response was written;
//! everything between two notes is the program's own doing. Every run is one process in a repository of its own, with an
//! empty home. The subjects take turns, so that a slow minute of the machine hits all of them. The minimum is the figure
//! to compare; the median says how noisy the machine was.

mod answers;
mod floor;
mod meter;
mod report;
mod server;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

pub use floor::run as run_floor;
pub use meter::run as run_meter;

use meter::Measured;
use report::{Figure, Report, percentile};
use server::{Exchange, Server};

/// Turns of the long run.
const TURNS: usize = 200;
/// Turns of the run whose memory is looked at.
const SHORT_TURNS: usize = 50;
/// Deltas of the streamed answer.
const DELTAS: usize = 20_000;
/// Bytes a command prints in the run with much output.
const OUTPUT: usize = 50 * 1024 * 1024;
/// Turn of the long run and turn of the padded run in the middle of the windows that are compared.
const LATE: usize = 190;
const EARLY: usize = 20;
/// Turns on either side of such a middle.
const WINDOW: usize = 10;

/// Whose run it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Codey,
    Floor,
}

/// One finished run.
struct Run {
    measured: Measured,
    exchanges: Vec<Exchange>,
}

/// Measures everything `rounds` times, prints a table and fails if a bound does not hold.
pub fn run(root: &Path, rounds: usize) -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    if cfg!(debug_assertions) {
        // The floor is part of this program and has to be optimised as well.
        crate::cargo::run(root, &["build", "--release", "--locked", "-p", "codey", "-p", "xtask"], &[])?;
        let mut optimised = Command::new(target.join("release/xtask"));
        let status = optimised.args(["bench-turn", "--rounds", &rounds.to_string()]).status();
        ensure!(status.context("the optimised xtask cannot be started")?.success(), "see above");
        return Ok(());
    }
    let bench = Bench { codey: target.join("release/codey"), folder: tempfile::tempdir()? };
    let mut report = Report::default();
    // Not counted: warms the page cache, and tells how much larger the requests become.
    let warm = bench.job(Subject::Codey, answers::turns(TURNS, 0))?;
    let padding = warm.exchanges[LATE].bytes - warm.exchanges[EARLY].bytes;
    for round in 1..=rounds {
        bench.round(padding, &mut report).with_context(|| format!("round {round}"))?;
    }
    println!("{rounds} rounds, subjects in turn, {} cores", std::thread::available_parallelism()?);
    report.print()
}

struct Bench {
    codey: PathBuf,
    folder: tempfile::TempDir,
}

impl Bench {
    /// One run of every subject at every job.
    fn round(&self, padding: usize, report: &mut Report) -> Result<()> {
        let nothing = meter::measure(Command::new("/bin/true").env_clear())?;
        report.add(Figure::Version, Subject::Floor, millis(nothing.wall));
        let version = meter::measure(Command::new(&self.codey).arg("--version").env_clear())?;
        report.add(Figure::Version, Subject::Codey, millis(version.wall));
        for subject in [Subject::Codey, Subject::Floor] {
            let mut add = |figure, value| report.add(figure, subject, value);

            let hello = self.job(subject, answers::hello())?;
            let idle = hello.measured.cpu;
            add(Figure::FirstRequest, millis(hello.exchanges[0].received - hello.measured.started));
            add(Figure::FirstRequestBytes, hello.exchanges[0].bytes as f64);
            add(Figure::HelloMemory, megabytes(hello.measured));

            let turns = self.job(subject, answers::turns(TURNS, 0))?;
            let gaps = turns.gaps();
            add(Figure::Turn, percentile(&gaps, 50));
            add(Figure::TurnP95, percentile(&gaps, 95));
            add(Figure::TurnCpu, millis(turns.measured.cpu.saturating_sub(idle)) / TURNS as f64);

            let padded = self.job(subject, answers::turns(EARLY + WINDOW, padding))?;
            let (late, early) = (turns.around(LATE), padded.around(EARLY));
            let unequal = turns.exchanges[LATE].bytes.abs_diff(padded.exchanges[EARLY].bytes);
            ensure!(subject == Subject::Floor || unequal < 100, "the requests differ by {unequal} bytes");
            add(Figure::EarlyTurn, percentile(&early, 50));
            add(Figure::LateTurn, percentile(&late, 50));

            let short = self.job(subject, answers::turns(SHORT_TURNS, 0))?;
            add(Figure::TurnsMemory, megabytes(short.measured));

            let deltas = self.job(subject, answers::deltas(DELTAS))?;
            add(Figure::Delta, 1000.0 * millis(deltas.measured.cpu.saturating_sub(idle)) / DELTAS as f64);

            let output = self.job(subject, answers::output(OUTPUT))?;
            add(Figure::Output, output.measured.cpu.saturating_sub(idle).as_secs_f64());
            add(Figure::OutputMemory, megabytes(output.measured));
        }
        Ok(())
    }

    /// Runs `subject` in a new repository against a server that gives `responses`.
    fn job(&self, subject: Subject, responses: Vec<Vec<u8>>) -> Result<Run> {
        let folder = tempfile::tempdir_in(&self.folder)?;
        let repository = folder.path().join("repository");
        fs::create_dir(&repository)?;
        let made = Command::new("git").args(["init", "--quiet"]).current_dir(&repository).status();
        ensure!(made.context("git cannot be started")?.success(), "git init failed");
        let expected = responses.len();
        let server = Server::start(responses)?;
        let floor = std::env::current_exe()?;
        let (program, arguments) = match subject {
            Subject::Codey => (&self.codey, vec!["-p", "--always-approve", "--max-turns", "1000", "hello"]),
            Subject::Floor => (&floor, vec!["bench-floor"]),
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&repository).env_clear();
        command.env("PATH", path).env("HOME", folder.path());
        command.env("CODEY_BASE_URL", server.url()).env("CODEY_MODEL", OsStr::new("m"));
        let measured = meter::measure(&command)?;
        let (exchanges, connections) = server.notes();
        ensure!(exchanges.len() == expected, "{} requests instead of {expected}", exchanges.len());
        ensure!(connections == 1, "{connections} connections for one run");
        Ok(Run { measured, exchanges })
    }
}

impl Run {
    /// Milliseconds between each response and the request after it.
    fn gaps(&self) -> Vec<f64> {
        self.exchanges.windows(2).map(|pair| millis(pair[1].received.saturating_sub(pair[0].answered))).collect()
    }

    /// The gaps around one turn.
    fn around(&self, turn: usize) -> Vec<f64> {
        self.gaps()[turn - WINDOW..turn + WINDOW].to_vec()
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn megabytes(measured: Measured) -> f64 {
    measured.peak_kib as f64 / 1000.0 * 1.024
}
