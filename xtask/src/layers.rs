//! Which crate may use which. A new edge is a change of [`EDGES`], and so seen in review.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use regex::Regex;
use serde_json::{Value, json};

use crate::metadata::{list, metadata, text};

/// Every member of the workspace with the members it uses, dev-dependencies aside. Each uses only members above it.
const EDGES: &[(&str, &[&str])] = &[
    // vocabularies
    ("codey-llm", &[]),
    ("codey-protocol", &["codey-llm"]),
    // below all that writes
    ("codey-faults", &[]),
    // core
    ("codey-providers", &["codey-llm"]),
    ("codey-tools", &["codey-faults", "codey-llm", "codey-protocol"]),
    ("codey-session", &["codey-faults", "codey-llm", "codey-protocol"]),
    ("codey-ctx", &["codey-llm", "codey-protocol", "codey-session"]),
    ("codey-agent", &["codey-ctx", "codey-llm", "codey-protocol", "codey-session", "codey-tools"]),
    ("codey-config", &[]),
    (
        "codey-app",
        &[
            "codey-agent",
            "codey-config",
            "codey-ctx",
            "codey-faults",
            "codey-llm",
            "codey-protocol",
            "codey-providers",
            "codey-session",
            "codey-tools",
        ],
    ),
    // consumers
    ("codey-print", &["codey-llm", "codey-protocol"]),
    ("codey-eval", &["codey-llm", "codey-protocol"]),
    // programs
    ("codey", &["codey-app", "codey-faults", "codey-llm", "codey-print", "codey-protocol"]),
    ("codey-evals", &["codey-app", "codey-eval", "codey-protocol"]),
    // development
    ("codey-testkit", &["codey-llm", "codey-protocol"]),
    ("xtask", &[]),
];

/// Members that show a run to somebody; only programs may use them.
const INTERFACES: &[&str] = &["codey-print"];

/// The member that is a dev-dependency and nothing else.
const TEST_ONLY: &str = "codey-testkit";

/// Crates from outside with the members that may use them, in whatever kind of dependency; some members are yet to
/// come.
const PINS: &[(&str, &[&str])] = &[
    ("anyhow", &["codey-app", "codey-eval", "codey", "codey-evals", "xtask"]),
    ("clap", &["codey", "codey-evals", "xtask"]),
    ("crossterm", &["codey-tui"]),
    ("ratatui", &["codey-tui"]),
    ("reqwest", &["codey-providers"]),
];

/// A member of the workspace and what its manifest says it uses.
struct Member {
    name: String,
    /// Whether it lies in `bins`.
    is_program: bool,
    manifest: PathBuf,
    /// Other members, dev-dependencies aside.
    uses: BTreeSet<String>,
    /// Crates from outside.
    outside: BTreeSet<String>,
}

fn members(metadata: &Value) -> Vec<Member> {
    let member = |package: &Value| {
        let manifest = PathBuf::from(text(package, "manifest_path"));
        let named = |wanted: &dyn Fn(&Value) -> bool| {
            let dependencies = list(package, "dependencies").iter().filter(|dependency| wanted(dependency));
            dependencies.map(|dependency| text(dependency, "name").to_owned()).collect::<BTreeSet<_>>()
        };
        Member {
            name: text(package, "name").to_owned(),
            is_program: manifest.iter().rev().nth(2).is_some_and(|folder| folder == "bins"),
            uses: named(&|dependency| dependency["path"].is_string() && text(dependency, "kind") != "dev"),
            outside: named(&|dependency| !dependency["path"].is_string()),
            manifest,
        }
    };
    list(metadata, "packages").iter().map(member).collect()
}

/// Compares the workspace with the rules above; one line for each breach.
fn breaches(members: &[Member], edges: &[(&str, &[&str])]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, _) in edges {
        if !members.iter().any(|member| member.name == *name) {
            found.push(format!("EDGES lists {name}, which is no member of the workspace: remove it"));
        }
    }
    for member in members {
        let name = &member.name;
        let Some((_, allowed)) = edges.iter().find(|(listed, _)| listed == name) else {
            found.push(format!("{name} is missing in EDGES: add it with the members it uses"));
            continue;
        };
        let allowed = allowed.iter().map(|edge| (*edge).to_owned()).collect::<BTreeSet<_>>();
        for edge in member.uses.difference(&allowed) {
            found.push(format!("{name} uses {edge}, which EDGES does not allow"));
        }
        for edge in allowed.difference(&member.uses) {
            found.push(format!("EDGES lets {name} use {edge}, which it does not: remove the edge"));
        }
        for interface in INTERFACES.iter().filter(|interface| member.uses.contains(**interface) && !member.is_program) {
            found.push(format!("{name} uses {interface}, but only programs in bins may use an interface"));
        }
        if member.uses.contains(TEST_ONLY) {
            found.push(format!("{name} uses {TEST_ONLY} outside its tests: make it a dev-dependency"));
        }
        for (outside, users) in PINS {
            if member.outside.contains(*outside) && !users.contains(&name.as_str()) {
                found.push(format!("{name} uses {outside}, which is kept to: {}", users.join(", ")));
            }
        }
    }
    found
}

