//! Responses of the Messages API.

use std::collections::BTreeMap;
use std::sync::Arc;

use codey_llm::{Block, Opaque, Request, StopReason, StreamEvent, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::arguments::{SoundEscapes, sound};
use crate::call_ids::CallIds;
use crate::content::is_of_assistant;
use crate::decode::{Fault, Origin, Progress, done};
use crate::endpoint::Api;
use crate::error::ErrorObject;
use crate::json::Json;
use crate::random::Random;
use crate::wire_name::cut_name;

/// Decodes one response.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    origin: Origin,
    ids: CallIds,
    /// Our block for each index of the server. Servers have been seen to use an index twice, or as a string.
    slots: BTreeMap<String, usize>,
    open: BTreeMap<usize, Open>,
    next_index: usize,
    has_calls: bool,
    usage: Usage,
    stop: Option<StopReason>,
    progress: Progress,
}

/// A block that has not stopped.
#[derive(Clone, Debug)]
struct Open {
    /// The block as the server sent it, with the deltas worked in where they are kept for the echo.
    wire: Map<String, Value>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Text,
    Thinking,
    /// Holds the input that came with the start. It counts if no other follows.
    Call {
        escapes: SoundEscapes,
        whole: String,
    },
    /// Holds the JSON text of the block and the argument text that followed it.
    Foreign {
        raw: String,
        input: String,
        is_changed: bool,
    },
}

impl Decoder {
    pub(crate) fn new(origin: Origin, request: &Arc<Request>, random: Random) -> Self {
        Self {
            origin,
            ids: CallIds::new(request, random),
            slots: BTreeMap::new(),
            open: BTreeMap::new(),
            next_index: 0,
            has_calls: false,
            usage: Usage::default(),
            stop: None,
            progress: Progress::Open,
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress
    }

    pub(crate) fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<StreamEvent>, Fault> {
        // Proxies add the mark of the other API.
        if data.trim() == "[DONE]" {
            return Ok(Vec::new());
        }
        let data = sound(data);
        let event = Json::parse(&data).ok_or_else(|| Fault::Garbage(data.to_string()))?;
        if let Some(error) = ErrorObject::parse_event(&event) {
            return Err(Fault::Reported(error));
        }
        match event["type"].as_str().or(name) {
            _ if event["type"].is_null() && event["choices"].as_array().is_some() => Err(Fault::OtherApi(Api::OpenAi)),
            Some("message_start") => {
                self.count(&event["message"]["usage"]);
                Ok(Vec::new())
            }
            Some("content_block_start") => Ok(self.start(&event, &data)),
            Some("content_block_delta") => Ok(self.delta(&event)),
            Some("content_block_stop") => {
                let index = self.slots.get(&slot(&event)).copied();
                Ok(index.map_or_else(Vec::new, |index| self.close(index)))
            }
            Some("message_delta") => {
                self.count(&event["usage"]);
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.stop = Some(stop_reason(reason, &event["delta"]));
                }
                Ok(Vec::new())
            }
            Some("message_stop") => {
                self.progress = Progress::Final;
                Ok(Vec::new())
            }
            // `ping`, and whatever is added one day.
            Some(_) | None => Ok(Vec::new()),
        }
    }

    pub(crate) fn finish(&mut self) -> Result<Vec<StreamEvent>, Fault> {
        if self.progress == Progress::Open {
            return Err(Fault::Cut);
        }
        let indices: Vec<usize> = self.open.keys().copied().collect();
        let mut events: Vec<StreamEvent> = indices.into_iter().flat_map(|index| self.close(index)).collect();
        let default = if self.has_calls { StopReason::ToolUse } else { StopReason::EndTurn };
        events.push(done(self.stop.take().unwrap_or(default), self.usage));
        Ok(events)
    }

    /// Counts are cumulative and replace earlier ones; what is left out or null stays.
    fn count(&mut self, usage: &Json<'_>) {
        let set = |field: &mut u64, pointer: &str| {
            if let Some(count) = usage.pointer(pointer).as_u64() {
                *field = count;
            }
        };
        set(&mut self.usage.input, "/input_tokens");
        set(&mut self.usage.cache_read, "/cache_read_input_tokens");
        set(&mut self.usage.cache_write, "/cache_creation_input_tokens");
        set(&mut self.usage.output, "/output_tokens");
        set(&mut self.usage.reasoning, "/output_tokens_details/thinking_tokens");
    }

