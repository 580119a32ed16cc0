//! Requests as the strictest servers judge them.

use std::collections::HashSet;

use serde_json::{Map, Value};

type Check = Result<(), String>;

/// Refuses what Anthropic's own server refuses.
///
/// # Errors
/// What is wrong and where, in words of our own.
pub fn check_anthropic(body: &Value) -> Check {
    let body = object(body, "the body")?;
    require(body.get("model").is_some_and(is_text), "model must be a name")?;
    require(body.get("max_tokens").and_then(Value::as_u64).is_some_and(|n| n > 0), "max_tokens must be above 0")?;
    check_marks(&Value::Object(body.clone()))?;
    if let Some(system) = body.get("system") {
        for (at, part) in list(system, "system")?.iter().enumerate() {
            check_text(part, &format!("system.{at}"))?;
        }
    }
    if let Some(tools) = body.get("tools") {
        check_tools(tools, |tool| (tool.get("name"), tool.get("input_schema")))?;
    }
    let messages = list(body.get("messages").unwrap_or(&Value::Null), "messages")?;
    require(!messages.is_empty(), "messages must not be empty")?;
    let mut open: HashSet<&str> = HashSet::new();
    let mut used = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages.{at}");
        let role = message["role"].as_str().unwrap_or_default();
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        require(role == expected, &format!("{place}: role is {role:?} and must be {expected:?}"))?;
        let content = list(&message["content"], &format!("{place}.content"))?;
        require(!content.is_empty(), &format!("{place}: content must not be empty"))?;
        if role == "user" {
            check_results(content, &mut open, &place)?;
        }
        for (index, block) in content.iter().enumerate() {
            check_block(block, role, &format!("{place}.content.{index}"), &mut open, &mut used)?;
        }
        require(role == "assistant" || open.is_empty(), &format!("{place}: calls without a result: {open:?}"))?;
    }
    check_last_text(messages)
}

/// Refuses what OpenAI's own server refuses.
///
/// # Errors
/// What is wrong and where, in words of our own.
pub fn check_openai(body: &Value) -> Check {
    let body = object(body, "the body")?;
    require(body.get("model").is_some_and(is_text), "model must be a name")?;
    let limits = ["max_tokens", "max_completion_tokens"].iter().filter(|key| body.contains_key(**key));
    require(limits.count() <= 1, "max_tokens and max_completion_tokens exclude each other")?;
    if let Some(tools) = body.get("tools") {
        check_tools(tools, |tool| (tool.pointer("/function/name"), tool.pointer("/function/parameters")))?;
    }
    let messages = list(body.get("messages").unwrap_or(&Value::Null), "messages")?;
    let first = messages.iter().find(|message| message["role"] != "system");
    require(first.is_some_and(|message| message["role"] == "user"), "the first message must be the user's")?;
    let mut open: HashSet<&str> = HashSet::new();
    let mut used = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages.{at}");
        let role = message["role"].as_str().unwrap_or_default();
        require(role == "tool" || open.is_empty(), &format!("{place}: calls without a result before it: {open:?}"))?;
        match role {
            "system" => {
                require(at == 0, &format!("{place}: system text must come first"))?;
                check_words(&message["content"], &place)?;
            }
            "user" => check_user(&message["content"], &place)?,
            "assistant" => check_assistant(message, &place, &mut open, &mut used)?,
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                require(open.remove(id), &format!("{place}: no call waits for a result of {id:?}"))?;
                check_words(&message["content"], &place)?;
            }
            other => return Err(format!("{place}: there is no role {other:?}")),
        }
    }
    require(open.is_empty(), &format!("calls without a result: {open:?}"))
}

/// Refuses thinking whose signature is not among `issued`: those of the model that is asked.
///
/// # Errors
/// Which signature is foreign.
pub fn check_signatures(body: &Value, issued: &[&str]) -> Check {
    let messages = body["messages"].as_array().into_iter().flatten();
    let blocks = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    for block in blocks.filter(|block| block["type"] == "thinking") {
        let signature = block["signature"].as_str().unwrap_or_default();
        require(issued.contains(&signature), &format!("the signature {signature:?} is of another model"))?;
    }
    Ok(())
}

