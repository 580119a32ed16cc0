//! Which version of a file the model knows.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::RelPath;

/// Hash of a file's content, as 64 hex digits (BLAKE3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(Arc<str>);

impl Digest {
    /// Wraps a hash written as hex.
    pub fn new(hex: impl Into<Arc<str>>) -> Self {
        Self(hex.into())
    }

    /// The hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file version that a tool showed to the model or wrote for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// Which file.
    pub path: RelPath,
    /// Which content.
    pub digest: Digest,
}

/// A file the model has read, and whether it still sees what it read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Which file.
    pub path: RelPath,
    /// The newest content it read or wrote.
    pub digest: Digest,
    /// False once the result was pruned or folded away.
    pub visible: bool,
}
