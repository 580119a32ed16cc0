//! What the path costs in a long session: `cargo bench -p codey-ctx`.
//!
//! - `assemble_plain`: the next request of a path of 100 and 1,000 turns. Nothing is copied deeply, so memory is a few
//!   words a message.
//! - `assemble_mended`: the same where every tenth results message is followed by something the user said. These, and
//!   no others, are joined anew for each request.
//! - `append`: one more node. Must not depend on the length of the path.
//! - `rebuild`: the same path from all of its nodes, as a resume does.
//! - `know_files`: which of the files seen the model still knows.
#![allow(clippy::unwrap_used)]

use std::env;
use std::sync::Arc;

use codey_ctx::{PathState, Prefix, assemble, seen};
use codey_llm::{Block, Capabilities, Message, ModelInfo, tool_use};
use codey_protocol::{Digest, Meta, NodeId, Observed, RelPath};
use codey_session::{Node, NodeKind};
use divan::{AllocProfiler, Bencher, black_box};
use serde_json::json;
use ulid::Ulid;

/// Memory is half of the question.
#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

const TURNS: [usize; 2] = [100, 1_000];

fn main() {
    // Tests build this too, and are not to wait for it.
    if env::args().any(|argument| argument == "--bench") {
        divan::main();
    }
}

#[divan::bench(args = TURNS)]
fn assemble_plain(bencher: Bencher<'_, '_>, turns: usize) {
    let (prefix, path, model) = (prefix(), PathState::rebuild(&lineage(turns)), model());
    bencher.bench_local(|| assemble(black_box(&prefix), black_box(&path), black_box(&model)));
}

#[divan::bench(args = TURNS)]
fn assemble_mended(bencher: Bencher<'_, '_>, turns: usize) {
    let mut kinds = kinds(turns);
    for place in (1..turns).rev().filter(|turn| turn % 10 == 0) {
        kinds.insert(1 + 2 * place, said(Message::user(vec![Block::text("and keep the tests green")])));
    }
    let (prefix, path, model) = (prefix(), PathState::rebuild(&nodes(kinds)), model());
    bencher.bench_local(|| assemble(black_box(&prefix), black_box(&path), black_box(&model)));
}

#[divan::bench(args = TURNS)]
fn append(bencher: Bencher<'_, '_>, turns: usize) {
    let mut path = PathState::rebuild(&lineage(turns));
    let mut index = 1 + 2 * turns;
    let next = || {
        index += 1;
        node(index, result(index))
    };
    bencher.with_inputs(next).bench_local_values(|node| path.append(&node));
}

#[divan::bench(args = TURNS)]
fn rebuild(bencher: Bencher<'_, '_>, turns: usize) {
    let lineage = lineage(turns);
    bencher.bench_local(|| PathState::rebuild(black_box(&lineage)));
}

#[divan::bench(args = TURNS)]
fn know_files(bencher: Bencher<'_, '_>, turns: usize) {
    let path = PathState::rebuild(&lineage(turns));
    bencher.bench_local(|| seen(black_box(&path)));
}

fn prefix() -> Prefix {
    Prefix::new(vec!["You are Codey.".into()], Vec::new())
}

fn model() -> ModelInfo {
    let capabilities = Capabilities { images: true, effort: false };
    ModelInfo { id: "m".into(), window: Some(200_000), max_output: 8_192, price: None, capabilities }
}

fn lineage(turns: usize) -> Vec<Arc<Node>> {
    nodes(kinds(turns))
}

fn nodes(kinds: Vec<NodeKind>) -> Vec<Arc<Node>> {
    kinds.into_iter().enumerate().map(|(index, kind)| node(index, kind)).collect()
}

fn node(index: usize, kind: NodeKind) -> Arc<Node> {
    let id = |index: usize| NodeId(Ulid::from_parts(1, index as u128));
    let observed = Observed { path: RelPath::new(format!("src/{index}.rs")), digest: Digest::new("9c".repeat(32)) };
    let meta = Meta { observed: vec![observed], ..Meta::default() };
    Arc::new(Node { id: id(index), parent: index.checked_sub(1).map(id), kind, meta })
}

/// A prompt, then for each turn a call and its result.
fn kinds(turns: usize) -> Vec<NodeKind> {
    let prompt = said(Message::user(vec![Block::text("mend the parser")]));
    let turn = |number: usize| {
        let arguments = json!({"path": format!("src/module_{number}.rs"), "limit": 300});
        let call = vec![Block::text("I look at it next."), tool_use(&format!("call_{number}"), "read", arguments)];
        [said(Message::assistant(call)), result(number)]
    };
    [prompt].into_iter().chain((0..turns).flat_map(turn)).collect()
}

fn result(number: usize) -> NodeKind {
    let text = "     1\tlet width = measure(glyph, &font)?;\n".repeat(100);
    let call = format!("call_{number}").as_str().into();
    said(Message::user(vec![Block::ToolResult { call, content: vec![Block::text(text)], is_error: false }]))
}

fn said(message: Message) -> NodeKind {
    NodeKind::Message(Arc::new(message))
}
