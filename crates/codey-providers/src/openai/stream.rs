//! Responses of Chat Completions.

use std::sync::Arc;

use codey_llm::{Block, CallId, Opaque, Request, StopReason, StreamEvent, Usage};
use serde_json::{Map, Value};

use crate::arguments::{SoundEscapes, sound};
use crate::call_ids::CallIds;
use crate::decode::{Fault, Origin, Progress, done};
use crate::error::ErrorObject;
use crate::json::Json;
use crate::random::Random;

/// Decodes one response.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    origin: Origin,
    ids: CallIds,
    next_index: usize,
    /// The server's index of the choice that is read: the first that came, since one is asked for.
    choice: Option<u64>,
    /// The open block of text or thinking. Calls do not close it: servers mix the two.
    prose: Option<(Prose, usize)>,
    calls: Vec<Call>,
    usage: Usage,
    finish: Option<String>,
    has_refused: bool,
    has_chunk: bool,
    has_mark: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prose {
    Text,
    Thinking,
}

/// A tool call as far as it has arrived.
#[derive(Clone, Debug)]
struct Call {
    /// The server's index, or its place in the list.
    key: u64,
    id: Option<String>,
    name: Option<String>,
    index: usize,
    /// Set once the block has begun.
    claimed: Option<CallId>,
    escapes: SoundEscapes,
    /// Argument text that arrived before the block could begin.
    waiting: String,
    extra: Option<Value>,
}

impl Decoder {
    pub(crate) fn new(origin: Origin, request: &Arc<Request>, random: Random) -> Self {
        Self {
            origin,
            ids: CallIds::new(request, random),
            next_index: 0,
            choice: None,
            prose: None,
            calls: Vec::new(),
            usage: Usage::default(),
            finish: None,
            has_refused: false,
            has_chunk: false,
            has_mark: false,
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        match (&self.finish, self.has_mark) {
            (_, true) => Progress::Final,
            (Some(_), false) => Progress::Ended,
            (None, false) => Progress::Open,
        }
    }

    pub(crate) fn push(&mut self, data: &str) -> Result<Vec<StreamEvent>, Fault> {
        if data.trim() == "[DONE]" {
            self.has_mark = true;
            return Ok(Vec::new());
        }
        let data = sound(data);
        let chunk = Json::parse(&data).ok_or_else(|| Fault::Garbage(data.to_string()))?;
        if let Some(error) = ErrorObject::parse_event(&chunk) {
            return Err(Fault::Reported(error));
        }
        let choice = self.choice_in(&chunk["choices"]);
        if chunk["choices"].as_array().is_none() && chunk["usage"].is_null() {
            return Err(Fault::Garbage(data.to_string()));
        }
        self.has_chunk |= choice.is_object();
        for usage in [&chunk["usage"], &choice["usage"], &chunk["x_groq"]["usage"]] {
            self.count(usage);
        }
        let mut events = Vec::new();
        let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        self.prose_of(delta, &mut events);
        for (position, call) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
            self.call(call, position as u64, &mut events);
        }
        match choice["finish_reason"].as_str() {
            Some(reason @ ("error" | "network_error" | "insufficient_system_resource")) => {
                return Err(Fault::Reported(ErrorObject::from_word(reason)));
            }
            Some(reason) => self.finish = Some(reason.to_owned()),
            None => {}
        }
        Ok(events)
    }

    pub(crate) fn finish(&mut self) -> Result<Vec<StreamEvent>, Fault> {
        if self.finish.is_none() {
            if !self.has_mark || !self.has_chunk {
                return Err(Fault::Cut);
            }
            tracing::warn!(provider = self.origin.provider, "the response ended without a finish reason");
        }
        let mut events = Vec::new();
        self.close_prose(&mut events);
        let calls = std::mem::take(&mut self.calls);
        let has_calls = !calls.is_empty();
        for mut call in calls {
            if call.claimed.is_none() {
                self.begin(&mut call, &mut events);
            }
            let rest = call.escapes.finish();
            push_delta(call.index, rest, &mut events);
            let opaque = call.extra.map(|extra| self.opaque(&extra));
            events.push(StreamEvent::BlockStop { index: call.index, opaque });
        }
        let reason = self.finish.take().unwrap_or_default();
        events.push(done(self.stop_reason(&reason, has_calls), self.usage));
        Ok(events)
    }

