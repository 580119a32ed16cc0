// Included by the examples of the crate's documentation, which show only what differs between them.

use codey_agent::{AgentBuilder, ModelBinding, Place};
use codey_llm::{Block, Capabilities, ModelInfo, ScriptedProvider, ScriptedTurn, StopReason, tool_use, turn};
use codey_protocol::{Event, Input, RelPath, RunOutcome, SandboxStatus};
use codey_session::{Session, SessionStart};
use codey_tools::{Workspace, WorkspaceOptions, builtin_tools, default_deny_paths};
use tempfile::TempDir;

/// A model that asks to write a file and then says `done`.
pub fn writes_a_file() -> Vec<ScriptedTurn> {
    let write = tool_use("c1", "write", serde_json::json!({"path": "a.txt", "content": "hello\n"}));
    vec![turn(vec![write], StopReason::ToolUse), turn(vec![Block::text("done")], StopReason::EndTurn)]
}

/// The parts of an agent in an empty folder.
pub fn parts(turns: Vec<ScriptedTurn>) -> (TempDir, ModelBinding, Workspace, Session, Place) {
    let folder = tempfile::tempdir().unwrap();
    let model = ModelInfo {
        id: "recorded".into(),
        window: Some(200_000),
        max_output: 8_192,
        price: None,
        capabilities: Capabilities::default(),
    };
    let provider = ScriptedProvider::new("recording", turns);
    let binding = ModelBinding { provider, model, endpoint: "recording".into(), effort: None };
    let root = folder.path().to_owned();
    let start = SessionStart { root: root.clone(), cwd: root.clone(), version: "1".into(), parent: None };
    let place =
        Place { root: root.display().to_string(), cwd: root.display().to_string(), sandbox: SandboxStatus::off() };
    let (cwd, deny_paths) = (RelPath::root(), default_deny_paths());
    let workspace = Workspace::open(WorkspaceOptions { root, cwd, deny_paths, hidden_env: Vec::new() }).unwrap();
    (folder, binding, workspace, Session::in_memory(start), place)
}

/// An agent with the built-in tools in an empty folder.
pub fn agent(turns: Vec<ScriptedTurn>) -> (TempDir, AgentBuilder) {
    let (folder, binding, workspace, session, place) = parts(turns);
    (folder, AgentBuilder::new(binding, workspace, session, place).tools(builtin_tools()))
}

/// Sends a prompt and reads all events.
pub async fn run(agent: AgentBuilder, prompt: &str) -> Vec<Event> {
    let mut handle = agent.spawn().unwrap();
    handle.inputs.send(Input::Prompt(vec![Block::text(prompt)])).unwrap();
    drop(handle.inputs);
    let mut events = Vec::new();
    while let Some(event) = handle.events.recv().await {
        events.push(event);
    }
    events
}

/// How the last run ended.
pub fn outcome(events: &[Event]) -> &RunOutcome {
    match events.last() {
        Some(Event::RunEnd { outcome, .. }) => outcome,
        other => panic!("{other:?}"),
    }
}
