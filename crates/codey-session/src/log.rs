//! An open session file.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use ulid::Ulid;

use crate::SessionError;
use crate::lock::Lock;

/// A session file that this process alone appends to.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    path: PathBuf,
    /// Where the last whole record ends. What lies behind it is cut off before the next append.
    end: u64,
    _lock: Lock,
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
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no plain file")) }
}

impl Log {
    /// Makes the file of a new session, and its folders.
    pub(crate) fn create(dir: &Path, id: Ulid) -> Result<Self, SessionError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|source| SessionError::Write { path: dir.to_owned(), source })?;
        let lock = Lock::acquire(dir, id)?;
        let path = path_of(dir, id);
        let file = open(OpenOptions::new().read(true).append(true).create_new(true).mode(0o600), &path);
        let file = file.map_err(|source| SessionError::Write { path: path.clone(), source })?;
        Ok(Self { file, path, end: 0, _lock: lock })
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
        let lock = Lock::acquire(dir, id)?;
        let file = open(OpenOptions::new().read(true).append(true), &path);
        let file = file.map_err(|source| SessionError::Write { path: path.clone(), source })?;
        Ok(Self { file, path, end: 0, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Says where the last whole record ends.
    pub(crate) fn set_end(&mut self, end: u64) {
        self.end = end;
    }

    /// Appends a line and says where it begins.
    ///
    /// The line goes out in one `write(2)`. If the disk takes only a part of it, that part is cut off again, now or
    /// before the next append.
    pub(crate) fn append(&mut self, line: &[u8]) -> Result<u64, SessionError> {
        let offset = self.end;
        let written = self.cut_tail().and_then(|()| codey_faults::write(&mut self.file, line, "session"));
        if let Err(source) = written {
            // If this fails too, the next append tries it again.
            let _ = self.cut_tail();
            return Err(SessionError::Write { path: self.path.clone(), source });
        }
        self.end += line.len() as u64;
        Ok(offset)
    }

    /// Makes sure that the file is still there and ends with the last whole record.
    fn cut_tail(&self) -> io::Result<()> {
        let found = self.file.metadata()?;
        if found.nlink() == 0 {
            return Err(io::Error::other("the file was deleted while the session was open"));
        }
        if found.len() < self.end {
            return Err(io::Error::other("another program shortened the file while the session was open"));
        }
        if found.len() == self.end {
            return Ok(());
        }
        codey_faults::before("cut");
        self.file.set_len(self.end)
    }

    /// Reads the record at a place.
    pub(crate) fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, SessionError> {
        let mut line = vec![0; len];
        let read = self.file.read_exact_at(&mut line, offset);
        read.map_err(|source| SessionError::Read { path: self.path.clone(), source })?;
        Ok(line)
    }

    /// Removes a file that could not be begun.
    pub(crate) fn discard(self) {
        // What stays behind is an empty session, which a listing names as such.
        let _ = fs::remove_file(&self.path);
    }
}
