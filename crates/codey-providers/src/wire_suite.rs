//! Every recorded answer through the decoders: what comes out, and that it does not depend on where the bytes are cut.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use codey_llm::{Assembler, Block, Message, ProviderErrorKind, Request, StopReason, StreamEvent, Usage};
use futures::stream::{self, StreamExt as _};
use jiff::Timestamp;
use serde_json::Value;

use crate::decode::{Decoder, Fault, Origin, Progress};
use crate::failure::{Failure, Head, Retry, retry_after};
use crate::place::Place;
use crate::random::Random;
use crate::response::Reader;
use crate::sse::{Body, Events};
use crate::{anthropic, model_info, openai};

/// A recorded answer.
struct Case {
    name: String,
    api: String,
    head: Head,
    body: Vec<u8>,
}

/// What a case comes to.
#[derive(Debug, PartialEq)]
struct Outcome {
    message: Message,
    end: Result<(StopReason, Usage), Failure>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/wire")
}

fn servers() -> Vec<String> {
    let folders = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let folders = folders.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn cases(server: &str) -> Vec<Case> {
    let folder = folder().join(server);
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    let case = |(name, entry): (&String, &Value)| Case {
        name: name.clone(),
        api: entry["api"].as_str().unwrap().to_owned(),
        head: head(&fs::read_to_string(folder.join(format!("{name}.http"))).unwrap()),
        body: fs::read(folder.join(entry["file"].as_str().unwrap())).unwrap(),
    };
    manifest["cases"].as_object().unwrap().iter().map(case).filter(|case| case.api != "models").collect()
}

fn head(text: &str) -> Head {
    let mut lines = text.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let header = |name: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(": "));
        pairs.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    };
    Head {
        status,
        content_type: header("content-type").unwrap_or_default().to_ascii_lowercase(),
        location: None,
        retry_after: retry_after(header("retry-after-ms"), header("retry-after"), Timestamp::UNIX_EPOCH),
        retry_refused: header("x-should-retry") == Some("false"),
    }
}

fn request() -> Arc<Request> {
    Arc::new(Request {
        model: model_info("m"),
        system: Arc::from([]),
        tools: Arc::from([]),
        messages: Vec::new(),
        max_tokens: 1,
        effort: None,
        temperature: None,
        cache_points: Vec::new(),
    })
}

fn decoder(api: &str) -> Decoder {
    let origin = Origin { provider: "test".to_owned(), model: "m".to_owned() };
    let random = Random::seeded(1);
    match api {
        "anthropic" => Decoder::Anthropic(anthropic::Decoder::new(origin, &request(), random)),
        _ => Decoder::OpenAi(openai::Decoder::new(origin, &request(), random)),
    }
}

fn collect(events: impl IntoIterator<Item = Result<StreamEvent, Failure>>) -> Outcome {
    let mut assembler = Assembler::default();
    let mut end = None;
    for event in events {
        assert!(end.is_none(), "something after the end: {event:?}");
        match event {
            Ok(StreamEvent::Done { stop, usage }) => end = Some(Ok((stop, usage))),
            Ok(event) => assembler.push(&event),
            Err(failure) => end = Some(Err(failure)),
        }
    }
    let end = end.expect("a stream ends with Done or an error");
    let message = match &end {
        Ok((stop, _)) => assembler.finish(stop).message,
        Err(_) => assembler.interrupted(),
    };
    Outcome { message, end }
}

/// Decodes a case whose body arrives in `chunks`.
async fn decode(case: &Case, chunks: Vec<Bytes>) -> Outcome {
    decode_body(&case.head, &case.api, stream::iter(chunks).map(Ok).boxed()).await
}

async fn decode_body(head: &Head, api: &str, body: Body) -> Outcome {
    let place = Place::new("test", "http://host/path".to_owned(), Vec::new());
    let reader = Reader::new(place, head.clone(), body, decoder(api), Duration::from_secs(90));
    collect(reader.into_stream().collect::<Vec<_>>().await)
}

