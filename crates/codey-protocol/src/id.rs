//! Names of nodes, snapshots and files.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// Names a node of the session tree.
///
/// ```
/// use codey_protocol::NodeId;
/// let ids: [NodeId; 2] =
///     serde_json::from_str(r#"["01JGFJJZ00000000000000000A", "01JGFJJZ00000000000000000B"]"#).unwrap();
/// assert!(ids[0] < ids[1], "children come after their parents");
/// assert_eq!(ids[0].to_string(), "01JGFJJZ00000000000000000A");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NodeId(#[schemars(with = "String", regex(pattern = "^[0-9A-HJKMNP-TV-Z]{26}$"))] pub Ulid);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names an undo snapshot; opaque to all but the store that made it.
///
/// ```
/// use codey_protocol::SnapshotId;
/// let id = SnapshotId("refs/codey/7".into());
/// assert_eq!(serde_json::to_string(&id).unwrap(), r#""refs/codey/7""#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SnapshotId(pub String);

/// A path relative to the workspace root, with `/` between components; the root itself is empty.
///
/// It holds no `.` or `..`: those were resolved when it was made.
///
/// ```
/// use codey_protocol::RelPath;
/// let path = RelPath::root().join("src").join("main.rs");
/// assert_eq!(path, RelPath::new("src/main.rs"));
/// assert_eq!(RelPath::root().to_string(), ".");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RelPath(Arc<str>);

impl RelPath {
    /// The workspace root.
    ///
    /// ```
    /// use codey_protocol::RelPath;
    /// assert_eq!(RelPath::root(), RelPath::new(""));
    /// ```
    pub fn root() -> Self {
        Self(Arc::from(""))
    }

    /// Wraps a path that is already relative and clean.
    ///
    /// ```
    /// use codey_protocol::RelPath;
    /// assert_eq!(RelPath::new("src/main.rs").to_string(), "src/main.rs");
    /// ```
    pub fn new(path: impl Into<Arc<str>>) -> Self {
        Self(path.into())
    }

    /// The path; empty for the root.
    ///
    /// ```
    /// use codey_protocol::RelPath;
    /// assert_eq!(RelPath::new("src").as_str(), "src");
    /// assert_eq!(RelPath::root().as_str(), "", "but it is shown as a dot");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the root.
    ///
    /// ```
    /// use codey_protocol::RelPath;
    /// assert!(RelPath::root().is_root());
    /// assert!(!RelPath::root().join("src").is_root());
    /// ```
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of `name` below this one.
    ///
    /// ```
    /// use codey_protocol::RelPath;
    /// assert_eq!(RelPath::root().join("src").join("main.rs").as_str(), "src/main.rs");
    /// ```
    pub fn join(&self, name: &str) -> Self {
        if self.is_root() { Self::new(name) } else { Self::new(format!("{}/{name}", self.0)) }
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}
