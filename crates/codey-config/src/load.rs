//! Merging layers into one typed value.

use serde::de::DeserializeOwned;

use crate::error::ConfigError;
use crate::layer::{Layer, deserialize};
use crate::node::{Kind, Node};
use crate::source::Origin;

/// Says how a list of a later layer meets the same list of an earlier one; without a rule it replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListRule {
    /// Later entries are added at the end.
    Append,
    /// The list holds tables; those with the same text at this key merge key by key, new ones are added at the end.
    MergeBy(&'static str),
}

/// Holds the merged settings, and where each of them comes from.
#[derive(Debug)]
pub struct Loaded<T> {
    /// The settings.
    pub value: T,
    merged: Node,
}

/// Describes one effective value: a scalar, or an empty list or table.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<'a> {
    /// The dotted path, as in `endpoint[1].base_url`.
    pub key: String,
    /// The value in effect.
    pub value: toml::Value,
    /// Who set it.
    pub origin: &'a Origin,
}

/// Checks each of `layers` by itself against `T`, merges them in order, later wins, and makes a `T` of the result.
///
/// Tables merge by key. Lists are replaced unless a rule covers their dotted path; `*` in a rule's path stands for any
/// one key, and the path of something inside a list's table leaves the index out. Since every layer is checked, `T`
/// has to accept each part alone: keys that another layer may supply are optional, and what is missing in the end is
/// the caller's to report, with [`Loaded::error_at`].
///
/// # Errors
/// The first thing wrong, in the order of the layers; a value that a later layer replaces is checked all the same.
pub fn load<T: DeserializeOwned>(layers: Vec<Layer>, rules: &[(&str, ListRule)]) -> Result<Loaded<T>, ConfigError> {
    for layer in &layers {
        layer.check::<T>(rules)?;
    }
    let merged = layers.into_iter().map(|layer| layer.root).reduce(|mut base, over| {
        base.merge(over, &mut Vec::new(), rules);
        base
    });
    let merged = match merged {
        Some(merged) => merged,
        None => Layer::parse(Origin::Defaults, "")?.root,
    };
    Ok(Loaded { value: deserialize(&merged, "")?, merged })
}

impl<T> Loaded<T> {
    /// Who set the value at a dotted path; `None` if nobody did. Of a table or a list, who touched it last.
    pub fn origin_of(&self, path: &str) -> Option<&Origin> {
        self.merged.at(path).map(|node| &node.place.source.origin)
    }

    /// Lists all effective values, by path.
    pub fn settings(&self) -> Vec<Setting<'_>> {
        let mut all = Vec::new();
        self.merged.walk("", &mut all);
        all.retain(|(path, node)| match &node.kind {
            Kind::Scalar(_) => true,
            Kind::List(items) => items.is_empty(),
            Kind::Table(entries) => entries.is_empty() && !path.is_empty(),
        });
        all.into_iter()
            .map(|(key, node)| Setting { key, value: node.to_value(), origin: &node.place.source.origin })
            .collect()
    }

    /// Makes an error about the value at a dotted path, for rules that types cannot express. The position is that of
    /// the nearest part of the path that somebody set; if there is none, the origin is [`Origin::Defaults`].
    pub fn error_at(&self, path: &str, message: impl AsRef<str>, hint: Option<String>) -> ConfigError {
        match self.merged.nearest(path) {
            Some((_, node)) => node.place.error(path.to_owned(), message.as_ref(), hint),
            None => {
                ConfigError { key: path.to_owned(), ..ConfigError::whole(Origin::Defaults, message.as_ref(), hint) }
            }
        }
    }
}
