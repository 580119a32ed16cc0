//! What may enter the dependency tree: the lists of `deny.toml`, checked without cargo-deny.
//!
//! Licences are checked for the platform of the machine, whose packages are the only ones cargo has fetched; sources
//! and banned crates for all platforms, since `Cargo.lock` names them all.

use std::collections::BTreeSet;
use std::fs;
use std::iter::Peekable;
use std::process::Command;
use std::str::SplitWhitespace;

use regex::Regex;
use serde_json::Value;

use crate::metadata::{list, metadata, text};
use crate::workspace_root;

/// The lists of `deny.toml`.
struct Rules {
    licences: BTreeSet<String>,
    /// Licences accepted for one crate alone.
    exceptions: Vec<(String, BTreeSet<String>)>,
    banned: BTreeSet<String>,
}

impl Rules {
    fn parse(deny: &str) -> Self {
        let list = |key: &str| {
            let pattern = format!(r"(?sm)^{key} = \[\n(.*?)^\]");
            Regex::new(&pattern).unwrap().captures(deny).unwrap_or_else(|| panic!("deny.toml has no list {key}"))[1]
                .to_owned()
        };
        let quoted = |text: &str| {
            let strings = Regex::new("\"([^\"]*)\"").unwrap();
            strings.captures_iter(text).map(|string| string[1].to_owned()).collect::<Vec<_>>()
        };
        let crate_of = |line: &str| quoted(line).first().cloned();
        let exception = |line: &str| Some((crate_of(line)?, quoted(line).into_iter().skip(1).collect()));
        Self {
            licences: quoted(&list("allow")).into_iter().collect(),
            exceptions: list("exceptions").lines().filter_map(exception).collect(),
            banned: list("deny").lines().filter_map(crate_of).collect(),
        }
    }

    /// Says what is wrong with the licence of a package, if anything.
    fn objection(&self, package: &str, licence: &str) -> Option<String> {
        let exceptions = self.exceptions.iter().filter(|(name, _)| name == package).map(|(_, licences)| licences);
        let accepted =
            |id: &str| self.licences.contains(id) || exceptions.clone().any(|licences| licences.contains(id));
        match satisfied(licence, &accepted) {
            Ok(true) => None,
            Ok(false) => Some(format!("{package}: the licence `{licence}` is not accepted")),
            Err(Malformed) => Some(format!("{package}: the licence `{licence}` cannot be read")),
        }
    }
}

#[derive(Debug, PartialEq)]
struct Malformed;

/// Whether an SPDX expression can be met with licences that are `accepted`. `/` stands for `OR`, as in old manifests.
fn satisfied(expression: &str, accepted: &dyn Fn(&str) -> bool) -> Result<bool, Malformed> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let met = alternatives(&mut words, accepted)?;
    if words.next().is_none() { Ok(met) } else { Err(Malformed) }
}

type Words<'a> = Peekable<SplitWhitespace<'a>>;

fn alternatives(words: &mut Words, accepted: &dyn Fn(&str) -> bool) -> Result<bool, Malformed> {
    let mut met = conjunction(words, accepted)?;
    while words.next_if_eq(&"OR").is_some() {
        met |= conjunction(words, accepted)?;
    }
    Ok(met)
}

fn conjunction(words: &mut Words, accepted: &dyn Fn(&str) -> bool) -> Result<bool, Malformed> {
    let mut met = licence(words, accepted)?;
    while words.next_if_eq(&"AND").is_some() {
        met &= licence(words, accepted)?;
    }
    Ok(met)
}

fn licence(words: &mut Words, accepted: &dyn Fn(&str) -> bool) -> Result<bool, Malformed> {
    match words.next() {
        Some("(") => {
            let met = alternatives(words, accepted)?;
            if words.next() == Some(")") { Ok(met) } else { Err(Malformed) }
        }
        None | Some(")" | "OR" | "AND" | "WITH") => Err(Malformed),
        Some(id) if words.next_if_eq(&"WITH").is_some() => {
            let exception = words.next().ok_or(Malformed)?;
            Ok(accepted(&format!("{id} WITH {exception}")))
        }
        Some(id) => Ok(accepted(id)),
    }
}

/// Says which packages of a `Cargo.lock` come from elsewhere than crates.io and the workspace, or are banned.
fn lock_breaches(lock: &str, members: &BTreeSet<String>, rules: &Rules) -> Vec<String> {
    let mut found = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|quoted| quoted.trim_matches('"'))
        };
        let name = value("name").unwrap_or_default();
        match value("source") {
            Some(source) if source.starts_with("registry+") && source.ends_with("/crates.io-index") => {}
            Some(source) => found.push(format!("{name} comes from {source}, expected crates.io")),
            None if members.contains(name) => {}
            None => found.push(format!("{name} is a folder outside the workspace")),
        }
        if rules.banned.contains(name) {
            found.push(format!("{name} is banned, see deny.toml"));
        }
    }
    found
}

