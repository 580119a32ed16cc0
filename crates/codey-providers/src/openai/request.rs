//! Requests of Chat Completions.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use codey_llm::{Block, Message, Opaque, Request, Role, ToolSpec};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::body::{self, BodyWriter};
use crate::content::{Base64, NOTHING, echoed, results_first};
use crate::decode::Origin;
use crate::endpoint::{MaxTokensField, Quirks};
use crate::wire_name::tool_name;

/// Stands in a tool result for a picture, which only a user message can hold.
const PICTURE_FOLLOWS: &str = "(the picture follows)";

/// The body of a request. Messages come last, so that the body of the next turn begins with the bytes of this one.
pub(crate) fn body(writer: &BodyWriter, request: &Request, origin: &Origin, quirks: &Quirks) -> Bytes {
    let (max_tokens, max_completion_tokens) = match quirks.max_tokens_field {
        MaxTokensField::MaxTokens => (Some(request.max_tokens), None),
        MaxTokensField::MaxCompletionTokens => (None, Some(request.max_tokens)),
    };
    let mut head = body::head(&Fields {
        model: &request.model.id,
        max_tokens,
        max_completion_tokens,
        stream: true,
        stream_options: quirks.stream_options.then_some(StreamOptions { include_usage: true }),
        temperature: request.temperature,
        reasoning_effort: request.effort.filter(|_| request.model.capabilities.effort).map(|effort| effort.as_str()),
        tools: request.tools.iter().map(Tool::of).collect(),
    });
    let system = request.system.iter().map(String::as_str).filter(|text| !text.trim().is_empty());
    let system = system.collect::<Vec<_>>().join("\n\n");
    if !system.is_empty() {
        body::element(&mut head, &WireMessage::System { content: &system });
    }
    writer.write(&request.model.id, head, &request.messages, &[], |body, message, _| {
        wire_messages(message, origin).iter().for_each(|message| body::element(body, message));
    })
}

#[derive(Serialize)]
struct Fields<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    // An empty list is refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Tool<'a> {
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        let name = tool_name(&spec.name);
        Self { function: Function { name, description: &spec.description, parameters: &spec.schema } }
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        /// Always written: null is allowed beside tool calls, leaving it out is not everywhere.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

/// One text as a string, which every server takes; else parts.
#[derive(Serialize)]
#[serde(untagged)]
enum UserContent<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Base64<'a>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
    /// What the server sent with the call and wants back.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: Cow<'a, str>,
    arguments: JsonText<'a>,
}

/// JSON inside a string, without a copy in between.
struct JsonText<'a>(&'a Value);

impl fmt::Display for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for JsonText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn wire_messages<'a>(message: &'a Arc<Message>, origin: &Origin) -> Vec<WireMessage<'a>> {
    match message.role {
        Role::User => user_messages(message),
        Role::Assistant => vec![assistant_message(message, origin)],
    }
}

/// Each tool result as a message of its own, then what the person said. Pictures in results go there too.
fn user_messages(message: &Message) -> Vec<WireMessage<'_>> {
    let mut messages = Vec::new();
    let mut parts = Vec::new();
    for block in results_first(message) {
        match block {
            Block::ToolResult { call, content, .. } => {
                let pictures = content.iter().filter_map(picture);
                let before = parts.len();
                parts.extend(pictures);
                let fallback = if parts.len() > before { PICTURE_FOLLOWS } else { NOTHING };
                let content = joined(content, "\n").unwrap_or(Cow::Borrowed(fallback));
                messages.push(WireMessage::Tool { tool_call_id: call.as_str(), content });
            }
            Block::Text { text } if !text.trim().is_empty() => parts.push(Part::Text { text }),
            Block::Image { .. } => parts.extend(picture(block)),
            Block::Text { .. } | Block::Thinking { .. } | Block::ToolUse { .. } | Block::Foreign { .. } => {}
        }
    }
    if parts.is_empty() && messages.is_empty() {
        parts.push(Part::Text { text: NOTHING });
    }
    match parts.as_slice() {
        [] => {}
        [Part::Text { text }] => messages.push(WireMessage::User { content: UserContent::Text(text) }),
        _ => messages.push(WireMessage::User { content: UserContent::Parts(parts) }),
    }
    messages
}

fn picture(block: &Block) -> Option<Part<'_>> {
    match block {
        Block::Image { media_type, data } => {
            Some(Part::ImageUrl { image_url: ImageUrl { url: Base64 { prefix: Some(media_type), data } } })
        }
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::ToolUse { .. }
        | Block::ToolResult { .. }
        | Block::Foreign { .. } => None,
    }
}

/// Text as one string: lists of parts break the chat templates of local servers. Reasoning is never sent back.
fn assistant_message<'a>(message: &'a Message, origin: &Origin) -> WireMessage<'a> {
    let tool_calls: Vec<Call<'a>> = message.content.iter().filter_map(|block| call(block, origin)).collect();
    let content = joined(&message.content, "\n\n").map(|text| match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
        Cow::Owned(text) => Cow::Owned(text.trim_end().to_owned()),
    });
    let fallback = tool_calls.is_empty().then_some(Cow::Borrowed(NOTHING));
    WireMessage::Assistant { content: content.or(fallback), tool_calls }
}

fn call<'a>(block: &'a Block, origin: &Origin) -> Option<Call<'a>> {
    match block {
        Block::ToolUse { id, name, input, opaque, .. } => Some(Call {
            id: id.as_str(),
            kind: "function",
            function: CalledFunction { name: tool_name(name), arguments: JsonText(input) },
            extra_content: opaque.as_ref().and_then(|opaque: &Opaque| echoed(opaque, origin)),
        }),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::ToolResult { .. }
        | Block::Image { .. }
        | Block::Foreign { .. } => None,
    }
}

/// The texts among the blocks that are not blank, or `None`.
fn joined<'a>(blocks: &'a [Block], separator: &str) -> Option<Cow<'a, str>> {
    let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).filter(|text| !text.trim().is_empty()).collect();
    match texts.as_slice() {
        [] => None,
        [one] => Some(Cow::Borrowed(one)),
        _ => Some(Cow::Owned(texts.join(separator))),
    }
}
