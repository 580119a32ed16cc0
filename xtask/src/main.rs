//! Development tasks: `cargo xtask ci` is the judge of what can be checked by machine.
//!
//! The rules about the workspace itself (which crate may use which, which licences are accepted) are tests of this
//! crate, in `layers`, `dependencies` and `doc_examples`, so that `cargo test` alone finds a breach.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a program for developers; its output is its purpose

mod bench_turn;
mod cargo;
mod ci;
mod known_failures;
mod runner;
mod size;
mod sources;

#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod doc_examples;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod metadata;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Development tasks of the Codey workspace")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs every check in order and stops at the first that fails
    Ci {
        /// Runs this step alone
        #[arg(long, hide = true, value_name = "STEP")]
        only: Option<ci::Step>,
    },
    /// Runs the tests and accepts what they produce as the new snapshots and golden files
    Bless {
        /// Arguments for the test runner, such as `-p codey-session`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Lists the largest files and functions without their tests, to look at
    Size,
    /// Measures what the harness costs: start, turns, deltas, output, memory
    BenchTurn {
        /// How often each figure is taken
        #[arg(long, default_value_t = 50)]
        rounds: usize,
    },
    /// The loop without an agent that `bench-turn` compares with; asks the server in CODEY_BASE_URL
    #[command(hide = true)]
    BenchFloor,
    /// Runs a program and prints what it took
    #[command(hide = true)]
    BenchMeter {
        /// The program and its arguments
        #[arg(last = true)]
        program: Vec<String>,
    },
}

fn main() -> ExitCode {
    let root = workspace_root();
    let result = match Arguments::parse().task {
        Task::Ci { only } => ci::run(&root, only),
        Task::Bless { arguments } => runner::bless(&root, &arguments),
        Task::Size => size::print(&root),
        Task::BenchTurn { rounds } => bench_turn::run(&root, rounds),
        Task::BenchFloor => bench_turn::run_floor(),
        Task::BenchMeter { program } => bench_turn::run_meter(&program),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // On stderr, so that the test runner's summary stays the last thing on stdout.
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The folder that holds the workspace's `Cargo.toml`.
fn workspace_root() -> PathBuf {
    // cargo sets the variable for what it runs; the compiled-in path would be stale after the checkout moved.
    let crate_folder =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    crate_folder.parent().expect("xtask lies in the workspace root").to_owned()
}
