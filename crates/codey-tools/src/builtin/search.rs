//! What `glob` and `grep` have in common: which entries of a tree they see, and saying what they left out.
//!
//! Left out are, as ripgrep does it: hidden entries, and what `.gitignore`, `.ignore` and git's exclude files name. Both
//! are seen once named: a path argument is searched whatever it is, and a pattern with a component that begins with a
//! dot (`**/.github/*.yml`, not `**` alone) sees hidden entries, `.git` only if it says `.git`. Links are never followed.
//! Denied paths do not exist.

use std::env;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use codey_protocol::{ErrorCode, RelPath};
use ignore::{DirEntry, WalkBuilder, WalkState};
use nix::sys::stat::{SFlag, stat};

use super::stop::{Stop, Stopped};
use crate::workspace::{AtRootPath, GitFolder, file_error, is_temporary};
use crate::{ToolError, Workspace};

/// Characters shown of a line.
pub(super) const MAX_LINE_CHARS: usize = 500;
/// Threads beyond which a disk gains nothing.
const MAX_THREADS: usize = 8;

/// Which entries beyond the ordinary ones a pattern names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    hidden: bool,
    git: bool,
}

impl Named {
    /// Reads off a glob what it names.
    pub(super) fn by(pattern: &str) -> Self {
        let mut components = pattern.split(['/', '{', ',', '}']);
        let is_dotted = |part: &str| part.starts_with('.') && part != "." && part != "..";
        Self { hidden: components.clone().any(is_dotted), git: components.any(|part| part == ".git") }
    }
}

/// Counts what was not looked at.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    pub(super) binary: AtomicU64,
    pub(super) too_large: AtomicU64,
    pub(super) unreadable: AtomicU64,
    stopped: Mutex<Option<Stopped>>,
}

impl LeftOut {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stop(&self, why: Stopped) {
        *self.stopped.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(why);
    }

