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
pub struct Handle {
    /// Takes inputs, also during a turn.
    pub inputs: UnboundedSender<Input>,
    /// Gives events in order, none dropped; closes when the agent has ended.
    pub events: Receiver<Event>,
    /// Ends the agent.
    pub cancel: CancellationToken,
}

/// Which session an agent works in.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelRef {
    /// Its name; `None`: the endpoint's default.
    pub model: Option<String>,
    /// The endpoint's name; `None`: the configured one.
    pub endpoint: Option<String>,
}

/// What a consumer wants of a new agent.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFilter {
    /// Those of the workspace that holds this folder.
    pub cwd: PathBuf,
}

/// A line of the session list.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextReport {
    /// In prompt order.
    pub parts: Vec<ContextPart>,
    /// Tokens that context files may take.
    pub budget_tokens: u64,
}

/// A model that can be chosen.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandInfo {
    /// Its name, without a slash.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// How a check went.
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// What and where, one line.
    pub message: String,
    /// What to do, one sentence; may be empty.
    pub hint: String,
}

/// The one door of consumers to the core; no consumer opens files itself.
#[async_trait]
pub trait Host: Send + Sync {
    /// Starts an agent.
    async fn spawn(&self, request: SpawnRequest) -> Result<Handle, StartError>;
    /// Lists sessions, newest first; a damaged one is listed with its problem.
    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionSummary>, HostError>;
    /// Reads a session of the workspace that holds `cwd`.
    async fn session(&self, cwd: &Path, id: &str) -> Result<SessionView, HostError>;
    /// Says what the prompt prefix holds.
    async fn context(&self, cwd: &Path) -> Result<ContextReport, HostError>;
    /// Lists models. Never fails: at worst the configured one.
    async fn models(&self, cwd: &Path, refresh: bool) -> ModelList;
    /// Lists commands that front ends can offer.
    async fn commands(&self, cwd: &Path) -> Vec<CommandInfo>;
    /// Looks for what is wrong with the set-up.
    async fn doctor(&self, cwd: &Path) -> Vec<Check>;
}
