//! `--mode json`, and the text mode beside it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use codey_llm::tool_use;
use codey_testkit::{Reply, ScriptedServer, TempWorkspace};
use serde_json::{Value, json};

use crate::codey::{Api, Codey, bash, exit, read, reply, says, session_file, talker};
use crate::schema::assert_valid;

#[test]
fn head_09_every_line_of_stdout_is_an_event_and_the_last_is_run_end() {
    let retry = Reply::status(503).header("retry-after-ms", "1").body("{}");
    let turns =
        vec![retry, reply(Api::OpenAi, vec![read("c1", "a.txt"), read("c2", "missing")]), says(Api::OpenAi, "done")];
    let server = ScriptedServer::start(turns);
    let workspace = TempWorkspace::new(&[("a.txt", "hello\n"), (".codey/config.toml", "[[endpoint]]\nname = 'x'\n")]);
    let ran =
        Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "--mode", "json", "-vv", "go"]).run();
    let types: Vec<String> = ran.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(types.first().unwrap(), "session_start");
    assert_eq!(types.last().unwrap(), "run_end");
    for needed in ["warning", "retry", "message", "turn_start", "tool_start", "tool_end", "usage", "text_delta"] {
        assert!(types.iter().any(|one| one == needed), "{needed} is missing: {types:?}");
    }
    let end = ran.of_type("run_end").remove(0);
    assert_eq!(
        (&end["outcome"], &end["exit_code"], &end["text"]),
        (&json!({"kind": "completed"}), &json!(0), &json!("done"))
    );
}

#[test]
fn a_run_that_could_not_start_is_one_line() {
    let workspace = TempWorkspace::new(&[]);
    let ran = Codey::new(workspace.path()).args(&["-p", "--mode", "json", "--endpoint", "nowhere", "go"]).run();
    let events = ran.events();
    assert_eq!(events.len(), 1);
    assert_eq!(
        (&events[0]["type"], &events[0]["outcome"]["code"], &events[0]["exit_code"]),
        (&json!("run_end"), &json!("config"), &json!(2))
    );
    assert!(ran.stderr.starts_with("codey: there is no endpoint named \"nowhere\". "), "{ran:?}");
    assert_eq!(ran.code, 2);
}

#[test]
fn a_command_line_that_cannot_be_followed_is_one_line_too() {
    let workspace = TempWorkspace::new(&[]);
    let ran = Codey::new(workspace.path()).args(&["-p", "--mode", "json", "--max-turns", "0", "go"]).run();
    let events = ran.events();
    assert_eq!((events.len(), &events[0]["exit_code"], ran.code), (1, &json!(2), 2));
    assert!(events[0]["outcome"]["message"].as_str().unwrap().contains("--max-turns"), "{ran:?}");
}

#[test]
fn head_05_in_print_mode_the_first_command_ends_the_run_and_the_flags_are_named() {
    let server = ScriptedServer::start(vec![reply(Api::OpenAi, vec![bash("c1", "ls")])]);
    let workspace = TempWorkspace::new(&[]);
    let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "run ls"]).run();
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--permission-mode") && ran.stderr.contains("--always-approve"), "{ran:?}");
}

#[test]
fn head_07_a_reader_that_goes_away_ends_it_quietly() {
    let long = "line\n".repeat(40_000);
    for args in [&["-p", "--mode", "json", "long"][..], &["-p", "long"], &["--help"], &["models"]] {
        let workspace = TempWorkspace::new(&[]);
        let server = ScriptedServer::start(vec![says(Api::OpenAi, &long)]);
        let mut codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(args);
        let mut child = codey.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty(), "{args:?}");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(exit(output.status), 0 | 141), "{args:?}: {} {stderr}", output.status);
        assert!(
            !stderr.contains("panicked") && !stderr.contains("os error") && !stderr.contains("interrupted"),
            "{args:?}: {stderr}"
        );
    }
}

#[test]
fn prompts_steers_and_answers_come_as_lines_of_json() {
    let write = tool_use("c1", "write", json!({"path": "a.txt", "content": "x"}));
    let turns =
        vec![reply(Api::Anthropic, vec![write]), says(Api::Anthropic, "written"), says(Api::Anthropic, "second")];
    let server = ScriptedServer::start(turns);
    let workspace = TempWorkspace::new(&[]);
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::Anthropic).args(&[
        "-p",
        "--mode",
        "json",
        "--input",
        "json",
        "--permission-mode",
        "default",
    ]);
    let mut child = codey.command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, r#"{{"type":"prompt","text":"write a.txt"}}"#).unwrap();
    writeln!(stdin, r#"{{"type":"nonsense"}}"#).unwrap();
    writeln!(stdin, r#"{{"type":"prompt","text":"go on"}}"#).unwrap();
    let mut stdin = Some(stdin);
    let mut events: Vec<Value> = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_valid(&event);
        if event["type"] == "approval_request" {
            let answer = json!({"type": "resolve", "call": event["call"], "decision": "once"});
            writeln!(stdin.as_ref().unwrap(), "{answer}").unwrap();
            drop(stdin.take());
        }
        events.push(event);
    }
    assert_eq!(exit(child.wait().unwrap()), 0);
    let of_type = |name: &str| events.iter().filter(|event| event["type"] == name).cloned().collect::<Vec<_>>();
    let texts: Vec<Value> = of_type("run_end").iter().map(|event| event["text"].clone()).collect();
    assert_eq!(texts, ["written", "second"]);
    assert_eq!(of_type("approval_reply").len(), 1);
    assert_eq!(of_type("warning").iter().filter(|event| event["code"] == "bad_input").count(), 1);
    assert_eq!(workspace.read("a.txt"), "x");
}

