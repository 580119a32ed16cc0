//! The floor: a loop without an agent. It does what nobody can leave out (ask, read, run, ask again) and nothing else: no
//! session, no checks, no limits, no cancelling.

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Asks the server in `CODEY_BASE_URL` until it calls no more tools.
pub fn run() -> Result<()> {
    let url = std::env::var("CODEY_BASE_URL")?;
    let host = url.trim_start_matches("http://").split('/').next().context("no host")?.to_owned();
    let mut connection = TcpStream::connect(&host)?;
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut messages = vec![json!({"role": "user", "content": "hello"})];
    loop {
        let body = json!({"model": "m", "stream": true, "messages": messages}).to_string();
        let length = body.len();
        write!(
            connection,
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n{body}"
        )?;
        let (text, call, arguments) = answer(&mut reader)?;
        if call.is_empty() {
            return Ok(());
        }
        let input: Value = serde_json::from_str(&arguments)?;
        let command = input["command"].as_str().context("no command")?;
        let output = Command::new("bash").args(["-c", command]).stdin(Stdio::null()).output()?;
        let shown = String::from_utf8_lossy(&output.stdout[output.stdout.len().saturating_sub(30_000)..]).into_owned();
        let function = json!({"name": "bash", "arguments": arguments});
        let calls = json!([{"id": call, "type": "function", "function": function}]);
        messages.push(json!({"role": "assistant", "content": text, "tool_calls": calls}));
        messages.push(json!({"role": "tool", "tool_call_id": call, "content": shown}));
    }
}

/// Text, call id and arguments of one chunked response.
fn answer(reader: &mut impl BufRead) -> Result<(String, String, String)> {
    let (mut text, mut call, mut arguments, mut line) = (String::new(), String::new(), String::new(), String::new());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some(data) = line.trim_end().strip_prefix("data: ") else { continue };
        if data == "[DONE]" {
            // What is left is the blank line, the chunk's end and the last chunk.
            reader.read_exact(&mut [0; 8])?;
            return Ok((text, call, arguments));
        }
        let chunk: Value = serde_json::from_str(data)?;
        let delta = &chunk["choices"][0]["delta"];
        text.push_str(delta["content"].as_str().unwrap_or_default());
        let tool = &delta["tool_calls"][0];
        call.push_str(tool["id"].as_str().unwrap_or_default());
        arguments.push_str(tool["function"]["arguments"].as_str().unwrap_or_default());
    }
}
