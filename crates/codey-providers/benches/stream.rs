//! What it costs to turn a response into a message: `cargo bench -p codey-providers`.
//!
//! A server in this process sends the whole response at once; the time is that from sending a request to having the
//! message, which is nearly all decoding.
//!
//! - `text`: 20,000 deltas of seven characters.
//! - `argument`: a call whose argument of 1 MB comes in 150,000 deltas.
//! - `large_event`: one delta of 4 MB.
#![allow(clippy::unwrap_used)]

use std::env;
use std::sync::Arc;

use codey_llm::{Assembler, Block, Message, Provider, Request, StopReason, StreamEvent, Usage, tool_use};
use codey_providers::{Api, EndpointOptions, connect, model_info};
use codey_testkit::{Reply, ScriptedServer, anthropic_sse, openai_sse};
use divan::Bencher;
use divan::counter::ItemsCount;
use futures::StreamExt as _;
use serde_json::json;

const APIS: [Api; 2] = [Api::Anthropic, Api::OpenAi];
/// Responses of one benchmark.
const SAMPLES: u32 = 30;
/// Characters of a delta in the responses of the testkit.
const DELTA: usize = 7;

fn main() {
    // Tests build this too, and are not to wait for it.
    if env::args().any(|argument| argument == "--bench") {
        divan::main();
    }
}

#[divan::bench(args = APIS, sample_count = SAMPLES, sample_size = 1)]
fn text(bencher: Bencher<'_, '_>, api: Api) {
    let message = Message::assistant(vec![Block::text("seven +".repeat(20_000))]);
    measure(bencher, api, &sse(api, &message), &message, 20_000);
}

#[divan::bench(args = APIS, sample_count = SAMPLES, sample_size = 1)]
fn argument(bencher: Bencher<'_, '_>, api: Api) {
    let content = "let width = measure(\"глиф\", &font)?;\n".repeat(25_000);
    let arguments = json!({"path": "a.rs", "content": content});
    let deltas = arguments.to_string().chars().count() / DELTA;
    let message = Message::assistant(vec![tool_use("call_1", "write", arguments)]);
    measure(bencher, api, &sse(api, &message), &message, deltas);
}

#[divan::bench(args = APIS, sample_count = SAMPLES, sample_size = 1)]
fn large_event(bencher: Bencher<'_, '_>, api: Api) {
    let text = "let width = measure(\"glyph\", &font)?;\n".repeat(110_000) + "end";
    let written = serde_json::to_string(&text).unwrap();
    let small = sse(api, &Message::assistant(vec![Block::text("HERE")]));
    let large = small.replace("HERE", written.trim_matches('"'));
    measure(bencher, api, &large, &Message::assistant(vec![Block::text(text)]), 1);
}

fn sse(api: Api, message: &Message) -> String {
    match api {
        Api::Anthropic => anthropic_sse(message, &StopReason::EndTurn, Usage::default()),
        Api::OpenAi => openai_sse(message, &StopReason::EndTurn, Usage::default()),
    }
}

fn measure(bencher: Bencher<'_, '_>, api: Api, response: &str, expected: &Message, deltas: usize) {
    let replies = (0..=SAMPLES).map(|_| Reply::sse(response)).collect();
    let server = ScriptedServer::start(replies);
    let provider = connect(EndpointOptions::new("bench", api, server.url()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // The first request also builds the client and connects.
    assert_eq!(runtime.block_on(answer(&*provider)), *expected);
    bencher.counter(ItemsCount::new(deltas)).bench_local(|| runtime.block_on(answer(&*provider)));
}

async fn answer(provider: &dyn Provider) -> Message {
    let prompt = Message::user(vec![Block::text("go on")]);
    let mut events = provider.stream(Request {
        model: model_info("m"),
        system: Arc::from([]),
        tools: Arc::from([]),
        messages: vec![Arc::new(prompt)],
        max_tokens: 1_000,
        effort: None,
        temperature: None,
        cache_points: Vec::new(),
    });
    let mut assembler = Assembler::default();
    while let Some(event) = events.next().await {
        match event.unwrap() {
            StreamEvent::Done { stop, .. } => return assembler.finish(&stop).message,
            event => assembler.push(&event),
        }
    }
    unreachable!("a stream ends with its end mark or an error")
}
