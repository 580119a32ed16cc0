//! A consumer's only door to the core.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use codey_llm::{Effort, Provider, Usage};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{Receiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use crate::{Event, Input, Limits, NodeId, NodeView, PermissionMode, SandboxPolicy, StartError};

/// Holds a running agent. Dropping it cancels the agent and rejects an open approval.
///
/// ```
/// use codey_llm::Block;
/// use codey_protocol::{Event, Handle, Input};
/// /// Sends a prompt and returns the answer; `None` if the agent ended without one.
/// async fn ask(handle: &mut Handle, prompt: &str) -> Option<String> {
///     handle.inputs.send(Input::Prompt(vec![Block::text(prompt)])).ok()?;
///     loop {
///         if let Event::RunEnd { text, .. } = handle.events.recv().await? {
///             return Some(text);
///         }
///     }
/// }
/// ```
pub struct Handle {
    /// Takes inputs, also during a turn.
    pub inputs: UnboundedSender<Input>,
    /// Gives events in order, none dropped; closes when the agent has ended.
    pub events: Receiver<Event>,
    /// Ends the agent.
    pub cancel: CancellationToken,
}

/// Which session an agent works in.
///
/// ```
/// use codey_protocol::SessionChoice;
/// let choice = SessionChoice::Id { id: "01JGFJJZ".into(), branch: None };
/// assert_ne!(choice, SessionChoice::default());
/// assert_eq!(SessionChoice::default(), SessionChoice::New);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new one.
    #[default]
    New,
    /// A new one that is kept in memory only.
    None,
    /// The newest of this root.
    Latest,
    /// A certain one.
    Id {
        /// The id, or a unique prefix of at least 8 characters.
        id: String,
        /// Goes on from this node instead of the head.
        branch: Option<NodeId>,
    },
}

/// A model, and where if that matters.
///
/// ```
/// use codey_protocol::ModelRef;
/// let anything_there = ModelRef { endpoint: Some("ollama".into()), ..ModelRef::default() };
/// assert_eq!(anything_there.model, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelRef {
    /// Its name; `None`: the endpoint's default.
    pub model: Option<String>,
    /// The endpoint's name; `None`: the configured one.
    pub endpoint: Option<String>,
}

/// What a consumer wants of a new agent.
///
/// ```
/// use codey_protocol::{PermissionMode, SessionChoice, SpawnRequest};
/// let request = SpawnRequest {
///     cwd: "/home/me/project".into(),
///     session: SessionChoice::Latest,
///     mode: Some(PermissionMode::Plan),
///     ..SpawnRequest::default()
/// };
/// assert!(!request.answers && request.limits.is_none());
/// ```
#[derive(Clone, Default)]
pub struct SpawnRequest {
    /// Where it works.
    pub cwd: PathBuf,
    /// Which session.
    pub session: SessionChoice,
    /// When the person is asked; `None`: as configured.
    pub mode: Option<PermissionMode>,
    /// When the person is asked if neither `mode` nor the configuration says it.
    pub default_mode: PermissionMode,
    /// Whether approvals can be answered. If not, a call that needs one ends the run.
    pub answers: bool,
    /// `None`: as configured.
    pub sandbox: Option<SandboxPolicy>,
    /// `None`: as configured.
    pub model: Option<ModelRef>,
    /// `None`: as configured.
    pub effort: Option<Effort>,
    /// Only these tools; `None`: all.
    pub tools: Option<Vec<String>>,
    /// Bounds of each run; `None`: as configured.
    pub limits: Option<Limits>,
    /// Text that replaces the built-in system prompt's identity and guidance.
    pub system: Option<String>,
    /// Text added at the end of the system prompt.
    pub append_system: Option<String>,
    /// Share of the window from which no request is sent; `None`: as configured.
    pub compact_floor: Option<f32>,
    /// Warnings the consumer already has, as code and message: sent as events right after the start.
    pub notices: Vec<(String, String)>,
    /// Asks this provider instead of a configured one (demo, replay, oracle). Its id becomes the endpoint's name.
    pub provider: Option<Arc<dyn Provider>>,
}

/// Which sessions to list.
///
/// ```
/// use codey_protocol::SessionFilter;
/// let here = SessionFilter { cwd: std::env::current_dir().unwrap() };
/// assert!(here.cwd.is_absolute());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFilter {
    /// Those of the workspace that holds this folder.
    pub cwd: PathBuf,
}

/// A line of the session list.
///
/// ```
/// use codey_protocol::SessionSummary;
/// /// A line of a list.
/// fn line(session: &SessionSummary) -> String {
///     let problem = session.problem.as_ref().map_or(String::new(), |problem| format!(" ({problem})"));
///     format!("{}  {} turns  {}{problem}", session.updated_at, session.turns, session.title)
/// }
/// let session = SessionSummary {
///     id: "01JGFJJZ00000000000000000A".into(),
///     title: "make the test pass".into(),
///     created_at: "2025-01-01T12:00:00.000Z".into(),
///     updated_at: "2025-01-01T12:03:10.250Z".into(),
///     turns: 7,
///     usage: Default::default(),
///     branches: 1,
///     problem: None,
/// };
/// assert_eq!(line(&session), "2025-01-01T12:03:10.250Z  7 turns  make the test pass");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// The beginning of its first prompt.
    pub title: String,
    /// When it began, RFC 3339.
    pub created_at: String,
    /// When it last changed, RFC 3339.
    pub updated_at: String,
    /// Model responses so far.
    pub turns: u32,
    /// Tokens so far.
    pub usage: Usage,
    /// Ends of the tree.
    pub branches: u32,
    /// Why it cannot be opened, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A session's tree.
