//! What the model is told of the tools.

use codey_tools::builtin_tools;
use serde_json::{Value, json};

use crate::fixture::Fixture;
use codey_protocol::ErrorCode;

#[test]
fn the_order_of_the_tools_is_fixed() {
    let names: Vec<String> = builtin_tools().iter().map(|tool| tool.info().spec.name.clone()).collect();
    assert_eq!(names, ["read", "glob", "grep", "edit", "write", "bash"]);
}

#[test]
fn the_specs_are_small_flat_and_closed() {
    let specs: Vec<Value> = builtin_tools()
        .iter()
        .map(|tool| {
            let spec = &tool.info().spec;
            assert_eq!(spec.schema["additionalProperties"], json!(false), "{}", spec.name);
            json!({ "name": spec.name, "description": spec.description, "input_schema": spec.schema })
        })
        .collect();
    let text = serde_json::to_string(&specs).unwrap();
    assert!(!text.contains("$ref") && !text.contains("timeout_seconds") && !text.contains("file_path"), "{text}");
    assert!(text.len() <= 3_200, "{} bytes: {text}", text.len());
}

#[test]
fn arguments_keep_their_order_and_say_which_are_needed() {
    let schema = |name: &str| crate::fixture::tool_named(name).info().spec.schema.clone();
    let keys = |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&schema("read")), ["path", "offset", "limit"]);
    assert_eq!(keys(&schema("glob")), ["pattern", "path", "limit"]);
    assert_eq!(keys(&schema("grep")), ["pattern", "path", "glob", "ignore_case", "context", "files_only", "limit"]);
    assert_eq!(keys(&schema("edit")), ["path", "old_str", "new_str", "replace_all"]);
    assert_eq!(keys(&schema("write")), ["path", "content"]);
    assert_eq!(keys(&schema("bash")), ["command", "workdir", "timeout_ms"]);
    assert_eq!(schema("edit")["required"], json!(["path", "old_str", "new_str"]));
    assert_eq!(schema("read")["properties"]["offset"]["minimum"], json!(1));
}

#[tokio::test]
async fn names_that_other_models_know_are_understood() {
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    assert_eq!(fixture.text("read", json!({"file_path": "a.txt"})).await, "     1\tone");
    fixture.call("edit", json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"})).await.unwrap();
    fixture.call("write", json!({"file_path": "a.txt", "content": "three\n"})).await.unwrap();
    assert_eq!(fixture.escaped("a.txt"), "three\\n");
    fixture.call("bash", json!({"command": "true", "timeout": 1000})).await.unwrap();
    fixture.call("bash", json!({"command": "true", "timeout_seconds": 1})).await.unwrap();
}

#[tokio::test]
async fn null_for_an_optional_argument_counts_as_absent() {
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    assert_eq!(fixture.text("read", json!({"path": "a.txt", "offset": null, "limit": null})).await, "     1\tone");
    fixture.text("grep", json!({"pattern": "o", "path": null, "glob": null, "context": null})).await;
    fixture.text("glob", json!({"pattern": "*", "path": null, "limit": null})).await;
    fixture.text("bash", json!({"command": "true", "workdir": null, "timeout_ms": null})).await;
}

#[tokio::test]
async fn bad_arguments_are_named_with_what_was_expected() {
    let fixture = Fixture::new(&[("a.txt", "one\n")]);
    let check = async |tool: &str, input: Value, part: &str| {
        let message = fixture.refused(tool, input, ErrorCode::InvalidArguments).await;
        assert!(message.contains(part), "{message}");
    };
    check("read", json!({"path": "a.txt", "start": 1}), "unknown field `start`").await;
    check("read", json!({}), "missing field `path`").await;
    check("read", json!({"path": "a.txt", "limit": 0}), "limit: invalid value: integer `0`, expected a nonzero").await;
    check("read", json!({"path": "a.txt", "limit": "10"}), "limit: invalid type: string \"10\", expected a nonzero")
        .await;
    check("bash", json!({"command": ["ls"]}), "command: invalid type: sequence, expected a string").await;
    check("bash", json!({"command": " "}), "command is empty").await;
    check("bash", json!({"command": "true", "timeout_ms": 600_001}), "timeout_ms is at most 600000").await;
    check("grep", json!({"pattern": ""}), "pattern is empty").await;
    check("glob", json!({"pattern": ""}), "pattern is empty").await;
    check("write", json!({"path": "", "content": ""}), "path is empty").await;
    check("read", json!({"path": "a\u{0}b"}), "NUL").await;
    let long = "x".repeat(300_000);
    check(
        "read",
        json!({"path": "a", &long: 1}),
        "xxx`, expected one of `file_path`, `path`, `offset`, `limit`. Nothing",
    )
    .await;
    check("read", json!({"path": "a", "limit": &long}), "xxx\", expected a nonzero").await;
    for (tool, input) in [("read", json!(["a.txt", null, null])), ("glob", json!("*")), ("bash", Value::Null)] {
        let expected = format!("{tool}: the arguments are no JSON object. Nothing was done; call it again with");
        check(tool, input, &expected).await;
    }
}
