//! One place settings come from.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use toml::de::DeTable;

use crate::error::ConfigError;
use crate::explain::explain;
use crate::load::ListRule;
use crate::node::{Entry, Kind, Node, OutOfRange, indexed, joined};
use crate::source::{Access, Origin, Place, Source, without_mark};

/// Quoted source lines are cut here.
const EXCERPT_CHARS: usize = 80;

/// Holds the settings of one origin, each with the place where it was written.
#[derive(Debug, Clone)]
pub struct Layer {
    source: Arc<Source>,
    pub(crate) root: Node,
    /// The path of `root` in the file, for messages; empty for a whole layer.
    prefix: String,
}

impl Layer {
    /// Parses TOML that belongs to `origin`.
    ///
    /// # Errors
    /// The first syntax error, with the line it stands in.
    pub fn parse(origin: Origin, text: &str) -> Result<Self, ConfigError> {
        Self::from_source(Source { origin, text: without_mark(text).to_owned(), access: Access::Shared })
    }

    /// Reads a file; `None` if there is none. Nothing else is passed over in silence: a folder, a dangling link, a
    /// FIFO, a file without read permission or over 1 MiB is an error.
    ///
    /// # Errors
    /// What keeps the file from being read, or its first syntax error. With [`Access::OwnerOnly`], also that others
    /// may access it.
    pub fn read(path: &Path, access: Access) -> Result<Option<Self>, ConfigError> {
        Source::read(path, access)?.map(Self::from_source).transpose()
    }

    /// Makes the layer of one flag or environment variable, which sets the key at a dotted `path`.
    pub fn single(origin: Origin, path: &str, value: impl Into<toml::Value>) -> Self {
        let source = Arc::new(Source { origin, text: String::new(), access: Access::Shared });
        let place = Place { source: source.clone(), offset: None };
        let mut root = Node::placed(value.into(), &place);
        for key in path.rsplit('.') {
            let entry = Entry { key: place.clone(), node: root };
            root = Node { kind: Kind::Table(BTreeMap::from([(key.to_owned(), entry)])), place: place.clone() };
        }
        Self { source, root, prefix: String::new() }
    }

    /// Who set what this layer holds.
    pub fn origin(&self) -> &Origin {
        &self.source.origin
    }

    /// The text this layer was parsed from, without a byte order mark; empty for [`Layer::single`].
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The value at a dotted path, unchecked; for what has to be known before the rest can be judged, such as a
    /// version.
    pub fn get(&self, path: &str) -> Option<toml::Value> {
        self.root.at(path).map(Node::to_value)
    }

    /// The table that `keys` lead to as a layer of its own, from the same origin and with the same positions; `None`
    /// if there is no table. This is how a named set of overrides inside a file is laid over that file.
    pub fn section(&self, keys: &[&str]) -> Option<Self> {
        let (mut root, mut prefix) = (&self.root, self.prefix.clone());
        for key in keys {
            let Kind::Table(entries) = &root.kind else { return None };
            root = &entries.get(*key)?.node;
            prefix = joined(&prefix, key);
        }
        match root.kind {
            Kind::Table(_) => Some(Self { source: self.source.clone(), root: root.clone(), prefix }),
            Kind::Scalar(_) | Kind::List(_) => None,
        }
    }

    /// Takes out what `keep` refuses, and names it by dotted path.
    ///
    /// `keep` is asked about each value that is no table, a list as a whole, with the keys that lead there. A table of
    /// which nothing is kept goes too, so what was taken out cannot be a reason for an error any more.
    pub fn split(mut self, mut keep: impl FnMut(&[&str], &toml::Value) -> bool) -> (Self, Vec<String>) {
        let mut ignored = Vec::new();
        if let Kind::Table(entries) = &mut self.root.kind {
            retain(entries, &mut Vec::new(), &mut keep, &mut ignored);
        }
        (self, ignored)
    }

    /// Makes an error about the value at a dotted path, for rules that types cannot express. The position is that of
    /// the nearest part of the path that exists.
    pub fn error_at(&self, path: &str, message: impl AsRef<str>, hint: Option<String>) -> ConfigError {
        let place = self.root.nearest(path).map_or(&self.root.place, |(_, node)| &node.place);
        place.error(self.path_in_file(path), message.as_ref(), hint)
    }

    /// Checks that this layer fits `T` by itself, and that no list which merges by name has a name twice.
    pub(crate) fn check<T: DeserializeOwned>(&self, rules: &[(&str, ListRule)]) -> Result<(), ConfigError> {
        deserialize::<T>(&self.root, &self.prefix)?;
        for (pattern, rule) in rules {
            match rule {
                ListRule::Append => {}
                ListRule::MergeBy(identity) => {
                    let mut keys = pattern.split('.').collect::<Vec<_>>();
                    keys.reverse();
                    self.check_unique(&self.root, &mut keys, &self.prefix, identity)?;
                }
            }
        }
        Ok(())
    }

