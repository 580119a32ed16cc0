//! The folder `.codey`, and keeping it out of git.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, Permissions, PermissionsExt};

use super::resolve::open_folder;

const NAME: &str = ".codey";
const EXCLUDE_LINE: &str = "/.codey/";

/// Makes sure that `<root>/.codey/` exists with mode 0700 and is listed in the repository's exclude file.
///
/// The one function of this crate that reaches outside the root: the git folder of a worktree or submodule lies
/// elsewhere. It is found by reading `.git` and `commondir`, without running git, and believed only if it holds a
/// `HEAD`; only `info/exclude` below it is touched. A repository whose exclude file cannot be written is no error.
///
/// # Errors
/// The folder cannot be made, or `.codey` is a link or a file.
pub fn prepare_codey_dir(root: &Path) -> io::Result<()> {
    let folder = Dir::open_ambient_dir(root, ambient_authority())?;
    private_folder(&folder, NAME)?;
    if let Err(error) = exclude(root, &folder) {
        tracing::warn!(%error, "cannot list .codey in git's exclude file");
    }
    Ok(())
}

/// Makes or finds the folder `name` that only its owner can enter.
pub(crate) fn private_folder(parent: &Dir, name: &str) -> io::Result<Dir> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    match parent.create_dir_with(name, &builder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let folder = open_folder(parent, OsStr::new(name))?;
    let mode = folder.dir_metadata()?.permissions().mode() & 0o7777;
    if mode != 0o700 {
        // A checkout makes it readable to all. If it is not ours to change, it still serves.
        let _ = parent.set_permissions(name, Permissions::from_mode(0o700));
    }
    Ok(folder)
}

fn exclude(root: &Path, folder: &Dir) -> io::Result<()> {
    let Some(git) = git_folder(root, folder)? else { return Ok(()) };
    let git = Dir::open_ambient_dir(git, ambient_authority())?;
    match git.create_dir("info") {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = git.open_with("info/exclude", OpenOptions::new().read(true).append(true).create(true))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let listed = text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii();
        line.strip_prefix(b"/").unwrap_or(line).strip_suffix(b"/").unwrap_or(line) == NAME.as_bytes()
            || line == EXCLUDE_LINE.as_bytes()
    });
    if listed {
        return Ok(());
    }
    let gap = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
    file.write_all(format!("{gap}{EXCLUDE_LINE}\n").as_bytes())
}

/// The git folder whose `info/exclude` counts for `root`.
fn git_folder(root: &Path, folder: &Dir) -> io::Result<Option<PathBuf>> {
    let metadata = match folder.metadata(".git") {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let own = if metadata.is_dir() {
        root.join(".git")
    } else {
        let text = folder.read_to_string(".git")?;
        let Some(path) = text.trim_end().strip_prefix("gitdir: ") else { return Ok(None) };
        root.join(path)
    };
    let opened = Dir::open_ambient_dir(&own, ambient_authority())?;
    if !opened.is_file("HEAD") {
        return Ok(None);
    }
    // A worktree shares the exclude file of the repository it belongs to.
    match opened.read_to_string("commondir") {
        Ok(common) => Ok(Some(own.join(common.trim_end()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(own)),
        Err(error) => Err(error),
    }
}
