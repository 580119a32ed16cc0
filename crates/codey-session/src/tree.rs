//! The tree in memory: a light entry for each node.

use std::collections::HashMap;
use std::sync::Arc;

use codey_protocol::{NodeId, NodeViewKind};

use crate::{Node, NodeKind};

/// A node without its body.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub id: NodeId,
    /// The node before it; `None` at a beginning.
    pub parent: Option<NodeId>,
    /// What it is.
    pub kind: NodeViewKind,
    pub(crate) body: Body,
    parent_index: Option<usize>,
    has_child: bool,
}

/// Where the rest of a node is.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Memory(Arc<Node>),
    File { offset: u64, len: usize },
}

/// All nodes in the order they were appended. A parent always stands before its children.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    entries: Vec<Entry>,
    by_id: HashMap<NodeId, usize>,
    head: Option<usize>,
    leaves: u32,
}

impl Tree {
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn contains(&self, id: NodeId) -> bool {
        self.by_id.contains_key(&id)
    }

    pub(crate) fn head(&self) -> Option<NodeId> {
        self.head.map(|head| self.entries[head].id)
    }

    /// Moves the head. False if there is no such node.
    pub(crate) fn set_head(&mut self, to: Option<NodeId>) -> bool {
        let found = to.map(|id| self.by_id.get(&id).copied());
        match found {
            None => self.head = None,
            Some(Some(index)) => self.head = Some(index),
            Some(None) => return false,
        }
        true
    }

    /// Ends of the tree.
    pub(crate) fn branches(&self) -> u32 {
        self.leaves
    }

    /// Adds a node and makes it the head. Its parent, if it has one, is in the tree; its name is new.
    pub(crate) fn push(&mut self, node: &Node, body: Body) {
        let parent_index = node.parent.and_then(|parent| self.by_id.get(&parent).copied());
        let grows_a_leaf =
            parent_index.is_some_and(|parent| !std::mem::replace(&mut self.entries[parent].has_child, true));
        self.leaves += u32::from(!grows_a_leaf);
        let kind = match node.kind {
            NodeKind::Message(_) => NodeViewKind::Message,
            NodeKind::Summary { .. } => NodeViewKind::Summary,
            NodeKind::Prune { .. } => NodeViewKind::Prune,
        };
        let index = self.entries.len();
        self.by_id.insert(node.id, index);
        self.entries.push(Entry { id: node.id, parent: node.parent, kind, body, parent_index, has_child: false });
        self.head = Some(index);
    }

    /// From the beginning to the head.
    pub(crate) fn lineage(&self) -> Vec<&Entry> {
        let mut path = Vec::new();
        let mut next = self.head;
        while let Some(index) = next {
            let entry = &self.entries[index];
            path.push(entry);
            next = entry.parent_index;
        }
        path.reverse();
        path
    }
}