///
/// ```
/// use codey_protocol::{NodeView, SessionView};
/// /// The nodes from the first to the head.
/// fn lineage(view: &SessionView) -> Vec<&NodeView> {
///     let node = |id| view.nodes.iter().find(|node| node.id == id);
///     let mut lineage: Vec<&NodeView> =
///         std::iter::successors(view.head.and_then(node), |last| last.parent.and_then(node)).collect();
///     lineage.reverse();
///     lineage
/// }
/// let empty = SessionView { id: "x".into(), root: "/w".into(), nodes: vec![], head: None, warnings: vec![] };
/// assert!(lineage(&empty).is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// Its root folder.
    pub root: String,
    /// All nodes, in the order they were appended.
    pub nodes: Vec<NodeView>,
    /// The current node.
    pub head: Option<NodeId>,
    /// What was found damaged.
    pub warnings: Vec<String>,
}

/// A part of the prompt prefix.
///
/// ```
/// use codey_protocol::ContextPart;
/// let part = ContextPart { name: "tool read".into(), origin: "built-in".into(), bytes: 340, tokens: 100 };
/// assert_eq!(format!("{:<12}{:>6} tokens", part.name, part.tokens), "tool read      100 tokens");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    /// What it is.
    pub name: String,
    /// Where it comes from: `built-in` or a path.
    pub origin: String,
    /// Its size.
    pub bytes: u64,
    /// Its estimated tokens.
    pub tokens: u64,
}

/// What the prompt prefix holds.
///
/// ```
/// use codey_protocol::{ContextPart, ContextReport};
/// let part = |tokens| ContextPart { name: "tool".into(), origin: "built-in".into(), bytes: tokens * 3, tokens };
/// let report = ContextReport { parts: vec![part(300), part(100)], budget_tokens: 20_000 };
/// assert_eq!(report.parts.iter().map(|part| part.tokens).sum::<u64>(), 400);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextReport {
    /// In prompt order.
    pub parts: Vec<ContextPart>,
    /// Tokens that context files may take.
    pub budget_tokens: u64,
}

/// A model that can be chosen.
///
/// ```
/// use codey_protocol::ModelEntry;
/// let entry = ModelEntry { id: "qwen3".into(), endpoint: "ollama".into(), default: true };
/// assert_eq!(format!("{}/{}", entry.endpoint, entry.id), "ollama/qwen3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelEntry {
    /// Its name.
    pub id: String,
    /// Where it is asked.
    pub endpoint: String,
    /// Whether it is used when nothing is said.
    pub default: bool,
}

/// The models that can be chosen, and how we stand with the endpoint.
///
/// ```
/// use codey_protocol::{ModelEntry, ModelList};
/// let entry = |id: &str, default| ModelEntry { id: id.into(), endpoint: "ollama".into(), default };
/// let models = vec![entry("qwen3", false), entry("gemma3", true)];
/// let list = ModelList { models, authenticated: true, notes: vec![] };
/// let chosen = list.models.iter().find(|model| model.default);
/// assert_eq!(chosen.map(|model| model.id.as_str()), Some("gemma3"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelList {
    /// At least the configured model.
    pub models: Vec<ModelEntry>,
    /// Whether a key is there (or none is needed).
    pub authenticated: bool,
    /// What was not right, for the user.
    pub notes: Vec<String>,
}

/// A skill the model may read.
///
/// ```
/// use codey_protocol::SkillEntry;
/// let skill = SkillEntry {
///     name: "release".into(),
///     description: "When a version is to be published.".into(),
///     path: ".codey/skills/release/SKILL.md".into(),
/// };
/// assert!(skill.path.ends_with("SKILL.md"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillEntry {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Its file.
    pub path: String,
}

/// A command that front ends can offer.
///
/// ```
/// use codey_protocol::CommandInfo;
/// let command = CommandInfo { name: "release".into(), description: "Publishes a version".into() };
/// assert_eq!(format!("/{}  {}", command.name, command.description), "/release  Publishes a version");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandInfo {
    /// Its name, without a slash.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// How a check went.
///
/// ```
/// use codey_protocol::CheckStatus;
/// assert_eq!(serde_json::to_string(&CheckStatus::Warning).unwrap(), r#""warning""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Fine.
    Ok,
    /// Works, with a loss.
    Warning,
    /// Does not work.
    Error,
}

