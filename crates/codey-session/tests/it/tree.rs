//! Whatever is done to a tree, its file gives it back.

use std::sync::Arc;

use codey_llm::{Block, Message, Opaque, Role, Usage};
use codey_protocol::{Meta, NodeId};
use codey_session::{Node, NodeKind, Session};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value};

use crate::{Place, start};

#[derive(Clone, Debug)]
enum Step {
    Say(Message),
    Summarise(Message, Vec<prop::sample::Index>),
    Prune(prop::sample::Index),
    Rewind(prop::sample::Index),
    EndRun,
    Reopen,
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(Value::from))
}

fn block() -> impl Strategy<Value = Block> {
    let text = any::<String>();
    let opaque = ("[a-z]{1,4}", "[a-z]{1,4}", any::<String>()).prop_map(|(provider, model, raw)| Opaque {
        provider,
        model,
        raw: raw.into(),
    });
    let opaque = opaque.boxed();
    let call = ("[a-z0-9]{1,6}", any::<String>(), value(), prop::option::of(any::<String>()));
    prop_oneof![
        text.prop_map(Block::text),
        (text, prop::option::of(opaque.clone())).prop_map(|(text, opaque)| Block::Thinking { text, opaque }),
        (call, prop::option::of(opaque.clone())).prop_map(|((id, name, value, invalid), opaque)| {
            let input = Value::Object(Map::from_iter([("value".to_owned(), value)]));
            Block::ToolUse { id: id[..].into(), name, input, invalid, opaque }
        }),
        ("[a-z0-9]{1,6}", text, any::<bool>()).prop_map(|(call, text, is_error)| Block::ToolResult {
            call: call[..].into(),
            content: vec![Block::text(text)],
            is_error
        }),
        prop::collection::vec(any::<u8>(), 0..9)
            .prop_map(|data| Block::Image { media_type: "image/png".into(), data: data.into() }),
        opaque.prop_map(|opaque| Block::Foreign { opaque }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
    (role, prop::collection::vec(block(), 0..4)).prop_map(|(role, content)| Message { role, content })
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>();
    prop_oneof![
        6 => message().prop_map(Step::Say),
        1 => (message(), prop::collection::vec(index.clone(), 0..3)).prop_map(|(message, old)| Step::Summarise(message, old)),
        1 => index.clone().prop_map(Step::Prune),
        2 => index.prop_map(Step::Rewind),
        1 => Just(Step::EndRun),
        2 => Just(Step::Reopen),
    ]
}

/// The tree as a plain list, to compare with.
#[derive(Default)]
struct Model {
    nodes: Vec<Arc<Node>>,
    head: Option<NodeId>,
    /// Where a session that is opened anew stands: rewinds count once they are recorded.
    recorded_head: Option<NodeId>,
}

impl Model {
    fn lineage(&self) -> Vec<Arc<Node>> {
        let mut path = Vec::new();
        let mut next = self.head;
        while let Some(id) = next {
            let node = self.nodes.iter().find(|node| node.id == id).unwrap();
            path.push(node.clone());
            next = node.parent;
        }
        path.reverse();
        path
    }
}

/// The same cases in every run; to look for others, change the seed.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 64, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_tree_comes_back_from_its_file(steps in prop::collection::vec(step(), 1..24)) {
        let place = Place::new();
        let mut session = Session::create(&place.dir, start());
        let mut model = Model::default();
        for step in steps {
            let pick = |index: prop::sample::Index| (!model.nodes.is_empty()).then(|| index.get(&model.nodes).id);
            let kind = match step {
                Step::Say(message) => Some(NodeKind::Message(message.into())),
                Step::Summarise(message, replaces) => {
                    let replaces = replaces.into_iter().filter_map(pick).collect();
                    Some(NodeKind::Summary { message: message.into(), replaces })
                }
                Step::Prune(before) => pick(before).map(|before| NodeKind::Prune { before }),
                Step::Rewind(to) => {
                    let to = pick(to);
                    session.set_head(to).unwrap();
                    model.head = to;
                    None
                }
                Step::EndRun if !model.nodes.is_empty() => {
                    session.append_head("title", 1, Usage::default()).unwrap();
                    model.recorded_head = model.head;
                    None
                }
                Step::Reopen if !model.nodes.is_empty() => {
                    let id = session.id();
                    drop(session);
                    let (opened, warnings) = place.open(id).unwrap();
                    prop_assert_eq!(warnings, []);
                    session = opened;
                    model.head = model.recorded_head;
                    None
                }
                Step::EndRun | Step::Reopen => None,
            };
            if let Some(kind) = kind {
                let node = session.append(kind.clone(), Meta::default()).unwrap();
                prop_assert_eq!(node.parent, model.head);
                prop_assert_eq!(&node.kind, &kind);
                model.head = Some(node.id);
                model.recorded_head = model.head;
                model.nodes.push(node);
            }
            prop_assert_eq!(session.head(), model.head);
            prop_assert_eq!(session.lineage().unwrap(), model.lineage());
        }
        let names: Vec<NodeId> = session.nodes().iter().map(|entry| entry.id).collect();
        prop_assert!(names.is_sorted());
        prop_assert_eq!(names, model.nodes.iter().map(|node| node.id).collect::<Vec<_>>());
    }
}
