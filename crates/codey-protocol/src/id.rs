//! Names of nodes, snapshots and files.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// Names a node of the session tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub Ulid);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names an undo snapshot; opaque to all but the store that made it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SnapshotId(pub String);

/// A path relative to the workspace root, with `/` between components; the root itself is empty.
///
/// It holds no `.` or `..`: those were resolved when it was made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RelPath(Arc<str>);

impl RelPath {
    /// The workspace root.
    pub fn root() -> Self {
        Self(Arc::from(""))
    }

    /// Wraps a path that is already relative and clean.
    pub fn new(path: impl Into<Arc<str>>) -> Self {
        Self(path.into())
    }

    /// The path; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of `name` below this one.
    pub fn join(&self, name: &str) -> Self {
        if self.is_root() { Self::new(name) } else { Self::new(format!("{}/{name}", self.0)) }
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}