fn require(holds: bool, otherwise: &str) -> Check {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{place} must be an object"))
}

fn list<'a>(value: &'a Value, place: &str) -> Result<&'a [Value], String> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| format!("{place} must be a list"))
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}

fn check_tools<'a>(tools: &'a Value, parts: impl Fn(&'a Value) -> (Option<&'a Value>, Option<&'a Value>)) -> Check {
    let tools = list(tools, "tools")?;
    require(!tools.is_empty(), "tools must be left out when there are none")?;
    let mut names = HashSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let (name, schema) = parts(tool);
        let name = name.and_then(Value::as_str).unwrap_or_default();
        require(is_name(name), &format!("tools.{at}: {name:?} is no name"))?;
        require(names.insert(name), &format!("tools.{at}: there are two tools {name:?}"))?;
        let schema = schema.unwrap_or(&Value::Null);
        require(schema["type"] == "object", &format!("tools.{at}: the schema of {name} must be of type object"))?;
        check_schema(schema, &format!("the schema of {name}"))?;
    }
    Ok(())
}

/// Types are known words, and references lead somewhere: the parts of a schema that servers trip over.
fn check_schema(schema: &Value, place: &str) -> Check {
    const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
    match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(_) => {}
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(format!("{place} is no schema: {schema}"));
        }
    }
    require(schema.get("$ref").is_none(), &format!("{place}: $ref is not followed everywhere"))?;
    let kinds = match &schema["type"] {
        Value::Null => Vec::new(),
        Value::Array(kinds) => kinds.iter().collect(),
        kind => vec![kind],
    };
    for kind in kinds {
        require(kind.as_str().is_some_and(|kind| TYPES.contains(&kind)), &format!("{place}: there is no type {kind}"))?;
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, property) in properties {
        check_schema(property, &format!("{place}.{name}"))?;
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        let is_known = required.as_str().is_some_and(|name| schema["properties"].get(name).is_some());
        require(is_known, &format!("{place}: {required} is required and no property"))?;
    }
    match schema.get("items") {
        Some(items) => check_schema(items, &format!("{place}.items")),
        None => Ok(()),
    }
}

fn check_marks(body: &Value) -> Check {
    fn count(value: &Value) -> usize {
        match value {
            Value::Object(object) => {
                usize::from(object.contains_key("cache_control"))
                    + object
                        .iter()
                        .filter(|(key, _)| *key != "input" && *key != "input_schema")
                        .map(|(_, v)| count(v))
                        .sum::<usize>()
            }
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        }
    }
    let marks = count(body);
    require(marks <= 4, &format!("there are {marks} cache marks, 4 are allowed"))
}

fn check_text(part: &Value, place: &str) -> Check {
    require(part["type"] == "text", &format!("{place}: must be a text block"))?;
    require(is_text(&part["text"]), &format!("{place}: text must not be blank"))
}

/// Results come first, answer the calls of the message before, each once.
fn check_results(content: &[Value], open: &mut HashSet<&str>, place: &str) -> Check {
    let mut is_first = true;
    for block in content {
        if block["type"] != "tool_result" {
            is_first = false;
            continue;
        }
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        require(is_first, &format!("{place}: results must come first"))?;
        require(open.remove(id), &format!("{place}: no call waits for a result of {id:?}"))?;
    }
    require(open.is_empty(), &format!("{place}: calls without a result: {open:?}"))
}