    /// `keys`: what is left of a rule's pattern, next part last.
    fn check_unique(&self, node: &Node, keys: &mut Vec<&str>, path: &str, identity: &str) -> Result<(), ConfigError> {
        let Some(part) = keys.pop() else {
            return unique(node, path, identity);
        };
        if let Kind::Table(entries) = &node.kind {
            for (key, entry) in entries.iter().filter(|(key, _)| part == "*" || part == key.as_str()) {
                self.check_unique(&entry.node, keys, &joined(path, key), identity)?;
            }
        }
        keys.push(part);
        Ok(())
    }

    fn from_source(source: Source) -> Result<Self, ConfigError> {
        let source = Arc::new(source);
        let fail = |offset: usize, message: String| {
            Err(Place { source: source.clone(), offset: Some(offset) }.error(String::new(), &message, None))
        };
        let table = match DeTable::parse(&source.text) {
            Ok(table) => table,
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                return fail(offset, format!("{}{}", error.message(), excerpt(&source, offset)));
            }
        };
        match Node::parsed(table, &source) {
            Ok(root) => Ok(Self { root, prefix: String::new(), source: source.clone() }),
            Err(OutOfRange { offset }) => fail(offset, "this number is out of range".to_owned()),
        }
    }

    fn path_in_file(&self, path: &str) -> String {
        if self.prefix.is_empty() { path.to_owned() } else { format!("{}.{path}", self.prefix) }
    }
}

/// Shows the line of a syntax error, unless it might hold a secret.
fn excerpt(source: &Source, offset: usize) -> String {
    let start = source.text[..offset.min(source.text.len())].rfind('\n').map_or(0, |newline| newline + 1);
    let line = source.text[start..].lines().next().unwrap_or_default().trim();
    if line.is_empty() || source.access == Access::OwnerOnly {
        return String::new();
    }
    let mut shown = line.chars().take(EXCERPT_CHARS).collect::<String>();
    if shown.len() < line.len() {
        shown.push('…');
    }
    format!(", in: {shown}")
}

fn retain(
    entries: &mut BTreeMap<String, Entry>,
    path: &mut Vec<String>,
    keep: &mut dyn FnMut(&[&str], &toml::Value) -> bool,
    ignored: &mut Vec<String>,
) {
    entries.retain(|key, entry| {
        path.push(key.clone());
        let kept = match &mut entry.node.kind {
            Kind::Table(below) if !below.is_empty() => {
                retain(below, path, keep, ignored);
                !below.is_empty()
            }
            Kind::Table(_) | Kind::List(_) | Kind::Scalar(_) => {
                let keys = path.iter().map(String::as_str).collect::<Vec<_>>();
                let kept = keep(&keys, &entry.node.to_value());
                if !kept {
                    ignored.push(keys.iter().fold(String::new(), |path, key| joined(&path, key)));
                }
                kept
            }
        };
        path.pop();
        kept
    });
}

fn unique(list: &Node, path: &str, identity: &str) -> Result<(), ConfigError> {
    let Kind::List(items) = &list.kind else { return Ok(()) };
    let mut seen = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let Some(name) = item.text_of(identity) else { continue };
        let Some(first) = seen.insert(name, item) else { continue };
        let before = first.place.position().map(|position| format!(" (first on line {})", position.line));
        let message = format!("{identity} {name:?} is given twice{}", before.unwrap_or_default());
        let hint = format!("give each its own {identity}, or put them together");
        return Err(item.place.error(indexed(path, index), &message, Some(hint)));
    }
    Ok(())
}

/// Turns `root` into a `T`; what does not fit is reported where it was written.
pub(crate) fn deserialize<T: DeserializeOwned>(root: &Node, prefix: &str) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(root.to_value()).map_err(|error| {
        let (mut node, mut key, mut path) = (root, &root.place, prefix.to_owned());
        for segment in error.path() {
            match (segment, &node.kind) {
                (Segment::Seq { index }, Kind::List(items)) => {
                    let Some(item) = items.get(*index) else { break };
                    (node, key, path) = (item, &item.place, indexed(&path, *index));
                }
                (Segment::Map { key: name } | Segment::Enum { variant: name }, Kind::Table(entries)) => {
                    let Some(entry) = entries.get(name) else { break };
                    (node, key, path) = (&entry.node, &entry.key, joined(&path, name));
                }
                // A variant written as text has no part of its own, and an unknown segment leads nowhere.
                (Segment::Seq { .. } | Segment::Map { .. } | Segment::Enum { .. } | Segment::Unknown, _) => break,
            }
        }
        let inner = error.into_inner();
        let explanation = explain(inner.message(), node.place.source.access == Access::Shared);
        let place = if explanation.at_key { key } else { &node.place };
        place.error(path, &explanation.message, explanation.hint)
    })
}
