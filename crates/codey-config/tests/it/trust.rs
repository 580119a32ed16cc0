//! What an untrusted file may not set is taken out before anything looks at it.

use codey_config::Layer;

use crate::{file, loaded, refused};

/// The invented program lets a project narrow: forbid, and lower the effort.
fn narrows(path: &[&str], value: &toml::Value) -> bool {
    match path {
        ["version"] | ["rules", "deny"] => true,
        ["model", "effort"] => value.as_str() == Some("low"),
        _ => false,
    }
}

fn check(text: &str, kept: &str, ignored: &[&str]) -> Layer {
    let (layer, names) = file("project.toml", text).split(narrows);
    assert_eq!(names, ignored, "{text}");
    let loaded = loaded(vec![layer.clone()]);
    let rendered = loaded.settings().into_iter().map(|s| format!("{} = {}", s.key, s.value));
    assert_eq!(rendered.collect::<Vec<_>>().join("; "), kept, "{text}");
    layer
}

#[test]
fn what_narrows_is_kept_and_the_rest_named() {
    check(
        "version = 1\n[model]\ndefault = \"x\"\neffort = \"low\"\n[rules]\nallow = [\"bash\"]\ndeny = [\"rm\"]\n[[server]]\nname = \"a\"",
        "model.effort = \"low\"; rules.deny[0] = \"rm\"; version = 1",
        &["model.default", "rules.allow", "server"],
    );
}

#[test]
fn the_value_counts_too() {
    check("model.effort = \"high\"", "", &["model.effort"]);
}

#[test]
fn the_ignored_part_may_be_wrong() {
    check(
        "nonsense = 1\nserver = 3\n[rules]\nallow = 4\n[profile.\"a b\"]\nbogus = {}\n[[model.default]]\nx = 1",
        "",
        &["model.default", "nonsense", "profile.\"a b\".bogus", "rules.allow", "server"],
    );
}

#[test]
fn a_table_of_which_nothing_is_kept_is_gone() {
    // `server` is a list: as an empty table it would be refused.
    let layer = check("[server]\nname = \"a\"", "", &["server.name"]);
    assert_eq!(layer.get("server"), None);
}

#[test]
fn the_kept_part_is_checked() {
    let (layer, _) = file("project.toml", "server = 3\n[rules]\ndeny = 4").split(narrows);
    assert_eq!(refused(vec![layer]).to_string(), "project.toml:3:8: rules.deny: expected a list, found integer `4`");
}

#[test]
fn the_text_to_be_trusted_is_the_text_that_was_parsed() {
    let (layer, _) = file("project.toml", "\u{feff}version = 1\r\n").split(narrows);
    assert_eq!(layer.text(), "version = 1\r\n");
}
