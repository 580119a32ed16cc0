//! The schemas in `docs`, generated from the types, and samples of every event that keep to them.

mod samples;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use codey_protocol::Event;
use jsonschema::Validator;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::exit::exit_code;
use crate::input::InputLine;
use crate::print::{WithExitCode, json_line};

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares `text` with a file of `docs`; `cargo xtask bless` writes it instead.
fn check_document(name: &str, text: &str) {
    let path = document(name);
    if std::env::var_os("CODEY_BLESS").is_some() {
        fs::write(path, text).unwrap();
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let place = kept.lines().zip(text.lines()).position(|(kept, now)| kept != now).map_or(0, |line| line + 1);
    assert!(
        kept == text,
        "docs/{name} is not what the types give (first difference: line {place}, 0: one goes on). \
         `cargo xtask bless -p codey-print` writes it anew; removed or renamed fields also raise `v` of session_start."
    );
}

/// The schema of a type as it is written (events) or read (inputs).
fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = settings.with_transform(ForReaders).into_generator().into_root_schema_for::<T>();
    schema.insert("$comment".to_owned(), json!("Generated from the types: `cargo xtask bless -p codey-print`."));
    // Written out: that brings the keys into the usual order.
    serde_json::to_value(schema).unwrap()
}

/// Makes Rust's words those of JSON.
#[derive(Clone, Debug)]
struct ForReaders;

impl Transform for ForReaders {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(description)) = schema.get_mut("description") {
            // What follows the first paragraph of a doc comment is for Rust programs.
            let words = description.split("\n\n").next().unwrap_or_default().replace('\n', " ");
            *description = words.replace("`None`", "`null`").replace("[`crate::", "`").replace("`]", "`");
        }
        let members = schema.ensure_object();
        // Strict validators refuse formats that no draft knows.
        if members.get("format").is_some_and(|format| format != "date-time") {
            members.shift_remove("format");
        }
        members.shift_remove("default");
        transform_subschemas(self, schema);
    }
}

/// What a line of `--mode json` is: an event, and `run_end` with its exit code.
fn event_schema() -> Value {
    let settings = || SchemaSettings::draft2020_12().for_serialize();
    let exit_code = schema_of::<WithExitCode>(settings())["properties"]["exit_code"].take();
    let mut schema = schema_of::<Event>(settings());
    let run_end = branches(&mut schema).iter_mut().find(|branch| branch["properties"]["type"]["const"] == "run_end");
    let run_end = run_end.expect("there is a run_end");
    run_end["properties"]["exit_code"] = exit_code;
    run_end["required"].as_array_mut().unwrap().push(json!("exit_code"));
    schema
}

fn branches(schema: &mut Value) -> &mut Vec<Value> {
    schema["oneOf"].as_array_mut().expect("an enum is a choice")
}

/// The same schema, which a member it does not describe breaks.
fn closed(mut schema: Value) -> Value {
    schema["unevaluatedProperties"] = json!(false);
    for definition in schema["$defs"].as_object_mut().unwrap().values_mut() {
        if definition["type"] == "object" || definition["oneOf"][0]["type"] == "object" {
            definition["unevaluatedProperties"] = json!(false);
        }
    }
    schema
}

fn line(event: &Event) -> String {
    let code = if let Event::RunEnd { outcome, .. } = event { exit_code(outcome) } else { 0 };
    String::from_utf8(json_line(event, code)).unwrap()
}

/// The words that `tag` has in the objects at `key`, at any depth; an empty key is the value itself.
fn tags_at(value: &Value, key: &str, tag: &str, found: &mut BTreeSet<String>) {
    let mut note = |value: &Value| found.extend(value[tag].as_str().map(str::to_owned));
    if key.is_empty() {
        return note(value);
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| tags_at(item, key, tag, found)),
        Value::Object(members) => {
            match members.get(key) {
                Some(Value::Array(items)) => items.iter().for_each(&mut note),
                Some(one) => note(one),
                None => {}
            }
            members.values().for_each(|member| tags_at(member, key, tag, found));
        }
        _ => {}
    }
}

/// The words of a choice in the schema.
fn words_of(mut schema: Value, tag: &str) -> BTreeSet<String> {
    let word = |branch: &Value| branch["properties"][tag]["const"].as_str().unwrap().to_owned();
    branches(&mut schema).iter().map(word).collect()
}

