//! What surrounds the process: folders, variables and limits.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use codey_protocol::StartError;
use etcetera::base_strategy::{BaseStrategy as _, Xdg};
use nix::sys::resource::{Resource, getrlimit};

use crate::log;

/// Files that may be open at once for a request and the calls of a turn; with fewer than 24 commands could not start.
const LEAST_FILES: u64 = 32;
/// Threads beside the first that a run begins with: signals, the streams, a read of stdin, and one for what takes long.
const LEAST_THREADS: usize = 4;

/// Whether there is room to run at all. Asked first: with less the runtime panics instead of returning an error.
///
/// # Errors
/// Too few files or threads, at this moment; later ones may still be refused.
pub(crate) fn check_limits() -> Result<(), StartError> {
    if let Ok((most, _)) = getrlimit(Resource::RLIMIT_NOFILE)
        && most < LEAST_FILES
    {
        let hint = format!("Raise the limit, as with ulimit -n {}.", 8 * LEAST_FILES);
        return Err(StartError::config(format!("cannot start: no more than {most} files may be open at once"), hint));
    }
    start_threads().map_err(|error| {
        let hint = "Raise the limit on processes and threads (ulimit -u), or end some.";
        StartError::config(format!("cannot start {LEAST_THREADS} threads: {error}"), hint)
    })
}

/// Starts as many threads as a run needs, all at once, and ends them.
fn start_threads() -> std::io::Result<()> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let _closed = gate.lock();
        let start = |_| thread::Builder::new().spawn_scoped(scope, || drop(gate.lock())).map(drop);
        (0..LEAST_THREADS).try_for_each(start)
    })
}

/// Where the user's own files lie.
pub(crate) struct Folders {
    pub(crate) config: Option<PathBuf>,
    pub(crate) log: Option<PathBuf>,
}

impl Folders {
    /// By the environment. A folder that is relative, because HOME is, counts as none: it would lie in whatever
    /// repository Codey is started in, and what stands there is not the user's.
    pub(crate) fn of_user() -> Self {
        let folders = Xdg::new().ok();
        let absolute = |folder: PathBuf| folder.is_absolute().then_some(folder);
        let config = folders.as_ref().and_then(|folders| absolute(folders.config_dir().join("codey")));
        let log = folders.and_then(|folders| absolute(folders.state_dir()?.join("codey/log")));
        Self { config, log }
    }
}

/// What to tell the user about variables that are not followed.
pub(crate) fn ignored_variables() -> impl Iterator<Item = String> {
    let home = std::env::var_os("HOME").filter(|home| !Path::new(home).is_absolute()).map(|home| {
        format!("HOME is {home:?}, which is no absolute path, so no settings and keys are read from there")
    });
    let level = std::env::var_os("CODEY_LOG").filter(|level| !level.is_empty() && !log::is_level(level)).map(|level| {
        format!("CODEY_LOG is {level:?} and not error, warn, info, debug, trace or off, so warnings are logged")
    });
    home.into_iter().chain(level)
}

/// Variables by name, and the names of those whose value is no text.
pub(crate) fn variables() -> (HashMap<String, String>, HashSet<String>) {
    let (mut variables, mut undecodable) = (HashMap::new(), HashSet::new());
    // A name that is no text is one that nobody asks for.
    let named = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
    for (name, value) in std::env::vars_os().filter_map(named) {
        match value.into_string() {
            Ok(value) => drop(variables.insert(name, value)),
            Err(_) => drop(undecodable.insert(name)),
        }
    }
    (variables, undecodable)
}
