//! Bodies and headers, as strict servers see them.

use std::sync::Arc;

use codey_llm::{Block, CachePoint, Effort, Message, Opaque, Request, StopReason, ToolSpec, tool_use};
use codey_providers::{Api, EndpointOptions, MaxTokensField, connect, model_info};
use codey_testkit::{
    Recorded, Reply, ScriptedServer, anthropic_to_messages, check_anthropic, check_openai, check_signatures,
    openai_to_messages,
};
use serde_json::{Value, json};

use crate::{APIS, ask, ask_provider, endpoint, hello, request, sse};

/// The request as it arrives at a server.
async fn sent(api: Api, request: Request, change: impl FnOnce(&mut EndpointOptions)) -> Recorded {
    let server = ScriptedServer::start(vec![Reply::sse(sse(api, vec![Block::text("ok")], StopReason::EndTurn))]);
    let mut options = endpoint(api, &server);
    change(&mut options);
    ask(options, request).await.end.unwrap();
    server.requests().remove(0)
}

/// Its body, judged by the strict checker.
async fn body(api: Api, request: Request) -> Value {
    let body = sent(api, request, |_| {}).await.json();
    let check = match api {
        Api::Anthropic => check_anthropic(&body),
        Api::OpenAi => check_openai(&body),
    };
    assert_eq!(check, Ok(()), "{body}");
    body
}

fn result(call: &str, content: Vec<Block>, is_error: bool) -> Block {
    Block::ToolResult { call: call.into(), content, is_error }
}

fn picture() -> Block {
    Block::Image { media_type: "image/png".into(), data: Arc::from([1u8, 2, 3].as_slice()) }
}

/// A conversation with everything in it that both APIs can say.
fn conversation() -> Request {
    let mut request = request(vec![
        Message::user(vec![Block::text("look"), picture()]),
        Message::assistant(vec![
            Block::text("I will."),
            tool_use("c1", "read", json!({"path": "a", "limit": 3})),
            tool_use("c2", "bash", json!({})),
        ]),
        Message::user(vec![
            result("c1", vec![Block::text("1\tone")], false),
            result("c2", vec![Block::text("Error: denied")], true),
            Block::text("go on"),
        ]),
    ]);
    request.system = Arc::from(["You are Codey.".to_owned(), "The root is /x.".to_owned()]);
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    request.tools = ["read", "bash"]
        .map(|name| ToolSpec { name: name.into(), description: "d".into(), schema: schema.clone() })
        .into();
    request
}

#[tokio::test]
async fn both_apis_are_sent_the_same_history() {
    let request = conversation();
    let history: Vec<Message> = request.messages.iter().map(|message| (**message).clone()).collect();
    assert_eq!(anthropic_to_messages(&body(Api::Anthropic, request.clone()).await), history);
    assert_eq!(openai_to_messages(&body(Api::OpenAi, request).await), history);
}

#[tokio::test]
async fn bodies_have_the_written_form() {
    let mut request = conversation();
    request.cache_points = vec![CachePoint::Prefix, CachePoint::Message(2)];
    let pretty = |body: &Value| serde_json::to_string_pretty(body).unwrap();
    insta::assert_snapshot!("anthropic_body", pretty(&body(Api::Anthropic, request.clone()).await));
    insta::assert_snapshot!("openai_body", pretty(&body(Api::OpenAi, request).await));
}

#[tokio::test]
async fn headers_are_those_of_the_api() {
    let anthropic = sent(Api::Anthropic, hello(), |_| {}).await;
    assert_eq!(anthropic.header("x-api-key"), Some("sk-test-key"));
    assert_eq!(anthropic.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!((anthropic.header("authorization"), anthropic.path.as_str()), (None, "/v1/messages"));
    let openai = sent(Api::OpenAi, hello(), |_| {}).await;
    assert_eq!(openai.header("authorization"), Some("Bearer sk-test-key"));
    assert_eq!((openai.header("x-api-key"), openai.path.as_str()), (None, "/chat/completions"));
    for request in [anthropic, openai] {
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("user-agent"), Some(concat!("codey/", env!("CARGO_PKG_VERSION"))));
    }
}