    /// The choice that is read, or null where a chunk has only others.
    fn choice_in<'a, 'b>(&mut self, choices: &'a Json<'b>) -> &'a Json<'b> {
        let known = self.choice;
        let is_ours =
            |choice: &&Json<'_>| known.is_none() || choice["index"].as_u64().is_none_or(|index| known == Some(index));
        let found = choices.as_array().into_iter().flatten().find(is_ours).unwrap_or(&Json::Null);
        self.choice = known.or(found["index"].as_u64());
        found
    }

    /// Takes the counts of a usage object; the last one wins.
    fn count(&mut self, usage: &Json<'_>) {
        let at = |pointer: &str| usage.pointer(pointer).as_u64();
        let Some(prompt) = at("/prompt_tokens") else { return };
        let places = ["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens", "/cached_tokens"];
        // One server reports more cached tokens than it was sent.
        let cache_read = places.into_iter().find_map(at).unwrap_or(0).min(prompt);
        let cache_write = at("/prompt_tokens_details/cache_write_tokens").unwrap_or(0).min(prompt - cache_read);
        let completion = at("/completion_tokens").unwrap_or(0);
        let reasoning = at("/completion_tokens_details/reasoning_tokens").unwrap_or(0);
        // One server counts reasoning beside the completion; its total tells.
        let is_beside = reasoning > 0 && at("/total_tokens") == Some(prompt + completion + reasoning);
        self.usage = Usage {
            input: prompt - cache_read - cache_write,
            output: if is_beside { completion + reasoning } else { completion },
            cache_read,
            cache_write,
            reasoning,
        };
    }

