//! An open session file.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use ulid::Ulid;

use crate::SessionError;
use crate::lock::{Lock, is_at};

/// A session file that this process alone appends to.
///
/// It is locked itself as well: its lock file may be deleted meanwhile.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    path: PathBuf,
    id: Ulid,
    /// Where the last whole record ends.
    end: u64,
    /// The unfinished record that may lie behind `end`, or more of it. It is cut off before the next append, and nothing
    /// else ever is.
    torn: Vec<u8>,
    was_restored: bool,
    lock: Lock,
}

/// The file of a session.
pub(crate) fn path_of(dir: &Path, id: Ulid) -> PathBuf {
    dir.join(format!("{id}.jsonl"))
}

/// Opens a session file for reading. Links are not followed and nothing but a plain file is opened: the folder may
/// have come with a repository.
pub(crate) fn open_to_read(path: &Path) -> Result<File, SessionError> {
    open(OpenOptions::new().read(true), path).map_err(|source| SessionError::Read { path: path.to_owned(), source })
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits()).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file"))
    }
}

fn open_to_append(options: &mut OpenOptions, path: &Path, id: Ulid) -> Result<File, SessionError> {
    let failed = |source| SessionError::Write { path: path.to_owned(), source };
    let file = open(options.read(true).append(true), path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SessionError::InUse { id, pid: None }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Makes the folder of sessions and the one it is in, `.codey`. What that one is in is the workspace: not ours to make.
fn make_folders(dir: &Path) -> Result<(), SessionError> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    // A umask may take the owner's rights too.
    let make = |folder: &Path| {
        builder.create(folder).and_then(|()| fs::set_permissions(folder, Permissions::from_mode(0o700)))
    };
    // If it is missing then, the next one cannot be made either and says why.
    let _ = dir.parent().map(make);
    match make(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map_err(|source| SessionError::Write { path: dir.to_owned(), source }),
    }
}

impl Log {
    /// Makes the file of a new session, and its folders.
    pub(crate) fn create(dir: &Path, id: Ulid) -> Result<Self, SessionError> {
        make_folders(dir)?;
        let log = Self::locked(OpenOptions::new().create_new(true).mode(0o600), dir, id)?;
        let private = log.file.set_permissions(Permissions::from_mode(0o600));
        private.map_err(|source| SessionError::Write { path: log.path.clone(), source })?;
        Ok(log)
    }

    fn locked(options: &mut OpenOptions, dir: &Path, id: Ulid) -> Result<Self, SessionError> {
        let lock = Lock::acquire(dir, id)?;
        let path = path_of(dir, id);
        let file = open_to_append(options, &path, id)?;
        Ok(Self { file, path, id, end: 0, torn: Vec::new(), was_restored: false, lock })
    }

    /// Opens the file of a session to go on with it.
    pub(crate) fn open(dir: &Path, id: Ulid) -> Result<Self, SessionError> {
        let path = path_of(dir, id);
        // Looked for before the lock, so that a wrong name leaves no lock file behind.
        match fs::symlink_metadata(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SessionError::NotFound { id: id.to_string(), dir: dir.to_owned() });
            }
            Err(source) => return Err(SessionError::Read { path, source }),
        }
        Self::locked(&mut OpenOptions::new(), dir, id)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Says where the last whole record ends, and what was read behind it.
    pub(crate) fn set_end(&mut self, end: u64, torn: Vec<u8>) {
        self.end = end;
        self.torn = torn;
    }

    /// Whether the file was written anew since this was last asked.
    pub(crate) fn take_restored(&mut self) -> bool {
        std::mem::take(&mut self.was_restored)
    }

    /// Appends a line and says where it begins.
    ///
    /// The line goes out in one `write(2)`. If the disk takes only a part of it, that part is cut off again, now or
    /// before the next append.
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<u64, SessionError> {
        let failed = |source| SessionError::Write { path: self.path.clone(), source };
        if !is_at(&self.file, &self.path).map_err(failed)? {
            self.restore()?;
        }
        self.cut_tail()?;
        if let Err(source) = codey_faults::write(&mut self.file, line, "session") {
            self.torn = line.to_vec();
            // If this fails too, the next append tries it again.
            let _ = self.cut_tail();
            return Err(SessionError::Write { path: self.path.clone(), source });
        }
        self.torn = Vec::new();
        let offset = self.end;
        self.end += line.len() as u64;
        Ok(offset)
    }

    /// Writes the file anew where it should be: it was deleted or moved, and can still be read through the open
    /// descriptor. What is there now, or a workspace that is gone as well, is left as it is.
    fn restore(&mut self) -> Result<(), SessionError> {
        let whole = self.read(0, self.end as usize)?;
        let gone = |error| match error {
            SessionError::Write { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                SessionError::Changed { path: self.path.clone(), how: "replaced" }
            }
            SessionError::Write { source, .. } => SessionError::Gone { path: self.path.clone(), source },
            other => other,
        };
        let dir = self.path.parent().expect("a session file is in a folder");
        make_folders(dir).map_err(gone)?;
        let lock = if self.lock.is_there() { None } else { Some(Lock::acquire(dir, self.id).map_err(gone)?) };
        let options = &mut OpenOptions::new();
        let mut file = open_to_append(options.create_new(true).mode(0o600), &self.path, self.id).map_err(gone)?;
        if let Err(source) = codey_faults::write(&mut file, &whole, "session") {
            self.discard();
            return Err(SessionError::Gone { path: self.path.clone(), source });
        }
        self.file = file;
        self.was_restored = true;
        if let Some(lock) = lock {
            self.lock = lock;
        }
        Ok(())
    }

    /// Makes sure that the file ends with the last whole record.
    fn cut_tail(&self) -> Result<(), SessionError> {
        let failed = |source| SessionError::Write { path: self.path.clone(), source };
        let changed = |how| SessionError::Changed { path: self.path.clone(), how };
        let len = self.file.metadata().map_err(failed)?.len();
        let tail = len.checked_sub(self.end).ok_or_else(|| changed("shortened"))? as usize;
        if tail == 0 {
            return Ok(());
        }
        if tail > self.torn.len() || self.read(self.end, tail)? != self.torn[..tail] {
            return Err(changed("wrote to"));
        }
        codey_faults::before("cut");
        self.file.set_len(self.end).map_err(failed)
    }

    /// Reads the record at a place.
    pub(crate) fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, SessionError> {
        let mut line = vec![0; len];
        let read = self.file.read_exact_at(&mut line, offset);
        read.map_err(|source| SessionError::Read { path: self.path.clone(), source })?;
        Ok(line)
    }

    /// Removes a file that could not be begun.
    pub(crate) fn discard(&self) {
        // What stays behind is an empty session, which a listing names as such.
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Not left to the closing: a child of another thread that has not called exec yet has the file open too. If it
        // fails, that still does it.
        let _ = self.file.unlock();
    }
}
