//! One writer a session.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use ulid::Ulid;

use crate::SessionError;

/// Holds a session for this process until it is dropped.
///
/// The kernel's lock counts, not the file: one that a dead process left behind is taken over. The file is removed
/// while still locked, and whoever locks a file makes sure afterwards that it is still the one the name leads to, so
/// no two ever hold different files of one name.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of a session.
    ///
    /// # Errors
    /// [`SessionError::InUse`] if someone holds it.
    pub(crate) fn acquire(dir: &Path, id: Ulid) -> Result<Self, SessionError> {
        let path = dir.join(format!("{id}.lock"));
        let failed = |source| SessionError::Write { path: path.clone(), source };
        loop {
            let mut file = open(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(SessionError::InUse { id, pid: pid_in(&mut file) }),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
            if is_at(&file, &path).map_err(failed)? {
                let pid = format!("{}\n", std::process::id());
                let written = file.set_len(0).and_then(|()| codey_faults::write(&mut file, pid.as_bytes(), "lock"));
                written.map_err(failed)?;
                return Ok(Self { file, path });
            }
            // Its last holder removed it between our opening and locking it.
        }
    }

    /// Whether the lock file is still the one that is held.
    pub(crate) fn is_there(&self) -> bool {
        is_at(&self.file, &self.path).unwrap_or(false)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_there() {
            // Nobody's loss: a lock file that nobody holds is taken over.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits()).open(path)?;
    // A umask may have taken more, and the next one could not open it then.
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Whether `path` leads to `file`.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn pid_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
