//! Every public item of the crates that other programs embed shows how it is used.

use std::fs;

use regex::Regex;

use crate::sources::rust_files;
use crate::workspace_root;

/// The crates whose public items are for programs outside this workspace.
const CRATES: &[&str] = &["codey-agent", "codey-llm", "codey-protocol"];

/// The public items of a source that have no example, as line and name.
///
/// Lines are enough, since rustfmt indents them reliably: items stand at the margin, methods one step in, and methods of a
/// public trait need no `pub`. Whatever is `pub` counts: what is not exported is to be `pub(crate)`.
fn without_example(source: &str) -> Vec<(usize, String)> {
    let item = Regex::new(r"^(?:    )?pub (?:async |const )*(?:fn|struct|enum|trait|type|const|static) (\w+)").unwrap();
    let method = Regex::new(r"^    (?:async )?fn (\w+)").unwrap();
    let lines: Vec<&str> = source.lines().collect();
    let mut in_trait = false;
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !line.is_empty() && !line.starts_with(' ') {
            in_trait = line.starts_with("pub trait ");
        }
        let Some(name) = item.captures(line).or_else(|| method.captures(line).filter(|_| in_trait)) else { continue };
        if !has_example(&lines[..index]) {
            found.push((index + 1, name[1].to_owned()));
        }
    }
    found
}

/// Whether the doc comment right above holds a block of Rust that is compiled.
fn has_example(above: &[&str]) -> bool {
    let ends_before = |line: &str| line.is_empty() || (!line.starts_with("//") && line.ends_with(['}', ';', '{']));
    let own = above.iter().rev().map(|line| line.trim()).take_while(|line| !ends_before(line));
    let fences: Vec<&str> = own.filter_map(|line| line.strip_prefix("/// ```")).collect();
    fences.last().is_some_and(|opening| ["", "no_run", "should_panic"].contains(opening))
}

#[test]
fn every_public_item_has_an_example() {
    let root = workspace_root();
    let mut missing = Vec::new();
    for name in CRATES {
        let files = rust_files(&root.join("crates").join(name).join("src"));
        assert!(!files.is_empty(), "{name} has no sources");
        for path in files {
            let shown = path.strip_prefix(&root).unwrap().display().to_string();
            let items = without_example(&fs::read_to_string(&path).unwrap());
            missing.extend(items.into_iter().map(|(line, item)| format!("{shown}:{line} {item}")));
        }
    }
    assert!(
        missing.is_empty(),
        "\npublic items without an example in their doc comment; write one, or make them pub(crate):\n{}\n",
        missing.join("\n")
    );
}

#[test]
fn items_without_an_example_are_found_wherever_they_stand() {
    let source = "\
/// Shown.
///
/// ```
/// let shown = pub fn;
/// ```
#[derive(
    Debug,
)]
pub struct Shown {
    /// Fields do not count.
    pub field: u8,
}

impl Shown {
    /// No example.
    pub async fn method(&self) {}
    /// ```
    /// one();
    /// ```
    pub const fn shown() {}
    fn private() {}
}

impl Clone for Shown {
    fn clone(&self) {}
}

/// ```text
/// Not Rust.
/// ```
pub trait Trait {
    /// No example.
    fn required(&self);
}

pub(crate) fn internal() {}
pub const CONST: u8 = 1;
pub use other::Thing;
";
    let found: Vec<String> = without_example(source).into_iter().map(|(line, name)| format!("{line} {name}")).collect();
    assert_eq!(found, ["16 method", "31 Trait", "33 required", "37 CONST"]);
}
