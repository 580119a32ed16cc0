//! How responses arrive: split, slow, cut, silent.

use std::time::Duration;

use codey_llm::{Block, ProviderErrorKind, StopReason, StreamEvent, Usage, tool_use};
use codey_providers::{Api, EndpointOptions, connect};
use codey_testkit::{Reply, ScriptedServer};
use futures::StreamExt as _;
use futures::future::join_all;
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{APIS, ask, ask_provider, endpoint, hello, sse};

fn stream() -> Reply {
    Reply::status(200).header("content-type", "text/event-stream")
}

/// The part of a stream up to and with its first text.
fn first_words(api: Api) -> String {
    let whole = sse(api, vec![Block::text("Let me ")], StopReason::EndTurn);
    let end = whole.find("Let me ").unwrap();
    let end = end + whole[end..].find("\n\n").unwrap() + 2;
    whole[..end].to_owned()
}

fn error_event(api: Api) -> &'static str {
    match api {
        Api::Anthropic => {
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"No room\"}}\n\n"
        }
        Api::OpenAi => "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"No room\"}}\n\n",
    }
}

#[tokio::test]
async fn prov_01_characters_split_over_chunks_arrive_whole() {
    for api in APIS {
        let content = vec![
            Block::Thinking { text: "思考 🦀".into(), opaque: None },
            Block::text("那😀é"),
            tool_use("c1", "write", json!({"path": "那😀.txt"})),
        ];
        let text = sse(api, content.clone(), StopReason::ToolUse);
        let server = ScriptedServer::start(vec![stream().bytewise(text.as_bytes())]);
        let answer = ask(endpoint(api, &server), hello()).await;
        assert_eq!(answer.message().content, content, "{api:?}");
    }
}

#[tokio::test]
async fn prov_03_an_error_event_ends_the_stream_although_the_socket_stays_open() {
    for api in APIS {
        let server = ScriptedServer::start(vec![stream().body(first_words(api)).body(error_event(api)).hang()]);
        let answer = timeout(Duration::from_secs(2), ask(endpoint(api, &server), hello())).await.unwrap();
        assert_eq!(answer.error().kind, ProviderErrorKind::Overloaded);
        assert!(answer.error().message.ends_with("reported an error: No room"), "{}", answer.error());
        assert!(
            answer
                .events
                .iter()
                .any(|event| matches!(event, StreamEvent::BlockDelta { text, .. } if text == "Let me "))
        );
        assert_eq!(server.requests().len(), 1, "nothing is tried again once text was shown");
    }
}

#[tokio::test]
async fn an_answer_is_complete_although_the_socket_stays_open() {
    for api in APIS {
        let text = sse(api, vec![Block::text("hi")], StopReason::EndTurn);
        let server = ScriptedServer::start(vec![stream().body(text).hang()]);
        let answer = timeout(Duration::from_secs(2), ask(endpoint(api, &server), hello())).await.unwrap();
        assert_eq!(answer.message().text(), "hi");
    }
}

async fn check_silence(api: Api, replies: Vec<Reply>) {
    let tries = replies.len();
    let server = ScriptedServer::start(replies);
    let options = EndpointOptions { idle_timeout: Duration::from_millis(400), ..endpoint(api, &server) };
    let answer = ask(options, hello()).await;
    assert_eq!(answer.error().kind, ProviderErrorKind::Stalled, "{}", answer.error());
    assert!(answer.error().message.contains("sent nothing for 0.4 s"), "{}", answer.error());
    assert!(answer.error().hint.contains("idle_timeout"));
    assert_eq!((server.requests().len(), answer.retries()), (tries, tries - 1));
}

#[tokio::test]
async fn prov_05_silence_ends_with_the_idle_limit() {
    let checks = APIS.into_iter().flat_map(|api| {
        let silences = [
            vec![Reply::silence(), Reply::silence()],
            vec![stream().hang(), stream().hang()],
            vec![stream().body(first_words(api)).hang()],
        ];
        silences.into_iter().map(move |replies| check_silence(api, replies))
    });
    join_all(checks).await;
}

