//! Where an agent works.

use std::path::{Path, PathBuf};

use codey_protocol::{RelPath, StartError};
use nix::unistd::{AccessFlags, access};

/// A root and a folder below it, both resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) root: PathBuf,
    /// The root by the way the caller named it, perhaps through links; people name files so.
    pub(crate) named_root: PathBuf,
    pub(crate) cwd: PathBuf,
    /// `cwd` below `root`.
    pub(crate) relative: RelPath,
    pub(crate) is_git: bool,
}

impl Location {
    /// The top of the git work tree that holds `cwd`, else `cwd` itself.
    ///
    /// # Errors
    /// `cwd` is missing, no folder, or one that may not be entered.
    pub(crate) fn find(cwd: &Path) -> Result<Self, StartError> {
        let shown = cwd.display();
        let named = std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_owned());
        let unusable = |why: &str, hint: &str| StartError::config(format!("cannot work in {shown}: {why}"), hint);
        let cwd =
            cwd.canonicalize().map_err(|error| unusable(&plain(&error), "Name an existing folder with --cwd."))?;
        if !cwd.is_dir() {
            return Err(unusable("it is not a folder", "Name an existing folder with --cwd."));
        }
        access(&cwd, AccessFlags::X_OK)
            .map_err(|error| unusable(error.desc(), "Change its permissions, or name another folder with --cwd."))?;
        // A file named .git marks a worktree or a submodule.
        let top = cwd.ancestors().find(|folder| folder.join(".git").exists());
        let root = top.unwrap_or(&cwd).to_path_buf();
        let below =
            cwd.strip_prefix(&root).unwrap_or(Path::new("")).to_str().ok_or_else(|| {
                unusable("its path is not valid UTF-8", "Rename the folder, or work in one above it.")
            })?;
        let named_root = named.ancestors().find(|folder| folder.canonicalize().is_ok_and(|folder| folder == root));
        let named_root = named_root.unwrap_or(&root).to_owned();
        Ok(Self { relative: RelPath::new(below), is_git: top.is_some(), root, named_root, cwd })
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join(".codey/sessions")
    }
}

/// What the system says, without its number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}
