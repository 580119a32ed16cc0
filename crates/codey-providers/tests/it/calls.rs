//! Tool calls that models get wrong.

use codey_llm::{Block, Message, Request, StopReason, tool_use};
use codey_providers::Api;
use codey_testkit::{Reply, ScriptedServer, check_anthropic, check_openai};
use serde_json::{Value, json};

use crate::{APIS, ask, ask_provider, endpoint, hello, request, sse};

/// A call whose argument text is `text`.
fn call(text: &str) -> Block {
    let Block::ToolUse { id, name, input, opaque, .. } = tool_use("c1", "read", json!({})) else { panic!("no call") };
    Block::ToolUse { id, name, input, invalid: Some(text.to_owned()), opaque }
}

/// Sends back an answer with an error result for each call, and returns the body of that request.
async fn answer_back(api: Api, message: &Message) -> Value {
    let mut results = Vec::new();
    for block in &message.content {
        let Block::ToolUse { id, .. } = block else { continue };
        let content = vec![Block::text("Error: the call was not run")];
        results.push(Block::ToolResult { call: id.clone(), content, is_error: true });
    }
    let results = Message::user(results);
    let history = vec![Message::user(vec![Block::text("hello")]), message.clone(), results];
    let server = ScriptedServer::start(vec![Reply::sse(sse(api, vec![Block::text("ok")], StopReason::EndTurn))]);
    ask(endpoint(api, &server), request(history)).await.end.unwrap();
    let body = server.requests()[0].json();
    let check = match api {
        Api::Anthropic => check_anthropic(&body),
        Api::OpenAi => check_openai(&body),
    };
    assert_eq!(check, Ok(()), "{body}");
    body
}

async fn play(api: Api, content: Vec<Block>, stop: StopReason) -> (Message, bool) {
    let server = ScriptedServer::start(vec![Reply::sse(sse(api, content, stop))]);
    let (message, _, _, last_call_cut) = ask(endpoint(api, &server), hello()).await.end.unwrap();
    (message, last_call_cut)
}

#[tokio::test]
async fn prov_07_arguments_that_are_no_object_are_kept_and_the_next_request_is_valid() {
    for api in APIS {
        for text in [r#"{"path": "a"#, "null", "[]", r#""{\"path\":\"a\"}""#, "{\"path\":\"\u{1}\"}", "{}}"] {
            let (message, _) = play(api, vec![call(text)], StopReason::ToolUse).await;
            let [Block::ToolUse { input, invalid, .. }] = message.content.as_slice() else { panic!("{message:?}") };
            assert_eq!((input, invalid.as_deref()), (&json!({}), Some(text)), "{api:?}");
            answer_back(api, &message).await;
        }
    }
}

#[tokio::test]
async fn prov_07_no_arguments_are_an_empty_object() {
    for api in APIS {
        for text in ["", " \n"] {
            let (message, _) = play(api, vec![call(text)], StopReason::ToolUse).await;
            let [Block::ToolUse { input, invalid, .. }] = message.content.as_slice() else { panic!("{message:?}") };
            assert_eq!((input, invalid), (&json!({}), &None), "{api:?}");
        }
    }
}

#[tokio::test]
async fn prov_09_a_call_cut_at_the_output_limit_is_known_as_cut() {
    for api in APIS {
        let whole = tool_use("c0", "read", json!({"path": "a"}));
        // The second text happens to be valid, and is cut all the same.
        for text in [r#"{"path": "a", "content": "abc"#, r#"{"path": "a", "content": "abc"}"#] {
            let (message, last_call_cut) = play(api, vec![whole.clone(), call(text)], StopReason::MaxTokens).await;
            assert!(last_call_cut, "{api:?} {text}");
            assert_eq!(message.content[0], whole);
            answer_back(api, &message).await;
        }
    }
}

#[tokio::test]
async fn prov_17_half_a_surrogate_pair_becomes_the_replacement_character() {
    for api in APIS {
        let content = vec![call(r#"{"path":"a\ud83d","whole":"\ud83d\ude00"}"#)];
        let (message, _) = play(api, content, StopReason::ToolUse).await;
        let [Block::ToolUse { input, invalid: None, .. }] = message.content.as_slice() else { panic!("{message:?}") };
        assert_eq!(input, &json!({"path": "a\u{fffd}", "whole": "😀"}));
        let body = answer_back(api, &message).await;
        assert!(body.to_string().contains('\u{fffd}'));
    }
}

#[tokio::test]
async fn prov_17_half_a_surrogate_pair_in_a_text_becomes_the_replacement_character() {
    for api in APIS {
        let text = sse(api, vec![Block::text("ab")], StopReason::EndTurn).replace("\"ab\"", r#""a\ud83d""#);
        let server = ScriptedServer::start(vec![Reply::sse(text)]);
        assert_eq!(ask(endpoint(api, &server), hello()).await.message().text(), "a\u{fffd}");
    }
}

#[tokio::test]
async fn ids_that_a_server_uses_again_are_replaced() {
    for api in APIS {
        let reply = || Reply::sse(sse(api, vec![tool_use("call_0", "read", json!({}))], StopReason::ToolUse));
        let server = ScriptedServer::start(vec![reply(), reply()]);
        let provider = codey_providers::connect(endpoint(api, &server));
        let first = ask_provider(&*provider, hello()).await.message().clone();
        let result = |message: &Message| {
            let Block::ToolUse { id, .. } = &message.content[0] else { panic!("{message:?}") };
            Message::user(vec![Block::ToolResult {
                call: id.clone(),
                content: vec![Block::text("x")],
                is_error: false,
            }])
        };
        let history: Request = request(vec![Message::user(vec![Block::text("hello")]), first.clone(), result(&first)]);
        let second = ask_provider(&*provider, history).await.message().clone();
        assert_eq!(first.content, vec![tool_use("call_0", "read", json!({}))]);
        assert_ne!(second.content, first.content);
    }
}

#[tokio::test]
async fn a_call_of_a_tool_with_an_impossible_name_does_not_spoil_the_history() {
    for api in APIS {
        for name in ["repo.read file", "", "größe"] {
            let (message, _) = play(api, vec![tool_use("functions.x:0", name, json!({}))], StopReason::ToolUse).await;
            let Block::ToolUse { name: arrived, .. } = &message.content[0] else { panic!("{message:?}") };
            assert_eq!(arrived, name);
            answer_back(api, &message).await;
        }
    }
}

#[tokio::test]
async fn an_id_is_replaced_and_a_name_is_cut_if_no_server_can_mean_it() {
    for api in APIS {
        let long = "x".repeat(10_000);
        let (message, _) = play(api, vec![tool_use(&long, &long, json!({}))], StopReason::ToolUse).await;
        let [Block::ToolUse { id, name, .. }] = message.content.as_slice() else { panic!("{message:?}") };
        assert!(id.as_str().starts_with("call_") && *name == long[..512], "{api:?} {id} {name}");
        answer_back(api, &message).await;
    }
}
