//! One file for each subcommand.

mod context;
mod demo;
mod doctor;
mod models;
mod print;
mod resume;
mod sessions;

use std::io::Write as _;
use std::time::Duration;

use codey_app::{App, AppOptions};
use codey_print::{Mode, Stdout, complain, start_failed};
use codey_protocol::{HostError, StartError};

use crate::args::{Command, Usage, Verbosity};
use crate::environment::{Folders, check_limits, variables};
use crate::log;

/// Source: contract section 1, exit codes.
const WRONG_USAGE: u8 = 2;
const FAILED: u8 = 1;
/// Longer than any run: threads for what takes long are kept.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Runs a command; `mode` is how to say that it cannot start. Returns the exit code.
pub(crate) fn run(command: Command, mode: Mode) -> u8 {
    let folders = Folders::of_user();
    start_log(&folders, &command);
    if let Err(error) = check_limits() {
        return start_failed(mode, &error);
    }
    // One thread: a turn is a chain of small steps, and handing each to another thread costs more than the step. What
    // takes long (tools, reading stdin, writing to stdout, signals) has threads of its own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().thread_keep_alive(FOR_EVER).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let hint = "Free memory or raise the limit on threads.";
            return start_failed(mode, &StartError::config(format!("cannot start: {error}"), hint));
        }
    };
    // With one such thread, work that no other can be started for waits; with none at all the runtime panics. It cannot
    // fail but for a panic.
    let _ = runtime.block_on(async { tokio::task::spawn_blocking(|| {}).await });
    let (variables, undecodable) = variables();
    let app = App::new(AppOptions { variables, undecodable, config_folder: folders.config });
    let code = runtime.block_on(async {
        match command {
            Command::Prompt(args) => print::run(&app, args).await,
            Command::Demo(args) => demo::run(&app, args).await,
            Command::Sessions(args) => sessions::run(&app, args).await,
            Command::Resume(args) => resume::run(&app, args).await,
            Command::Models(args) => models::run(&app, args).await,
            Command::Context(args) => context::run(&app, args).await,
            Command::Doctor(args) => doctor::run(&app, args).await,
        }
    });
    // A thread may wait for stdin for ever.
    runtime.shutdown_background();
    code
}

fn start_log(folders: &Folders, command: &Command) {
    let verbosity = match command {
        Command::Prompt(args) => Some(args.output.verbosity),
        Command::Resume(args) => Some(args.output.verbosity),
        Command::Demo(args) => Some(args.verbosity),
        Command::Sessions(_) | Command::Models(_) | Command::Context(_) | Command::Doctor(_) => None,
    };
    log::start(folders.log.as_deref(), verbosity.map_or(0, |Verbosity { verbose, .. }| verbose));
}

/// Writes `text` to stdout. A reader that went away ends quietly.
pub(crate) fn say(text: &str) -> u8 {
    match Stdout.write_all(text.as_bytes()) {
        Ok(()) => 0,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => codey_print::STDOUT_CLOSED,
        Err(error) => {
            complain(&format!("cannot write to stdout: {error}"), "Send it to another place.");
            FAILED
        }
    }
}

/// Says why the command line cannot be followed.
pub(crate) fn refuse(usage: &Usage, mode: Mode) -> u8 {
    start_failed(mode, &StartError::config(&usage.message, &usage.hint))
}

fn host_failed(error: &HostError) -> u8 {
    complain(&error.message, &error.hint);
    WRONG_USAGE
}
