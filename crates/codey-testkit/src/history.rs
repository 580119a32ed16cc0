//! Request bodies back to messages, so that what two APIs were sent can be compared block for block.

use codey_llm::{Block, Message, Opaque, Role};
use serde_json::{Value, json};

/// The messages of a request to Anthropic's Messages API.
///
/// Thinking comes back without its ballast, and other ballast with no issuer: the body does not say who issued it.
pub fn anthropic_to_messages(body: &Value) -> Vec<Message> {
    let message = |message: &Value| {
        let role = if message["role"] == "assistant" { Role::Assistant } else { Role::User };
        Message { role, content: blocks(&message["content"]) }
    };
    body["messages"].as_array().into_iter().flatten().map(message).collect()
}

/// The messages of a request to Chat Completions, system text left out.
///
/// Results and the user message that follows them become one message. A result is an error if its text says so.
pub fn openai_to_messages(body: &Value) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let (role, content) = match message["role"].as_str().unwrap_or_default() {
            "system" => continue,
            "assistant" => {
                let calls = message["tool_calls"].as_array().into_iter().flatten().map(call);
                (Role::Assistant, blocks(&message["content"]).into_iter().chain(calls).collect())
            }
            "tool" => (Role::User, vec![result(message)]),
            _ => (Role::User, blocks(&message["content"])),
        };
        match messages.last_mut() {
            Some(last) if last.role == Role::User && role == Role::User => last.content.extend(content),
            Some(_) | None => messages.push(Message { role, content }),
        }
    }
    messages
}

fn blocks(content: &Value) -> Vec<Block> {
    match content {
        Value::String(text) => vec![Block::text(text)],
        Value::Array(parts) => parts.iter().map(block).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn block(part: &Value) -> Block {
    let text = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
    match part["type"].as_str().unwrap_or_default() {
        "text" => Block::text(text("text")),
        "thinking" => Block::Thinking { text: text("thinking"), opaque: None },
        "tool_use" => Block::ToolUse {
            id: text("id").as_str().into(),
            name: text("name"),
            input: part["input"].clone(),
            invalid: None,
            opaque: None,
        },
        "tool_result" => Block::ToolResult {
            call: text("tool_use_id").as_str().into(),
            content: blocks(&part["content"]),
            is_error: part["is_error"] == true,
        },
        "image" => image(&part["source"]["media_type"], &part["source"]["data"]),
        "image_url" => {
            let url = part["image_url"]["url"].as_str().unwrap_or_default();
            let (media_type, data) = url.trim_start_matches("data:").split_once(";base64,").unwrap_or_default();
            image(&media_type.into(), &data.into())
        }
        _ => Block::Foreign {
            opaque: Opaque { provider: String::new(), model: String::new(), raw: part.to_string().into() },
        },
    }
}

fn image(media_type: &Value, data: &Value) -> Block {
    let written = json!({"type": "image", "media_type": media_type, "data": data});
    serde_json::from_value(written).expect("a picture is base64")
}

fn call(call: &Value) -> Block {
    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
    Block::ToolUse {
        id: call["id"].as_str().unwrap_or_default().into(),
        name: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
        input: serde_json::from_str(arguments).expect("arguments are JSON"),
        invalid: None,
        opaque: None,
    }
}

fn result(message: &Value) -> Block {
    let text = message["content"].as_str().unwrap_or_default();
    Block::ToolResult {
        call: message["tool_call_id"].as_str().unwrap_or_default().into(),
        content: vec![Block::text(text)],
        is_error: text.starts_with("Error: "),
    }
}