async fn check_slow(api: Api) {
    let words = "a slow answer that takes more time than silence may";
    let text = sse(api, vec![Block::text(words)], StopReason::EndTurn);
    let mut reply = stream();
    for frame in text.split_inclusive("\n\n") {
        reply =
            reply.wait(Duration::from_millis(40)).body(": keep-alive\n\n").wait(Duration::from_millis(40)).body(frame);
    }
    let server = ScriptedServer::start(vec![reply]);
    let idle_timeout = Duration::from_millis(700);
    let start = Instant::now();
    let answer = ask(EndpointOptions { idle_timeout, ..endpoint(api, &server) }, hello()).await;
    assert_eq!(answer.message().text(), words);
    assert!(start.elapsed() > idle_timeout);
}

#[tokio::test]
async fn prov_05_a_healthy_stream_may_take_longer_than_the_idle_limit() {
    join_all(APIS.map(check_slow)).await;
}

#[tokio::test]
async fn a_cut_stream_is_an_error_and_not_an_answer() {
    for api in APIS {
        for end in [Reply::cut, Reply::reset, |reply: Reply| reply] {
            let server = ScriptedServer::start(vec![end(stream().body(first_words(api)))]);
            let answer = ask(endpoint(api, &server), hello()).await;
            assert_eq!(answer.error().kind, ProviderErrorKind::Network, "{}", answer.error());
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    for api in APIS {
        let text = sse(api, vec![Block::text("hi")], StopReason::EndTurn);
        let server = ScriptedServer::start(vec![
            Reply::sse(text.clone()),
            Reply::status(503).header("retry-after-ms", "1").body("busy"),
            Reply::sse(text),
        ]);
        let provider = connect(endpoint(api, &server));
        for _ in 0..2 {
            assert_eq!(ask_provider(&*provider, hello()).await.message().text(), "hi");
        }
        assert_eq!((server.requests().len(), server.connections()), (3, 1));
    }
}

#[tokio::test]
async fn nothing_happens_before_the_first_poll() {
    let server = ScriptedServer::start(Vec::new());
    let missing = EndpointOptions {
        ca_file: Some("/nowhere/ca.pem".into()),
        ..EndpointOptions::new("test", Api::OpenAi, server.url().replace("http:", "https:"))
    };
    let mut stream = connect(missing).stream(hello());
    tokio::task::yield_now().await;
    assert_eq!(server.connections(), 0);
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::Config);
    assert!(error.message.contains("cannot read ca_file /nowhere/ca.pem"), "{error}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn dropping_the_stream_aborts_the_request() {
    let server = ScriptedServer::start(vec![stream().body(first_words(Api::OpenAi)).hang()]);
    let provider = connect(endpoint(Api::OpenAi, &server));
    let mut stream = provider.stream(hello());
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::BlockStart { .. }))));
    drop(stream);
    // A connection that was given up in the middle is not used again.
    let mut next = provider.stream(hello());
    assert!(next.next().await.unwrap().is_ok_and(|event| matches!(event, StreamEvent::Retrying { .. })));
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn cost_01_cached_tokens_are_counted_once_whatever_the_api_means() {
    let expected = Usage { input: 1_000, output: 3, cache_read: 42_000, cache_write: 4_000, reasoning: 0 };
    let anthropic = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1000,\"cache_read_input_tokens\":42000,",
        "\"cache_creation_input_tokens\":4000,\"output_tokens\":1}}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hi\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},",
        "\"usage\":{\"input_tokens\":null,\"output_tokens\":3}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let openai = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":47000,\"completion_tokens\":3,",
        "\"prompt_tokens_details\":{\"cached_tokens\":42000,\"cache_write_tokens\":4000}}}\n\ndata: [DONE]\n\n",
    );
    for (api, text) in [(Api::Anthropic, anthropic), (Api::OpenAi, openai)] {
        let server = ScriptedServer::start(vec![Reply::sse(text)]);
        let (_, _, usage, _) = ask(endpoint(api, &server), hello()).await.end.unwrap();
        assert_eq!((usage, usage.context(), usage.total()), (expected, 47_000, 47_003), "{api:?}");
    }
}
