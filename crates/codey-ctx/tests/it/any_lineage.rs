//! Properties that hold for every lineage, sensible or not.

use std::collections::HashSet;
use std::sync::Arc;

use codey_ctx::{Assembly, LOST_RESULT, PathState, assemble, seen};
use codey_llm::{Block, CachePoint, CallId, Message, Opaque, Request, Role, bytes_in_tokens_of, tool_use};
use codey_protocol::NodeId;
use codey_session::{Node, NodeKind};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use crate::{id, lineage, model, prefix, said};

/// Few words and few ids, so that blanks, repeats and mismatches are common.
fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", " ", "\n\n", "a", "b ", " c", "long"])
        .prop_map(|word| if word == "long" { "x".repeat(3_000) } else { word.to_owned() })
}

fn call() -> impl Strategy<Value = CallId> {
    prop::sample::select(vec!["1", "2", "3", "1_2"]).prop_map(CallId::from)
}

fn block() -> impl Strategy<Value = Block> {
    let picture = || Block::Image { media_type: "image/png".into(), data: vec![1, 2, 3].into() };
    let opaque = || Opaque { provider: "p".into(), model: "m".into(), raw: "{}".into() };
    let inner = prop_oneof![
        3 => words().prop_map(Block::text),
        1 => Just(picture()),
        1 => Just(Block::Foreign { opaque: opaque() }),
    ];
    let input = prop::sample::select(vec![json!({"path": "a.rs"}), json!({}), Value::Null]);
    prop_oneof![
        3 => words().prop_map(Block::text),
        1 => (words(), any::<bool>())
            .prop_map(move |(text, signed)| Block::Thinking { text, opaque: signed.then(opaque) }),
        4 => (call(), input).prop_map(|(id, input)| tool_use(id.as_str(), "read", input)),
        5 => (call(), prop::collection::vec(inner, 0..3), any::<bool>())
            .prop_map(|(call, content, is_error)| Block::ToolResult { call, content, is_error }),
        1 => Just(picture()),
        1 => Just(Block::Foreign { opaque: opaque() }),
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(vec![Role::User, Role::Assistant]);
    (role, prop::collection::vec(block(), 0..5)).prop_map(|(role, content)| Message { role, content })
}

#[derive(Clone, Debug)]
enum Raw {
    Message(Message),
    Summary(Message, Vec<Index>),
    Prune(Index),
}

/// Index of a node that no lineage has.
const NOWHERE: usize = 999;

/// A lineage whose summaries and prunes refer to any node before them.
fn any_lineage() -> impl Strategy<Value = Vec<Arc<Node>>> {
    let raw = prop_oneof![
        8 => any_message().prop_map(Raw::Message),
        1 => (any_message(), prop::collection::vec(any::<Index>(), 0..5)).prop_map(|(m, old)| Raw::Summary(m, old)),
        1 => any::<Index>().prop_map(Raw::Prune),
    ];
    prop::collection::vec(raw, 0..14).prop_map(|raws| {
        let kind = |(index, raw): (usize, Raw)| {
            let earlier = |old: Index| id(if index == 0 { NOWHERE } else { old.index(index) });
            match raw {
                Raw::Message(message) => said(message),
                Raw::Summary(message, old) => {
                    NodeKind::Summary { message: message.into(), replaces: old.into_iter().map(earlier).collect() }
                }
                Raw::Prune(before) => NodeKind::Prune { before: earlier(before) },
            }
        };
        lineage(raws.into_iter().enumerate().map(kind).collect())
    })
}

fn sent(nodes: &[Arc<Node>], images: bool) -> Request {
    assemble(&prefix(), &PathState::rebuild(nodes), &model(images))
}

/// Judges a request as the strictest providers do.
fn check_valid(request: &Request, images: bool) -> Result<(), TestCaseError> {
    let mut open: Vec<&CallId> = Vec::new();
    let mut ids: HashSet<&CallId> = HashSet::new();
    for (index, message) in request.messages.iter().enumerate() {
        let expected = if index % 2 == 0 { Role::User } else { Role::Assistant };
        prop_assert_eq!(message.role, expected, "roles alternate");
        prop_assert!(!message.content.is_empty(), "no message is empty");
        let answers = message.content.iter().map_while(|block| match block {
            Block::ToolResult { call, .. } => Some(call),
            _ => None,
        });
        let answers: Vec<&CallId> = answers.collect();
        prop_assert_eq!(&answers, &open, "calls are answered right after them");
        open.clear();
        for block in &message.content[answers.len()..] {
            match (message.role, block) {
                (_, Block::Text { text }) => prop_assert!(!text.trim().is_empty()),
                (Role::User, Block::Image { .. }) => prop_assert!(images),
                (Role::Assistant, Block::ToolUse { id, input, .. }) => {
                    prop_assert!(ids.insert(id), "ids are unique");
                    prop_assert!(input.is_object());
                    open.push(id);
                }
                (Role::Assistant, Block::Thinking { text, opaque }) => {
                    prop_assert!(opaque.is_some() || !text.trim().is_empty());
                }
                (Role::Assistant, Block::Foreign { .. }) => {}
                other => prop_assert!(false, "{other:?} has no place here"),
            }
        }
        for block in &message.content[..answers.len()] {
            let Block::ToolResult { content, .. } = block else { unreachable!() };
            prop_assert!(!content.is_empty());
            for inner in content {
                match inner {
                    Block::Text { text } => prop_assert!(!text.trim().is_empty()),
                    Block::Image { .. } => prop_assert!(images),
                    other => prop_assert!(false, "{other:?} has no place in a result"),
                }
            }
        }
        if let (Role::Assistant, Some(Block::Text { text })) = (message.role, message.content.last()) {
            prop_assert_eq!(text.trim_end(), text);
        }
    }
    prop_assert!(open.is_empty(), "no call stays open");
    prop_assert!(request.cache_points.len() <= 3);
    for point in &request.cache_points {
        if let CachePoint::Message(index) = point {
            prop_assert_eq!(request.messages[*index].role, Role::User);
        }
    }
    Ok(())
}

fn blocks(request: &Request) -> Vec<(Role, &Block)> {
    request.messages.iter().flat_map(|message| message.content.iter().map(|block| (message.role, block))).collect()
}

fn is_lost(block: &Block) -> bool {
    matches!(block, Block::ToolResult { content, .. } if content == &[Block::text(LOST_RESULT)])
}

/// The path by its definition: what no summary replaces, each summary where the first node it replaces stands.
fn path_by_definition(nodes: &[Arc<Node>]) -> Vec<NodeId> {
    let replaced_by = |node: &Arc<Node>| match &node.kind {
        NodeKind::Summary { replaces, .. } => replaces.clone(),
        NodeKind::Message(_) | NodeKind::Prune { .. } => Vec::new(),
    };
    let replaced: HashSet<NodeId> = nodes.iter().flat_map(replaced_by).collect();
    let mut places: Vec<usize> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let first = replaced_by(node)
            .iter()
            .filter_map(|old| nodes.iter().position(|node| node.id == *old))
            .filter(|old| *old < index)
            .map(|old| places[old])
            .min();
        places.push(first.unwrap_or(index));
    }
    let mut path: Vec<usize> = (0..nodes.len())
        .filter(|index| nodes[*index].message().is_some() && !replaced.contains(&nodes[*index].id))
        .collect();
    path.sort_by_key(|index| places[*index]);
    path.into_iter().map(|index| nodes[index].id).collect()
}

