//! What the model server says in each kind of run.

use serde_json::{Value, json};

/// One response a turn.
pub fn hello() -> Vec<Vec<u8>> {
    vec![response(&[json!({"content": "hello"})], "stop")]
}

/// `turns` commands that do nothing, then an end. The first response carries `padding` bytes of text.
pub fn turns(turns: usize, padding: usize) -> Vec<Vec<u8>> {
    // Each command differs from the one before: the repetition guard would stop the run.
    let mut responses: Vec<_> = (0..turns).map(|turn| call(turn, &format!("true {turn}"), "")).collect();
    if padding > 0 {
        responses[0] = call(0, "true 0", &"x".repeat(padding));
    }
    responses.extend(hello());
    responses
}

/// One answer in `count` deltas.
pub fn deltas(count: usize) -> Vec<Vec<u8>> {
    let deltas: Vec<_> = (0..count).map(|index| json!({"content": format!("word{} ", index % 10)})).collect();
    vec![response(&deltas, "stop")]
}

/// One command that prints `bytes`, then an end.
pub fn output(bytes: usize) -> Vec<Vec<u8>> {
    let mut responses = vec![call(0, &format!("yes 'a line as a test run prints it' | head -c {bytes}"), "")];
    responses.extend(hello());
    responses
}

fn call(turn: usize, command: &str, text: &str) -> Vec<u8> {
    let arguments = json!({ "command": command }).to_string();
    let call = json!({
        "index": 0, "id": format!("call_{turn}"), "type": "function",
        "function": {"name": "bash", "arguments": arguments},
    });
    let said = (!text.is_empty()).then(|| json!({ "content": text }));
    let deltas: Vec<_> = said.into_iter().chain([json!({ "tool_calls": [call] })]).collect();
    response(&deltas, "tool_calls")
}

/// A whole response with its head, in one chunk.
fn response(deltas: &[Value], finish: &str) -> Vec<u8> {
    let chunk = |delta: &Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let event = json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]});
        format!("data: {event}\n\n")
    };
    let mut body: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    body.push_str(&chunk(&json!({}), finish.into()));
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010});
    let last = json!({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": usage});
    body.push_str(&format!("data: {last}\n\ndata: [DONE]\n\n"));
    let length = body.len();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    format!("{head}{length:x}\r\n{body}\r\n0\r\n\r\n").into_bytes()
}