#[tokio::test]
async fn headers_of_the_configuration_win_and_no_key_sends_none() {
    let request = sent(Api::Anthropic, hello(), |options| {
        options.api_key = None;
        options.headers = vec![
            ("Anthropic-Version".into(), "2030-01-01".into()),
            ("X-Team".into(), "a".into()),
            ("Content-Type".into(), "application/json; x".into()),
        ];
    });
    let request = request.await;
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(request.headers.iter().filter(|(name, _)| name == "content-type").count(), 1);
    assert_eq!((request.header("anthropic-version"), request.header("x-team")), (Some("2030-01-01"), Some("a")));
    let token = sent(Api::Anthropic, hello(), |options| options.api_key = Some("sk-ant-oat01-x".into())).await;
    assert_eq!((token.header("authorization"), token.header("x-api-key")), (Some("Bearer sk-ant-oat01-x"), None));
}

#[tokio::test]
async fn addresses_follow_the_base_url_rules() {
    for (api, base, path) in [
        (Api::Anthropic, "", "/v1/messages"),
        (Api::Anthropic, "/v1/", "/v1/messages"),
        (Api::Anthropic, "/anthropic", "/anthropic/v1/messages"),
        (Api::OpenAi, "/v1", "/v1/chat/completions"),
        (Api::OpenAi, "/v1//", "/v1/chat/completions"),
        (Api::OpenAi, "/api/paas/v4?version=2", "/api/paas/v4/chat/completions?version=2"),
    ] {
        let request = sent(api, hello(), |options| options.base_url.push_str(base)).await;
        assert_eq!(request.path, path, "{base}");
    }
}

#[tokio::test]
async fn cost_03_the_next_body_begins_with_the_bytes_of_this_one() {
    for api in APIS {
        let first = conversation();
        let mut second = first.clone();
        second.messages.push(Arc::new(Message::assistant(vec![tool_use("c3", "read", json!({"path": "b"}))])));
        second.messages.push(Arc::new(Message::user(vec![result("c3", vec![Block::text("x")], false)])));
        let first = sent(api, first, |_| {}).await.body;
        let second = sent(api, second, |_| {}).await.body;
        let end = first.strip_suffix(b"]}").unwrap();
        assert!(second.starts_with(end), "{}", String::from_utf8_lossy(&second));
    }
}

#[tokio::test]
async fn cache_marks_are_four_at_most_and_the_newest_win() {
    let mut request = conversation();
    let marks = |body: &Value| {
        let mut found = Vec::new();
        for (place, list) in [("system", &body["system"]), ("tools", &body["tools"])] {
            let marked = list
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
                .filter(|(_, part)| part.get("cache_control").is_some());
            found.extend(marked.map(|(at, _)| format!("{place}.{at}")));
        }
        for (at, message) in body["messages"].as_array().unwrap().iter().enumerate() {
            let parts = message["content"].as_array().unwrap().iter().enumerate();
            let marked = parts.filter(|(_, part)| part["cache_control"] == json!({"type": "ephemeral"}));
            found.extend(marked.map(|(index, _)| format!("{at}.{index}")));
        }
        found
    };
    request.cache_points = vec![CachePoint::Message(2), CachePoint::Prefix, CachePoint::Message(0)];
    assert_eq!(marks(&body(Api::Anthropic, request.clone()).await), ["system.1", "0.1", "2.2"]);
    request.system = Arc::from([]);
    assert_eq!(marks(&body(Api::Anthropic, request.clone()).await), ["tools.1", "0.1", "2.2"]);
    request.tools = Arc::from([]);
    for index in 0..3 {
        request.messages.push(Arc::new(Message::assistant(vec![Block::text(format!("a{index}"))])));
        request.messages.push(Arc::new(Message::user(vec![Block::text("b")])));
    }
    request.cache_points = (0..9).map(CachePoint::Message).chain([CachePoint::Prefix]).collect();
    assert_eq!(marks(&body(Api::Anthropic, request).await), ["5.0", "6.0", "7.0", "8.0"]);
}