    fn stopped(&self) -> Option<Stopped> {
        *self.stopped.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The notes for the end of a result with `found` things in it; `walked` if a tree was searched.
    pub(super) fn notes(&self, found: usize, walked: bool) -> Vec<String> {
        let mut parts = Vec::new();
        if found == 0 && walked {
            let note = "hidden and ignored files (name them in the path or pattern to include them; what deny_paths covers \
                        stays out)";
            parts.push(note.to_owned());
        }
        for (counter, word) in
            [(&self.binary, "binary"), (&self.too_large, "too large"), (&self.unreadable, "unreadable")]
        {
            match counter.load(Ordering::Relaxed) {
                0 => {}
                count => parts.push(format!("{count} {word}")),
            }
        }
        let mut notes = Vec::new();
        if !parts.is_empty() {
            notes.push(format!("left out: {}", parts.join(", ")));
        }
        match self.stopped() {
            None => {}
            Some(Stopped::OutOfTime) => notes.push(format!(
                "stopped: the time for one call was over; found until then: {found}; narrow the path or the pattern"
            )),
            Some(Stopped::Cancelled) => {
                notes.push(format!("stopped: the call was cancelled; found until then: {found}"));
            }
        }
        notes
    }
}

/// Visits every file and link below `folder`, on several threads if they can be started, until it is time to stop.
///
/// # Errors
/// The root is not where it was, or that cannot be seen: a walk goes by paths, and would find nothing or another folder.
pub(super) fn walk(
    workspace: &Workspace,
    folder: &RelPath,
    named: Named,
    stop: &Stop,
    left_out: &LeftOut,
    visit: impl Fn(&DirEntry, &Path) + Sync,
) -> Result<(), ToolError> {
    let root = workspace.root_path();
    let at_root_path = workspace.look_at_root_path();
    let problem = match at_root_path.map_err(|error| file_error(&root.to_string_lossy(), "look at", &error))? {
        AtRootPath::Root => None,
        AtRootPath::Other => {
            Some("is no longer the folder this session works in; nothing was searched. It was moved or replaced")
        }
        AtRootPath::Nothing => Some("is gone; nothing was searched. It was moved or deleted"),
    };
    if let Some(problem) = problem {
        return Err(ToolError::new(ErrorCode::Io, format!("{} {problem}: tell the user.", root.display())));
    }
    let start = root.join(folder.as_str());
    if start.ancestors().any(has_bad_rules) {
        LeftOut::count(&left_out.unreadable);
        return Ok(());
    }
    let filter = workspace.clone();
    let home = workspace.codey_home();
    let avoided = Arc::new(AtomicU64::new(0));
    let avoid = Arc::clone(&avoided);
    let mut builder = WalkBuilder::new(start);
    // By the top of the work tree, and not by where Codey was started, are rules of the user that begin with `/`.
    builder.current_dir(root).git_global(!has_bad_git_config());
    builder.hidden(!named.hidden).require_git(false).follow_links(false).filter_entry(move |entry| {
        let Ok(path) = entry.path().strip_prefix(filter.root_path()) else { return false };
        let is_git = entry.depth() > 0 && entry.file_name().eq_ignore_ascii_case(".git");
        let is_seen = (named.git || !is_git)
            && !is_temporary(entry.file_name())
            && !filter.deny().hides(&path.to_string_lossy(), home.as_ref());
        let is_avoided = is_seen && entry.file_type().is_some_and(|kind| kind.is_dir()) && has_bad_rules(entry.path());
        if is_avoided {
            LeftOut::count(&avoid);
        }
        is_seen && !is_avoided
    });
    let step = |entry: Result<DirEntry, ignore::Error>| {
        if let Some(why) = stop.now() {
            left_out.stop(why);
            return WalkState::Quit;
        }
        match entry {
            Ok(entry) => {
                if let Ok(path) = entry.path().strip_prefix(root) {
                    visit(&entry, path);
                }
            }
            // A folder that cannot be opened, or that vanished meanwhile.
            Err(_) => LeftOut::count(&left_out.unreadable),
        }
        WalkState::Continue
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MAX_THREADS);
    if threads > 1 && can_start(threads) {
        builder.threads(threads).build_parallel().run(|| Box::new(&step));
    } else {
        builder.build().map(step).find(|state| *state == WalkState::Quit);
    }
    left_out.unreadable.fetch_add(avoided.load(Ordering::Relaxed), Ordering::Relaxed);
    Ok(())
}

/// Whether that many threads can be started. A walk on several panics where one cannot.
fn can_start(threads: usize) -> bool {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let _closed = gate.lock();
        let start = || thread::Builder::new().spawn_scoped(scope, || drop(gate.lock())).is_ok();
        // Twice as many: those that were started here still count for a moment after their end.
        (0..2 * threads).all(|_| start())
    })
}

/// Bytes of a file that says what is ignored; a walk compiles all of it anew. Those of large projects have some 10,000.
const MAX_IGNORE_FILE: u64 = 256 * 1024;

/// Whether what `folder` says is ignored cannot be read: the walk would wait for ever (whoever opens a FIFO does), or
/// take all memory.
fn has_bad_rules(folder: &Path) -> bool {
    if [".ignore", ".gitignore"].into_iter().any(|name| is_bad_rule_file(&folder.join(name))) {
        return true;
    }
    let git = folder.join(".git");
    match kind_and_size(&git) {
        Some((SFlag::S_IFDIR, _)) => is_bad_rule_file(&git.join("info/exclude")),
        Some((SFlag::S_IFREG, size)) => {
            size > MAX_IGNORE_FILE
                || match GitFolder::of(folder) {
                    Ok(git) => git.is_some_and(|git| is_bad_rule_file(&git.common.join("info/exclude"))),
                    Err(error) => error.kind() == io::ErrorKind::InvalidInput,
                }
        }
        // Anything else is not opened.
        Some(_) | None => false,
    }
}

/// Whether the user's or the system's git configuration cannot be read, by which a walk looks for more that is ignored.
fn has_bad_git_config() -> bool {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = variable("HOME");
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let files = [
        variable("GIT_CONFIG_GLOBAL"),
        Some(variable("GIT_CONFIG_SYSTEM").unwrap_or_else(|| "/etc/gitconfig".into())),
        home.as_ref().map(|home| home.join(".gitconfig")),
        config.as_ref().map(|config| config.join("git/config")),
        config.as_ref().map(|config| config.join("git/ignore")),
    ];
    files.iter().flatten().any(|file| is_bad_rule_file(file))
}

