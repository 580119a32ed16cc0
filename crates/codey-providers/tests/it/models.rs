//! Lists of models.

use std::fs;
use std::path::Path;
use std::time::Duration;

use codey_llm::ProviderErrorKind as Kind;
use codey_providers::{Api, list_models};
use codey_testkit::{Reply, ScriptedServer};
use serde_json::json;
use tokio::time::Instant;

use crate::{APIS, endpoint};

const TIMEOUT: Duration = Duration::from_secs(5);

fn recorded(server: &str, file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/wire");
    fs::read_to_string(folder.join(server).join(file)).unwrap()
}

async fn check(body: String, expected: &[&str]) {
    for api in APIS {
        let server = ScriptedServer::start(vec![Reply::status(200).body(body.clone())]);
        assert_eq!(list_models(&endpoint(api, &server), TIMEOUT).await.unwrap(), expected);
        let path = server.requests()[0].path.clone();
        assert_eq!(path, if api == Api::Anthropic { "/v1/models" } else { "/models" });
        assert_eq!(server.requests()[0].method, "GET");
    }
}

#[tokio::test]
async fn the_lists_of_real_servers_are_read() {
    check(recorded("litellm", "models.json"), &["local", "gone", "hosted"]).await;
    check(recorded("llama.cpp", "models.json"), &["local"]).await;
    check(json!({"object": "list", "data": []}).to_string(), &[]).await;
    check(json!({"models": [{"name": "m:latest"}]}).to_string(), &["m:latest"]).await;
    check(json!([{"id": "a"}, {"id": "b"}]).to_string(), &["a", "b"]).await;
}

#[tokio::test]
async fn what_cannot_be_a_name_is_left_out() {
    check(json!([{"id": "a\u{1b}[2J\n"}, {"id": " "}, {"id": "x".repeat(100_000)}, {"id": "b"}]).to_string(), &["b"])
        .await;
}

#[tokio::test]
async fn what_is_no_list_is_an_error() {
    for (reply, kind) in [
        (Reply::status(200).body("<html>"), Kind::BadRequest),
        (Reply::status(200).body("{}"), Kind::BadRequest),
        (Reply::status(401).body(recorded("llama.cpp", "no-key-models.json")), Kind::Auth),
        (Reply::status(500), Kind::ServerError),
    ] {
        let server = ScriptedServer::start(vec![reply]);
        let error = list_models(&endpoint(Api::OpenAi, &server), TIMEOUT).await.unwrap_err();
        assert_eq!((error.kind, server.requests().len()), (kind, 1));
    }
}

#[tokio::test]
async fn a_silent_server_costs_no_more_than_the_timeout() {
    let server = ScriptedServer::start(vec![Reply::silence()]);
    let start = Instant::now();
    let error = list_models(&endpoint(Api::OpenAi, &server), Duration::from_millis(100)).await.unwrap_err();
    assert_eq!(error.kind, Kind::Stalled);
    assert!(error.message.ends_with("/models sent nothing for 0.1 s"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(2));
}
