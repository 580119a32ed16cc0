//! A workspace, a scripted model and an agent between them.

use std::path::Path;
use std::sync::Arc;

use codey_agent::{AgentBuilder, ModelBinding, Place};
use codey_llm::{Block, CallId, Capabilities, Message, ModelInfo, Request, Role, ScriptedProvider, ScriptedTurn};
use codey_protocol::{ErrorCode, Event, Handle, Input, PermissionMode, RelPath, RunOutcome, SandboxStatus};
use codey_session::{Session, SessionStart};
use codey_tools::{Workspace, WorkspaceOptions, builtin_tools, default_deny_paths};
use tempfile::TempDir;

/// A temporary workspace and the model that will be asked in it.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) provider: Arc<ScriptedProvider>,
    pub(crate) model: ModelInfo,
}

impl World {
    pub(crate) fn new(turns: Vec<ScriptedTurn>) -> Self {
        let model = ModelInfo {
            id: "scripted".into(),
            window: Some(200_000),
            max_output: 8_192,
            price: None,
            capabilities: Capabilities::default(),
        };
        Self { folder: tempfile::tempdir().unwrap(), provider: ScriptedProvider::new("test", turns), model }
    }

    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(crate) fn sessions(&self) -> std::path::PathBuf {
        self.root().join(".codey/sessions")
    }

    fn start(&self) -> SessionStart {
        let root = self.root().to_path_buf();
        SessionStart { cwd: root.clone(), root, version: "0".into(), parent: None }
    }

    /// An agent in a new session that may do everything and whose person cannot be asked.
    pub(crate) fn builder(&self) -> AgentBuilder {
        self.builder_in(Session::create(&self.sessions(), self.start()))
    }

    /// An agent that goes on with the newest session.
    pub(crate) fn resumed(&self) -> AgentBuilder {
        let id = codey_session::latest(&self.sessions()).unwrap().unwrap();
        let (session, warnings) = Session::open(&self.sessions(), id, self.start()).unwrap();
        assert_eq!(warnings, []);
        self.builder_in(session).resumed(true)
    }

    fn builder_in(&self, session: Session) -> AgentBuilder {
        let options = WorkspaceOptions {
            root: self.root().to_path_buf(),
            cwd: RelPath::root(),
            deny_paths: default_deny_paths(),
            hidden_env: Vec::new(),
        };
        let workspace = Workspace::open(options).unwrap();
        let binding = ModelBinding {
            provider: self.provider.clone(),
            model: self.model.clone(),
            endpoint: "test".into(),
            effort: None,
        };
        let shown = self.root().display().to_string();
        let place = Place { root: shown.clone(), cwd: shown, sandbox: SandboxStatus::off() };
        AgentBuilder::new(binding, workspace, session, place)
            .system(vec!["You are a test.".into()])
            .tools(builtin_tools())
            .mode(PermissionMode::AlwaysApprove)
    }

    /// Runs one prompt to the agent's end.
    pub(crate) async fn run(&self, prompt: &str) -> Story {
        run(self.builder().spawn().unwrap(), prompt).await
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.provider.requests()
    }

    /// The messages of the newest request.
    pub(crate) fn last_request(&self) -> Vec<Message> {
        self.requests().pop().unwrap().messages.iter().map(|message| Message::clone(message)).collect()
    }
}

pub(crate) fn prompt(text: &str) -> Input {
    Input::Prompt(vec![Block::text(text)])
}

/// Sends one prompt and reads to the agent's end.
pub(crate) async fn run(handle: Handle, text: &str) -> Story {
    handle.inputs.send(prompt(text)).unwrap();
    rest(handle).await
}

/// Reads to the agent's end; no further input comes.
pub(crate) async fn rest(handle: Handle) -> Story {
    let Handle { inputs, mut events, cancel } = handle;
    drop(inputs);
    let mut all = Vec::new();
    while let Some(event) = events.recv().await {
        all.push(event);
    }
    drop(cancel);
    Story(all)
}

/// Reads events until one is as wanted, and returns it.
pub(crate) async fn until(handle: &mut Handle, mut wanted: impl FnMut(&Event) -> bool) -> Event {
    loop {
        let event = handle.events.recv().await.expect("the agent ended before the event came");
        if wanted(&event) {
            return event;
        }
    }
}

/// Everything that an agent said.
pub(crate) struct Story(pub(crate) Vec<Event>);

impl Story {
    pub(crate) fn outcome(&self) -> RunOutcome {
        self.outcomes().pop().expect("there was a run")
    }

    pub(crate) fn outcomes(&self) -> Vec<RunOutcome> {
        let outcome = |event: &Event| match event {
            Event::RunEnd { outcome, .. } => Some(outcome.clone()),
            _ => None,
        };
        self.0.iter().filter_map(outcome).collect()
    }

    /// Call, code and text of the results, in the order they came.
    pub(crate) fn results(&self) -> Vec<(CallId, Option<ErrorCode>, String)> {
        let result = |event: &Event| match event {
            Event::ToolEnd { call, code, text, .. } => Some((call.clone(), *code, text.clone())),
            _ => None,
        };
        self.0.iter().filter_map(result).collect()
    }

    pub(crate) fn codes(&self) -> Vec<Option<ErrorCode>> {
        self.results().into_iter().map(|(_, code, _)| code).collect()
    }

    /// Codes of the warnings.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        fn code(event: &Event) -> Option<&str> {
            match event {
                Event::Warning { code, .. } => Some(code),
                _ => None,
            }
        }
        self.0.iter().filter_map(code).collect()
    }
}

/// Refuses what strict servers refuse: roles must alternate from the user's on, each call be answered exactly once in
/// the next message with the results first, and no text be blank.
pub(crate) fn assert_valid(messages: &[Message]) {
    assert_eq!(messages.last().unwrap().role, Role::User);
    assert_sound(messages);
}

/// The same, but a paused answer may stand last.
pub(crate) fn assert_sound(messages: &[Message]) {
    let mut open: Vec<CallId> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        assert_eq!(message.role, if index % 2 == 0 { Role::User } else { Role::Assistant }, "{messages:#?}");
        let mut results_over = false;
        let mut calls = Vec::new();
        for block in &message.content {
            match block {
                Block::ToolResult { call, .. } => {
                    assert!(!results_over, "results come first: {message:?}");
                    let place = open.iter().position(|one| one == call).expect("a result without a call");
                    open.remove(place);
                }
                Block::ToolUse { id, input, .. } => {
                    assert!(input.is_object());
                    calls.push(id.clone());
                }
                Block::Text { text } => {
                    results_over = true;
                    assert!(!text.trim().is_empty(), "blank text: {message:?}");
                }
                Block::Thinking { .. } | Block::Image { .. } | Block::Foreign { .. } => results_over = true,
            }
        }
        assert_eq!(open, [], "calls without an answer");
        open = calls;
    }
    assert_eq!(open, [], "calls without an answer at the end");
}