fn is_bad_rule_file(path: &Path) -> bool {
    kind_and_size(path).is_some_and(|(kind, size)| match kind {
        SFlag::S_IFREG => size > MAX_IGNORE_FILE,
        SFlag::S_IFDIR => false,
        // That is how git is told that there is no configuration.
        _ => path != Path::new("/dev/null"),
    })
}

fn kind_and_size(path: &Path) -> Option<(SFlag, u64)> {
    let found = stat(path).ok()?;
    let kind = SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT;
    Some((kind, u64::try_from(found.st_size).unwrap_or(u64::MAX)))
}

/// A path as results name it: relative to where relative paths start, as a JSON string if it could be mistaken.
pub(super) fn printed(workspace: &Workspace, path: &Path) -> String {
    let text = path.to_string_lossy();
    let shown = workspace.shown(&RelPath::new(&*text));
    let is_plain = path.to_str().is_some() && !shown.chars().any(char::is_control) && !shown.starts_with('"');
    if is_plain { shown } else { serde_json::Value::String(shown).to_string() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(crate::WorkspaceOptions {
            root: folder.path().to_owned(),
            cwd: RelPath::root(),
            deny_paths: Vec::new(),
            hidden_env: Vec::new(),
        });
        (folder, workspace.unwrap())
    }

    #[test]
    fn srch_03_a_walk_that_is_stopped_says_what_it_has() {
        let (_folder, workspace) = workspace();
        for number in 0..500 {
            workspace.root().write(format!("{number}.rs"), "").unwrap();
        }
        let cancel = CancellationToken::new();
        let stop = Stop::until(cancel.clone(), Instant::now() + Duration::from_secs(60));
        let visited = AtomicU64::new(0);
        let left_out = LeftOut::default();
        walk(&workspace, &RelPath::root(), Named::default(), &stop, &left_out, |_, _| {
            LeftOut::count(&visited);
            cancel.cancel();
        })
        .unwrap();
        let visited = visited.into_inner();
        assert!((1..500).contains(&visited), "{visited}");
        assert_eq!(left_out.notes(7, true), ["stopped: the call was cancelled; found until then: 7"]);
    }

    /// Runs in a process of its own, since a limit holds for all of one: too few addresses for the stack of a thread.
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods, reason = "/proc is no file of a workspace")]
    #[test]
    fn a_walk_goes_on_alone_where_no_thread_can_be_started() {
        use nix::sys::resource::{Resource, setrlimit};

        const LIMITED: &str = "CODEY_TEST_LIMITED";
        if std::env::var_os(LIMITED).is_none() {
            let name = "builtin::search::tests::a_walk_goes_on_alone_where_no_thread_can_be_started";
            let mut test = std::process::Command::new(std::env::current_exe().unwrap());
            let ran = test.args(["--exact", name, "--test-threads=1"]).env(LIMITED, "1").output().unwrap();
            assert!(ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "{ran:?}");
            return;
        }
        let (_folder, workspace) = workspace();
        workspace.root().create_dir_all("a/b").unwrap();
        workspace.root().write("a/b/c", "").unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB")).unwrap();
        let limit = size.parse::<u64>().unwrap() * 1_024 + (1 << 20);
        setrlimit(Resource::RLIMIT_AS, limit, limit).unwrap();
        assert!(thread::Builder::new().spawn(|| {}).is_err());
        let visited = Mutex::new(Vec::new());
        walk(&workspace, &RelPath::root(), Named::default(), &Stop::never(), &LeftOut::default(), |_, path| {
            visited.lock().unwrap().push(path.to_owned());
        })
        .unwrap();
        assert_eq!(visited.into_inner().unwrap(), ["", "a", "a/b", "a/b/c"].map(PathBuf::from));
    }

    #[test]
    fn a_pattern_names_hidden_entries_with_a_dot() {
        let named = |hidden, git| Named { hidden, git };
        assert_eq!(Named::by("**/*.json"), named(false, false));
        assert_eq!(Named::by("../a/*"), named(false, false));
        assert_eq!(Named::by(".github/*.yml"), named(true, false));
        assert_eq!(Named::by("**/.git/config"), named(true, true));
        assert_eq!(Named::by("a/{.x,y}"), named(true, false));
        assert_eq!(Named::by(".*"), named(true, false));
    }
}
