//! A fresh repository for each run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use ignore::gitignore::Gitignore;

use crate::program::{Ended, Program};
use crate::task::{Change, Task};

/// `setup.sh` and git may take this long.
const SETUP_TIME: Duration = Duration::from_secs(120);
/// Folders that are not part of what a task is about.
const NOT_LOOKED_AT: [&str; 2] = [".git", ".codey"];
/// The only executable bit that git knows.
const EXECUTABLE: u32 = 0o100;

/// A prepared workspace.
#[derive(Debug)]
pub struct Workspace {
    /// Where the agent works.
    pub folder: PathBuf,
    /// The same as it was before.
    pub before: PathBuf,
    /// What was in it.
    start: Tree,
}

impl Workspace {
    /// Makes a workspace below `place`: a copy of `repo/`, changed by `setup.sh`, in one commit without a history.
    ///
    /// # Errors
    /// The task cannot be set up: the run is void.
    pub async fn prepare(task: &Task, place: &Path) -> Result<Self> {
        ensure!(task.missing.is_empty(), "the task has no {}", task.missing.join(", no "));
        let folder = place.join("workspace");
        fs::create_dir_all(&folder)?;
        let repo = task.folder.join("repo");
        if repo.is_dir() {
            copy(&repo, &folder).context("repo/ cannot be copied")?;
        }
        ensure!(!folder.join(".git").exists(), "repo/ must not be a repository of its own");
        let setup = Program::bash(&task.folder.join("setup.sh"), &folder).variable("CODEY_EVAL_TASK", &task.folder);
        succeed("setup.sh", setup).await?;
        for arguments in [
            // No template: hooks and the like of this machine have no place there.
            &["init", "--quiet", "--template=", "--initial-branch=main"][..],
            &["add", "--all"],
            &["commit", "--quiet", "--allow-empty", "--message=Start"],
        ] {
            succeed("git", Program::git(arguments, &folder)).await?;
        }
        let before = place.join("before");
        fs::create_dir(&before)?;
        copy(&folder, &before)?;
        let start = Tree::of(&before)?;
        Ok(Self { folder, before, start })
    }

    /// Another folder in the place of the workspace, for what is compared with it.
    pub(crate) fn elsewhere(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), before: self.before.clone(), start: self.start.clone() }
    }

    /// Why it can no longer be judged by looking at it, if so: what an agent did to it.
    pub(crate) fn broken(&self) -> Option<String> {
        if !self.folder.is_dir() {
            return Some("the workspace is gone".to_owned());
        }
        let is_whole = Tree::of(&self.before).is_ok_and(|before| before == self.start);
        (!is_whole).then(|| "the copy that the workspace is compared with was changed".to_owned())
    }

    /// Does what a variant of the task does.
    ///
    /// # Errors
    /// The patch does not apply, or the script fails.
    pub async fn apply(&self, change: &Change) -> Result<()> {
        match change {
            Change::Patch(patch) => {
                let patch = patch.to_str().context("a path that is no text")?;
                let git = Program::git(&["apply", "--whitespace=nowarn", patch], &self.folder);
                succeed("git apply", git).await.with_context(|| patch.to_owned())
            }
            Change::Script(script) => succeed("the script", Program::bash(script, &self.folder))
                .await
                .with_context(|| script.display().to_string()),
        }
    }

    /// Files that are not as they were, those aside that the repository's `.gitignore` names: what tests and builds
    /// leave behind.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn changed(&self) -> Result<Vec<String>> {
        let mut changed = difference(&Tree::of(&self.before)?, &Tree::of(&self.folder)?);
        let (ignored, _) = Gitignore::new(self.before.join(".gitignore"));
        changed.retain(|path| !ignored.matched_path_or_any_parents(self.before.join(path), false).is_ignore());
        Ok(changed)
    }
}

async fn succeed(what: &str, program: Program) -> Result<()> {
    match program.run(SETUP_TIME).await? {
        Ended { code: Some(0), .. } => Ok(()),
        Ended { code: Some(code), last_line, .. } => bail!("{what} ended with {code}: {last_line}"),
        Ended { code: None, last_line, .. } => {
            bail!("{what} was ended by a signal or took over {SETUP_TIME:?}: {last_line}")
        }
    }
}

/// What a folder holds, by path: digests of contents (with the executable bit) and of links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, blake3::Hash>);

impl Tree {
    /// Reads a folder, `.git` and `.codey` at its top aside.
    ///
    /// # Errors
    /// Something in it cannot be read.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        for name in fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())) {
            let name = name?;
            if !NOT_LOOKED_AT.iter().any(|skipped| name == *skipped) {
                tree.add(&folder.join(&name), &name.to_string_lossy())?;
            }
        }
        Ok(tree)
    }

    fn add(&mut self, path: &Path, name: &str) -> io::Result<()> {
        let metadata = fs::symlink_metadata(path)?;
        let mut hasher = blake3::Hasher::new();
        if metadata.is_dir() {
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                self.add(&entry.path(), &format!("{name}/{}", entry.file_name().to_string_lossy()))?;
            }
            return Ok(());
        }
        if metadata.is_symlink() {
            hasher.update(b"link ").update(fs::read_link(path)?.as_os_str().as_encoded_bytes());
        } else if metadata.is_file() {
            let is_executable = metadata.permissions().mode() & EXECUTABLE != 0;
            hasher.update(if is_executable { b"program " } else { b"file " }).update(&fs::read(path)?);
        } else {
            hasher.update(b"other");
        }
        self.0.insert(name.to_owned(), hasher.finalize());
        Ok(())
    }

    /// All files, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// The digest of a file.
    pub fn get(&self, path: &str) -> Option<&blake3::Hash> {
        self.0.get(path)
    }
}

/// Paths that are in one of both only, or differ; sorted.
pub fn difference(before: &Tree, after: &Tree) -> Vec<String> {
    let paths: std::collections::BTreeSet<&String> = before.0.keys().chain(after.0.keys()).collect();
    paths.into_iter().filter(|path| before.0.get(*path) != after.0.get(*path)).cloned().collect()
}

/// Copies what a folder holds, links as links.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir_all(&to)?;
            copy(&entry.path(), &to)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}
