//! The example that `docs/embedding.md` begins with: compiled as it stands, and run.

use codey_llm::{Block, Message, StopReason, Usage, tool_use};
use codey_protocol::{Event, RunOutcome};
use codey_testkit::{Reply, ScriptedServer, TempWorkspace, openai_sse};
use serde_json::json;

#[allow(dead_code, reason = "its main is the program's alone")]
#[path = "../../examples/embed.rs"]
mod example;

const EXAMPLE: &str = include_str!("../../examples/embed.rs");
const DOCUMENT: &str = include_str!("../../../../docs/embedding.md");

fn reply(blocks: Vec<Block>, stop: StopReason) -> Reply {
    Reply::sse(openai_sse(&Message::assistant(blocks), &stop, Usage { input: 10, output: 5, ..Usage::default() }))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_runs_a_prompt_to_its_end_and_prints_every_event() {
    let write = tool_use("c1", "write", json!({"path": "hello.txt", "content": "hello\n"}));
    let server = ScriptedServer::start(vec![
        reply(vec![write], StopReason::ToolUse),
        reply(vec![Block::text("It is written.")], StopReason::EndTurn),
    ]);
    let workspace = TempWorkspace::new(&[]);
    let mut printed = Vec::new();
    example::run(workspace.path(), &server.url(), "m", "write hello.txt", &mut printed).await.unwrap();
    assert_eq!(workspace.read("hello.txt"), "hello\n");
    let lines = String::from_utf8(printed).unwrap();
    let events: Vec<Event> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(matches!(&events[0], Event::SessionStart { model, session: None, .. } if model == "m"), "{lines}");
    let written = events.iter().filter(|event| matches!(event, Event::ToolEnd { code: None, .. })).count();
    assert_eq!(written, 1, "{lines}");
    let Some(Event::RunEnd { outcome, turns, text, .. }) = events.last() else { panic!("{lines}") };
    assert_eq!((outcome, *turns, text.as_str()), (&RunOutcome::Completed {}, 2, "It is written."));
    assert!(server.requests()[0].json()["messages"].to_string().contains("write hello.txt"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_lets_no_command_run() {
    let bash = tool_use("c1", "bash", json!({"command": "touch made"}));
    let server = ScriptedServer::start(vec![reply(vec![bash], StopReason::ToolUse)]);
    let workspace = TempWorkspace::new(&[]);
    let mut printed = Vec::new();
    example::run(workspace.path(), &server.url(), "m", "touch a file", &mut printed).await.unwrap();
    let lines = String::from_utf8(printed).unwrap();
    assert!(lines.lines().last().unwrap().contains(r#""outcome":{"kind":"needs_approval","call":"c1"}"#), "{lines}");
    assert!(!workspace.at("made").exists());
}

#[test]
fn the_example_is_short_and_the_document_shows_it_as_it_is() {
    let lines = EXAMPLE.lines().count();
    assert!(lines <= 40, "crates/codey-agent/examples/embed.rs has {lines} lines");
    assert!(
        DOCUMENT.contains(&format!("```rust,no_run\n{EXAMPLE}```\n")),
        "docs/embedding.md must show crates/codey-agent/examples/embed.rs: copy it into the first block"
    );
}