fn rules() -> Rules {
    Rules::parse(&fs::read_to_string(workspace_root().join("deny.toml")).unwrap())
}

/// The target triple of this machine, as rustc calls it.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

#[test]
fn every_licence_is_accepted() {
    let (rules, metadata) = (rules(), metadata(&["--filter-platform", &host()]));
    let packages = list(&metadata, "packages");
    assert!(packages.len() > 50, "only {} packages were looked at", packages.len());
    let objection = |package: &Value| rules.objection(text(package, "name"), text(package, "license"));
    let objections = packages.iter().filter_map(objection).collect::<Vec<_>>();
    assert!(objections.is_empty(), "\n{}\n", objections.join("\n"));
}

#[test]
fn every_package_comes_from_the_workspace_or_crates_io_and_none_is_banned() {
    let lock = fs::read_to_string(workspace_root().join("Cargo.lock")).unwrap();
    let metadata = metadata(&["--no-deps"]);
    let members = list(&metadata, "packages").iter().map(|package| text(package, "name").to_owned()).collect();
    let breaches = lock_breaches(&lock, &members, &rules());
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

#[test]
fn the_lists_of_deny_toml_are_read() {
    let rules = rules();
    assert!(rules.licences.contains("MIT") && rules.licences.contains("Apache-2.0 WITH LLVM-exception"));
    assert!(!rules.licences.contains("MPL-2.0") && !rules.licences.iter().any(|licence| licence.contains("GPL")));
    assert!(rules.banned.contains("openssl-sys"));
}

fn check_licence(expression: &str, expected: Result<bool, Malformed>) {
    let accepted = |id: &str| ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "ISC"].contains(&id);
    assert_eq!(satisfied(expression, &accepted), expected, "{expression}");
}

#[test]
fn one_accepted_alternative_is_enough() {
    check_licence("MIT", Ok(true));
    check_licence("GPL-3.0-only", Ok(false));
    check_licence("GPL-3.0-only OR MIT", Ok(true));
    check_licence("GPL-3.0-only/MIT", Ok(true));
    check_licence("GPL-3.0-only / LGPL-3.0-only", Ok(false));
}

#[test]
fn of_a_conjunction_every_part_is_needed() {
    check_licence("ISC AND (GPL-3.0-only OR MIT)", Ok(true));
    check_licence("ISC AND GPL-3.0-only", Ok(false));
    check_licence("(MIT OR Apache-2.0) AND OpenSSL", Ok(false));
    // AND binds tighter than OR.
    check_licence("MIT OR ISC AND GPL-3.0-only", Ok(true));
    check_licence("GPL-3.0-only AND MIT OR ISC AND GPL-3.0-only", Ok(false));
}

#[test]
fn an_exception_belongs_to_its_licence() {
    check_licence("Apache-2.0 WITH LLVM-exception", Ok(true));
    check_licence("MIT WITH LLVM-exception", Ok(false));
    check_licence("GPL-2.0-only OR Apache-2.0 WITH LLVM-exception", Ok(true));
}

#[test]
fn what_is_no_expression_is_not_accepted() {
    for expression in ["", "MIT OR", "(MIT", "MIT)", "MIT Apache-2.0", "AND MIT", "MIT WITH"] {
        check_licence(expression, Err(Malformed));
    }
}

#[test]
fn a_licence_accepted_for_one_crate_is_refused_for_others() {
    let rules = rules();
    assert_eq!(rules.objection("nucleo-matcher", "MPL-2.0"), None);
    assert_eq!(rules.objection("other", "MPL-2.0"), Some("other: the licence `MPL-2.0` is not accepted".to_owned()));
    assert_eq!(rules.objection("none", ""), Some("none: the licence `` cannot be read".to_owned()));
}

#[test]
fn packages_from_elsewhere_and_banned_ones_are_named() {
    let lock = "version = 4\n\n\
        [[package]]\nname = \"codey-llm\"\nversion = \"0.1.0\"\n\n\
        [[package]]\nname = \"fork\"\nversion = \"1.0.0\"\nsource = \"git+ssh://example/fork#1\"\n\n\
        [[package]]\nname = \"near\"\nversion = \"1.0.0\"\n\n\
        [[package]]\nname = \"openssl-sys\"\nversion = \"1.0.0\"\nsource = \"registry+ssh://example/crates.io-index\"\n";
    let members = BTreeSet::from(["codey-llm".to_owned()]);
    assert_eq!(
        lock_breaches(lock, &members, &rules()),
        [
            "fork comes from git+ssh://example/fork#1, expected crates.io",
            "near is a folder outside the workspace",
            "openssl-sys is banned, see deny.toml",
        ]
    );
}
