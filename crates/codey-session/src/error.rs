//! What can go wrong with a session.

use std::fmt;
use std::io;
use std::path::PathBuf;

use codey_protocol::NodeId;
use nix::errno::Errno;
use ulid::Ulid;

/// Why a session could not be found, opened, read or written; by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Nothing goes by that name.
    #[error("no session {id} in {}", dir.display())]
    NotFound {
        /// What was asked for.
        id: String,
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// More than one session begins like that.
    #[error("{id} is the beginning of {} sessions: {}", matches.len(), names(matches))]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// All that begin with it.
        matches: Vec<Ulid>,
    },
    /// Another process has it open.
    #[error("session {id} is in use by {}", holder(*pid))]
    InUse {
        /// Which session.
        id: Ulid,
        /// The process, if the lock file tells.
        pid: Option<u32>,
    },
    /// It was recorded in another folder.
    #[error("session {id} belongs to {}", recorded.display())]
    OtherRoot {
        /// Which session.
        id: Ulid,
        /// The root it was recorded in.
        recorded: PathBuf,
    },
    /// A newer Codey wrote it.
    #[error("{} was written by a newer Codey (format {v}, this one knows {})", path.display(), crate::record::VERSION)]
    Newer {
        /// The session file.
        path: PathBuf,
        /// The format it is in.
        v: u64,
    },
    /// It cannot be made sense of.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The session file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It is not where it was, and could not be written there anew.
    #[error(
        "cannot write {}: it was deleted or moved while the session was open, and writing it anew failed: {source}",
        path.display()
    )]
    Gone {
        /// Where the session file was.
        path: PathBuf,
        /// Why it could not be written anew.
        source: io::Error,
    },
    /// Someone else writes it too.
    #[error("another program {how} {} while the session was open; nothing was cut off or added", path.display())]
    Changed {
        /// The session file.
        path: PathBuf,
        /// What that program did, as a verb.
        how: &'static str,
    },
    /// The tree has no such node.
    #[error("the session has no node {node}")]
    UnknownNode {
        /// The name that leads nowhere.
        node: NodeId,
    },
    /// The disk did not give it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk did not take it. What was written of the record is gone again; the session can go on.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SessionError {
    /// What the user can do about it, as a sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::NotFound { .. } => "codey sessions lists those of this project.".to_owned(),
            Self::Ambiguous { .. } => "Give more of the id.".to_owned(),
            Self::InUse { .. } => "Wait until it ends, or start a new session.".to_owned(),
            Self::OtherRoot { recorded, .. } => format!("Run codey there: --cwd {}", recorded.display()),
            Self::Newer { .. } => "Update Codey.".to_owned(),
            Self::Damaged { .. } => "Start a new session; the file is left as it is.".to_owned(),
            Self::Gone { .. } => "Begin a new session; what was changed in the folder stays as it is.".to_owned(),
            Self::Changed { .. } => "Resume the session when nothing else writes to it, or start a new one.".to_owned(),
            Self::UnknownNode { .. } => "Take a node id from the session's message events.".to_owned(),
            Self::Read { source, .. } | Self::Write { source, .. } => {
                format!("{}, or use --no-session to work without a session file.", cure(source))
            }
        }
    }
}

/// What to do about a file that the disk does not give or take.
fn cure(error: &io::Error) -> &'static str {
    const MOVE: &str = "Move what is there out of the way";
    // Not by the kind: the standard library has no stable one for most of these.
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOSPC | Errno::EDQUOT) => "Free space",
        Some(Errno::EFBIG) => "Raise the limit on the size of files (ulimit -f)",
        Some(Errno::EMFILE | Errno::ENFILE) => "Raise the limit on open files (ulimit -n)",
        Some(Errno::EACCES | Errno::EPERM) => "Fix the permissions",
        Some(Errno::EROFS) => "Mount the file system so that it can be written",
        // A folder, a link, a socket: nothing that Codey made.
        Some(Errno::EISDIR | Errno::ENOTDIR | Errno::EEXIST | Errno::ELOOP | Errno::ENXIO) => MOVE,
        None if error.kind() == io::ErrorKind::InvalidInput => MOVE,
        Some(_) | None => "Try again",
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

fn names(ids: &[Ulid]) -> String {
    ids.iter().map(Ulid::to_string).collect::<Vec<_>>().join(", ")
}

/// Something in a session file that was left out while it was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadWarning {
    /// Line of the file, from 1.
    pub line: u64,
    /// What was wrong and what was done about it, for the user.
    pub message: String,
}

impl fmt::Display for LoadWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_fits_what_the_disk_said() {
        let cases = [
            (Errno::ENOSPC, "Free space"),
            (Errno::EDQUOT, "Free space"),
            (Errno::EFBIG, "Raise the limit on the size of files (ulimit -f)"),
            (Errno::EMFILE, "Raise the limit on open files (ulimit -n)"),
            (Errno::ENFILE, "Raise the limit on open files (ulimit -n)"),
            (Errno::EACCES, "Fix the permissions"),
            (Errno::EROFS, "Mount the file system so that it can be written"),
            (Errno::ELOOP, "Move what is there out of the way"),
            (Errno::EIO, "Try again"),
        ];
        for (errno, cure) in cases {
            let error = SessionError::Write { path: "/w".into(), source: errno.into() };
            assert_eq!(error.hint(), format!("{cure}, or use --no-session to work without a session file."));
        }
    }
}