    fn prose_of(&mut self, delta: &Json<'_>, events: &mut Vec<StreamEvent>) {
        let thinking = ["reasoning_content", "reasoning"].iter().find_map(|key| non_empty(&delta[*key]));
        self.say(Prose::Thinking, thinking.unwrap_or_default(), events);
        match &delta["content"] {
            Json::String(text) => self.say(Prose::Text, text, events),
            Json::Array(parts) => {
                for part in parts {
                    self.say_part(part, events);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => {}
        }
        if let Some(refusal) = non_empty(&delta["refusal"]) {
            self.has_refused = true;
            self.say(Prose::Text, refusal, events);
        }
    }

    /// A part of content that is a list: text, or thinking that is itself a list of text.
    fn say_part(&mut self, part: &Json<'_>, events: &mut Vec<StreamEvent>) {
        if let Some(text) = non_empty(&part["text"]) {
            self.say(Prose::Text, text, events);
        }
        match &part["thinking"] {
            Json::String(text) => self.say(Prose::Thinking, text, events),
            Json::Array(parts) => {
                for text in parts.iter().filter_map(|part| non_empty(&part["text"])) {
                    self.say(Prose::Thinking, text, events);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => {}
        }
    }

    fn say(&mut self, kind: Prose, text: &str, events: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let index = match self.prose {
            Some((open, index)) if open == kind => index,
            Some(_) | None => {
                self.close_prose(events);
                let index = self.take_index();
                self.prose = Some((kind, index));
                let block = match kind {
                    Prose::Text => Block::text(""),
                    Prose::Thinking => Block::Thinking { text: String::new(), opaque: None },
                };
                events.push(StreamEvent::BlockStart { index, block });
                index
            }
        };
        push_delta(index, text.to_owned(), events);
    }

    fn close_prose(&mut self, events: &mut Vec<StreamEvent>) {
        if let Some((_, index)) = self.prose.take() {
            events.push(StreamEvent::BlockStop { index, opaque: None });
        }
    }

    fn take_index(&mut self) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        index
    }

    fn call(&mut self, wire: &Json<'_>, position: u64, events: &mut Vec<StreamEvent>) {
        let id = non_empty(&wire["id"]);
        let place = self.place_of(&wire["index"], id, position);
        let mut call = self.calls.remove(place);
        if call.id.is_none() {
            call.id = id.map(str::to_owned);
        }
        if call.name.is_none() {
            call.name = non_empty(&wire["function"]["name"]).map(str::to_owned);
        }
        if wire["extra_content"].is_object() {
            call.extra = Some(wire["extra_content"].to_value());
        }
        let arguments = match &wire["function"]["arguments"] {
            Json::String(text) => call.escapes.push(text),
            Json::Null => String::new(),
            whole @ (Json::Object(_) | Json::Array(_) | Json::Bool(_) | Json::Number(_)) => {
                whole.to_value().to_string()
            }
        };
        if call.claimed.is_none() && call.id.is_some() && call.name.is_some() {
            self.begin(&mut call, events);
        }
        match call.claimed {
            Some(_) => push_delta(call.index, arguments, events),
            None => call.waiting.push_str(&arguments),
        }
        self.calls.insert(place, call);
    }

    /// Where the call is that a delta belongs to; a new one if need be.
    fn place_of(&mut self, index: &Json<'_>, id: Option<&str>, position: u64) -> usize {
        let index = match index {
            Json::Number(number) => number.as_u64(),
            Json::String(text) => text.parse().ok(),
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
        };
        let key = index.unwrap_or(position);
        let found = match (index, id) {
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id.as_deref() == Some(id)),
            // The same index with another id is another call.
            (_, id) => self
                .calls
                .iter()
                .rposition(|call| call.key == key && (id.is_none() || call.id.is_none() || call.id.as_deref() == id)),
        };
        found.unwrap_or_else(|| {
            let index = self.take_index();
            self.calls.push(Call {
                key,
                id: None,
                name: None,
                index,
                claimed: None,
                escapes: SoundEscapes::default(),
                waiting: String::new(),
                extra: None,
            });
            self.calls.len() - 1
        })
    }

    fn begin(&mut self, call: &mut Call, events: &mut Vec<StreamEvent>) {
        let id = self.ids.claim(call.id.as_deref());
        call.claimed = Some(id.clone());
        let name = call.name.clone().unwrap_or_default();
        let block = Block::ToolUse { id, name, input: Value::Object(Map::new()), invalid: None, opaque: None };
        events.push(StreamEvent::BlockStart { index: call.index, block });
        push_delta(call.index, std::mem::take(&mut call.waiting), events);
    }

    fn opaque(&self, extra: &Value) -> Opaque {
        let raw = extra.to_string().into();
        Opaque { provider: self.origin.provider.clone(), model: self.origin.model.clone(), raw }
    }

    fn stop_reason(&self, reason: &str, has_calls: bool) -> StopReason {
        match reason {
            _ if self.has_refused => StopReason::Refusal { category: None },
            "length" => StopReason::MaxTokens,
            "content_filter" | "sensitive" => StopReason::ContentFilter,
            "model_length" => StopReason::ContextWindow,
            // Servers say `stop` after calls, or nothing.
            "stop" | "" | "tool_calls" | "function_call" if has_calls => StopReason::ToolUse,
            "stop" | "" | "tool_calls" | "function_call" => StopReason::EndTurn,
            other => StopReason::Other(other.to_owned()),
        }
    }
}

fn non_empty<'a>(value: &'a Json<'_>) -> Option<&'a str> {
    value.as_str().filter(|text| !text.is_empty())
}

fn push_delta(index: usize, text: String, events: &mut Vec<StreamEvent>) {
    if !text.is_empty() {
        events.push(StreamEvent::BlockDelta { index, text });
    }
}
