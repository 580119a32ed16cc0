//! The body of a request, written from the one before it.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use codey_llm::Message;
use serde::Serialize;

/// Writes bodies, and takes over from the last one what the next has in common with it.
///
/// A conversation grows at its end, so a turn costs what it adds: messages that were written before (and pictures in
/// them, which would become base64 anew) are copied as bytes.
#[derive(Default)]
pub(crate) struct BodyWriter {
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    /// What a model issued is written for that model alone.
    model: String,
    body: Bytes,
    /// Where the messages begin in the body.
    begin: usize,
    messages: Vec<Written>,
}

struct Written {
    message: Arc<Message>,
    is_marked: bool,
    /// Where it ends, counted from where the messages begin.
    end: usize,
}

impl BodyWriter {
    /// A body that begins with `head` (see [`head`]) and goes on with the messages.
    ///
    /// `marked` are the indexes of messages that get a cache mark; `write` appends a message with [`element`].
    pub(crate) fn write(
        &self,
        model: &str,
        head: Vec<u8>,
        messages: &[Arc<Message>],
        marked: &[usize],
        write: impl Fn(&mut Vec<u8>, &Arc<Message>, bool),
    ) -> Bytes {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Last { model: last_model, body: last_body, begin: last_begin, messages: mut written } =
            std::mem::take(&mut *last);
        let is_same = |old: &Written, index: usize, message: &Arc<Message>| {
            old.is_marked == marked.contains(&index) && (Arc::ptr_eq(&old.message, message) || old.message == *message)
        };
        let both = written.iter().zip(messages).enumerate();
        let common = both.take_while(|(index, (old, message))| is_same(old, *index, message)).count();
        written.truncate(if last_model == model { common } else { 0 });

        let taken = written.last().map_or(0, |last| last.end);
        let mut body = head;
        if !messages.is_empty() {
            separate(&mut body);
        }
        let begin = body.len();
        body.reserve(last_body.len());
        body.extend_from_slice(&last_body[last_begin..last_begin + taken]);
        for (index, message) in messages.iter().enumerate().skip(written.len()) {
            let is_marked = marked.contains(&index);
            write(&mut body, message, is_marked);
            written.push(Written { message: message.clone(), is_marked, end: body.len() - begin });
        }
        body.extend_from_slice(b"]}");
        let body = Bytes::from(body);
        *last = Last { model: model.to_owned(), body: body.clone(), begin, messages: written };
        body
    }
}

/// All fields of a body but its messages, and the beginning of their list.
pub(crate) fn head(fields: &impl Serialize) -> Vec<u8> {
    let mut head = serde_json::to_vec(fields).expect("texts, numbers and checked JSON can be written");
    assert_eq!(head.pop(), Some(b'}'), "fields are an object");
    head.extend_from_slice(br#","messages":["#);
    head
}

/// Appends one element of the list of messages.
pub(crate) fn element(body: &mut Vec<u8>, message: &impl Serialize) {
    separate(body);
    serde_json::to_writer(body, message).expect("texts, numbers and checked JSON can be written");
}

/// Puts a comma behind an element.
fn separate(body: &mut Vec<u8>) {
    if !matches!(body.last(), Some(b'[' | b',')) {
        body.push(b',');
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use codey_llm::{Block, CachePoint, Opaque, Request, tool_use};
    use serde_json::json;

    use super::*;
    use crate::decode::Origin;
    use crate::endpoint::Quirks;
    use crate::models::model_info;
    use crate::{anthropic, openai};

    fn turn(number: usize) -> [Arc<Message>; 2] {
        let call = format!("call_{number}");
        let opaque = Opaque { provider: "p".into(), model: "a".into(), raw: r#"{"type":"thinking"}"#.into() };
        let thought = Block::Thinking { text: "hm".into(), opaque: Some(opaque) };
        let content = vec![Block::text(format!("result {number}"))];
        let result = Block::ToolResult { call: call.as_str().into(), content, is_error: false };
        [
            Arc::new(Message::assistant(vec![thought, tool_use(&call, "read", json!({"path": "a"}))])),
            Arc::new(Message::user(vec![result])),
        ]
    }

    fn request(model: &str, system: &[&str], turns: &[usize], marked: &[usize]) -> Request {
        let said = Arc::new(Message::user(vec![Block::text("go on")]));
        Request {
            model: model_info(model),
            system: system.iter().map(|&text| text.to_owned()).collect(),
            tools: Arc::from([]),
            messages: std::iter::once(said).chain(turns.iter().flat_map(|&number| turn(number))).collect(),
            max_tokens: 10,
            effort: None,
            temperature: None,
            cache_points: marked.iter().map(|&index| CachePoint::Message(index)).collect(),
        }
    }

    #[test]
    fn what_was_written_before_changes_no_body() {
        let requests = [
            request("a", &["s"], &[1, 2, 3], &[4, 6]),
            request("a", &["s"], &[1, 2, 3, 4], &[6, 8]),
            request("a", &["another"], &[1, 2, 3, 4], &[6, 8]),
            request("a", &[], &[1, 3], &[4]),
            request("a", &["s"], &[], &[]),
            request("b", &["s"], &[1, 2, 3], &[4, 6]),
        ];
        let origin = |request: &Request| Origin { provider: "p".into(), model: request.model.id.clone() };
        let anthropic = |writer: &BodyWriter, request: &Request| anthropic::body(writer, request, &origin(request));
        let openai = |writer: &BodyWriter, request: &Request| {
            openai::body(writer, request, &origin(request), &Quirks::default())
        };
        for (before, next) in requests.iter().flat_map(|before| requests.iter().map(move |next| (before, next))) {
            for body in [&anthropic as &dyn Fn(&BodyWriter, &Request) -> Bytes, &openai] {
                let writer = BodyWriter::default();
                body(&writer, before);
                assert_eq!(body(&writer, next), body(&BodyWriter::default(), next));
            }
        }
    }

    #[test]
    fn a_turn_writes_only_what_is_new_or_marked_otherwise() {
        let (writer, written) = (BodyWriter::default(), Cell::new(0));
        let write = |turns: &[usize], marked: &[usize]| {
            let request = request("a", &[], turns, marked);
            writer.write("a", Vec::new(), &request.messages, marked, |_, _, _| written.set(written.get() + 1));
            written.take()
        };
        assert_eq!(write(&[1, 2, 3], &[4, 6]), 7);
        assert_eq!(write(&[1, 2, 3, 4], &[6, 8]), 5, "from the message on that lost its mark");
        assert_eq!(write(&[1, 2, 3, 4, 5], &[6, 8]), 2);
        assert_eq!(write(&[1, 2, 3, 4, 5], &[6, 8]), 0, "asked again");
    }
}
