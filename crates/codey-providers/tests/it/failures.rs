//! What users read when something is wrong, and how often it is tried again.

use std::time::Duration;

use codey_llm::{Block, ProviderErrorKind as Kind, StopReason, StreamEvent};
use codey_providers::{Api, EndpointOptions};
use codey_testkit::{Reply, ScriptedServer};
use serde_json::json;
use tokio::time::Instant;

use crate::{APIS, ask, endpoint, hello, sse};

fn path(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "/v1/messages",
        Api::OpenAi => "/chat/completions",
    }
}

/// One reply is the end; the message is `URL` and then `message`.
async fn check_once(reply: Reply, kind: Kind, message: &str, hint: &str) {
    for api in APIS {
        let server = ScriptedServer::start(vec![reply.clone()]);
        let answer = ask(endpoint(api, &server), hello()).await;
        let expected = format!("{}{} {message}", server.url(), path(api));
        assert_eq!((answer.error().kind, answer.error().message.as_str()), (kind, expected.as_str()));
        assert!(answer.error().hint.contains(hint), "{}", answer.error().hint);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn errors_that_would_come_again_are_tried_once() {
    let error = |status: u16, message: &str| Reply::json(status, &json!({"error": {"message": message}}));
    check_once(error(401, "wrong key"), Kind::Auth, "answered 401: wrong key", "API key of endpoint `test`").await;
    check_once(error(403, "no"), Kind::Auth, "answered 403: no", "API key").await;
    check_once(error(402, "pay"), Kind::Quota, "answered 402: pay", "Add credit").await;
    check_once(error(404, "no model x"), Kind::ModelNotFound, "answered 404: no model x", "codey models").await;
    check_once(error(400, "bad"), Kind::BadRequest, "answered 400: bad", "settings of endpoint").await;
    check_once(error(422, "bad"), Kind::BadRequest, "answered 422: bad", "settings of endpoint").await;
    check_once(error(413, "big"), Kind::ContextOverflow, "answered 413: big", "codey compact").await;
    let long = "prompt is too long: 9 tokens > 8 maximum";
    check_once(error(400, long), Kind::ContextOverflow, &format!("answered 400: {long}"), "codey compact").await;
    let spent = Reply::json(429, &json!({"error": {"message": "spent", "code": "insufficient_quota"}}));
    check_once(spent, Kind::Quota, "answered 429: spent", "Add credit").await;
}

#[tokio::test]
async fn a_200_that_is_no_stream_is_tried_once_and_says_what_it_is() {
    let html = Reply::status(200).header("content-type", "text/html").body("<html><title>Hi</title></html>");
    check_once(html, Kind::BadRequest, "answered with a web page (\"Hi\") instead of a stream", "base_url").await;
    let lines = Reply::status(200).header("content-type", "application/x-ndjson").body("{\"a\":1}\n{\"a\":2}\n");
    check_once(lines, Kind::BadRequest, "answered with JSON lines instead of server-sent events", "/v1").await;
    let error = Reply::json(200, &json!({"error": {"message": "upstream"}}));
    check_once(error, Kind::ServerError, "reported an error: upstream", "status page").await;
    let garbage = Reply::sse("data: hello\n\n");
    check_once(garbage, Kind::BadRequest, "sent what is not of this API: hello", "belong together").await;
    let mislabelled = Reply::sse("{\"error\":{\"message\":\"upstream\"}}");
    check_once(mislabelled, Kind::ServerError, "reported an error: upstream", "status page").await;
}

#[tokio::test]
async fn a_stream_is_read_although_its_type_denies_it() {
    for api in APIS {
        let text = sse(api, vec![Block::text("hi")], StopReason::EndTurn);
        let reply = Reply::status(200).header("content-type", "application/json").body("\n").body(text);
        let server = ScriptedServer::start(vec![reply]);
        assert_eq!(ask(endpoint(api, &server), hello()).await.message().text(), "hi", "{api:?}");
    }
}

#[tokio::test]
async fn a_stream_of_the_other_api_is_named() {
    for (asked, spoken) in [(Api::OpenAi, Api::Anthropic), (Api::Anthropic, Api::OpenAi)] {
        let server = ScriptedServer::start(vec![Reply::sse(sse(spoken, vec![Block::text("hi")], StopReason::EndTurn))]);
        let answer = ask(endpoint(asked, &server), hello()).await;
        let name = spoken.as_str();
        assert!(answer.error().message.contains(&format!("answered in the API `{name}`")), "{}", answer.error());
        assert!(answer.error().hint.contains(&format!("api = \"{name}\"")), "{}", answer.error().hint);
        assert_eq!((answer.error().kind, answer.retries()), (Kind::BadRequest, 0));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let redirect = Reply::status(301).header("location", "https://elsewhere/");
    check_once(redirect, Kind::Config, "answered 301", "https://elsewhere/").await;
    let relative = Reply::status(301).header("location", "/new?token=sesame");
    check_once(relative, Kind::Config, "answered 301", "/new; set base_url").await;
}

#[tokio::test]
async fn prov_13_a_busy_server_is_asked_again_after_the_wait_it_names() {
    for api in APIS {
        let server = ScriptedServer::start(vec![
            Reply::json(529, &json!({"error": {"message": "Overloaded"}})).header("retry-after-ms", "40"),
            Reply::status(429).header("retry-after", "0.06"),
            Reply::sse(sse(api, vec![Block::text("hi")], StopReason::EndTurn)),
        ]);
        let start = Instant::now();
        let answer = ask(endpoint(api, &server), hello()).await;
        assert!(start.elapsed() >= Duration::from_millis(100));
        assert_eq!(answer.message().text(), "hi");
        let url = format!("{}{}", server.url(), path(api));
        let retrying =
            |attempt, ms, reason| StreamEvent::Retrying { attempt, of: 10, delay: Duration::from_millis(ms), reason };
        assert_eq!(answer.events[0], retrying(1, 40, format!("{url} answered 529: Overloaded")));
        assert_eq!(answer.events[1], retrying(2, 60, format!("{url} answered 429")));
        let bodies: Vec<Vec<u8>> = server.requests().into_iter().map(|request| request.body).collect();
        assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "every try sends the same bytes");
    }
}

#[tokio::test]
async fn prov_13_a_wait_of_more_than_a_minute_fails_at_once() {
    let server = ScriptedServer::start(vec![Reply::status(429).header("retry-after", "3600")]);
    let answer = ask(endpoint(Api::Anthropic, &server), hello()).await;
    assert_eq!((answer.error().kind, answer.retries()), (Kind::RateLimit, 0));
    assert!(answer.error().message.ends_with("it asks to wait 60 min"), "{}", answer.error());
    assert!(answer.error().hint.contains("UTC"), "{}", answer.error().hint);
}

#[tokio::test]
async fn a_connection_that_fails_before_the_first_block_is_tried_four_times() {
    let hurry = |reply: Reply| reply.header("retry-after-ms", "1");
    for api in APIS {
        let replies = vec![
            hurry(Reply::status(500)),
            hurry(Reply::status(502).header("content-type", "text/html").body("<html></html>")),
            hurry(Reply::status(408)),
            hurry(Reply::status(503)),
        ];
        let server = ScriptedServer::start(replies);
        let answer = ask(endpoint(api, &server), hello()).await;
        assert_eq!((answer.error().kind, server.requests().len()), (Kind::Overloaded, 4));
        assert!(answer.error().message.ends_with("answered 503 (4 tries)"), "{}", answer.error());
    }
}

#[tokio::test]
async fn an_empty_200_is_tried_again() {
    let server = ScriptedServer::start(vec![
        Reply::sse(""),
        Reply::sse(sse(Api::OpenAi, vec![Block::text("hi")], StopReason::EndTurn)),
    ]);
    let answer = ask(endpoint(Api::OpenAi, &server), hello()).await;
    assert_eq!((answer.message().text().as_str(), answer.retries()), ("hi", 1));
}

#[tokio::test]
async fn a_refused_connection_says_so() {
    // A port that was free a moment ago.
    let url = ScriptedServer::start(Vec::new()).url();
    let options = EndpointOptions::new("test", Api::OpenAi, format!("{url}/v1"));
    let mut stream = codey_providers::connect(options).stream(hello());
    let first = futures::StreamExt::next(&mut stream).await;
    let Some(Ok(StreamEvent::Retrying { attempt: 1, of: 4, reason, .. })) = first else { panic!("{first:?}") };
    assert_eq!(reason, format!("{url}/v1/chat/completions refused the connection"));
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_says_so() {
    let server = ScriptedServer::start(vec![]);
    let options = EndpointOptions::new("test", Api::OpenAi, server.url().replace("http:", "https:"));
    let mut stream = codey_providers::connect(options).stream(hello());
    let first = futures::StreamExt::next(&mut stream).await;
    // Without any certificates on the machine the client cannot even start, which has a text of its own.
    match first {
        Some(Ok(StreamEvent::Retrying { reason, .. })) => {
            assert!(reason.contains("cannot connect to https://127"), "{reason}")
        }
        Some(Err(error)) => assert!(error.hint.contains("ca-certificates"), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn keys_stay_out_of_error_texts() {
    for api in APIS {
        let reply = Reply::status(401).body("the key sk-test-key with Bearer hunter22 is wrong");
        let server = ScriptedServer::start(vec![reply]);
        let mut options = endpoint(api, &server);
        options.headers.push(("x-extra".to_owned(), "Bearer hunter22".to_owned()));
        options.base_url = options.base_url.replace("http://", "http://user:passw0rd@") + "?token=tokentoken";
        let answer = ask(options.clone(), hello()).await;
        let text = format!("{:?} {options:?}", answer.error());
        for secret in ["sk-test-key", "hunter22", "passw0rd", "tokentoken"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(server.requests()[0].path.ends_with("?token=tokentoken"));
    }
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_used_is_a_configuration_error() {
    let check = async |change: fn(&mut EndpointOptions), part: &str| {
        let mut options = EndpointOptions::new("test", Api::OpenAi, "http://127.0.0.1:1/v1");
        change(&mut options);
        let error = ask(options, hello()).await.end.unwrap_err();
        assert_eq!(error.kind, Kind::Config);
        assert!(error.message.starts_with("endpoint `test`: ") && error.message.contains(part), "{error}");
    };
    check(|options| options.base_url = "localhost:8080/v1".into(), "must begin with http:// or https://").await;
    check(|options| options.base_url = String::new(), "must begin with http:// or https://").await;
    check(|options| options.base_url = "http://127.0.0.1:99999".into(), "is no address (invalid port number)").await;
    check(|options| options.base_url = "http://127.0.0.1\n:1".into(), "holds a line break").await;
    check(|options| options.headers = vec![("bad name".into(), "x".into())], "\"bad name\" is no name of a header")
        .await;
    check(|options| options.headers = vec![("x".into(), "a\nb".into())], "the value of the header x holds").await;
    check(|options| options.api_key = Some("a\nb".into()), "the API key holds a line break").await;
    check(|options| options.api_key = Some("schlüssel".into()), "the API key holds a line break or another").await;
    check(
        |options| {
            options.base_url = "https://127.0.0.1:1/v1".into();
            options.ca_file = Some(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into());
        },
        "holds no PEM certificates",
    )
    .await;
}
