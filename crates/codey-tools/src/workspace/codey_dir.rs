//! The folder `.codey`, and keeping it out of git.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, File, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use nix::fcntl::OFlag;

use super::replace::{Replacement, same_version};
use super::resolve::open_folder;

const NAME: &str = ".codey";
const EXCLUDE: &str = "exclude";
const EXCLUDE_LINE: &str = "/.codey/";
/// Bytes of an exclude file that is read and written.
const MAX_EXCLUDE: u64 = 1 << 20;
/// Bytes of a file that holds a path.
const MAX_POINTER: u64 = 64 << 10;

/// Makes sure that `<root>/.codey/` exists with mode 0700 and is listed in the repository's exclude file.
///
/// The one function of this crate that reaches outside the root: the git folder of a worktree or submodule lies
/// elsewhere. It is found by reading `.git` and `commondir`, without running git, and believed only if it holds a
/// `HEAD`; only `info/exclude` below it is touched, and only if that is a regular file that no link leads to. If the
/// exclude file cannot be written, `.codey/.gitignore` hides the folder instead.
///
/// # Errors
/// The folder cannot be made, or `.codey` is a link or a file.
pub fn prepare_codey_dir(root: &Path) -> io::Result<()> {
    let folder = Dir::open_ambient_dir(root, ambient_authority())?;
    let codey = private_folder(&folder, NAME)?;
    if let Err(error) = exclude(root) {
        tracing::warn!(%error, "cannot list .codey in git's exclude file");
        if let Err(error) = ignore_itself(&codey) {
            tracing::warn!(%error, "cannot write .codey/.gitignore either");
        }
    }
    Ok(())
}

/// Hides the folder from git by a file in it, which hides itself too. What somebody else wrote there stays.
fn ignore_itself(codey: &Dir) -> io::Result<()> {
    let mut file = open_unblocked(codey, ".gitignore", OpenOptions::new().read(true).append(true).create(true))?;
    if file.metadata()?.len() == 0 {
        codey_faults::write(&mut file, b"*\n", "ignore")?;
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

fn exclude(root: &Path) -> io::Result<()> {
    let Some(GitFolder { own, common }) = GitFolder::of(root)? else { return Ok(()) };
    let open = |path: &Path| Dir::open_ambient_dir(path, ambient_authority());
    let git = open(&common)?;
    if !open(&own)?.is_file("HEAD") || !git.is_file("HEAD") {
        return Ok(());
    }
    match git.create_dir("info") {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let info = open_folder(&git, OsStr::new("info"))?;
    let mut file = open_unblocked(&info, EXCLUDE, OpenOptions::new().read(true).append(true).create(true))?;
    let text = read_bounded(&mut file, MAX_EXCLUDE)?;
    let listed = text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii();
        line.strip_prefix(b"/").unwrap_or(line).strip_suffix(b"/").unwrap_or(line) == NAME.as_bytes()
            || line == EXCLUDE_LINE.as_bytes()
    });
    if listed {
        return Ok(());
    }
    let gap = if text.is_empty() || text.ends_with(b"\n") { "" } else { "\n" };
    let text = [&text, format!("{gap}{EXCLUDE_LINE}\n").as_bytes()].concat();
    let found = file.metadata()?;
    // Not appended: half a line, from a full disk or a kill, would be a pattern of its own.
    let replacement = Replacement::prepare(&info, &text, Some(&file))?;
    if same_version(&info.symlink_metadata(EXCLUDE)?, &found) {
        return replacement.replace(OsStr::new(EXCLUDE));
    }
    // Another Codey was faster, or git; the next run looks again.
    Ok(())
}

/// Where a `.git` leads to, whether git would use it or not.
pub(crate) struct GitFolder {
    /// The git folder of this work tree.
    own: PathBuf,
    /// The one of the repository it belongs to, whose `info/exclude` counts.
    pub(crate) common: PathBuf,
}

impl GitFolder {
    /// Follows `.git` in `root`, if there is one.
    ///
    /// # Errors
    /// It leads nowhere; of the kind [`io::ErrorKind::InvalidInput`] if what should be a file is something else.
    pub(crate) fn of(root: &Path) -> io::Result<Option<Self>> {
        let folder = Dir::open_ambient_dir(root, ambient_authority())?;
        let metadata = match folder.metadata(".git") {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let own = if metadata.is_dir() {
            root.join(".git")
        } else {
            let text = read_pointer(&folder, ".git")?;
            let Some(path) = text.trim_end().strip_prefix("gitdir: ") else { return Ok(None) };
            root.join(path)
        };
        let common = match read_pointer(&Dir::open_ambient_dir(&own, ambient_authority())?, "commondir") {
            Ok(common) => own.join(common.trim_end()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => own.clone(),
            Err(error) => return Err(error),
        };
        Ok(Some(Self { own, common }))
    }
}

/// Reads a small file that names a folder.
fn read_pointer(folder: &Dir, name: &str) -> io::Result<String> {
    let mut file = open_unblocked(folder, name, OpenOptions::new().read(true))?;
    let bytes = read_bounded(&mut file, MAX_POINTER)?;
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Opens a regular file and nothing else: no link, and above all no FIFO, on which everybody waits who opens it.
fn open_unblocked(folder: &Dir, name: &str, options: &mut OpenOptions) -> io::Result<File> {
    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits());
    let file = folder.open_with(name, options)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is no regular file")))
}

fn read_bounded(file: &mut File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}