fn check_block<'a>(
    block: &'a Value,
    role: &str,
    place: &str,
    open: &mut HashSet<&'a str>,
    used: &mut HashSet<&'a str>,
) -> Check {
    match (block["type"].as_str().unwrap_or_default(), role) {
        ("text", _) => check_text(block, place),
        ("image", "user") => check_image(block, place),
        ("tool_result", "user") => match &block["content"] {
            Value::Null | Value::String(_) => Ok(()),
            content => {
                for part in list(content, place)? {
                    if part["type"] == "image" { check_image(part, place)? } else { check_text(part, place)? }
                }
                Ok(())
            }
        },
        ("tool_use", "assistant") => {
            let id = block["id"].as_str().unwrap_or_default();
            let name = block["name"].as_str().unwrap_or_default();
            let is_plain =
                !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            require(is_plain, &format!("{place}: {id:?} is no id"))?;
            require(used.insert(id), &format!("{place}: the id {id:?} is used twice"))?;
            require(is_name(name), &format!("{place}: {name:?} is no tool name"))?;
            require(block["input"].is_object(), &format!("{place}: input must be an object"))?;
            open.insert(id);
            Ok(())
        }
        ("thinking", "assistant") => {
            require(block.get("cache_control").is_none(), &format!("{place}: thinking cannot be marked"))?;
            require(is_text(&block["signature"]), &format!("{place}: thinking needs its signature"))
        }
        ("redacted_thinking", "assistant") => require(is_text(&block["data"]), &format!("{place}: data is missing")),
        ("", _) => Err(format!("{place}: a block needs a type")),
        (kind, "user") => Err(format!("{place}: {kind:?} is no block of a user message")),
        // Server tools and what is added one day.
        (_, _) => Ok(()),
    }
}

fn check_image(block: &Value, place: &str) -> Check {
    let kind = block.pointer("/source/media_type").and_then(Value::as_str).unwrap_or_default();
    let is_known = ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&kind);
    require(is_known, &format!("{place}: {kind:?} is no type of picture"))?;
    require(block.pointer("/source/data").is_some_and(is_text), &format!("{place}: the picture is empty"))
}

fn check_last_text(messages: &[Value]) -> Check {
    let Some(last) = messages.last().filter(|message| message["role"] == "assistant") else { return Ok(()) };
    let text = last["content"].as_array().and_then(|content| content.last()).and_then(|block| block["text"].as_str());
    let is_trimmed = text.is_none_or(|text| text.trim_end() == text);
    require(is_trimmed, "a last assistant text must not end in a blank")
}

fn check_words(content: &Value, place: &str) -> Check {
    require(is_text(content), &format!("{place}: content must be text that is not blank"))
}

fn check_user(content: &Value, place: &str) -> Check {
    let Value::Array(parts) = content else { return check_words(content, place) };
    require(!parts.is_empty(), &format!("{place}: content must not be empty"))?;
    for part in parts {
        match part["type"].as_str().unwrap_or_default() {
            "text" => check_text(part, place)?,
            "image_url" => {
                let url = part.pointer("/image_url/url").and_then(Value::as_str).unwrap_or_default();
                require(
                    url.starts_with("data:image/") || url.starts_with("http"),
                    &format!("{place}: {url:?} is no picture"),
                )?;
            }
            other => return Err(format!("{place}: there is no part of type {other:?}")),
        }
    }
    Ok(())
}

