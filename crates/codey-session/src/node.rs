//! Nodes of the session tree.

use std::sync::Arc;

use codey_llm::Message;
use codey_protocol::{Meta, NodeId, NodeView, NodeViewKind};

/// An entry of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub id: NodeId,
    /// The node before it; `None` at the beginning.
    pub parent: Option<NodeId>,
    /// What it is.
    pub kind: NodeKind,
    /// What else is known.
    pub meta: Meta,
}

/// What a node is. What summaries and prunes mean for the model is `codey-ctx`'s affair.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Something that was said.
    Message(Arc<Message>),
    /// Stands for older nodes.
    Summary {
        /// The summary.
        message: Arc<Message>,
        /// The nodes it stands for.
        replaces: Vec<NodeId>,
    },
    /// Old tool output ends here.
    Prune {
        /// Output in nodes before this one is stubbed.
        before: NodeId,
    },
}

impl Node {
    /// The message, if it has one.
    pub fn message(&self) -> Option<&Arc<Message>> {
        match &self.kind {
            NodeKind::Message(message) | NodeKind::Summary { message, .. } => Some(message),
            NodeKind::Prune { .. } => None,
        }
    }

    /// The node as front ends see it; the message is shared.
    pub fn view(&self) -> NodeView {
        let kind = match self.kind {
            NodeKind::Message(_) => NodeViewKind::Message,
            NodeKind::Summary { .. } => NodeViewKind::Summary,
            NodeKind::Prune { .. } => NodeViewKind::Prune,
        };
        NodeView { id: self.id, parent: self.parent, kind, message: self.message().cloned(), meta: self.meta.clone() }
    }
}
