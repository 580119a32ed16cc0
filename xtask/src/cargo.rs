//! Running cargo from inside a cargo task.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Runs cargo and fails if it does.
pub fn run(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let mut command = command(root, arguments)?;
    let status = command.envs(environment.iter().copied()).status().context("cargo cannot be started")?;
    ensure!(status.success(), "cargo {} ended with {status}", arguments.join(" "));
    Ok(())
}

/// Prepares a cargo command, and prints it. Its stderr goes to our stdout: one stream keeps the order, and the test
/// runner writes its summary to stderr.
pub fn command(root: &Path, arguments: &[&str]) -> Result<Command> {
    println!("$ cargo {}", arguments.join(" "));
    let mut command = program();
    let stdout = io::stdout().as_fd().try_clone_to_owned().context("stdout is closed")?;
    command.current_dir(root).args(arguments).stdin(Stdio::null()).stderr(stdout);
    Ok(command)
}

/// Says whether a cargo subcommand is there and works.
pub fn works(root: &Path, arguments: &[&str]) -> bool {
    let mut command = program();
    command.current_dir(root).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The cargo that runs this program, so that a chosen toolchain stays chosen.
pub fn program() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