#[tokio::test]
async fn thinking_goes_back_byte_for_byte_and_only_to_its_model() {
    let raw = r#"{"type":"thinking","thinking":"h\u006d","signature":"S="}"#;
    let redacted = r#"{"type": "redacted_thinking", "data": "Em=="}"#;
    let server =
        ScriptedServer::start(vec![Reply::sse(sse(Api::Anthropic, vec![Block::text("ok")], StopReason::EndTurn)); 3]);
    let provider = connect(endpoint(Api::Anthropic, &server));
    let opaque =
        |model: &str, raw: &str| Opaque { provider: provider.id().to_owned(), model: model.into(), raw: raw.into() };
    let ask_with = |model: &str, provider_id: &str| {
        let ballast = |raw| Opaque { provider: provider_id.to_owned(), ..opaque(model, raw) };
        request(vec![
            Message::user(vec![Block::text("hi")]),
            Message::assistant(vec![
                Block::Thinking { text: "hm".into(), opaque: Some(ballast(raw)) },
                Block::Foreign { opaque: ballast(redacted) },
                tool_use("c1", "read", json!({})),
            ]),
            Message::user(vec![result("c1", vec![Block::text("x")], false)]),
        ])
    };
    ask_provider(&*provider, ask_with("m", provider.id())).await.end.unwrap();
    ask_provider(&*provider, ask_with("other", provider.id())).await.end.unwrap();
    ask_provider(&*provider, ask_with("m", "openai http://elsewhere")).await.end.unwrap();
    let requests = server.requests();
    let text = String::from_utf8(requests[0].body.clone()).unwrap();
    assert!(text.contains(&format!("[{raw},{redacted},{{")), "{text}");
    assert_eq!(check_signatures(&requests[0].json(), &["S="]), Ok(()));
    for request in &requests[1..] {
        assert_eq!(check_signatures(&request.json(), &[]), Ok(()));
        assert!(!String::from_utf8_lossy(&request.body).contains("redacted"));
    }
    for request in requests {
        assert_eq!(check_anthropic(&request.json()), Ok(()));
    }
}

