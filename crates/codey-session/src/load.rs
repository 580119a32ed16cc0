//! Reading a session file from end to end.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use codey_llm::{Role, Usage};
use codey_protocol::NodeId;

use crate::record::{self, Header, Record, SetRecord, Unreadable};
use crate::tree::{Body, Tree};
use crate::{LoadWarning, Node, NodeKind, SessionError};

/// Longest title in characters, so that a listing finds the head record near the end of the file.
const TITLE_CHARS: usize = 80;

/// What a session adds up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The beginning of the first prompt.
    pub title: String,
    /// Model responses.
    pub turns: u32,
    /// Tokens they took.
    pub usage: Usage,
}

impl Totals {
    pub(crate) fn add(&mut self, node: &Node) {
        if let NodeKind::Message(message) = &node.kind {
            match message.role {
                Role::User if self.title.is_empty() => self.title = title(&message.text()),
                Role::User => {}
                Role::Assistant => self.turns = self.turns.saturating_add(1),
            }
        }
        self.usage += node.meta.usage.unwrap_or_default();
    }
}

/// The first line of `text` that is not blank, shortened, as one line without control characters.
pub(crate) fn title(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut chars = first.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut title: String = chars.by_ref().take(TITLE_CHARS).collect();
    if chars.next().is_some() {
        title.push('…');
    }
    title
}

/// A session file as it was read.
#[derive(Default)]
pub(crate) struct Loaded {
    /// `None`: not even the first line is whole, so nothing was ever stored.
    pub(crate) header: Option<Header>,
    pub(crate) tree: Tree,
    pub(crate) totals: Totals,
    pub(crate) settings: SetRecord,
    pub(crate) prefixes: HashSet<String>,
    pub(crate) warnings: Vec<LoadWarning>,
    /// Where the last whole line ends.
    pub(crate) end: u64,
    /// What stands behind it: a record that was cut off.
    pub(crate) torn: Vec<u8>,
    /// The largest name in the file; new ones must be larger.
    pub(crate) newest: Option<NodeId>,
    gaps: Vec<Gap>,
}

/// A place where records are missing.
struct Gap {
    /// The largest name before it. Names only grow, so it tells which gap a missing node fell into.
    newest: Option<NodeId>,
    /// The head there: what the missing node was appended to.
    head: Option<NodeId>,
}

/// Reads `file` from its beginning and shows each node to `each`, with the parent that the loaded tree gives it.
///
/// Every record is parsed whole, so that all damage is found here and none later.
///
/// # Errors
/// [`SessionError::Newer`] for any record of a newer format, [`SessionError::Damaged`] if the first line is no header.
pub(crate) fn load(file: &File, path: &Path, mut each: impl FnMut(&Node)) -> Result<Loaded, SessionError> {
    let mut reader = BufReader::with_capacity(1 << 18, file);
    let mut loaded = Loaded::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader.read_until(b'\n', &mut line);
        read.map_err(|source| SessionError::Read { path: path.to_owned(), source })?;
        if line.is_empty() {
            break;
        }
        if line.last() != Some(&b'\n') {
            loaded.warn(number, format!("the last record was cut off ({} bytes) and is dropped", line.len()));
            loaded.torn = line;
            break;
        }
        loaded.take(number, &line, path, &mut each)?;
        loaded.end += line.len() as u64;
    }
    Ok(loaded)
}

impl Loaded {
    fn take(
        &mut self,
        number: u64,
        line: &[u8],
        path: &Path,
        each: &mut impl FnMut(&Node),
    ) -> Result<(), SessionError> {
        let record = match record::parse(line) {
            Err(Unreadable::Newer(v)) => return Err(SessionError::Newer { path: path.to_owned(), v }),
            other => other.ok(),
        };
        match (&self.header, record) {
            (None, Some(Record::Header(header))) => self.header = Some(header),
            (None, _) => {
                let reason = "its first line is no session header".to_owned();
                return Err(SessionError::Damaged { path: path.to_owned(), reason });
            }
            (Some(_), Some(Record::Node(node))) => self.node(number, node, line.len(), each),
            (Some(_), Some(Record::Prefix(prefix))) => drop(self.prefixes.insert(prefix.hash)),
            (Some(_), Some(Record::Set(set))) => self.settings.update(set),
            (Some(_), Some(Record::Head(head))) => {
                let node = head.node.and_then(|node| self.resolve(node).unwrap_or(self.tree.head()));
                self.tree.set_head(node);
                self.totals = Totals { title: head.title, turns: head.turns, usage: head.usage };
            }
            (Some(_), Some(Record::Other)) => {}
            (Some(_), Some(Record::Header(_)) | None) => {
                self.gaps.push(Gap { newest: self.newest, head: self.tree.head() });
                self.warn(number, "the record is damaged and is left out".to_owned());
            }
        }
        Ok(())
    }

    fn node(&mut self, number: u64, mut node: Node, len: usize, each: &mut impl FnMut(&Node)) {
        if self.tree.contains(node.id) {
            self.warn(number, format!("node {} is there already; this one is left out", node.id));
            return;
        }
        if let Some(parent) = node.parent {
            node.parent = self.resolve(parent).unwrap_or_else(|| {
                self.warn(number, format!("the node before it ({parent}) is missing; the path goes on without it"));
                self.tree.head()
            });
        }
        self.newest = self.newest.max(Some(node.id));
        self.totals.add(&node);
        self.tree.push(&node, Body::File { offset: self.end, len });
        each(&node);
    }

    /// The node itself if it is in the tree, else what it was appended to when it was lost in a gap.
    fn resolve(&self, node: NodeId) -> Option<Option<NodeId>> {
        if self.tree.contains(node) {
            return Some(Some(node));
        }
        let before = self.gaps.partition_point(|gap| gap.newest < Some(node));
        before.checked_sub(1).map(|index| self.gaps[index].head)
    }

    fn warn(&mut self, line: u64, message: String) {
        self.warnings.push(LoadWarning { line, message });
    }
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn a_title_is_one_short_line_without_control_characters() {
        let cases = [
            ("", ""),
            (" \n\t\n", ""),
            ("\n  fix it \nnow", "fix it"),
            ("a\u{1b}[2Kb\tc", "a [2Kb c"),
            (&"я".repeat(80), &"я".repeat(80)),
            (&"я".repeat(81), &format!("{}…", "я".repeat(80))),
        ];
        for (text, expected) in cases {
            assert_eq!(title(text), expected, "{text:?}");
        }
    }
}
