//! What callers of the layering engine rely on, shown with settings of an invented program.
#![allow(clippy::unwrap_used)]

mod errors;
mod files;
mod merging;
mod trust;

use std::collections::BTreeMap;

use codey_config::{ConfigError, Layer, ListRule, Loaded, Origin, load};
use serde::Deserialize;

/// The settings of the invented program: every part optional, as [`load`] asks for.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    version: Option<u8>,
    model: Model,
    server: Vec<Server>,
    rules: Rules,
    files: Option<Vec<String>>,
    profile: BTreeMap<String, Settings>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Model {
    default: Option<String>,
    effort: Option<Effort>,
    heat: Option<f64>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Effort {
    Low,
    High,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    name: String,
    url: Option<String>,
    retries: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rules {
    allow: Vec<String>,
    deny: Vec<String>,
}

const RULES: &[(&str, ListRule)] = &[
    ("server", ListRule::MergeBy("name")),
    ("profile.*.server", ListRule::MergeBy("name")),
    ("rules.allow", ListRule::Append),
    ("rules.deny", ListRule::Append),
];

fn file(name: &str, text: &str) -> Layer {
    Layer::parse(Origin::File(name.into()), text).unwrap()
}

fn loaded(layers: Vec<Layer>) -> Loaded<Settings> {
    load(layers, RULES).unwrap()
}

fn refused(layers: Vec<Layer>) -> ConfigError {
    load::<Settings>(layers, RULES).unwrap_err()
}
