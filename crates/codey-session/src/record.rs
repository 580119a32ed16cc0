//! The lines of a session file.

use std::borrow::Cow;
use std::sync::Arc;

use codey_llm::{Block, CallId, Effort, Message, Opaque, Role, ToolSpec, Usage};
use codey_protocol::{Meta, NodeId, NodeViewKind, PermissionMode, SnapshotId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ulid::Ulid;

use crate::{Node, NodeKind};

/// The format this version writes. Raised when a record is removed or changes its meaning.
pub(crate) const VERSION: u64 = 1;

/// How this version begins a node. Bodies are large, so one pass over them is saved by not asking what they are.
const NODE_BEGINNING: &str = r#"{"v":1,"type":"node","#;

/// Where a forked session began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The session it was taken from.
    pub session: String,
    /// The node it goes on from.
    pub node: NodeId,
}

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) id: Ulid,
    pub(crate) cwd: String,
    pub(crate) root: String,
    pub(crate) created_at: String,
    pub(crate) version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<Fork>,
}

/// What requests began with.
#[derive(Serialize)]
pub(crate) struct PrefixRecord<'a> {
    pub(crate) hash: &'a str,
    pub(crate) system: &'a [String],
    pub(crate) tools: &'a [ToolSpec],
}

/// An undo snapshot that was taken before a call.
#[derive(Serialize)]
pub(crate) struct SnapshotRecord<'a> {
    pub(crate) call: &'a CallId,
    pub(crate) node: NodeId,
    pub(crate) id: &'a SnapshotId,
}

/// What the user says of a node.
#[derive(Serialize)]
pub(crate) struct MarkRecord<'a> {
    pub(crate) node: NodeId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bookmark: Option<bool>,
}

/// Settings that a session goes on with. As a record: those that changed; as a state: the newest of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetRecord {
    /// When the person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard it thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

impl SetRecord {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes over what `newer` says.
    pub(crate) fn update(&mut self, newer: Self) {
        self.permission_mode = newer.permission_mode.or(self.permission_mode);
        self.model = newer.model.or(self.model.take());
        self.effort = newer.effort.or(self.effort);
    }
}

/// Where the session stands; all that a listing needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeadRecord {
    pub(crate) node: Option<NodeId>,
    pub(crate) title: String,
    pub(crate) turns: u32,
    pub(crate) usage: Usage,
    pub(crate) branches: u32,
}

/// A line that was read.
pub(crate) enum Record {
    Header(Header),
    Prefix(PrefixHash),
    Node(Node),
    Set(SetRecord),
    Head(HeadRecord),
    /// Of a type that says nothing about the tree, or that this version does not know; it stays in the file.
    Other,
}

/// The part of a prefix record that is read back.
#[derive(Deserialize)]
pub(crate) struct PrefixHash {
    pub(crate) hash: String,
}

/// Why a line could not be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// A newer version wrote it.
    Newer(u64),
    /// It is no record.
    Damaged,
}

impl From<serde_json::Error> for Unreadable {
    fn from(_: serde_json::Error) -> Self {
        Self::Damaged
    }
}

/// Writes a record as one line, its end included.
pub(crate) fn line(kind: &'static str, body: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a, T> {
        v: u64,
        r#type: &'static str,
        #[serde(flatten)]
        body: &'a T,
    }
    let mut line = serde_json::to_vec(&Line { v: VERSION, r#type: kind, body })
        .expect("records are structs with text keys, which JSON can always hold");
    line.push(b'\n');
    line
}

/// Writes a node as one line. The message is borrowed, never copied.
pub(crate) fn node_line(node: &Node) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: NodeId,
        parent: Option<NodeId>,
        kind: NodeViewKind,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a Message>,
        #[serde(skip_serializing_if = "Option::is_none")]
        replaces: Option<&'a [NodeId]>,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<NodeId>,
        meta: &'a Meta,
    }
    let Node { id, parent, kind, meta } = node;
    let (name, message, replaces, before) = match kind {
        NodeKind::Message(message) => (NodeViewKind::Message, Some(&**message), None, None),
        NodeKind::Summary { message, replaces } => (NodeViewKind::Summary, Some(&**message), Some(&replaces[..]), None),
        NodeKind::Prune { before } => (NodeViewKind::Prune, None, None, Some(*before)),
    };
    line("node", &Line { id: *id, parent: *parent, kind: name, message, replaces, before, meta })
}

