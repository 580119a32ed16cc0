//! Whole responses as the event streams of both APIs.

use codey_llm::{Block, Message, StopReason, Usage};
use serde_json::{Value, json};

/// Characters a delta holds; small enough that texts and arguments come in several.
const DELTA: usize = 7;

/// The response `message` as Anthropic's Messages API streams it.
pub fn anthropic_sse(message: &Message, stop: &StopReason, usage: Usage) -> String {
    let started = json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": 1,
    });
    let mut events = vec![json!({
        "type": "message_start",
        "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": started},
    })];
    for (index, block) in message.content.iter().enumerate() {
        let (start, deltas) = anthropic_block(block);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let ended = json!({"output_tokens": usage.output, "output_tokens_details": {"thinking_tokens": usage.reasoning}});
    let delta = anthropic_stop(stop);
    events.push(json!({"type": "message_delta", "delta": delta, "usage": ended}));
    events.push(json!({"type": "message_stop"}));
    let frame = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    events.iter().map(frame).collect()
}

/// The response `message` as OpenAI's Chat Completions stream it.
pub fn openai_sse(message: &Message, stop: &StopReason, usage: Usage) -> String {
    let mut deltas = vec![json!({"role": "assistant", "content": null})];
    let mut calls = 0;
    for block in &message.content {
        match block {
            Block::Text { text } => deltas.extend(pieces(text).map(|piece| json!({ "content": piece }))),
            Block::Thinking { text, .. } => {
                deltas.extend(pieces(text).map(|piece| json!({ "reasoning_content": piece })));
            }
            Block::ToolUse { id, name, input, invalid, .. } => {
                let function = json!({"name": name, "arguments": ""});
                let start = json!({"index": calls, "id": id.as_str(), "type": "function", "function": function});
                deltas.push(json!({ "tool_calls": [start] }));
                for piece in pieces(&arguments(input, invalid.as_deref())) {
                    deltas.push(json!({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]}));
                }
                calls += 1;
            }
            Block::ToolResult { .. } | Block::Image { .. } | Block::Foreign { .. } => {
                panic!("no block of a response: {block:?}")
            }
        }
    }
    let chunk = |delta: Value, finish: Value| json!({"id": "c1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut chunks: Vec<Value> = deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
    chunks.push(chunk(json!({}), Value::from(openai_stop(stop, calls > 0))));
    chunks.push(json!({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": {
        "prompt_tokens": usage.context(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens": usage.output,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total(),
    }}));
    let frames = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    frames.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

fn anthropic_block(block: &Block) -> (Value, Vec<Value>) {
    match block {
        Block::Text { text } => {
            let deltas = pieces(text).map(|piece| json!({"type": "text_delta", "text": piece}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Block::Thinking { text, opaque } => {
            let mut deltas: Vec<Value> =
                pieces(text).map(|piece| json!({"type": "thinking_delta", "thinking": piece})).collect();
            if let Some(opaque) = opaque {
                let raw: Value = serde_json::from_str(&opaque.raw).expect("ballast is JSON");
                deltas.push(json!({"type": "signature_delta", "signature": raw["signature"]}));
            }
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Block::ToolUse { id, name, input, invalid, .. } => {
            let text = arguments(input, invalid.as_deref());
            let deltas = pieces(&text).map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            (json!({"type": "tool_use", "id": id.as_str(), "name": name, "input": {}}), deltas.collect())
        }
        Block::Foreign { opaque } => (serde_json::from_str(&opaque.raw).expect("ballast is JSON"), Vec::new()),
        Block::ToolResult { .. } | Block::Image { .. } => panic!("no block of a response: {block:?}"),
    }
}

fn arguments(input: &Value, invalid: Option<&str>) -> String {
    invalid.map_or_else(|| input.to_string(), str::to_owned)
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(DELTA).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

fn anthropic_stop(stop: &StopReason) -> Value {
    let reason = match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Refusal { category } => {
            return json!({"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": category}});
        }
        StopReason::ContentFilter => "refusal",
        StopReason::Pause => "pause_turn",
        StopReason::ContextWindow => "model_context_window_exceeded",
        StopReason::Other(other) => other,
    };
    json!({"stop_reason": reason, "stop_sequence": null})
}

fn openai_stop(stop: &StopReason, has_calls: bool) -> &str {
    match stop {
        StopReason::EndTurn if has_calls => "tool_calls",
        StopReason::EndTurn | StopReason::Pause => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::ContextWindow => "length",
        StopReason::Refusal { .. } | StopReason::ContentFilter => "content_filter",
        StopReason::Other(other) => other,
    }
}
