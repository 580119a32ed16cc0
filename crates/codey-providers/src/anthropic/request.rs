//! Requests of the Messages API.

use std::borrow::Cow;

use bytes::Bytes;
use codey_llm::{Block, CachePoint, Message, Opaque, Request, Role};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::body::{self, BodyWriter};
use crate::content::{Base64, NOTHING, echoed, is_of_assistant, results_first};
use crate::decode::Origin;
use crate::json::Json;
use crate::wire_name::{call_id, tool_name};

/// Most cache marks in a request. Source: platform.claude.com, "Prompt caching".
const MAX_MARKS: usize = 4;

/// The body of a request. Messages come last, so that the body of the next turn begins with the bytes of this one.
pub(crate) fn body(writer: &BodyWriter, request: &Request, origin: &Origin) -> Bytes {
    let marks = Marks::of(request);
    let head = body::head(&Fields {
        model: &request.model.id,
        max_tokens: request.max_tokens,
        stream: true,
        temperature: request.temperature,
        output_config: request
            .effort
            .filter(|_| request.model.capabilities.effort)
            .map(|effort| OutputConfig { effort: effort.as_str() }),
        system: system(request, marks.system),
        tools: tools(request, marks.tools),
    });
    writer.write(&request.model.id, head, &request.messages, &marks.messages, |body, message, is_marked| {
        let content = content(message, is_marked, origin);
        body::element(body, &WireMessage { role: role(message.role), content });
    })
}

#[derive(Serialize)]
struct Fields<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename = "ephemeral")]
struct CacheControl {}

/// Where cache marks go.
struct Marks {
    system: bool,
    tools: bool,
    messages: Vec<usize>,
}

impl Marks {
    /// The mark of the prefix and the newest of the others, as many as are allowed.
    fn of(request: &Request) -> Self {
        let prefix = request.cache_points.contains(&CachePoint::Prefix);
        let system = prefix && system_texts(request).next().is_some();
        let tools = prefix && !system && !request.tools.is_empty();
        let room = MAX_MARKS - usize::from(system || tools);
        let points = request.cache_points.iter().filter_map(|point| match point {
            CachePoint::Message(index) => Some(*index),
            CachePoint::Prefix => None,
        });
        let mut messages: Vec<usize> = points.collect();
        messages.sort_unstable();
        messages.dedup();
        messages.drain(..messages.len().saturating_sub(room));
        Self { system, tools, messages }
    }
}

fn system_texts(request: &Request) -> impl Iterator<Item = &str> {
    request.system.iter().map(String::as_str).filter(|text| !text.trim().is_empty())
}

fn system(request: &Request, marked: bool) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = system_texts(request).map(Part::text).collect();
    if marked && let Some(last) = parts.last_mut() {
        last.mark();
    }
    parts
}

fn tools(request: &Request, marked: bool) -> Vec<Tool<'_>> {
    let mut tools: Vec<Tool<'_>> = request
        .tools
        .iter()
        .map(|spec| Tool {
            name: tool_name(&spec.name),
            description: &spec.description,
            input_schema: &spec.schema,
            cache_control: None,
        })
        .collect();
    if marked && let Some(last) = tools.last_mut() {
        last.cache_control = Some(CacheControl {});
    }
    tools
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// A block as the API writes it. Ballast is untagged: a raw value does not pass through a tagged enum.
#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Known(Known<'a>),
    Echoed(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Known<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

/// One text as a string, which every imitation of the API takes; else blocks.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "base64")]
struct Source<'a> {
    media_type: &'a str,
    data: Base64<'a>,
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Self::Known(Known::Text { text, cache_control: None })
    }

    /// The block, or `None` when it must not be sent: blank text, and ballast of other models.
    fn of(block: &'a Block, origin: &Origin) -> Option<Self> {
        match block {
            Block::Text { text } => (!text.trim().is_empty()).then(|| Self::text(text)),
            Block::Thinking { opaque, .. } => Self::echo(opaque.as_ref()?, origin),
            Block::Foreign { opaque } => Self::echo(opaque, origin),
            Block::ToolUse { id, name, input, .. } => Some(Self::Known(Known::ToolUse {
                id: call_id(id.as_str()),
                name: tool_name(name),
                input,
                cache_control: None,
            })),
            Block::ToolResult { call, content, is_error } => Some(Self::Known(Known::ToolResult {
                tool_use_id: call_id(call.as_str()),
                content: result_content(content, origin),
                is_error: *is_error,
                cache_control: None,
            })),
            Block::Image { media_type, data } => Some(Self::Known(Known::Image {
                source: Source { media_type, data: Base64 { prefix: None, data } },
                cache_control: None,
            })),
        }
    }

    fn echo(opaque: &'a Opaque, origin: &Origin) -> Option<Self> {
        let raw = echoed(opaque, origin)?;
        // Sessions of older versions hold blocks that are not of this kind.
        Json::parse(raw.get()).is_some_and(|block| is_of_assistant(&block)).then_some(Self::Echoed(raw))
    }

    /// Asks for a cache up to here; whether that is possible at this block.
    fn mark(&mut self) -> bool {
        match self {
            Self::Echoed(_) => false,
            Self::Known(
                Known::Text { cache_control, .. }
                | Known::ToolUse { cache_control, .. }
                | Known::ToolResult { cache_control, .. }
                | Known::Image { cache_control, .. },
            ) => {
                *cache_control = Some(CacheControl {});
                true
            }
        }
    }
}

fn content<'a>(message: &'a Message, marked: bool, origin: &Origin) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = results_first(message).filter_map(|block| Part::of(block, origin)).collect();
    if message.role == Role::Assistant
        && let Some(Part::Known(Known::Text { text, .. })) = parts.last_mut()
    {
        // A trailing blank in a last assistant text is refused.
        *text = text.trim_end();
    }
    if parts.is_empty() {
        // The message must stay, or the roles would not alternate.
        parts.push(Part::text(NOTHING));
    }
    if marked {
        let _ = parts.iter_mut().rev().any(Part::mark);
    }
    parts
}

fn result_content<'a>(content: &'a [Block], origin: &Origin) -> ResultContent<'a> {
    let mut parts: Vec<Part<'a>> = content.iter().filter_map(|block| Part::of(block, origin)).collect();
    match parts.as_slice() {
        [] => ResultContent::Text(NOTHING),
        [Part::Known(Known::Text { text, .. })] => ResultContent::Text(text),
        _ => ResultContent::Parts(std::mem::take(&mut parts)),
    }
}