/// Reads a line.
pub(crate) fn parse(line: &[u8]) -> Result<Record, Unreadable> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        v: u64,
        #[serde(borrow)]
        r#type: Cow<'a, str>,
    }
    let text = str::from_utf8(line).map_err(|_| Unreadable::Damaged)?;
    if text.starts_with(NODE_BEGINNING) {
        return parse_node(text).map(Record::Node);
    }
    let envelope: Envelope<'_> = serde_json::from_str(text)?;
    match envelope.v {
        VERSION => {}
        newer if newer > VERSION => return Err(Unreadable::Newer(newer)),
        _ => return Err(Unreadable::Damaged),
    }
    Ok(match &*envelope.r#type {
        "session" => Record::Header(serde_json::from_str(text)?),
        "prefix" => Record::Prefix(serde_json::from_str(text)?),
        "node" => Record::Node(parse_node(text)?),
        "set" => Record::Set(serde_json::from_str(text)?),
        "head" => Record::Head(serde_json::from_str(text)?),
        _ => Record::Other,
    })
}

/// A node as it is written, its message in one form or another.
#[derive(Deserialize)]
struct NodeLine<M> {
    id: NodeId,
    parent: Option<NodeId>,
    kind: NodeViewKind,
    message: Option<M>,
    #[serde(default)]
    replaces: Vec<NodeId>,
    #[serde(default)]
    before: Option<NodeId>,
    #[serde(default)]
    meta: Meta,
}

fn parse_node(text: &str) -> Result<Node, Unreadable> {
    // At first in one go: bodies are large, and each pass over them costs as much as the rest.
    let NodeLine { id, parent, kind, message, replaces, before, meta } = match serde_json::from_str(text) {
        Ok(line) => line,
        Err(_) => parse_deep_node(text)?,
    };
    let kind = match (kind, message.map(Arc::new), before) {
        (NodeViewKind::Message, Some(message), _) => NodeKind::Message(message),
        (NodeViewKind::Summary, Some(message), _) => NodeKind::Summary { message, replaces },
        (NodeViewKind::Prune, _, Some(before)) => NodeKind::Prune { before },
        (NodeViewKind::Message | NodeViewKind::Summary, None, _) | (NodeViewKind::Prune, _, None) => {
            return Err(Unreadable::Damaged);
        }
    };
    Ok(Node { id, parent, kind, meta })
}

/// Reads a node whose message holds arguments that are nested nearly as deeply as the parser allows.
fn parse_deep_node(text: &str) -> Result<NodeLine<Message>, serde_json::Error> {
    let NodeLine { id, parent, kind, message, replaces, before, meta } = serde_json::from_str(text)?;
    let message = message.map(parse_deep_message).transpose()?;
    Ok(NodeLine { id, parent, kind, message, replaces, before, meta })
}

/// Reads a message block by block, and arguments on their own.
///
/// Arguments were parsed on their own when they arrived; inside a message they lie deeper and would be refused.
fn parse_deep_message(raw: &RawValue) -> Result<Message, serde_json::Error> {
    #[derive(Deserialize)]
    struct Shell<'a> {
        role: Role,
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Call<'a> {
        id: CallId,
        name: String,
        #[serde(borrow)]
        input: &'a RawValue,
        #[serde(default)]
        invalid: Option<String>,
        #[serde(default)]
        opaque: Option<Opaque>,
    }
    let shell: Shell<'_> = serde_json::from_str(raw.get())?;
    let block = |raw: &RawValue| {
        serde_json::from_str::<Block>(raw.get()).or_else(|_| {
            let Call { id, name, input, invalid, opaque } = serde_json::from_str(raw.get())?;
            Ok(Block::ToolUse { id, name, input: serde_json::from_str(input.get())?, invalid, opaque })
        })
    };
    let content = shell.content.into_iter().map(block).collect::<Result<_, serde_json::Error>>()?;
    Ok(Message { role: shell.role, content })
}
