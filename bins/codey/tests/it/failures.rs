//! What goes wrong, each with one line and the contract's exit code.

use codey_testkit::{Reply, ScriptedServer, TempWorkspace};
use serde_json::json;

use crate::codey::{Api, Codey, Ran, bash, reply, talker};

fn run(server: &ScriptedServer, args: &[&str]) -> Ran {
    let workspace = TempWorkspace::new(&[]);
    Codey::new(workspace.path()).asking(server, Api::Anthropic).args(&["-p", "--mode", "json"]).args(args).run()
}

fn check(ran: &Ran, code: i32, kind: &str, fail: Option<&str>) {
    let end = ran.of_type("run_end").pop().unwrap();
    assert_eq!(ran.code, code, "{ran:?}");
    assert_eq!((&end["outcome"]["kind"], &end["exit_code"]), (&json!(kind), &json!(code)), "{ran:?}");
    if let Some(fail) = fail {
        assert_eq!(end["outcome"]["code"], fail, "{ran:?}");
        assert_ne!(end["outcome"]["hint"], "", "{ran:?}");
    }
    let outcome = &end["outcome"];
    if let (Some(message), Some(hint)) = (outcome["message"].as_str(), outcome["hint"].as_str()) {
        assert_eq!(ran.stderr.lines().last().unwrap(), format!("codey: {message}. {hint}"));
    }
}

#[test]
fn head_03_each_failure_has_its_code() {
    let error = |status, kind| {
        ScriptedServer::start(vec![Reply::json(
            status,
            &json!({"type": "error", "error": {"type": kind, "message": "m"}}),
        )])
    };
    check(&run(&error(401, "authentication_error"), &["go"]), 1, "failed", Some("auth"));
    check(&run(&error(404, "not_found_error"), &["go"]), 1, "failed", Some("model_not_found"));
    check(&run(&error(400, "invalid_request_error"), &["go"]), 1, "failed", Some("bad_request"));
    let many = (0..10).map(|_| Reply::status(429).header("retry-after-ms", "1").body("{}")).collect();
    let limited = run(&ScriptedServer::start(many), &["go"]);
    check(&limited, 1, "failed", Some("rate_limit"));
    assert_eq!(limited.of_type("retry").len(), 9);
    let later = ScriptedServer::start(vec![Reply::status(429).header("retry-after", "3600").body("{}")]);
    check(&run(&later, &["go"]), 1, "failed", Some("rate_limit"));
    let calls = (0..3).map(|n| reply(Api::Anthropic, vec![bash(&format!("c{n}"), &format!("echo {n}"))])).collect();
    check(
        &run(&ScriptedServer::start(calls), &["--always-approve", "--max-turns", "2", "go"]),
        4,
        "limit_reached",
        None,
    );
    let repeated = (0..5).map(|n| reply(Api::Anthropic, vec![bash(&format!("c{n}"), "true")])).collect();
    check(&run(&ScriptedServer::start(repeated), &["--always-approve", "go"]), 4, "limit_reached", None);
}

#[test]
fn a_stream_that_breaks_is_a_network_failure_and_its_text_is_kept() {
    let begun = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
                 event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
                 event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"half\"}}\n\n";
    let ran = run(&ScriptedServer::start(vec![Reply::sse(begun).cut()]), &["go"]);
    check(&ran, 1, "failed", Some("network"));
    assert_eq!(ran.of_type("run_end")[0]["text"], "half");
}

#[test]
fn nothing_to_ask_names_the_three_ways_to_go_on() {
    let workspace = TempWorkspace::new(&[]);
    let ran = Codey::new(workspace.path()).args(&["-p", "--endpoint", "anthropic", "hi"]).run();
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("ANTHROPIC_API_KEY") && ran.stderr.contains("codey demo"), "{ran:?}");
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let server = talker(Api::OpenAi, "x", 9);
    for args in [
        &["-p", "--nonsense", "x"][..],
        &["-p", "--max-turns", "0", "x"],
        &["-p", "--max-cost", "1", "x"],
        &["-p", "--cwd", "missing", "x"],
        &["-p", "--resume", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "x"],
        &["-p", "--continue", "x"],
        &["-p", "--tools", "read,fly", "x"],
        &["-p", "--sandbox", "workspace", "x"],
        &["-p", "--system", "missing", "x"],
        &["-p"],
        &["x"],
        &["resume", "-p", "x"],
    ] {
        let workspace = TempWorkspace::new(&[]);
        let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(args).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {ran:?}");
        assert!(!ran.stderr.trim().is_empty(), "{args:?}");
        assert!(!workspace.exists(".codey"), "{args:?}: nothing is written before the first prompt");
    }
}