/// The same cases in every run; to look for others, change the seed.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_lineage_gives_a_valid_request(nodes in any_lineage(), images: bool) {
        check_valid(&sent(&nodes, images), images)?;
    }

    #[test]
    fn while_all_calls_are_answered_a_node_only_adds_to_the_request(nodes in any_lineage()) {
        for length in 1..nodes.len() {
            let (before, after) = (sent(&nodes[..length], true), sent(&nodes[..=length], true));
            let (before, after) = (blocks(&before), blocks(&after));
            let answered = !before.iter().any(|(_, block)| is_lost(block));
            if answered && matches!(nodes[length].kind, NodeKind::Message(_)) {
                prop_assert!(after.starts_with(&before), "{before:#?}\n{after:#?}");
            }
        }
    }

    #[test]
    fn requests_made_one_after_another_are_those_made_alone(nodes in any_lineage(), images: Vec<bool>) {
        let (mut assembly, mut path) = (Assembly::default(), PathState::default());
        for (node, images) in nodes.iter().zip(images.into_iter().chain(std::iter::repeat(true))) {
            path.append(node);
            let model = model(images);
            let (kept, alone) = (assembly.request(&prefix(), &path, &model), assemble(&prefix(), &path, &model));
            prop_assert_eq!((kept.messages, kept.cache_points), (alone.messages, alone.cache_points));
        }
        let rewound = assembly.request(&prefix(), &PathState::default(), &model(true));
        prop_assert!(rewound.messages.is_empty());
    }

    #[test]
    fn a_path_kept_up_to_date_is_the_path_rebuilt(nodes in any_lineage()) {
        let mut kept = PathState::default();
        for (index, node) in nodes.iter().enumerate() {
            kept.append(node);
            let rebuilt = PathState::rebuild(&nodes[..=index]);
            prop_assert_eq!(&kept, &rebuilt);
            prop_assert_eq!(seen(&kept), seen(&rebuilt));
            let weighed: u64 = kept.nodes().filter_map(|node| node.message()).map(|message| bytes_in_tokens_of(message)).sum();
            prop_assert_eq!(kept.bytes(), weighed);
            let ids: Vec<NodeId> = kept.nodes().map(|node| node.id).collect();
            prop_assert_eq!(ids, path_by_definition(&nodes[..=index]));
        }
    }
}