async fn decode_whole(case: &Case) -> Outcome {
    decode(case, vec![Bytes::from(case.body.clone())]).await
}

fn shown(outcome: &Outcome) -> String {
    let mut text = String::new();
    for block in &outcome.message.content {
        let line = match block {
            Block::Text { text } => format!("text {}", short(text)),
            Block::Thinking { text, opaque } => {
                let opaque = opaque.as_ref().map(|opaque| format!(" opaque {}", opaque.raw)).unwrap_or_default();
                format!("thinking {}{opaque}", short(text))
            }
            Block::ToolUse { id, name, input, invalid, opaque } => {
                let invalid = invalid.as_ref().map(|text| format!(" invalid {text:?}")).unwrap_or_default();
                let opaque = opaque.as_ref().map(|opaque| format!(" opaque {}", opaque.raw)).unwrap_or_default();
                format!("tool_use {id} {name} {}{invalid}{opaque}", short(&input.to_string()))
            }
            Block::Foreign { opaque } => format!("foreign {}", opaque.raw),
            Block::ToolResult { .. } | Block::Image { .. } => panic!("no block of a response: {block:?}"),
        };
        writeln!(text, "  {line}").unwrap();
    }
    match &outcome.end {
        Ok((stop, usage)) => {
            let Usage { input, output, cache_read, cache_write, reasoning } = usage;
            writeln!(text, "  done {stop:?} {input}+{cache_read}+{cache_write} in, {output} out, {reasoning} reasoning")
        }
        Err(Failure { error, retry }) => {
            let wait = error.retry_after.map(|wait| format!(" after {wait:?}")).unwrap_or_default();
            writeln!(text, "  error {:?}, retry {retry:?}{wait}\n  {}\n  {}", error.kind, error.message, error.hint)
        }
    }
    .unwrap();
    text
}

fn short(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{:?}… {} bytes", &text[..end], text.len()),
        None => format!("{text:?}"),
    }
}

#[tokio::test]
async fn every_recorded_answer_comes_to_what_the_snapshot_says() {
    for server in servers() {
        let mut text = String::new();
        for case in cases(&server) {
            writeln!(text, "{} ({} {})\n{}", case.name, case.api, case.head.status, shown(&decode_whole(&case).await))
                .unwrap();
        }
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(server, text);
        });
    }
}