/// One finding of `doctor`.
///
/// ```
/// use codey_protocol::{Check, CheckStatus};
/// let checks = [
///     Check { name: "git".into(), status: CheckStatus::Ok, message: "git 2.43".into() },
///     Check { name: "sandbox".into(), status: CheckStatus::Warning, message: "there is none in this version".into() },
/// ];
/// assert!(checks.iter().all(|check| check.status != CheckStatus::Error));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// How it is.
    pub status: CheckStatus,
    /// What was found, and what to do.
    pub message: String,
}

/// A question to the host that could not be answered.
///
/// ```
/// use codey_protocol::HostError;
/// let error = HostError { message: "no session 01JGFJJZ".into(), hint: "codey sessions lists them.".into() };
/// assert_eq!(error.to_string(), "no session 01JGFJJZ");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// What and where, one line.
    pub message: String,
    /// What to do, one sentence; may be empty.
    pub hint: String,
}

/// The one door of consumers to the core; no consumer opens files itself.
///
/// ```
/// use std::path::PathBuf;
/// use codey_protocol::{Handle, Host, PermissionMode, SpawnRequest, StartError};
/// /// Starts an agent that changes nothing, on any host.
/// async fn look_only(host: &dyn Host, cwd: PathBuf) -> Result<Handle, StartError> {
///     host.spawn(SpawnRequest { cwd, mode: Some(PermissionMode::Plan), ..SpawnRequest::default() }).await
/// }
/// ```
#[async_trait]
pub trait Host: Send + Sync {
    /// Starts an agent.
    ///
    /// ```
    /// use codey_protocol::{Handle, Host, SpawnRequest, StartError};
    /// /// Starts an agent whose front end answers approvals.
    /// async fn start(host: &dyn Host) -> Result<Handle, StartError> {
    ///     host.spawn(SpawnRequest { cwd: "/home/me/project".into(), answers: true, ..SpawnRequest::default() }).await
    /// }
    /// ```
    async fn spawn(&self, request: SpawnRequest) -> Result<Handle, StartError>;
    /// Lists sessions, newest first; a damaged one is listed with its problem.
    ///
    /// ```
    /// use codey_protocol::{Host, HostError, SessionFilter};
    /// /// The title of the newest session.
    /// async fn newest(host: &dyn Host) -> Result<Option<String>, HostError> {
    ///     let sessions = host.sessions(SessionFilter { cwd: ".".into() }).await?;
    ///     Ok(sessions.into_iter().next().map(|session| session.title))
    /// }
    /// ```
    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionSummary>, HostError>;
    /// Reads a session of the workspace that holds `cwd`.
    ///
    /// ```
    /// use std::path::Path;
    /// use codey_protocol::{Host, HostError};
    /// /// All that was said, as JSON.
    /// async fn export(host: &dyn Host, id: &str) -> Result<String, HostError> {
    ///     let view = host.session(Path::new("."), id).await?;
    ///     Ok(serde_json::to_string(&view.nodes).expect("nodes are JSON"))
    /// }
    /// ```
    async fn session(&self, cwd: &Path, id: &str) -> Result<SessionView, HostError>;
    /// Says what the prompt prefix holds.
    ///
    /// ```
    /// use std::path::Path;
    /// use codey_protocol::{Host, HostError};
    /// /// Tokens that every request begins with.
    /// async fn prefix_tokens(host: &dyn Host) -> Result<u64, HostError> {
    ///     Ok(host.context(Path::new(".")).await?.parts.iter().map(|part| part.tokens).sum())
    /// }
    /// ```
    async fn context(&self, cwd: &Path) -> Result<ContextReport, HostError>;
    /// Lists models. Never fails: at worst the configured one.
    ///
    /// ```
    /// use std::path::Path;
    /// use codey_protocol::Host;
    /// /// Whether an agent could be asked something right now.
    /// async fn is_ready(host: &dyn Host) -> bool {
    ///     host.models(Path::new("."), false).await.authenticated
    /// }
    /// ```
    async fn models(&self, cwd: &Path, refresh: bool) -> ModelList;
    /// Lists commands that front ends can offer.
    ///
    /// ```
    /// use std::path::Path;
    /// use codey_protocol::Host;
    /// /// What to complete after a slash.
    /// async fn completions(host: &dyn Host, typed: &str) -> Vec<String> {
    ///     let commands = host.commands(Path::new(".")).await;
    ///     commands.into_iter().map(|command| command.name).filter(|name| name.starts_with(typed)).collect()
    /// }
    /// ```
    async fn commands(&self, cwd: &Path) -> Vec<CommandInfo>;
    /// Looks for what is wrong with the set-up.
    ///
    /// ```
    /// use std::path::Path;
    /// use codey_protocol::{CheckStatus, Host};
    /// /// What has to be mended first.
    /// async fn first_problem(host: &dyn Host) -> Option<String> {
    ///     let checks = host.doctor(Path::new(".")).await;
    ///     checks.into_iter().find(|check| check.status == CheckStatus::Error).map(|check| check.message)
    /// }
    /// ```
    async fn doctor(&self, cwd: &Path) -> Vec<Check>;
}
