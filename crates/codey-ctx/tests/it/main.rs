//! From lineages and folders to what the model reads.
#![allow(clippy::unwrap_used)]

mod any_lineage;
mod files;
mod path;
mod prompt;
mod request;

use std::sync::Arc;

use codey_ctx::{PathState, Prefix, assemble};
use codey_llm::{Block, Capabilities, Message, ModelInfo, Request, tool_use};
use codey_protocol::{Digest, Meta, NodeId, Observed, RelPath};
use codey_session::{Node, NodeKind};
use serde_json::json;
use ulid::Ulid;

/// The name of the node at this index of a lineage.
fn id(index: usize) -> NodeId {
    NodeId(Ulid::from_parts(1, index as u128))
}

/// A lineage of nodes of these kinds, named by their index.
fn lineage(kinds: Vec<NodeKind>) -> Vec<Arc<Node>> {
    let node = |(index, kind): (usize, NodeKind)| {
        let parent = index.checked_sub(1).map(id);
        Arc::new(Node { id: id(index), parent, kind, meta: Meta::default() })
    };
    kinds.into_iter().enumerate().map(node).collect()
}

/// The same with one file version seen in each of the given nodes.
fn observing(mut nodes: Vec<Arc<Node>>, seen: &[(usize, &str, &str)]) -> Vec<Arc<Node>> {
    for (index, path, digest) in seen {
        let observed = Observed { path: RelPath::new(*path), digest: Digest::new(*digest) };
        Arc::make_mut(&mut nodes[*index]).meta.observed.push(observed);
    }
    nodes
}

fn said(message: Message) -> NodeKind {
    NodeKind::Message(Arc::new(message))
}

fn user(text: &str) -> NodeKind {
    said(Message::user(vec![Block::text(text)]))
}

fn assistant(text: &str) -> NodeKind {
    said(Message::assistant(vec![Block::text(text)]))
}

fn calls(ids: &[&str]) -> NodeKind {
    said(Message::assistant(ids.iter().map(|id| tool_use(id, "read", json!({"path": "a.rs"}))).collect()))
}

fn results(ids: &[&str]) -> NodeKind {
    said(Message::user(ids.iter().map(|id| result(id, &format!("result of {id}"))).collect()))
}

fn result(call: &str, text: &str) -> Block {
    Block::ToolResult { call: call.into(), content: vec![Block::text(text)], is_error: false }
}

fn summary(text: &str, replaces: &[usize]) -> NodeKind {
    let message = Arc::new(Message::user(vec![Block::text(text)]));
    NodeKind::Summary { message, replaces: replaces.iter().map(|index| id(*index)).collect() }
}

fn prune(before: usize) -> NodeKind {
    NodeKind::Prune { before: id(before) }
}

fn prefix() -> Prefix {
    Prefix::new(vec!["You are Codey.".into()], Vec::new())
}

fn model(images: bool) -> ModelInfo {
    let capabilities = Capabilities { images, effort: false };
    ModelInfo { id: "m".into(), window: Some(32_000), max_output: 4_096, price: None, capabilities }
}

fn request(nodes: &[Arc<Node>]) -> Request {
    assemble(&prefix(), &PathState::rebuild(nodes), &model(true))
}

/// The request in short: a line for each message, `U` or `A`, its blocks separated by `|`.
fn sketch(request: &Request) -> Vec<String> {
    let block = |block: &Block| match block {
        Block::Text { text } => text.clone(),
        Block::Thinking { text, .. } => format!("thinking {text}"),
        Block::ToolUse { id, .. } => format!("call {id}"),
        Block::ToolResult { call, content, is_error } => {
            let inner: String = content.iter().map(|inner| inner.as_text().unwrap_or("picture")).collect();
            format!("{}{call}={inner}", if *is_error { "error " } else { "" })
        }
        Block::Image { .. } => "picture".to_owned(),
        Block::Foreign { .. } => "foreign".to_owned(),
    };
    let line = |message: &Arc<Message>| {
        let role = if message.role == codey_llm::Role::User { "U" } else { "A" };
        format!("{role} {}", message.content.iter().map(block).collect::<Vec<_>>().join("|"))
    };
    request.messages.iter().map(line).collect()
}
