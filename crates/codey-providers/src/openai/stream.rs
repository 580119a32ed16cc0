//! Responses of Chat Completions.

use std::collections::HashMap;
use std::sync::Arc;

use codey_llm::{Block, Opaque, Request, StopReason, StreamEvent, Usage};
use serde_json::{Map, Value};

use crate::arguments::{Extent, SoundEscapes, sound};
use crate::call_ids::CallIds;
use crate::decode::{Fault, Origin, Progress, done};
use crate::endpoint::Api;
use crate::error::ErrorObject;
use crate::json::Json;
use crate::random::Random;
use crate::wire_name::{LONGEST_NAME, cut_name};

/// Most calls of one response. Three bytes of an event are enough for one, which takes a hundred times that in memory.
const MOST_CALLS: usize = 1 << 15;

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
    /// Where in `calls` the newest one of each key is, and of each id.
    by_key: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    /// Where the call is to which something came last.
    last_call: usize,
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
    /// Whether its block has begun.
    has_begun: bool,
    escapes: SoundEscapes,
    extent: Extent,
    /// Argument text that arrived before the block could begin.
    waiting: String,
    /// What the server wants back with the call, as JSON text.
    extra: Option<String>,
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
            by_key: HashMap::new(),
            by_id: HashMap::new(),
            last_call: 0,
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
            if chunk["type"].as_str() == Some("message_start") {
                return Err(Fault::OtherApi(Api::Anthropic));
            }
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
            if self.calls.len() > MOST_CALLS {
                return Err(Fault::Garbage(format!("more than {MOST_CALLS} calls in one answer")));
            }
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
        let mut calls = std::mem::take(&mut self.calls);
        let has_calls = !calls.is_empty();
        // Of an answer that was cut, the call of the last event is the one that was cut.
        if has_calls {
            let last = calls.remove(self.last_call);
            calls.push(last);
        }
        for mut call in calls {
            if !call.has_begun {
                call.begin(&mut self.ids, &mut events);
            }
            let rest = call.escapes.finish();
            push_delta(call.index, rest, &mut events);
            let opaque = call.extra.map(|extra| self.opaque(extra));
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
        let beside = completion.saturating_add(reasoning);
        let is_beside = reasoning > 0 && at("/total_tokens") == Some(prompt.saturating_add(beside));
        self.usage = Usage {
            input: prompt - cache_read - cache_write,
            output: if is_beside { beside } else { completion },
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
        let id = non_empty(&wire["id"]).filter(|id| id.len() <= LONGEST_NAME);
        let name = non_empty(&wire["function"]["name"]);
        let place = self.place_of(&wire["index"], id, name, position);
        self.last_call = place;
        let call = &mut self.calls[place];
        if let (None, Some(id)) = (&call.id, id) {
            call.id = Some(id.to_owned());
            self.by_id.insert(id.to_owned(), place);
        }
        if call.name.is_none() {
            call.name = name.map(|name| cut_name(name).to_owned());
        }
        if wire["extra_content"].is_object() {
            call.extra = Some(wire["extra_content"].to_value().to_string());
        }
        let arguments = match &wire["function"]["arguments"] {
            Json::String(text) => call.escapes.push(text),
            Json::Null => String::new(),
            whole @ (Json::Object(_) | Json::Array(_) | Json::Bool(_) | Json::Number(_)) => {
                whole.to_value().to_string()
            }
        };
        call.extent.push(&arguments);
        if !call.has_begun && call.id.is_some() && call.name.is_some() {
            call.begin(&mut self.ids, events);
        }
        if call.has_begun {
            push_delta(call.index, arguments, events);
        } else {
            call.waiting.push_str(&arguments);
        }
    }

    /// Where the call is that a delta belongs to; a new one if need be.
    fn place_of(&mut self, index: &Json<'_>, id: Option<&str>, name: Option<&str>, position: u64) -> usize {
        let index = match index {
            Json::Number(number) => number.as_u64(),
            Json::String(text) => text.parse().ok(),
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
        };
        let key = index.unwrap_or(position);
        let newest = self.by_key.get(&key).copied();
        let named = id.and_then(|id| self.by_id.get(id)).copied();
        let found = match (index, id) {
            (None, Some(_)) => named,
            // With neither, a name after whole arguments is that of the next call.
            (None, None) => newest.filter(|place| name.is_none() || !self.calls[*place].extent.is_whole()),
            (Some(_), None) => newest,
            // The same index with another id is another call.
            (Some(_), Some(id)) => newest
                .filter(|place| self.calls[*place].id.as_ref().is_none_or(|known| known == id))
                .or(named.filter(|place| self.calls[*place].key == key)),
        };
        found.unwrap_or_else(|| {
            let place = self.calls.len();
            let index = self.take_index();
            self.calls.push(Call::new(key, index));
            self.by_key.insert(key, place);
            place
        })
    }

    fn opaque(&self, raw: String) -> Opaque {
        Opaque { provider: self.origin.provider.clone(), model: self.origin.model.clone(), raw: raw.into() }
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
            other => StopReason::Other(cut_name(other).to_owned()),
        }
    }
}

impl Call {
    fn new(key: u64, index: usize) -> Self {
        Self {
            key,
            id: None,
            name: None,
            index,
            has_begun: false,
            escapes: SoundEscapes::default(),
            extent: Extent::default(),
            waiting: String::new(),
            extra: None,
        }
    }

    /// Begins the block, with what came before.
    fn begin(&mut self, ids: &mut CallIds, events: &mut Vec<StreamEvent>) {
        self.has_begun = true;
        let id = ids.claim(self.id.as_deref());
        let name = self.name.clone().unwrap_or_default();
        let block = Block::ToolUse { id, name, input: Value::Object(Map::new()), invalid: None, opaque: None };
        events.push(StreamEvent::BlockStart { index: self.index, block });
        push_delta(self.index, std::mem::take(&mut self.waiting), events);
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
