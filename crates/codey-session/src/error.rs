//! What can go wrong with a session.

use std::fmt;
use std::io;
use std::path::PathBuf;

use codey_protocol::NodeId;
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