/// Says what in the text of a member's manifest goes round the workspace's own.
fn manifest_breaches(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !manifest.contains("[lints]\nworkspace = true\n") {
        found.push("lacks `[lints]` with `workspace = true`, and so the ban of unsafe code".to_owned());
    }
    let inherited = Regex::new(r"^[A-Za-z0-9_-]+\.workspace = true$").unwrap();
    let mut in_dependencies = false;
    for line in manifest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            in_dependencies = line.ends_with("dependencies]");
        } else if in_dependencies && !inherited.is_match(line) {
            found.push(format!("has the dependency `{line}`, expected `NAME.workspace = true`"));
        }
    }
    found
}

#[test]
fn the_workspace_keeps_to_its_layers() {
    let breaches = breaches(&members(&metadata(&["--no-deps"])), EDGES);
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

#[test]
fn every_manifest_takes_lints_and_dependencies_from_the_workspace() {
    let mut found = Vec::new();
    for member in members(&metadata(&["--no-deps"])) {
        let text = fs::read_to_string(&member.manifest).unwrap();
        found.extend(manifest_breaches(&text).into_iter().map(|breach| format!("{} {breach}", member.name)));
    }
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn members_use_only_what_stands_above_them_in_the_list() {
    for (index, (name, edges)) in EDGES.iter().enumerate() {
        for edge in *edges {
            assert!(EDGES[..index].iter().any(|(above, _)| above == edge), "{name} uses {edge}");
        }
    }
}

/// A workspace with `dependencies` of one member breaks exactly the rules that `expected` names.
fn check(folder: &str, name: &str, dependencies: &[Value], edges: &[(&str, &[&str])], expected: &[&str]) {
    let manifest = format!("/codey/{folder}/{name}/Cargo.toml");
    let metadata = json!({ "packages": [{ "name": name, "manifest_path": manifest, "dependencies": dependencies }] });
    assert_eq!(breaches(&members(&metadata), edges), expected);
}

fn member(name: &str, kind: &str) -> Value {
    let kind = if kind == "normal" { Value::Null } else { json!(kind) };
    json!({ "name": name, "kind": kind, "path": format!("/codey/crates/{name}") })
}

fn outside(name: &str, kind: Value) -> Value {
    json!({ "name": name, "kind": kind })
}

#[test]
fn listed_edges_are_no_breach() {
    let dependencies = [member("codey-llm", "normal"), member("codey-testkit", "dev"), outside("serde", Value::Null)];
    check("crates", "codey-ctx", &dependencies, &[("codey-ctx", &["codey-llm"])], &[]);
}

#[test]
fn a_forbidden_edge_is_a_breach_also_in_a_build_script() {
    for kind in ["normal", "build"] {
        check(
            "crates",
            "codey-session",
            &[member("codey-llm", "normal"), member("codey-tools", kind)],
            &[("codey-session", &["codey-llm"])],
            &["codey-session uses codey-tools, which EDGES does not allow"],
        );
    }
}

#[test]
fn an_edge_that_is_gone_is_a_breach() {
    check(
        "crates",
        "codey-ctx",
        &[],
        &[("codey-ctx", &["codey-llm"])],
        &["EDGES lets codey-ctx use codey-llm, which it does not: remove the edge"],
    );
}

#[test]
fn a_new_member_and_one_that_is_gone_are_breaches() {
    check(
        "crates",
        "codey-new",
        &[],
        &[("codey-old", &[])],
        &[
            "EDGES lists codey-old, which is no member of the workspace: remove it",
            "codey-new is missing in EDGES: add it with the members it uses",
        ],
    );
}

#[test]
fn only_programs_use_interfaces() {
    let (dependencies, edges): (_, &[&str]) = ([member("codey-print", "normal")], &["codey-print"]);
    check("bins", "codey", &dependencies, &[("codey", edges)], &[]);
    check(
        "crates",
        "codey-app",
        &dependencies,
        &[("codey-app", edges)],
        &["codey-app uses codey-print, but only programs in bins may use an interface"],
    );
}

#[test]
fn the_testkit_stays_out_of_what_ships() {
    check(
        "crates",
        "codey-ctx",
        &[member("codey-testkit", "normal")],
        &[("codey-ctx", &["codey-testkit"])],
        &["codey-ctx uses codey-testkit outside its tests: make it a dev-dependency"],
    );
}

#[test]
fn pinned_crates_stay_with_their_users() {
    check("crates", "codey-providers", &[outside("reqwest", Value::Null)], &[("codey-providers", &[])], &[]);
    check(
        "crates",
        "codey-tools",
        &[outside("reqwest", json!("dev"))],
        &[("codey-tools", &[])],
        &["codey-tools uses reqwest, which is kept to: codey-providers"],
    );
}

#[test]
fn a_manifest_of_its_own_mind_is_a_breach() {
    let lints = "[lints]\nworkspace = true\n";
    assert!(manifest_breaches(&format!("{lints}\n[dependencies]\n# why\nserde.workspace = true\n")).is_empty());
    assert_eq!(
        manifest_breaches("[dependencies]\nserde.workspace = true\n"),
        ["lacks `[lints]` with `workspace = true`, and so the ban of unsafe code"]
    );
    assert_eq!(
        manifest_breaches(&format!("{lints}[target.'cfg(unix)'.dev-dependencies]\nserde = \"1\"\n")),
        ["has the dependency `serde = \"1\"`, expected `NAME.workspace = true`"]
    );
}
