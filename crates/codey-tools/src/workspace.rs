//! The files a session may touch.

mod codey_dir;
mod content;
mod deny;
mod ledger;
mod replace;
mod resolve;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt};
use codey_protocol::{ErrorCode, Observed, RelPath, Seen};
use tokio_util::sync::CancellationToken;

pub use codey_dir::prepare_codey_dir;
pub(crate) use codey_dir::{GitFolder, private_folder};
pub(crate) use content::{check_named, digest_of, file_error, open_regular, plain, read_whole};
pub use deny::default_deny_paths;
pub(crate) use deny::{Access, DenyRules};
use ledger::Ledger;
pub(crate) use ledger::Standing;
pub(crate) use replace::{Replacement, is_temporary, same_version};
pub(crate) use resolve::{Place, Presence, describe_lookalike, open_folder};

use crate::ToolError;
use crate::process::Leftovers;

/// A directory handle whose lookups cannot leave the root, and what the model knows of the files in it.
///
/// Cheap to clone; clones share everything. Commands are not jailed by it; it only keeps track of what they leave
/// running. When the last clone is dropped without [`Workspace::end_run`], their process groups are killed.
#[derive(Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

struct Inner {
    root: Dir,
    /// Where the root lies, for absolute arguments, for messages and for the working directory of commands: first as
    /// given, then with links resolved.
    root_paths: [PathBuf; 2],
    cwd: RelPath,
    deny: DenyRules,
    ledger: Mutex<Ledger>,
    hidden_env: Vec<String>,
    leftovers: Leftovers,
    writes: Arc<tokio::sync::Mutex<()>>,
}

/// What is where the root was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtRootPath {
    /// The root.
    Root,
    /// Another folder.
    Other,
    /// No folder.
    Nothing,
}

/// What a workspace is made of.
#[derive(Clone, Debug)]
pub struct WorkspaceOptions {
    /// Top folder; opened once, all lookups start there.
    pub root: PathBuf,
    /// Where relative paths start.
    pub cwd: RelPath,
    /// Globs, relative to the root, of paths that no tool may read, write or show.
    pub deny_paths: Vec<String>,
    /// Names of environment variables that commands do not get, besides the built-in patterns.
    pub hidden_env: Vec<String>,
}

/// Why a workspace cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The root is not there or not a folder.
    #[error("cannot open {path}: {source}")]
    Root {
        /// The root.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A deny glob cannot be parsed; nothing is opened, since a rule that never matches protects nothing.
    #[error("deny_paths: {source}")]
    DenyGlob {
        /// Its place in `deny_paths`, from 0.
        index: usize,
        /// Which glob and what is wrong with it.
        source: globset::Error,
    },
}

