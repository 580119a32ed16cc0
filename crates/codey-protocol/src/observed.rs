//! Which version of a file the model knows.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RelPath;

/// Hash of a file's content, as 64 hex digits (BLAKE3).
///
/// ```
/// use codey_protocol::Digest;
/// let digest = Digest::new("0".repeat(64));
/// assert_eq!(digest.to_string().len(), 64);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Digest(#[schemars(regex(pattern = "^[0-9a-f]{64}$"))] Arc<str>);

impl Digest {
    /// Wraps a hash written as hex.
    ///
    /// ```
    /// use codey_protocol::Digest;
    /// assert_ne!(Digest::new("0".repeat(64)), Digest::new("1".repeat(64)));
    /// ```
    pub fn new(hex: impl Into<Arc<str>>) -> Self {
        Self(hex.into())
    }

    /// The hex digits.
    ///
    /// ```
    /// use codey_protocol::Digest;
    /// assert!(Digest::new("0".repeat(64)).as_str().bytes().all(|digit| digit.is_ascii_hexdigit()));
    /// ```
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
///
/// ```
/// use codey_protocol::{Digest, Observed, RelPath};
/// let observed = Observed { path: RelPath::new("a.txt"), digest: Digest::new("ab".repeat(32)) };
/// let json = serde_json::to_value(&observed).unwrap();
/// assert_eq!(json["path"], "a.txt");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// Which file.
    pub path: RelPath,
    /// Which content.
    pub digest: Digest,
}

/// A file the model has read, and whether it still sees what it read.
///
/// ```
/// use codey_protocol::{Digest, RelPath, Seen};
/// /// Whether an edit may rely on what the model knows of a file that has the content `now`.
/// fn is_current(seen: &Seen, now: &Digest) -> bool {
///     seen.visible && seen.digest == *now
/// }
/// let digest = Digest::new("ab".repeat(32));
/// let folded_away = Seen { path: RelPath::new("a.txt"), digest: digest.clone(), visible: false };
/// assert!(!is_current(&folded_away, &digest));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Which file.
    pub path: RelPath,
    /// The newest content it read or wrote.
    pub digest: Digest,
    /// False once the result was pruned or folded away.
    pub visible: bool,
}