#[test]
fn stderr_tells_calls_and_totals_and_quiet_says_nothing() {
    for (flags, expected) in [(vec!["-p"], true), (vec!["-qp"], false)] {
        let server =
            ScriptedServer::start(vec![reply(Api::OpenAi, vec![read("c1", "a.txt")]), says(Api::OpenAi, "done")]);
        let workspace = TempWorkspace::new(&[("a.txt", "hello\n")]);
        let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&flags).args(&["go"]).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "done\n"));
        let told = ran.stderr.contains("read a.txt … ok, ")
            && ran.stderr.contains("codey: 2 turns · 2,000 in · 100 out · session ");
        assert_eq!(told, expected, "{ran:?}");
        assert_eq!(ran.stderr.is_empty(), !expected, "{ran:?}");
    }
}

#[test]
fn metrics_hold_names_and_numbers_and_no_contents() {
    let edit = tool_use("c2", "edit", json!({"path": "a.txt", "old_str": "secret", "new_str": "other"}));
    let turns = vec![reply(Api::OpenAi, vec![read("c1", "a.txt"), edit]), says(Api::OpenAi, "done")];
    let server = ScriptedServer::start(turns);
    let workspace = TempWorkspace::with_git(&[("a.txt", "secret\n")]);
    Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "go"]).run();
    let text = workspace.read(".codey/events.jsonl");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["request", "tool", "tool", "edit", "request", "run"]);
    assert_eq!((&lines[3]["applied"], &lines[3]["added"], &lines[3]["removed"]), (&json!(true), &json!(1), &json!(1)));
    assert!(!text.contains("secret") && !text.contains("other"), "{text}");
    assert_eq!(workspace.git(&["status", "--porcelain"]).trim(), "M a.txt", "git does not see .codey");
    assert!(session_file(&workspace).exists());
}

#[test]
fn versions_and_models_are_what_editors_look_for() {
    let workspace = TempWorkspace::new(&[(".codey/config.toml", "nonsense = ")]);
    let version = Codey::new(workspace.path()).args(&["--version"]).run();
    assert_eq!((version.code, version.stdout), (0, format!("codey {}\n", env!("CARGO_PKG_VERSION"))));
    let broken = Codey::new(workspace.path()).args(&["models"]).run();
    assert_eq!(broken.code, 0);
    let rows = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.trim_start().starts_with(['*', '-'])).map(str::to_owned).collect()
    };
    assert_eq!(rows(&broken.stdout).len(), 1, "{broken:?}");
    assert!(rows(&broken.stdout)[0].contains("(default)") && broken.stdout.contains("Not logged in"), "{broken:?}");
    let server = talker(Api::OpenAi, "x", 0);
    let fine = TempWorkspace::new(&[]);
    let listed = Codey::new(fine.path()).asking(&server, Api::OpenAi).args(&["models"]).run();
    assert_eq!((listed.code, rows(&listed.stdout)), (0, vec!["* m (default)".to_owned()]));
    assert!(listed.stdout.starts_with("You are logged in"), "{listed:?}");
    let config = "[model]\ndefault = \"mine-1\"\nendpoint = \"anthropic\"\n";
    let keyless = Codey::new(fine.path()).config(config).args(&["models"]).run();
    assert_eq!((keyless.code, rows(&keyless.stdout)), (0, vec!["* mine-1 (default)".to_owned()]));
    assert!(keyless.stdout.starts_with("Not logged in"), "{keyless:?}");
}

#[test]
fn a_line_that_is_too_long_is_left_out_and_the_next_is_followed() {
    let server = talker(Api::OpenAi, "x", 2);
    let workspace = TempWorkspace::new(&[]);
    let lines = format!("{}\n{}\n", "x".repeat(11 * 1024 * 1024), json!({"type": "prompt", "text": "hi"}));
    let ran = Codey::new(workspace.path())
        .asking(&server, Api::OpenAi)
        .args(&["-p", "--mode", "json", "--input", "json"])
        .stdin(&lines)
        .run();
    assert_eq!((ran.code, server.requests().len()), (0, 1), "{}", ran.stderr);
    assert_eq!(ran.of_type("warning").iter().filter(|event| event["code"] == "bad_input").count(), 1);
}

#[test]
fn every_run_that_did_not_complete_is_explained() {
    let server = ScriptedServer::start(vec![Reply::status(401).body("{}"), says(Api::OpenAi, "fine")]);
    let workspace = TempWorkspace::new(&[]);
    let prompts = "{\"type\":\"prompt\",\"text\":\"one\"}\n{\"type\":\"prompt\",\"text\":\"two\"}\n";
    let ran = Codey::new(workspace.path())
        .asking(&server, Api::OpenAi)
        .args(&["-qp", "--mode", "json", "--input", "json"])
        .stdin(prompts)
        .run();
    assert_eq!((ran.code, ran.of_type("run_end").len()), (0, 2), "{ran:?}");
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("codey: ")).count(), 1, "{ran:?}");
}

#[test]
fn a_full_disk_behind_stdout_is_a_failure_and_said() {
    let server = talker(Api::OpenAi, &"text ".repeat(50_000), 1);
    let workspace = TempWorkspace::new(&[]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "--mode", "json", "go"]);
    let child = codey.command().stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(exit(output.status), 1, "{stderr}");
    assert!(stderr.contains("codey: cannot write to stdout"), "{stderr}");
}
