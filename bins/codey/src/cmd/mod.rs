//! One file for each subcommand.

mod context;
mod demo;
mod doctor;
mod models;
mod print;
mod resume;
mod sessions;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use codey_app::{App, AppOptions};
use codey_print::{Mode, complain, start_failed};
use codey_protocol::{HostError, StartError};
use etcetera::base_strategy::{BaseStrategy as _, Xdg};
use nix::sys::resource::{Resource, getrlimit};

use crate::args::{Command, Usage, Verbosity};
use crate::log;

/// Source: contract section 1, exit codes.
const WRONG_USAGE: u8 = 2;
const FAILED: u8 = 1;
/// Files that may be open at once for a request and the calls of a turn; with fewer than 24 commands could not start.
const LEAST_FILES: u64 = 32;

/// Runs a command; `mode` is how to say that it cannot start. Returns the exit code.
pub(crate) fn run(command: Command, mode: Mode) -> u8 {
    let folders = Folders::of_user();
    start_log(&folders, &command);
    // Asked first: with fewer the runtime panics instead of returning an error.
    if let Ok((most, _)) = getrlimit(Resource::RLIMIT_NOFILE)
        && most < LEAST_FILES
    {
        let hint = format!("Raise the limit, as with ulimit -n {}.", 8 * LEAST_FILES);
        let message = format!("cannot start: no more than {most} files may be open at once");
        return start_failed(mode, &StartError::config(message, hint));
    }
    // One thread: a turn is a chain of small steps, and handing each to another thread costs more than the step. What
    // takes long (tools, reading stdin, writing to stdout, signals) has threads of its own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let hint = "Free memory or raise the limit on threads.";
            return start_failed(mode, &StartError::config(format!("cannot start: {error}"), hint));
        }
    };
    let (variables, undecodable) = variables(std::env::vars_os());
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

/// Where the user's own files lie.
struct Folders {
    config: Option<PathBuf>,
    log: Option<PathBuf>,
}

impl Folders {
    /// By the environment. A folder that is relative, because HOME is, counts as none: it would lie in whatever
    /// repository Codey is started in, and what stands there is not the user's.
    fn of_user() -> Self {
        let folders = Xdg::new().ok();
        let absolute = |folder: PathBuf| folder.is_absolute().then_some(folder);
        let config = folders.as_ref().and_then(|folders| absolute(folders.config_dir().join("codey")));
        let log = folders.and_then(|folders| absolute(folders.state_dir()?.join("codey/log")));
        Self { config, log }
    }
}

/// Warnings, as code and message, about variables that are not followed.
fn ignored_variables() -> Vec<(String, String)> {
    let home = std::env::var_os("HOME").filter(|home| !Path::new(home).is_absolute()).map(|home| {
        format!("HOME is {home:?}, which is no absolute path, so no settings and keys are read from there")
    });
    let level = std::env::var_os("CODEY_LOG").filter(|level| !level.is_empty() && !log::is_level(level)).map(|level| {
        format!("CODEY_LOG is {level:?} and not error, warn, info, debug, trace or off, so warnings are logged")
    });
    home.into_iter().chain(level).map(|message| ("variable_ignored".to_owned(), message)).collect()
}

/// Variables by name, and the names of those whose value is no text.
fn variables(all: impl Iterator<Item = (OsString, OsString)>) -> (HashMap<String, String>, HashSet<String>) {
    let (mut variables, mut undecodable) = (HashMap::new(), HashSet::new());
    // A name that is no text is one that nobody asks for.
    for (name, value) in all.filter_map(|(name, value)| Some((name.into_string().ok()?, value))) {
        match value.into_string() {
            Ok(value) => drop(variables.insert(name, value)),
            Err(_) => drop(undecodable.insert(name)),
        }
    }
    (variables, undecodable)
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
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
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
