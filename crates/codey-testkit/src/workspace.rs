//! Workspaces that vanish after the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A folder with files, perhaps a git repository. Removed when dropped.
#[derive(Debug)]
pub struct TempWorkspace {
    /// Held for its drop.
    _dir: TempDir,
    path: PathBuf,
}

impl TempWorkspace {
    /// A folder with these files, given as path and text.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let dir = TempDir::with_prefix("codey-test-").expect("a temporary folder can be made");
        // A symlinked temp folder (macOS) would make every path in a result look wrong.
        let path = dir.path().canonicalize().expect("the folder exists");
        let workspace = Self { _dir: dir, path };
        for (name, text) in files {
            workspace.write(name, text);
        }
        workspace
    }

    /// The same as a git repository with one commit that holds all files.
    pub fn with_git(files: &[(&str, &str)]) -> Self {
        let workspace = Self::new(files);
        workspace.git(&["init", "-q", "-b", "main"]);
        workspace.commit("initial");
        workspace
    }

    /// The folder, without symlinks in its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of the workspace is.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A file's text.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_else(|error| panic!("cannot read {name}: {error}"))
    }

    /// A file's bytes.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap_or_else(|error| panic!("cannot read {name}: {error}"))
    }

    /// Writes a file, and the folders above it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.at(name);
        let folder = path.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).unwrap_or_else(|error| panic!("cannot make the folder of {name}: {error}"));
        fs::write(&path, content).unwrap_or_else(|error| panic!("cannot write {name}: {error}"));
    }

    /// Whether something is there.
    pub fn exists(&self, name: &str) -> bool {
        self.at(name).symlink_metadata().is_ok()
    }

    /// Commits everything.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// Runs git here and returns what it prints. The machine's own configuration plays no part.
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .current_dir(&self.path)
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false"])
            .args(args);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(name);
        }
        command.envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ]);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Test");
            command.env(format!("GIT_{who}_EMAIL"), "test@example.invalid");
            command.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
        }
        let output = command.output().expect("git can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "git {args:?} failed: {}", text(&output.stderr));
        text(&output.stdout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_the_same_on_every_machine() {
        let commit = || {
            let repository = TempWorkspace::with_git(&[("a.txt", "one\r\n"), ("src/b.rs", "")]);
            assert_eq!(repository.git(&["status", "--porcelain"]), "");
            assert_eq!(repository.bytes("a.txt"), b"one\r\n");
            repository.git(&["rev-parse", "HEAD"])
        };
        assert_eq!(commit(), commit());
    }

    #[test]
    fn a_workspace_vanishes() {
        let workspace = TempWorkspace::new(&[("deep/er/file", "x")]);
        let path = workspace.path().to_owned();
        assert!(workspace.exists("deep/er/file") && !workspace.exists("other"));
        drop(workspace);
        assert!(!path.exists());
    }
}