#[tokio::test]
async fn prov_01_the_outcome_does_not_depend_on_where_the_bytes_are_cut() {
    for case in servers().iter().flat_map(|server| cases(server)) {
        let whole = decode_whole(&case).await;
        let bytewise = case.body.iter().map(|byte| Bytes::from(vec![*byte])).collect();
        assert_eq!(decode(&case, bytewise).await, whole, "{} byte by byte", case.name);
    }
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    // A mark of the other API, with blanks: data that is nothing to the decoder, and quickly read.
    let event = Bytes::from(format!("data: [DONE]{}\n\n", " ".repeat(15 << 20)));
    let body = stream::iter(std::iter::repeat_n(event, 5)).map(Ok).boxed();
    let outcome = decode_body(&Head { status: 200, ..Head::default() }, "anthropic", body).await;
    let Err(Failure { error, retry }) = outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!((error.kind, retry), (ProviderErrorKind::ServerError, Retry::Never));
    assert!(error.message.ends_with("sent more than 64 MiB in one answer, which was given up"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_follows_a_finish_reason_may_take_five_seconds_in_all() {
    let chunk = |text: &str| Bytes::from(format!("data: {text}\n\n"));
    let finish = chunk(r#"{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}"#);
    let usage = move |count: u64| chunk(&format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{count}}}}}"#));
    let tail = stream::unfold(1, move |count| async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        Some((Ok(usage(count)), count + 1))
    });
    let body = stream::iter([Ok(finish)]).chain(tail).boxed();
    let start = tokio::time::Instant::now();
    let outcome = decode_body(&Head { status: 200, ..Head::default() }, "openai", body).await;
    assert_eq!(outcome.end, Ok((StopReason::EndTurn, Usage { input: 2, ..Usage::default() })));
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn an_anthropic_stream_that_ends_early_is_an_error_or_complete() {
    check_early_ends("anthropic").await;
}

#[tokio::test]
async fn an_openai_stream_that_ends_early_is_an_error_or_complete() {
    check_early_ends("openai").await;
}

/// Cuts streams at every byte. To keep this fast, whole events are decoded once, only the event that is cut is read anew for
/// each of its bytes, and of a stream's events with the same members only the first two are cut.
async fn check_early_ends(api: &str) {
    for case in servers().iter().flat_map(|server| cases(server)) {
        if case.api != api || case.head.status != 200 || !case.head.content_type.contains("event-stream") {
            continue;
        }
        let whole = decode_whole(&case).await;
        let mut decoder = decoder(&case.api);
        let mut events: Vec<StreamEvent> = Vec::new();
        let mut shapes: HashMap<String, usize> = HashMap::new();
        for frame in frames(&case.body) {
            let seen = shapes.entry(shape(frame)).or_default();
            *seen += 1;
            let cuts = if *seen > 2 { 0..=0 } else { 0..=frame.len() };
            for cut in cuts {
                let outcome = ended_at(&decoder, &events, &frame[..cut]).await;
                match &outcome {
                    Ok((message, stop)) => {
                        let complete = whole.end.as_ref().map(|(stop, _)| stop);
                        assert_eq!((message, Ok(stop)), (&whole.message, complete), "{}", case.name);
                    }
                    Err(_) => assert_ne!(decoder.progress(), Progress::Final, "{}", case.name),
                }
            }
            match push_all(&mut decoder, frame).await {
                Ok(decoded) => events.extend(decoded),
                Err(_) => break,
            }
        }
    }
}

/// The members of an event, without their values.
fn shape(frame: &[u8]) -> String {
    fn bare(value: Value) -> Value {
        match value {
            Value::Object(members) => members.into_iter().map(|(name, value)| (name, bare(value))).collect(),
            Value::Array(items) => items.into_iter().map(bare).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
        }
    }
    let text = String::from_utf8_lossy(frame);
    let data = text.split_once("data:").and_then(|(_, data)| serde_json::from_str(data.trim()).ok());
    data.map_or_else(|| text.to_string(), |data| bare(data).to_string())
}

/// The body in pieces that end where an event ends.
fn frames(body: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    let mut start = 0;
    for end in 1..=body.len() {
        if body[..end].ends_with(b"\n\n") || body[..end].ends_with(b"\n\r\n") {
            frames.push(&body[start..end]);
            start = end;
        }
    }
    frames.push(&body[start..]);
    frames
}

async fn push_all(decoder: &mut Decoder, bytes: &[u8]) -> Result<Vec<StreamEvent>, Fault> {
    let mut decoded = Vec::new();
    let mut events = Events::new(stream::iter([Ok(Bytes::copy_from_slice(bytes))]).boxed());
    while let Some(event) = events.next().await {
        // Half a character is a cut event.
        let Ok(event) = event else { return Err(Fault::Cut) };
        decoded.extend(decoder.push(event.event.as_deref(), &event.data.unwrap_or_default())?);
    }
    Ok(decoded)
}

/// What a stream comes to that ends after `tail`.
async fn ended_at(decoder: &Decoder, before: &[StreamEvent], tail: &[u8]) -> Result<(Message, StopReason), Fault> {
    let mut decoder = decoder.clone();
    let mut decoded = match push_all(&mut decoder, tail).await {
        Ok(decoded) => decoded,
        Err(fault) if decoder.progress() == Progress::Open => return Err(fault),
        Err(_) => Vec::new(),
    };
    decoded.extend(decoder.finish()?);
    let Some(StreamEvent::Done { stop, .. }) = decoded.last() else { panic!("finish ends with Done: {decoded:?}") };
    let mut assembler = Assembler::default();
    before.iter().chain(&decoded).for_each(|event| assembler.push(event));
    Ok((assembler.finish(stop).message, stop.clone()))
}
