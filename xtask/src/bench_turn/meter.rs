//! What one process took, by the kernel's account.
//!
//! The kernel sums up the children of a process, so each measured program is the only child of a process of its own.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

/// A finished program and what it took, its own children included.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// When it was started, since the epoch.
    pub started: Duration,
    /// From its start to its end.
    pub wall: Duration,
    /// Processor time of it and of all it waited for, in user code and in the kernel.
    pub cpu: Duration,
    /// The largest resident size of any of them, in KiB.
    pub peak_kib: u64,
}

/// Runs `command` below a meter and returns what the meter says.
pub fn measure(command: &Command) -> Result<Measured> {
    let mut meter = Command::new(std::env::current_exe()?);
    meter.arg("bench-meter").arg("--").arg(command.get_program()).args(command.get_args());
    meter.env_clear().stdin(Stdio::null()).stderr(Stdio::piped());
    meter.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    meter.current_dir(command.get_current_dir().unwrap_or("/".as_ref()));
    let output = meter.output().context("the meter cannot be started")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with an error:\n{stderr}");
    serde_json::from_slice(&output.stdout).context("the meter printed something else")
}

/// The meter: runs a program without input or output, prints what it took, fails if it does.
pub fn run(program: &[String]) -> Result<()> {
    let (name, arguments) = program.split_first().context("no program")?;
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let started = now();
    let clock = Instant::now();
    let status = command.status().with_context(|| format!("{name} cannot be started"))?;
    let wall = clock.elapsed();
    ensure!(status.success(), "{name} ended with {status}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = duration(usage.user_time()) + duration(usage.system_time());
    let peak_kib = u64::try_from(usage.max_rss())?;
    println!("{}", serde_json::to_string(&Measured { started, wall, cpu, peak_kib })?);
    Ok(())
}

/// The time since the epoch: processes can compare it, as they cannot an `Instant`.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock stands after 1970")
}

fn duration(time: TimeVal) -> Duration {
    Duration::new(time.tv_sec().unsigned_abs(), u32::try_from(time.tv_usec()).unwrap_or(0) * 1000)
}
