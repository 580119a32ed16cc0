//! What `--mode json` prints keeps to `docs/events.schema.json`: every test that reads events checks them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use codey_llm::{Block, tool_use};
use codey_testkit::{Reply, ScriptedServer, TempWorkspace};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::codey::{Api, Codey, Ran, bash, read, reply, says};

/// Refuses what is no event by the schema.
pub(crate) fn assert_valid(event: &Value) {
    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
        let schema = serde_json::from_str(include_str!("../../../../docs/events.schema.json")).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    });
    let problems: Vec<String> = VALIDATOR.iter_errors(event).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{event}\n{}", problems.join("\n"));
}

/// The types that came; reading them checks every line.
fn types(ran: &Ran) -> BTreeSet<String> {
    ran.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

fn set(types: &[&str]) -> BTreeSet<String> {
    types.iter().map(|one| (*one).to_owned()).collect()
}

/// A run that fails a call, edits, runs a command, is retried and warns.
#[test]
fn every_line_of_a_busy_run_and_of_its_resumption_is_valid() {
    for api in [Api::OpenAi, Api::Anthropic] {
        let edit = tool_use("c3", "edit", json!({"path": "a.txt", "old_str": "hello", "new_str": "bye"}));
        let search = tool_use("c4", "grep", json!({"pattern": "b"}));
        let server = ScriptedServer::start(vec![
            Reply::status(503).header("retry-after-ms", "1").body("{}"),
            reply(api, vec![Block::text("I look."), read("c1", "a.txt"), read("c2", "missing")]),
            reply(api, vec![edit, search, bash("c5", "echo out; exit 3")]),
            says(api, "done"),
            says(api, "still done"),
        ]);
        let broken = "[[endpoint]]\nname = 'x'\n";
        let workspace = TempWorkspace::new(&[("a.txt", "hello\n"), (".codey/config.toml", broken)]);
        let codey = || Codey::new(workspace.path()).asking(&server, api).args(&["-p", "--mode", "json"]);
        let first = codey().args(&["--always-approve", "go"]).run();
        let mut seen = types(&first);
        assert_eq!((first.code, workspace.read("a.txt").as_str()), (0, "bye\n"), "{first:?}");
        let second = codey().args(&["--continue", "go on"]).run();
        seen.extend(types(&second));
        let common = ["message", "run_end", "run_start", "session_start", "text_delta", "turn_start", "usage"];
        let particular = ["path_reset", "retry", "tool_end", "tool_output", "tool_start", "warning"];
        assert_eq!(seen, &set(&common) | &set(&particular));
    }
}

#[test]
fn every_line_of_what_did_not_start_or_failed_is_valid() {
    let server = ScriptedServer::start(vec![Reply::status(401).body("{}")]);
    let workspace = TempWorkspace::new(&[]);
    for (args, code, expected) in [
        (vec!["-p", "--mode", "json", "--endpoint", "nowhere", "go"], 2, set(&["run_end"])),
        (vec!["-p", "--mode", "json", "--max-turns", "0", "go"], 2, set(&["run_end"])),
        (
            vec!["-p", "--mode", "json", "go"],
            1,
            set(&["message", "run_end", "run_start", "session_start", "turn_start", "warning"]),
        ),
    ] {
        let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&args).run();
        assert_eq!((types(&ran), ran.code), (expected, code), "{ran:?}");
    }
}
