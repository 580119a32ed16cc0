//! One file for each subcommand.

mod context;
mod demo;
mod doctor;
mod models;
mod print;
mod resume;
mod sessions;

use std::io::Write as _;
use std::path::PathBuf;

use codey_app::{App, AppOptions};
use codey_print::{Mode, start_failed};
use codey_protocol::{HostError, StartError};
use etcetera::base_strategy::{BaseStrategy as _, Xdg};

use crate::args::{Command, Usage, Verbosity};
use crate::log;

/// Source: contract section 1, exit codes.
pub(crate) const WRONG_USAGE: u8 = 2;

/// Runs a command. Returns the exit code.
pub(crate) fn run(command: Command) -> u8 {
    let folders = Xdg::new().ok();
    start_log(folders.as_ref(), &command);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return complain(&format!("cannot start: {error}"), "Free memory or raise the limit on threads.");
        }
    };
    let app = App::new(AppOptions {
        variables: std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
            .collect(),
        config_folder: folders.map(|folders| folders.config_dir().join("codey")),
    });
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

fn start_log(folders: Option<&Xdg>, command: &Command) {
    let state = folders.and_then(|folders| folders.state_dir());
    let folder: Option<PathBuf> = state.map(|state| state.join("codey/log"));
    let verbosity = match command {
        Command::Prompt(args) => Some(args.output.verbosity),
        Command::Resume(args) => Some(args.output.verbosity),
        Command::Demo(args) => Some(args.verbosity),
        Command::Sessions(_) | Command::Models(_) | Command::Context(_) | Command::Doctor(_) => None,
    };
    log::start(folder.as_deref(), verbosity.map_or(0, |Verbosity { verbose, .. }| verbose));
}

/// Writes `text` to stdout. A reader that went away ends quietly.
pub(crate) fn say(text: &str) -> u8 {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => 0,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => codey_print::STDOUT_CLOSED,
        Err(error) => complain(&format!("cannot write to stdout: {error}"), "Send it to another place."),
    }
}

/// Says why the command line cannot be followed.
pub(crate) fn refuse(usage: &Usage, wants_json: bool) -> u8 {
    if wants_json {
        let message = usage.0.lines().next().unwrap_or_default().trim_start_matches("error: ");
        return start_failed(Mode::Json, &StartError::config(message, "See codey --help."));
    }
    // A closed stderr leaves nobody to tell.
    let _ = std::io::stderr().lock().write_all(usage.0.as_bytes());
    WRONG_USAGE
}

/// `codey: MESSAGE. HINT` on stderr.
fn complain(message: &str, hint: &str) -> u8 {
    let line = format!("codey: {message}. {hint}");
    // A closed stderr leaves nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{}", line.trim_end());
    WRONG_USAGE
}

fn host_failed(error: &HostError) -> u8 {
    complain(&error.message, &error.hint)
}
