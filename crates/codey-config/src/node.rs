//! A TOML value in which every part remembers where it was written, and how two of them merge.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::load::ListRule;
use crate::source::{Place, Source};

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub kind: Kind,
    pub place: Place,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// Never an array or a table.
    Scalar(toml::Value),
    List(Vec<Node>),
    Table(BTreeMap<String, Entry>),
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub key: Place,
    pub node: Node,
}

/// A number that TOML can write and no setting can hold, and where it stands.
pub(crate) struct OutOfRange {
    pub offset: usize,
}

impl Node {
    pub fn parsed(table: Spanned<DeTable<'_>>, source: &Arc<Source>) -> Result<Self, OutOfRange> {
        let offset = table.span().start;
        Self::from_value(offset, DeValue::Table(table.into_inner()), source)
    }

    fn from_value(offset: usize, value: DeValue<'_>, source: &Arc<Source>) -> Result<Self, OutOfRange> {
        let place = |offset| Place { source: source.clone(), offset: Some(offset) };
        let child = |value: Spanned<DeValue<'_>>| Self::from_value(value.span().start, value.into_inner(), source);
        let kind = match value {
            DeValue::String(text) => Kind::Scalar(toml::Value::String(text.into_owned())),
            DeValue::Boolean(boolean) => Kind::Scalar(toml::Value::Boolean(boolean)),
            DeValue::Datetime(datetime) => Kind::Scalar(toml::Value::Datetime(datetime)),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(integer) => Kind::Scalar(toml::Value::Integer(integer)),
                Err(_) => return Err(OutOfRange { offset }),
            },
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(float) if float.is_finite() || number.as_str().contains("inf") || float.is_nan() => {
                    Kind::Scalar(toml::Value::Float(float))
                }
                Ok(_) | Err(_) => return Err(OutOfRange { offset }),
            },
            DeValue::Array(array) => Kind::List(array.into_iter().map(child).collect::<Result<_, _>>()?),
            DeValue::Table(table) => {
                let mut entries = BTreeMap::new();
                for (key, value) in table {
                    let entry = Entry { key: place(key.span().start), node: child(value)? };
                    entries.insert(key.into_inner().into_owned(), entry);
                }
                Kind::Table(entries)
            }
        };
        Ok(Self { kind, place: place(offset) })
    }

    /// Wraps a value that was not written in a text.
    pub fn placed(value: toml::Value, place: &Place) -> Self {
        let kind = match value {
            toml::Value::Array(array) => Kind::List(array.into_iter().map(|item| Self::placed(item, place)).collect()),
            toml::Value::Table(table) => Kind::Table(
                table
                    .into_iter()
                    .map(|(key, value)| (key, Entry { key: place.clone(), node: Self::placed(value, place) }))
                    .collect(),
            ),
            scalar => Kind::Scalar(scalar),
        };
        Self { kind, place: place.clone() }
    }

    pub fn to_value(&self) -> toml::Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::List(items) => toml::Value::Array(items.iter().map(Self::to_value).collect()),
            Kind::Table(entries) => {
                toml::Value::Table(entries.iter().map(|(key, entry)| (key.clone(), entry.node.to_value())).collect())
            }
        }
    }

    /// Lists this node and all below it, parents first, each with its dotted path below `path`.
    pub fn walk<'a>(&'a self, path: &str, found: &mut Vec<(String, &'a Node)>) {
        found.push((path.to_owned(), self));
        match &self.kind {
            Kind::Scalar(_) => {}
            Kind::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.walk(&indexed(path, index), found);
                }
            }
            Kind::Table(entries) => {
                for (key, entry) in entries {
                    entry.node.walk(&joined(path, key), found);
                }
            }
        }
    }

    /// Finds the node at a dotted path, and else the nearest one above it.
    pub fn nearest(&self, path: &str) -> Option<(String, &Node)> {
        let mut all = Vec::new();
        self.walk("", &mut all);
        all.retain(|(candidate, _)| {
            !candidate.is_empty()
                && path
                    .strip_prefix(candidate.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        all.into_iter().max_by_key(|(candidate, _)| candidate.len())
    }

    /// Finds the node at a dotted path.
    pub fn at(&self, path: &str) -> Option<&Node> {
        self.nearest(path).filter(|(found, _)| found == path).map(|(_, node)| node)
    }

    /// Lays `over` on top: tables merge by key, lists by their rule, all else is replaced.
    pub fn merge(&mut self, over: Node, path: &mut Vec<String>, rules: &[(&str, ListRule)]) {
        let rule = rule_for(path, rules);
        match (&mut self.kind, over.kind) {
            (Kind::Table(base), Kind::Table(entries)) => {
                for (key, entry) in entries {
                    let Some(below) = base.get_mut(&key) else {
                        base.insert(key, entry);
                        continue;
                    };
                    below.key = entry.key;
                    path.push(key);
                    below.node.merge(entry.node, path, rules);
                    path.pop();
                }
            }
            (Kind::List(base), Kind::List(items)) => match rule {
                None => *base = items,
                Some(ListRule::Append) => base.extend(items),
                Some(ListRule::MergeBy(identity)) => {
                    for item in items {
                        let twin = item.text_of(identity).and_then(|name| {
                            base.iter().position(|candidate| candidate.text_of(identity) == Some(name))
                        });
                        match twin {
                            Some(index) => base[index].merge(item, path, rules),
                            None => base.push(item),
                        }
                    }
                }
            },
            (base, other) => *base = other,
        }
        self.place = over.place;
    }

    /// The text at `key` of a table.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        match &self.kind {
            Kind::Table(entries) => match &entries.get(key)?.node.kind {
                Kind::Scalar(toml::Value::String(text)) => Some(text),
                Kind::Scalar(_) | Kind::List(_) | Kind::Table(_) => None,
            },
            Kind::Scalar(_) | Kind::List(_) => None,
        }
    }
}

/// Finds the rule whose pattern covers `path`; `*` in a pattern stands for any one key.
fn rule_for(path: &[String], rules: &[(&str, ListRule)]) -> Option<ListRule> {
    let covers = |pattern: &str| {
        let mut keys = path.iter();
        pattern.split('.').all(|part| keys.next().is_some_and(|key| part == "*" || part == key))
            && keys.next().is_none()
    };
    rules.iter().find(|(pattern, _)| covers(pattern)).map(|(_, rule)| *rule)
}

/// Appends a key to a dotted path, quoted where TOML would quote it.
pub(crate) fn joined(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let key = if bare { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Appends an index, from 0, to a dotted path.
pub(crate) fn indexed(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}