fn check_assistant<'a>(
    message: &'a Value,
    place: &str,
    open: &mut HashSet<&'a str>,
    used: &mut HashSet<&'a str>,
) -> Check {
    let Some(calls) = message.get("tool_calls") else { return check_words(&message["content"], place) };
    require(
        message["content"].is_null() || is_text(&message["content"]),
        &format!("{place}: content must not be blank"),
    )?;
    let calls = list(calls, place)?;
    require(!calls.is_empty(), &format!("{place}: tool_calls must be left out when there are none"))?;
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        require(!id.is_empty() && used.insert(id), &format!("{place}: the id {id:?} is empty or used twice"))?;
        require(call["type"] == "function", &format!("{place}: a call must be of type function"))?;
        let name = call.pointer("/function/name").and_then(Value::as_str).unwrap_or_default();
        require(is_name(name), &format!("{place}: {name:?} is no tool name"))?;
        let arguments = call.pointer("/function/arguments").and_then(Value::as_str).unwrap_or_default();
        let parsed: Result<Map<String, Value>, _> = serde_json::from_str(arguments);
        require(parsed.is_ok(), &format!("{place}: arguments must be the text of an object, not {arguments:?}"))?;
        open.insert(id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn anthropic() -> Value {
        json!({
            "model": "m", "max_tokens": 10,
            "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "", "signature": "S"},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {}},
                    {"type": "tool_use", "id": "c2", "name": "read", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c2", "content": "b"},
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a"}], "is_error": true},
                    {"type": "text", "text": "go on"},
                ]},
            ],
        })
    }

    fn openai() -> Value {
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}});
        json!({
            "model": "m", "max_tokens": 10,
            "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": null, "tool_calls": [call("c1"), call("c2")]},
                {"role": "tool", "tool_call_id": "c1", "content": "a"},
                {"role": "tool", "tool_call_id": "c2", "content": "b"},
                {"role": "user", "content": [{"type": "text", "text": "go on"}]},
            ],
        })
    }

    /// Puts `value` at `pointer` and expects a refusal that contains `part`.
    fn refuses(check: fn(&Value) -> Check, mut body: Value, pointer: &str, value: Value, part: &str) {
        *body.pointer_mut(pointer).unwrap() = value;
        let refusal = check(&body).expect_err(part);
        assert!(refusal.contains(part), "{refusal:?} does not contain {part:?}");
    }

    #[test]
    fn sound_requests_pass() {
        assert_eq!(check_anthropic(&anthropic()), Ok(()));
        assert_eq!(check_openai(&openai()), Ok(()));
    }

    #[test]
    fn anthropic_refuses_what_strict_servers_refuse() {
        let refuses =
            |pointer: &str, value: Value, part: &str| refuses(check_anthropic, anthropic(), pointer, value, part);
        refuses("/tools", json!([]), "left out");
        refuses("/tools/0/input_schema/type", json!("strin"), "type object");
        refuses("/tools/0/input_schema/properties/path/type", json!("strin"), "no type");
        refuses("/tools/0/input_schema/properties/path", json!({"$ref": "#/x"}), "$ref");
        refuses("/system/0/text", json!(" "), "blank");
        refuses("/messages/0/role", json!("assistant"), "must be \"user\"");
        refuses("/messages/0/content", json!([]), "empty");
        refuses("/messages/0/content/0/text", json!("\n"), "blank");
        refuses("/messages/1/content/1/input", json!("{}"), "object");
        refuses("/messages/1/content/1/id", json!("c2"), "twice");
        refuses("/messages/1/content/1/id", json!("c:1"), "no id");
        refuses("/messages/1/content/0/signature", json!(""), "signature");
        refuses("/messages/2/content/0/tool_use_id", json!("c9"), "no call waits");
        refuses("/messages/2/content/0", json!({"type": "text", "text": "x"}), "results must come first");
        let only_one = json!([{"type": "tool_result", "tool_use_id": "c1", "content": "a"}]);
        refuses("/messages/2/content", only_one, "without a result");
        let prefilled = json!([
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "so \n"}]},
        ]);
        refuses("/messages", prefilled, "end in a blank");
    }

    #[test]
    fn anthropic_counts_cache_marks() {
        let marked = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
        let content = |marks: usize| json!([{"role": "user", "content": vec![marked.clone(); marks]}]);
        let mut body = anthropic();
        body["messages"] = content(3);
        assert_eq!(check_anthropic(&body), Ok(()));
        refuses(check_anthropic, body, "/messages", content(4), "5 cache marks");
    }

    #[test]
    fn openai_refuses_what_strict_servers_refuse() {
        let refuses = |pointer: &str, value: Value, part: &str| refuses(check_openai, openai(), pointer, value, part);
        refuses("/tools", json!([]), "left out");
        refuses("/messages/1/content", json!(""), "blank");
        refuses("/messages/2/content", json!(" "), "blank");
        refuses("/messages/2/tool_calls", json!([]), "left out");
        refuses("/messages/2/tool_calls/0/function/arguments", json!("[]"), "object");
        refuses("/messages/2/tool_calls/0/function/arguments", json!({}), "object");
        refuses("/messages/3/tool_call_id", json!("c9"), "no call waits");
        refuses("/messages/3", json!({"role": "user", "content": "x"}), "without a result");
        refuses("/messages/0/role", json!("developer"), "first message");
        let unanswered = openai()["messages"].as_array().unwrap()[..3].to_vec();
        refuses("/messages", json!(unanswered), "without a result");
        let no_calls = json!({"role": "assistant", "content": null});
        refuses("/messages/2", no_calls, "not blank");
    }

    #[test]
    fn foreign_signatures_are_refused() {
        assert_eq!(check_signatures(&anthropic(), &["S"]), Ok(()));
        assert!(check_signatures(&anthropic(), &["T"]).is_err());
    }
}