#[tokio::test]
async fn ballast_that_no_answer_may_hold_is_not_sent() {
    let server =
        ScriptedServer::start(vec![Reply::sse(sse(Api::Anthropic, vec![Block::text("ok")], StopReason::EndTurn))]);
    let provider = connect(endpoint(Api::Anthropic, &server));
    let raws = ["null", "5", "[]", "{}", r#"{"type":5}"#, r#"{"type":"tool_result"}"#, r#"{"type":"image"}"#];
    let foreign = |raw: &str| Block::Foreign {
        opaque: Opaque { provider: provider.id().to_owned(), model: "m".into(), raw: raw.into() },
    };
    let said = raws.map(foreign).into_iter().chain([Block::text("so")]).collect();
    let history = [hello().messages[0].clone(), Arc::new(Message::assistant(said)), hello().messages[0].clone()];
    ask_provider(&*provider, Request { messages: history.into(), ..hello() }).await.end.unwrap();
    let sent = server.requests()[0].json();
    assert_eq!(sent["messages"][1]["content"], json!([{"type": "text", "text": "so"}]));
}

#[tokio::test]
async fn thinking_is_not_sent_to_the_other_api() {
    let thinking = Block::Thinking { text: "hm".into(), opaque: None };
    let request = request(vec![
        Message::user(vec![Block::text("hi")]),
        Message::assistant(vec![thinking, Block::text("so")]),
        Message::user(vec![Block::text("go on")]),
    ]);
    for api in APIS {
        let text = body(api, request.clone()).await.to_string();
        assert!(!text.contains("hm") && !text.contains("thinking"), "{text}");
    }
}

#[tokio::test]
async fn ballast_of_a_call_goes_back_with_it() {
    let extra = json!({"google": {"thought_signature": "CiQB"}});
    let chunk = json!({"choices": [{"index": 0, "finish_reason": "stop", "delta": {"tool_calls": [
        {"index": 0, "id": "c1", "function": {"name": "read", "arguments": "{}"}, "extra_content": extra},
    ]}}]});
    let server = ScriptedServer::start(vec![Reply::sse(format!("data: {chunk}\n\n")); 2]);
    let provider = connect(endpoint(Api::OpenAi, &server));
    let call = ask_provider(&*provider, hello()).await.message().clone();
    let results = Message::user(vec![result("c1", vec![Block::text("x")], false)]);
    let next = request(vec![Message::user(vec![Block::text("hello")]), call, results]);
    ask_provider(&*provider, next).await.end.unwrap();
    assert_eq!(server.requests()[1].json()["messages"][1]["tool_calls"][0]["extra_content"], extra);
}

#[tokio::test]
async fn blank_texts_are_never_sent() {
    for api in APIS {
        let mut request = request(vec![
            Message::user(vec![Block::text(""), Block::text("hi"), Block::text(" \n")]),
            Message::assistant(vec![Block::text("\n\n"), Block::Thinking { text: "hm".into(), opaque: None }]),
            Message::user(vec![Block::text("go on")]),
            Message::assistant(vec![tool_use("c1", "read", json!({}))]),
            Message::user(vec![result("c1", vec![Block::text(""), Block::text("  ")], false), Block::text(" ")]),
            Message::assistant(vec![Block::text("unfinished \n")]),
        ]);
        request.system = Arc::from([String::new(), "s".to_owned()]);
        body(api, request).await;
    }
}

#[tokio::test]
async fn results_come_first_and_pictures_in_them_arrive() {
    let request = request(vec![
        Message::user(vec![Block::text("hi")]),
        Message::assistant(vec![tool_use("c1", "read", json!({})), tool_use("c2", "read", json!({}))]),
        Message::user(vec![
            Block::text("and?"),
            result("c1", vec![picture()], false),
            result("c2", vec![Block::text("one"), Block::text("two")], false),
        ]),
    ]);
    let anthropic = body(Api::Anthropic, request.clone()).await;
    let content = &anthropic["messages"][2]["content"];
    assert_eq!(
        content[0]["content"][0]["source"],
        json!({"type": "base64", "media_type": "image/png", "data": "AQID"})
    );
    assert_eq!(content[2]["text"], "and?");
    let openai = body(Api::OpenAi, request).await;
    let expected = json!([
        {"role": "tool", "tool_call_id": "c1", "content": "(the picture follows)"},
        {"role": "tool", "tool_call_id": "c2", "content": "one\ntwo"},
        {"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}},
            {"type": "text", "text": "and?"},
        ]},
    ]);
    assert_eq!(openai["messages"].as_array().unwrap()[2..], expected.as_array().unwrap()[..]);
}

#[tokio::test]
async fn optional_members_are_sent_only_where_they_are_taken() {
    let mut request = hello();
    request.temperature = Some(0.2);
    request.effort = Some(Effort::High);
    for api in APIS {
        let plain = body(api, hello()).await;
        let asked = body(api, request.clone()).await;
        for member in ["temperature", "output_config", "reasoning_effort", "tools", "system"] {
            assert_eq!(plain.get(member), None, "{member}");
        }
        assert_eq!(asked["temperature"], json!(0.2));
        assert_eq!(
            (asked.get("output_config"), asked.get("reasoning_effort")),
            (None, None),
            "the model takes no effort"
        );
    }
    request.model = model_info("claude-opus-5");
    assert_eq!(body(Api::Anthropic, request.clone()).await["output_config"], json!({"effort": "high"}));
    request.model = model_info("gpt-5");
    assert_eq!(body(Api::OpenAi, request).await["reasoning_effort"], "high");
}

#[tokio::test]
async fn quirks_change_the_body() {
    let changed = sent(Api::OpenAi, hello(), |options| {
        options.quirks.max_tokens_field = MaxTokensField::MaxCompletionTokens;
        options.quirks.stream_options = false;
    });
    let changed = changed.await.json();
    assert_eq!((&changed["max_completion_tokens"], changed.get("max_tokens")), (&json!(1_000), None));
    assert_eq!(changed.get("stream_options"), None);
    let plain = body(Api::OpenAi, hello()).await;
    assert_eq!((&plain["max_tokens"], &plain["stream_options"]), (&json!(1_000), &json!({"include_usage": true})));
}
