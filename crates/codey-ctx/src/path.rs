//! The path: what the model sees of the lineage.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use codey_llm::{Block, CallId, Message, bytes_in_tokens_of};
use codey_protocol::{NodeId, Observed};
use codey_session::{Node, NodeKind};
use serde_json::Value;

/// A pruned result keeps a body up to this size. Source: contract section 7.
const KEPT_RESULT_BYTES: usize = 2 * 1024;
/// Longest label; models sometimes put a whole text where a path should be.
const LABEL_CHARS: usize = 200;
/// Arguments that name the file a call is about; the second is an alias that models use.
const PATH_ARGUMENTS: [&str; 2] = ["path", "file_path"];

/// The lineage as the model sees it.
///
/// That is the lineage without the nodes that a summary in it replaces, each summary standing where the first of them
/// stood, and with large results before a prune mark stubbed. Appending the nodes of a lineage one by one and
/// rebuilding from all of them give the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathState {
    items: Vec<Item>,
    /// Every node of the lineage, replaced ones too.
    places: HashMap<NodeId, Place>,
    observations: Vec<Observation>,
    /// What each call was, for people and models: `read src/main.rs`.
    labels: HashMap<CallId, String>,
    bytes: u64,
}

/// Where a node stands: behind everything with a smaller place. Summaries stand where older nodes stood, hence two
/// numbers, both counted along the lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    stands_at: usize,
    appended_as: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct Item {
    place: Place,
    node: Arc<Node>,
    message: Arc<Message>,
    bytes: u64,
}

/// A file version that came into view, and whether it still is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Observation {
    pub(crate) observed: Observed,
    pub(crate) visible: bool,
    node: NodeId,
}

impl PathState {
    /// The path of a lineage, given from its beginning to the head.
    pub fn rebuild<'a>(lineage: impl IntoIterator<Item = &'a Arc<Node>>) -> Self {
        let mut path = Self::default();
        for node in lineage {
            path.append(node);
        }
        path
    }

    /// Takes the next node of the lineage.
    pub fn append(&mut self, node: &Arc<Node>) {
        let appended_as = self.places.len();
        let mut place = Place { stands_at: appended_as, appended_as };
        match &node.kind {
            NodeKind::Message(message) => {
                self.learn_calls(message);
                self.insert(place, node, message);
            }
            NodeKind::Summary { message, replaces } => {
                let known = replaces.iter().filter_map(|node| self.places.get(node));
                place.stands_at = known.map(|place| place.stands_at).min().unwrap_or(appended_as);
                self.remove(&replaces.iter().copied().collect());
                self.insert(place, node, message);
            }
            NodeKind::Prune { before } => {
                if let Some(limit) = self.places.get(before).map(|place| place.appended_as) {
                    self.prune(limit);
                }
            }
        }
        self.places.insert(node.id, place);
        let seen_here = node.meta.observed.iter().cloned();
        self.observations.extend(seen_here.map(|observed| Observation { observed, visible: true, node: node.id }));
    }

    /// Its size as the token estimator weighs it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the model has seen nothing yet.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The nodes the model sees, in the order it sees them; results of pruned ones are stubbed.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Arc<Node>> {
        self.items.iter().map(|item| &item.node)
    }

    pub(crate) fn messages(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        self.items.iter().map(|item| &item.message)
    }

    pub(crate) fn observations(&self) -> &[Observation] {
        &self.observations
    }

    /// What a call was: the tool, and the file if it names one.
    pub(crate) fn label(&self, call: &CallId) -> &str {
        self.labels.get(call).map_or("unknown call", String::as_str)
    }

    fn learn_calls(&mut self, message: &Message) {
        for block in &message.content {
            if let Block::ToolUse { id, name, input, .. } = block {
                let file = PATH_ARGUMENTS.iter().find_map(|argument| input.get(argument).and_then(Value::as_str));
                let label = file.map_or_else(|| name.clone(), |file| format!("{name} {file}"));
                self.labels.insert(id.clone(), label.chars().take(LABEL_CHARS).collect());
            }
        }
    }

    fn insert(&mut self, place: Place, node: &Arc<Node>, message: &Arc<Message>) {
        let bytes = bytes_in_tokens_of(message);
        let item = Item { place, node: node.clone(), message: message.clone(), bytes };
        let index = self.items.partition_point(|item| item.place < place);
        self.items.insert(index, item);
        self.bytes += bytes;
    }

    fn remove(&mut self, replaced: &HashSet<NodeId>) {
        self.items.retain(|item| !replaced.contains(&item.node.id));
        self.bytes = self.items.iter().map(|item| item.bytes).sum();
        self.hide(replaced);
    }

    /// Stubs the large results in nodes appended before `limit`. What such a node observed counts as no longer seen.
    fn prune(&mut self, limit: usize) {
        let mut pruned = HashSet::new();
        let labels = &self.labels;
        for item in self.items.iter_mut().filter(|item| item.place.appended_as < limit) {
            if let Some(message) = stubbed(&item.message, labels) {
                item.message = Arc::new(message);
                let Node { id, parent, ref meta, .. } = *item.node;
                // The old body must not stay in memory behind the stub.
                let kind = NodeKind::Message(item.message.clone());
                item.node = Arc::new(Node { id, parent, kind, meta: meta.clone() });
                item.bytes = bytes_in_tokens_of(&item.message);
                pruned.insert(id);
            }
        }
        self.bytes = self.items.iter().map(|item| item.bytes).sum();
        self.hide(&pruned);
    }

    fn hide(&mut self, nodes: &HashSet<NodeId>) {
        for observation in self.observations.iter_mut().filter(|observation| nodes.contains(&observation.node)) {
            observation.visible = false;
        }
    }
}

/// The message with its large results stubbed; `None` if it has none.
fn stubbed(message: &Message, labels: &HashMap<CallId, String>) -> Option<Message> {
    let stub = |block: &Block| {
        let Block::ToolResult { call, content, is_error } = block else { return None };
        let size = size(content);
        let label = labels.get(call).map_or("result", String::as_str);
        let again = if label.starts_with("read ") { "read the file again" } else { "call it again" };
        let text = format!("[{label}: {size} bytes left out to save context; {again} if you need them]");
        let stub = Block::ToolResult { call: call.clone(), content: vec![Block::text(text)], is_error: *is_error };
        (size > KEPT_RESULT_BYTES).then_some(stub)
    };
    if message.content.iter().all(|block| stub(block).is_none()) {
        return None;
    }
    let content = message.content.iter().map(|block| stub(block).unwrap_or_else(|| block.clone()));
    Some(Message { role: message.role, content: content.collect() })
}

/// Bytes of a result's body; pictures count as their files.
fn size(content: &[Block]) -> usize {
    content
        .iter()
        .map(|block| match block {
            Block::Text { text } => text.len(),
            Block::Image { data, .. } => data.len(),
            Block::Thinking { .. } | Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Foreign { .. } => 0,
        })
        .sum()
}

/// The call that a block makes.
pub(crate) fn called(block: &Block) -> Option<&CallId> {
    if let Block::ToolUse { id, .. } = block { Some(id) } else { None }
}

/// The call that a block answers.
pub(crate) fn answered(block: &Block) -> Option<&CallId> {
    if let Block::ToolResult { call, .. } = block { Some(call) } else { None }
}
