//! `embed BASE_URL MODEL PROMPT`: runs one prompt in the current folder and prints its events.

use std::{env, error::Error, io::Write, path::Path};

use codey_agent::{AgentBuilder, ModelBinding, Place};
use codey_llm::Block;
use codey_protocol::{Input, PermissionMode, RelPath, SandboxStatus};
use codey_providers::{Api, EndpointOptions, connect, model_info};
use codey_session::{Session, SessionStart};
use codey_tools::{Workspace, WorkspaceOptions, builtin_tools, default_deny_paths};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [url, model, prompt] = words.as_slice() else { return Err("usage: embed BASE_URL MODEL PROMPT".into()) };
    run(&env::current_dir()?, url, model, prompt, std::io::stdout()).await
}

/// Runs `prompt` to its end in the folder `root`; every event is a line of JSON.
pub async fn run(root: &Path, url: &str, model: &str, prompt: &str, mut out: impl Write) -> Result<(), Box<dyn Error>> {
    let mut endpoint = EndpointOptions::new("example", Api::OpenAi, url);
    endpoint.api_key = env::var("OPENAI_API_KEY").ok().map(Into::into);
    let (provider, model) = (connect(endpoint), model_info(model));
    let binding = ModelBinding { provider, model, endpoint: "example".into(), effort: None };
    let (cwd, deny_paths, sandbox) = (RelPath::root(), default_deny_paths(), SandboxStatus::off());
    let workspace = Workspace::open(WorkspaceOptions { root: root.into(), cwd, deny_paths, hidden_env: vec![] })?;
    let start = SessionStart { root: root.into(), cwd: root.into(), version: "1".into(), parent: None };
    let place = Place { root: root.display().to_string(), cwd: root.display().to_string(), sandbox };
    let mut handle = AgentBuilder::new(binding, workspace, Session::in_memory(start), place)
        .system(vec!["You are a coding agent. Work in the current folder.".into()])
        .tools(builtin_tools())
        .mode(PermissionMode::AcceptEdits) // a command would need an approval, and so ends the run
        .spawn()?;
    handle.inputs.send(Input::Prompt(vec![Block::text(prompt)]))?;
    drop(handle.inputs); // no further prompt: the events end with the run
    while let Some(event) = handle.events.recv().await {
        writeln!(out, "{}", serde_json::to_string(&event)?)?;
    }
    Ok(())
}