    fn start(&mut self, event: &Json<'_>, data: &str) -> Vec<StreamEvent> {
        let sent = &event["content_block"];
        let text = |key: &str| sent[key].as_str().unwrap_or_default();
        let (kind, block) = match text("type") {
            "text" => (Kind::Text, Block::text(text("text"))),
            "thinking" => (Kind::Thinking, Block::Thinking { text: text("thinking").to_owned(), opaque: None }),
            "tool_use" => {
                self.has_calls = true;
                let id = self.ids.claim(sent["id"].as_str());
                let name = cut_name(text("name")).to_owned();
                let input = Value::Object(Map::new());
                // As text like any other: it is counted then, and takes no more memory than it has bytes.
                let whole =
                    if sent["input"].is_object() { sent["input"].to_value().to_string() } else { String::new() };
                let block = Block::ToolUse { id, name, input, invalid: None, opaque: None };
                (Kind::Call { escapes: SoundEscapes::default(), whole }, block)
            }
            _ if is_of_assistant(sent) => {
                let raw = raw_block(data).unwrap_or_else(|| sent.to_value().to_string());
                let opaque = self.opaque(raw.clone());
                (Kind::Foreign { raw, input: String::new(), is_changed: false }, Block::Foreign { opaque })
            }
            other => {
                tracing::warn!(provider = self.origin.provider, kind = cut_name(other), "a block that no answer holds");
                // What follows is not for the block that had this index before.
                self.slots.remove(&slot(event));
                return Vec::new();
            }
        };
        let wire = match kind {
            Kind::Thinking | Kind::Foreign { .. } => serde_json::from_value(sent.to_value()).unwrap_or_default(),
            Kind::Text | Kind::Call { .. } => Map::new(),
        };
        let index = self.next_index;
        self.next_index += 1;
        self.slots.insert(slot(event), index);
        self.open.insert(index, Open { wire, kind });
        vec![StreamEvent::BlockStart { index, block }]
    }

    fn delta(&mut self, event: &Json<'_>) -> Vec<StreamEvent> {
        let Some(index) = self.slots.get(&slot(event)).copied() else { return Vec::new() };
        let Some(open) = self.open.get_mut(&index) else { return Vec::new() };
        let delta = &event["delta"];
        let piece = |key: &str| delta[key].as_str().unwrap_or_default();
        let text = match (delta["type"].as_str(), &mut open.kind) {
            (Some("text_delta"), Kind::Text) => piece("text").to_owned(),
            (Some("thinking_delta"), Kind::Thinking) => {
                let text = piece("thinking");
                append(&mut open.wire, "thinking", text);
                text.to_owned()
            }
            (Some("signature_delta"), Kind::Thinking) => {
                append(&mut open.wire, "signature", piece("signature"));
                return Vec::new();
            }
            (Some("input_json_delta"), Kind::Call { escapes, whole }) => {
                if !piece("partial_json").trim().is_empty() {
                    whole.clear();
                }
                escapes.push(piece("partial_json"))
            }
            (Some("input_json_delta"), Kind::Foreign { input, .. }) => {
                input.push_str(piece("partial_json"));
                return Vec::new();
            }
            (Some("text_delta"), Kind::Foreign { is_changed, .. }) => {
                *is_changed = true;
                append(&mut open.wire, "text", piece("text"));
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        if text.is_empty() { Vec::new() } else { vec![StreamEvent::BlockDelta { index, text }] }
    }

    fn close(&mut self, index: usize) -> Vec<StreamEvent> {
        let Some(Open { mut wire, kind }) = self.open.remove(&index) else { return Vec::new() };
        let mut events = Vec::new();
        let opaque = match kind {
            Kind::Text => None,
            Kind::Call { mut escapes, whole } => {
                let text = escapes.finish() + &whole;
                if !text.is_empty() {
                    events.push(StreamEvent::BlockDelta { index, text });
                }
                None
            }
            // Without a signature the block cannot be verified, and would be refused.
            Kind::Thinking => {
                let is_signed =
                    wire.get("signature").and_then(Value::as_str).is_some_and(|signature| !signature.is_empty());
                is_signed.then(|| self.opaque(Value::Object(wire).to_string()))
            }
            Kind::Foreign { raw, input, is_changed } => {
                let input: Option<Value> = serde_json::from_str(&sound(&input)).ok();
                let is_changed = is_changed || input.is_some();
                if let Some(input) = input {
                    wire.insert("input".to_owned(), input);
                }
                Some(self.opaque(if is_changed { Value::Object(wire).to_string() } else { raw }))
            }
        };
        events.push(StreamEvent::BlockStop { index, opaque });
        events
    }

    fn opaque(&self, raw: String) -> Opaque {
        Opaque { provider: self.origin.provider.clone(), model: self.origin.model.clone(), raw: raw.into() }
    }
}

/// The index of an event, a number or as some servers send it.
fn slot(event: &Json<'_>) -> String {
    let index = &event["index"];
    index.as_str().map_or_else(|| index.to_value().to_string(), |text| text.trim().to_owned())
}

fn append(wire: &mut Map<String, Value>, key: &str, piece: &str) {
    match wire.get_mut(key) {
        Some(Value::String(text)) => text.push_str(piece),
        Some(_) | None => {
            wire.insert(key.to_owned(), Value::from(piece));
        }
    }
}

/// The text of the block as it stands in the event.
fn raw_block(data: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Start<'a> {
        #[serde(borrow)]
        content_block: &'a RawValue,
    }
    let start: Start<'_> = serde_json::from_str(data).ok()?;
    Some(start.content_block.get().to_owned())
}

fn stop_reason(reason: &str, delta: &Json<'_>) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "tool_use" => StopReason::ToolUse,
        "pause_turn" => StopReason::Pause,
        "refusal" => {
            let category = delta.pointer("/stop_details/category").as_str();
            StopReason::Refusal { category: category.map(|category| cut_name(category).to_owned()) }
        }
        "model_context_window_exceeded" => StopReason::ContextWindow,
        other => StopReason::Other(cut_name(other).to_owned()),
    }
}