#[test]
fn the_schema_of_events_is_what_the_types_give() {
    check_document("events.schema.json", &format!("{:#}\n", event_schema()));
}

#[test]
fn the_schema_of_inputs_is_what_the_types_give() {
    let schema = schema_of::<InputLine>(SchemaSettings::draft2020_12());
    check_document("inputs.schema.json", &format!("{schema:#}\n"));
}

#[test]
fn the_samples_are_what_the_types_give() {
    let lines: String = samples::events().iter().map(|event| format!("{}\n", line(event))).collect();
    check_document("events.samples.ndjson", &lines);
}

#[test]
fn every_event_and_every_variant_in_one_has_a_sample() {
    let schema = event_schema();
    let lines: Vec<Value> = samples::events().iter().map(|event| serde_json::from_str(&line(event)).unwrap()).collect();
    let check = |choice: &Value, key: &str, tag: &str| {
        let mut found = BTreeSet::new();
        lines.iter().for_each(|line| tags_at(line, key, tag, &mut found));
        assert_eq!(found, words_of(choice.clone(), tag), "{key}");
    };
    check(&schema, "", "type");
    check(&schema["$defs"]["RunOutcome"], "outcome", "kind");
    check(&schema["$defs"]["ToolDisplay"], "display", "type");
    check(&schema["$defs"]["Block"], "content", "type");
    let reply = schema["oneOf"].as_array().unwrap().iter().find(|one| one["oneOf"].is_array()).unwrap();
    check(reply, "", "decision");
}

#[test]
fn samples_keep_to_the_schema_and_read_back_the_same() {
    let validator = jsonschema::validator_for(&closed(event_schema())).unwrap();
    for event in samples::events() {
        let line = line(&event);
        assert_valid(&validator, &line);
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event, "{line}");
    }
}

fn assert_valid(validator: &Validator, line: &str) {
    let problems: Vec<String> =
        validator.iter_errors(&serde_json::from_str(line).unwrap()).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{line}\n{}", problems.join("\n"));
}

#[test]
fn a_line_that_is_no_event_breaks_the_schema() {
    let validator = jsonschema::validator_for(&event_schema()).unwrap();
    let closed = jsonschema::validator_for(&closed(event_schema())).unwrap();
    for (line, is_valid) in [
        (json!({"type": "turn_start", "turn": 1}), [true, true]),
        (json!({"type": "turn_start", "turn": 1, "more": 2}), [true, false]),
        (json!({"type": "turn_start", "turn": -1}), [false, false]),
        (json!({"type": "turn_start"}), [false, false]),
        (json!({"type": "approval_reply", "call": "c", "decision": "maybe"}), [false, false]),
        (json!({"type": "nonsense"}), [false, false]),
    ] {
        assert_eq!([validator.is_valid(&line), closed.is_valid(&line)], is_valid, "{line}");
    }
}

#[test]
fn an_input_line_is_read_exactly_if_it_keeps_to_the_schema() {
    let validator = jsonschema::validator_for(&schema_of::<InputLine>(SchemaSettings::draft2020_12())).unwrap();
    for (line, is_valid) in [
        (json!({"type": "prompt", "text": "fix the test"}), true),
        (json!({"type": "steer", "text": "only in src"}), true),
        (json!({"type": "resolve", "call": "c1", "decision": "always_tool"}), true),
        (json!({"type": "resolve", "call": "c1", "decision": "reject", "reason": "not here"}), true),
        (json!({"type": "interrupt"}), true),
        (json!({"type": "compact"}), true),
        (json!({"type": "compact", "instruction": "keep the names"}), true),
        (json!({"type": "prompt"}), false),
        (json!({"type": "prompt", "text": "x", "images": []}), false),
        (json!({"type": "resolve", "call": "c1", "decision": "maybe"}), false),
        (json!({"type": "quit"}), false),
    ] {
        assert_eq!(validator.is_valid(&line), is_valid, "{line}");
        assert_eq!(serde_json::from_value::<InputLine>(line.clone()).is_ok(), is_valid, "{line}");
    }
}

#[test]
fn the_inputs_that_the_document_shows_are_inputs() {
    let text = fs::read_to_string(document("embedding.md")).unwrap();
    let (_, rest) = text.split_once("```json\n").expect("the document shows inputs");
    let (lines, _) = rest.split_once("```").unwrap();
    for line in lines.lines() {
        serde_json::from_str::<InputLine>(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}