impl Workspace {
    /// Opens the root folder.
    ///
    /// # Errors
    /// The root cannot be opened, or a deny glob is broken.
    pub fn open(options: WorkspaceOptions) -> Result<Self, WorkspaceError> {
        let WorkspaceOptions { root: path, cwd, deny_paths, hidden_env } = options;
        let deny = DenyRules::new(&deny_paths).map_err(|(index, source)| WorkspaceError::DenyGlob { index, source })?;
        let real = match real_path(&path) {
            Ok(real) => real,
            Err(source) => return Err(WorkspaceError::Root { path, source }),
        };
        let root = match Dir::open_ambient_dir(&real, ambient_authority()) {
            Ok(root) => root,
            Err(source) => return Err(WorkspaceError::Root { path, source }),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                root,
                root_paths: [path, real],
                cwd,
                deny,
                ledger: Mutex::default(),
                hidden_env,
                leftovers: Leftovers::default(),
                writes: Arc::default(),
            }),
        })
    }

    /// Where relative paths start.
    pub fn cwd(&self) -> &RelPath {
        &self.inner.cwd
    }

    /// Whether `deny_paths` deny `path` or a folder above it, by this name or by where links in it really lead.
    ///
    /// Looks at the disk; nothing needs to be there.
    pub fn denies(&self, path: &RelPath) -> bool {
        let is_denied = |path: &RelPath| self.deny().denies(path.as_str());
        is_denied(path) || resolve::true_path(self, path.as_str()).is_some_and(|path| is_denied(&path))
    }

    /// Takes over file versions the model knows from now on.
    pub fn observe(&self, observed: &[Observed]) {
        self.ledger(|ledger| ledger.observe(observed));
    }

    /// Replaces all that is known of files seen (resume, rewind, fold).
    pub fn reset_seen(&self, seen: Vec<Seen>) {
        self.ledger(|ledger| ledger.reset(seen));
    }

    /// Ends what commands of this run left running: SIGTERM, 2 s (0.5 s once `ending` is cancelled), SIGKILL.
    ///
    /// Returns when it is gone. On Linux that includes processes which started a session of their own.
    pub async fn end_run(&self, ending: &CancellationToken) {
        self.inner.leftovers.end(ending).await;
    }

    /// Resolves a path argument: where it really is, and what is there.
    ///
    /// # Errors
    /// It leads out of the root, is denied, or a folder on the way is missing or none.
    pub(crate) fn resolve(&self, path: &str, access: Access) -> Result<Place, ToolError> {
        resolve::resolve(self, path, access)
    }

    /// Finds again the file behind a path that was resolved before.
    ///
    /// # Errors
    /// As [`Workspace::resolve`].
    pub(crate) fn resolve_again(&self, path: &RelPath, access: Access) -> Result<Place, ToolError> {
        resolve::resolve_from_root(self, path, access)
    }

    /// How the content `current` (`None`: no such file) stands against what the model knows of `path`.
    pub(crate) fn standing(&self, path: &RelPath, current: Option<&codey_protocol::Digest>) -> Standing {
        self.ledger(|ledger| ledger.standing(path, current))
    }

    /// Where `.codey` really lies, if it is a link; it is guarded there as well.
    pub(crate) fn codey_home(&self) -> Option<RelPath> {
        resolve::codey_home(self)
    }

    pub(crate) fn deny(&self) -> &DenyRules {
        &self.inner.deny
    }

    pub(crate) fn root(&self) -> &Dir {
        &self.inner.root
    }

    /// The root's place outside; only for what has no handle: commands, walks and messages.
    pub(crate) fn root_path(&self) -> &Path {
        &self.inner.root_paths[1]
    }

    /// What is at the root's place outside, now that commands may have moved it.
    ///
    /// # Errors
    /// It cannot be looked at (too many open files, no permission), which says nothing of what is there.
    pub(crate) fn look_at_root_path(&self) -> io::Result<AtRootPath> {
        let identity = |folder: &Dir| folder.dir_metadata().map(|metadata| (metadata.dev(), metadata.ino()));
        match Dir::open_ambient_dir(self.root_path(), ambient_authority()) {
            Ok(there) if identity(&there)? == identity(self.root())? => Ok(AtRootPath::Root),
            Ok(_) => Ok(AtRootPath::Other),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(AtRootPath::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn hidden_env(&self) -> &[String] {
        &self.inner.hidden_env
    }

    pub(crate) fn leftovers(&self) -> &Leftovers {
        &self.inner.leftovers
    }

    /// Puts writes in order: held from the last look at a file until it is replaced. It goes along to the thread that does
    /// this, which goes on when nobody waits for it any more.
    pub(crate) async fn lock_writes(&self) -> tokio::sync::OwnedMutexGuard<()> {
        Arc::clone(&self.inner.writes).lock_owned().await
    }

    /// A path as the model names it: relative to where relative paths start, if it lies there.
    pub(crate) fn shown(&self, path: &RelPath) -> String {
        let cwd = self.cwd().as_str();
        let inside = if cwd.is_empty() { Some(path.as_str()) } else { path.as_str().strip_prefix(cwd) };
        let below = inside.and_then(|rest| if cwd.is_empty() { Some(rest) } else { rest.strip_prefix('/') });
        match below {
            Some(rest) if !rest.is_empty() => rest.to_owned(),
            _ if path == self.cwd() => ".".to_owned(),
            _ => climb(cwd, path.as_str()),
        }
    }

    /// Runs file work on a thread that may block.
    ///
    /// # Errors
    /// What `work` gives. A panic in it goes on in the caller.
    pub(crate) async fn blocking<T, F>(&self, work: F) -> Result<T, ToolError>
    where
        T: Send + 'static,
        F: FnOnce(&Workspace) -> Result<T, ToolError> + Send + 'static,
    {
        let workspace = self.clone();
        match tokio::task::spawn_blocking(move || work(&workspace)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ToolError::new(ErrorCode::Cancelled, "Codey is ending; nothing more was done.")),
            },
        }
    }

    fn ledger<T>(&self, act: impl FnOnce(&mut Ledger) -> T) -> T {
        // A panic while the lock is held leaves a whole ledger: each change is one insertion or one swap.
        act(&mut self.inner.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// `path` as seen from the folder `cwd`, with `..` as far as they part.
fn climb(cwd: &str, path: &str) -> String {
    let shared = cwd.split('/').zip(path.split('/')).take_while(|(ours, theirs)| ours == theirs).count();
    let up = cwd.split('/').skip(shared).map(|_| "..");
    let down = path.split('/').skip(shared).filter(|part| !part.is_empty());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// The root with links resolved; the one lookup by path in this crate, made before any model has a say.
#[allow(clippy::disallowed_methods, reason = "the root is where the jail begins; it cannot be opened through itself")]
fn real_path(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tokio::time::timeout;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{ToolContext, builtin_tools};

    fn open(root: &Path, cwd: &str) -> Workspace {
        let (root, cwd) = (root.to_owned(), RelPath::new(cwd));
        Workspace::open(WorkspaceOptions { root, cwd, deny_paths: Vec::new(), hidden_env: Vec::new() }).unwrap()
    }

    #[test]
    fn a_write_that_nobody_waits_for_any_more_keeps_others_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = open(folder.path(), "");
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let write = builtin_tools().into_iter().find(|tool| tool.info().spec.name == "write").unwrap();
            let input = json!({"path": "f", "content": "x"});
            let plan = write.plan(&input, &workspace).await.unwrap();
            // The only thread is busy until the gate opens.
            let (gate, opened) = std::sync::mpsc::channel::<()>();
            let busy = tokio::task::spawn_blocking(move || opened.recv().is_err());
            let context = ToolContext {
                workspace: &workspace,
                cancel: CancellationToken::new(),
                ending: CancellationToken::new(),
                deadline: tokio::time::Instant::now() + Duration::from_secs(60),
                output: &|_| {},
            };
            assert!(timeout(Duration::ZERO, write.run(input, plan, context)).await.is_err(), "it waits for the thread");
            assert!(
                timeout(Duration::ZERO, workspace.lock_writes()).await.is_err(),
                "the next one is let in too early"
            );
            drop(gate);
            drop(workspace.lock_writes().await);
            assert!(workspace.root().exists("f"));
            assert!(busy.await.unwrap());
        });
    }

    fn check_shown(cwd: &str, path: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(open(folder.path(), cwd).shown(&RelPath::new(path)), expected);
    }

    #[test]
    fn paths_are_shown_relative_to_where_relative_paths_start() {
        check_shown("", "src/a.rs", "src/a.rs");
        check_shown("", "", ".");
        check_shown("src", "src", ".");
        check_shown("src", "src/a.rs", "a.rs");
        check_shown("src", "srcs/a.rs", "../srcs/a.rs");
        check_shown("a/b", "a/c/d", "../c/d");
        check_shown("a/b", "", "../..");
    }
}
