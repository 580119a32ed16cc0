//! Builds the assistant message from stream events.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{Block, Message, Opaque, StopReason, StreamEvent};

/// Collects the blocks of one response, by index and never by "the current block".
///
/// ```
/// use codey_llm::{Assembler, Block, StopReason, StreamEvent};
/// let mut assembler = Assembler::default();
/// assembler.push(&StreamEvent::BlockStart { index: 0, block: Block::text("") });
/// for part in ["All tests ", "pass."] {
///     assembler.push(&StreamEvent::BlockDelta { index: 0, text: part.into() });
/// }
/// assert_eq!(assembler.finish(&StopReason::EndTurn).message.text(), "All tests pass.");
/// ```
#[derive(Debug, Default)]
pub struct Assembler {
    blocks: BTreeMap<usize, Open>,
    /// The block to which something came last, and the call.
    last: Option<usize>,
    last_call: Option<usize>,
}

#[derive(Debug)]
struct Open {
    block: Block,
    /// Argument text of a tool call; other blocks take their text at once.
    arguments: String,
}

/// A finished message and which of its calls was cut.
///
/// ```
/// use codey_llm::{Assembler, StopReason, StreamEvent, tool_use};
/// let mut assembler = Assembler::default();
/// let block = tool_use("c1", "bash", serde_json::json!({"command": "rm -rf build"}));
/// assembler.push(&StreamEvent::BlockStart { index: 0, block });
/// // Cut at the output limit: more may have been meant to follow, so the call must not run.
/// assert!(assembler.finish(&StopReason::MaxTokens).last_call_cut);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled {
    /// The message, blank text blocks left out. A call that was cut stands last.
    pub message: Message,
    /// Whether the last call was cut at the output limit: it must never run.
    pub last_call_cut: bool,
}

impl Assembler {
    /// Takes the next event.
    ///
    /// ```
    /// use codey_llm::{Assembler, Block, StopReason, StreamEvent, tool_use};
    /// let mut assembler = Assembler::default();
    /// assembler.push(&StreamEvent::BlockStart { index: 0, block: tool_use("c1", "read", serde_json::json!({})) });
    /// for part in [r#"{"path":"#, r#""a.txt"}"#] {
    ///     assembler.push(&StreamEvent::BlockDelta { index: 0, text: part.into() });
    /// }
    /// assembler.push(&StreamEvent::BlockStop { index: 0, opaque: None });
    /// let Block::ToolUse { input, .. } = &assembler.finish(&StopReason::ToolUse).message.content[0] else { panic!() };
    /// assert_eq!(input["path"], "a.txt");
    /// ```
    pub fn push(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::BlockStart { index, block } => {
                let open = Open { block: block.clone(), arguments: String::new() };
                self.blocks.insert(*index, open);
                self.touch(*index);
            }
            StreamEvent::BlockDelta { index, text } => {
                if let Some(open) = self.blocks.get_mut(index) {
                    open.append(text);
                    self.touch(*index);
                }
            }
            StreamEvent::BlockStop { index, opaque } => {
                if let Some(open) = self.blocks.get_mut(index) {
                    open.stop(opaque.clone());
                }
            }
            StreamEvent::Retrying { .. } | StreamEvent::Done { .. } => {}
        }
    }

    /// The message of a response that ended with its end mark.
    ///
    /// After [`StopReason::MaxTokens`] and [`StopReason::ContextWindow`] a message that ends with a call, by its place or
    /// by its time, has a call that counts as cut, even when its arguments happen to parse: half a file is valid text too.
    /// Calls may arrive mixed; cut is the one to which something came last.
    ///
    /// ```
    /// use codey_llm::{Assembler, Block, StopReason, StreamEvent, tool_use};
    /// let mut assembler = Assembler::default();
    /// assembler.push(&StreamEvent::BlockStart { index: 0, block: tool_use("c1", "read", serde_json::json!({})) });
    /// assembler.push(&StreamEvent::BlockDelta { index: 0, text: "{path: a.txt}".into() });
    /// // Arguments that are no JSON object are kept as they came, never mended.
    /// let message = assembler.finish(&StopReason::ToolUse).message;
    /// let Block::ToolUse { input, invalid, .. } = &message.content[0] else { panic!() };
    /// assert_eq!((input.to_string(), invalid.as_deref()), ("{}".to_owned(), Some("{path: a.txt}")));
    /// ```
    pub fn finish(self, stop: &StopReason) -> Assembled {
        let cut = matches!(stop, StopReason::MaxTokens | StopReason::ContextWindow);
        let closed = self.blocks.into_iter().map(|(index, open)| (index, open.close()));
        let mut blocks: Vec<(usize, Block)> = closed.filter(|(_, block)| !is_blank(block)).collect();
        let place = self.last_call.and_then(|call| blocks.iter().position(|(index, _)| *index == call));
        let ends_in_call = self.last == self.last_call || matches!(blocks.last(), Some((_, Block::ToolUse { .. })));
        let cut_place = place.filter(|_| cut && ends_in_call);
        if let Some(place) = cut_place {
            blocks[place..].rotate_left(1);
        }
        let mut content: Vec<Block> = blocks.into_iter().map(|(_, block)| block).collect();
        trim_last_text(&mut content);
        Assembled { message: Message::assistant(content), last_call_cut: cut_place.is_some() }
    }

    /// What is kept of a response that was interrupted: its text. Unfinished thinking and calls are dropped, and so
    /// are whole ones, since nothing would answer them.
    ///
    /// ```
    /// use codey_llm::{Assembler, Block, StreamEvent, tool_use};
    /// let mut assembler = Assembler::default();
    /// assembler.push(&StreamEvent::BlockStart { index: 0, block: Block::text("I will read it.") });
    /// assembler.push(&StreamEvent::BlockStart { index: 1, block: tool_use("c1", "read", serde_json::json!({})) });
    /// assert_eq!(assembler.interrupted().content, [Block::text("I will read it.")]);
    /// ```
    pub fn interrupted(self) -> Message {
        let texts = self.blocks.into_values().map(|open| open.block);
        let mut content: Vec<Block> =
            texts.filter(|block| matches!(block, Block::Text { .. }) && !is_blank(block)).collect();
        trim_last_text(&mut content);
        Message::assistant(content)
    }

    fn touch(&mut self, index: usize) {
        self.last = Some(index);
        if self.blocks.get(&index).is_some_and(|open| matches!(open.block, Block::ToolUse { .. })) {
            self.last_call = Some(index);
        }
    }
}

impl Open {
    fn append(&mut self, delta: &str) {
        match &mut self.block {
            Block::Text { text } | Block::Thinking { text, .. } => text.push_str(delta),
            Block::ToolUse { .. } => self.arguments.push_str(delta),
            Block::ToolResult { .. } | Block::Image { .. } | Block::Foreign { .. } => {}
        }
    }

    fn stop(&mut self, arrived: Option<Opaque>) {
        match &mut self.block {
            Block::Thinking { opaque, .. } | Block::ToolUse { opaque, .. } if arrived.is_some() => *opaque = arrived,
            Block::Foreign { opaque } => {
                if let Some(arrived) = arrived {
                    *opaque = arrived;
                }
            }
            Block::Thinking { .. }
            | Block::ToolUse { .. }
            | Block::Text { .. }
            | Block::ToolResult { .. }
            | Block::Image { .. } => {}
        }
    }

    fn close(self) -> Block {
        match self.block {
            Block::ToolUse { id, name, input, opaque, .. } => {
                let (input, invalid) = parse_arguments(input, self.arguments);
                Block::ToolUse { id, name, input, invalid, opaque }
            }
            other => other,
        }
    }
}

/// Arguments as an object, or the raw text when they are none.
///
/// Nothing is repaired: a mended argument is one the model did not write. Empty text means no arguments.
fn parse_arguments(started: Value, text: String) -> (Value, Option<String>) {
    if text.trim().is_empty() {
        return match started {
            Value::Object(_) => (started, None),
            other => (Value::Object(Map::new()), Some(other.to_string())),
        };
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(value @ Value::Object(_)) => (value, None),
        Ok(_) | Err(_) => (Value::Object(Map::new()), Some(text)),
    }
}

fn is_blank(block: &Block) -> bool {
    match block {
        Block::Text { text } => text.trim().is_empty(),
        Block::Thinking { text, opaque } => text.trim().is_empty() && opaque.is_none(),
        Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Image { .. } | Block::Foreign { .. } => false,
    }
}

/// Strict servers refuse trailing blanks in a last assistant text.
fn trim_last_text(content: &mut [Block]) {
    if let Some(Block::Text { text }) = content.last_mut() {
        text.truncate(text.trim_end().len());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(arguments: &str) -> Block {
        let mut assembler = Assembler::default();
        let block =
            Block::ToolUse { id: "c".into(), name: "read".into(), input: json!({}), invalid: None, opaque: None };
        assembler.push(&StreamEvent::BlockStart { index: 0, block });
        for piece in arguments.chars() {
            assembler.push(&StreamEvent::BlockDelta { index: 0, text: piece.to_string() });
        }
        assembler.push(&StreamEvent::BlockStop { index: 0, opaque: None });
        assembler.finish(&StopReason::ToolUse).message.content.remove(0)
    }

    fn check_arguments(text: &str, expected: Value, is_invalid: bool) {
        let Block::ToolUse { input, invalid, .. } = call(text) else { panic!("no call") };
        assert_eq!((input, invalid.is_some()), (expected, is_invalid), "{text:?}");
        if is_invalid {
            assert_eq!(invalid.as_deref(), Some(text));
        }
    }

    #[test]
    fn arguments_are_an_object_or_kept_raw() {
        check_arguments(r#"{"path":"a"}"#, json!({"path": "a"}), false);
        check_arguments("", json!({}), false);
        for broken in [r#"{"path": "a"#, "null", "[]", r#""{\"path\":\"a\"}""#, "{\"a\":\"\u{1}\"}"] {
            check_arguments(broken, json!({}), true);
        }
    }

    #[test]
    fn blocks_may_overlap_and_blank_text_is_dropped() {
        let mut assembler = Assembler::default();
        for index in [0, 1] {
            assembler.push(&StreamEvent::BlockStart { index, block: Block::text("") });
        }
        assembler.push(&StreamEvent::BlockDelta { index: 1, text: "two \n".into() });
        assembler.push(&StreamEvent::BlockDelta { index: 0, text: "\n\n".into() });
        let done = assembler.finish(&StopReason::EndTurn);
        assert_eq!(done.message.content, vec![Block::text("two")]);
    }

    #[test]
    fn an_interrupted_message_keeps_only_its_text() {
        let mut assembler = Assembler::default();
        assembler.push(&StreamEvent::BlockStart { index: 0, block: Block::text("Let me ") });
        assembler.push(&StreamEvent::BlockStart {
            index: 1,
            block: Block::ToolUse {
                id: "c".into(),
                name: "bash".into(),
                input: json!({}),
                invalid: None,
                opaque: None,
            },
        });
        assert_eq!(assembler.interrupted().content, vec![Block::text("Let me")]);
    }

    #[test]
    fn the_last_call_of_a_cut_message_is_cut_even_if_it_parses() {
        let mut assembler = Assembler::default();
        let block = Block::ToolUse {
            id: "c".into(),
            name: "write".into(),
            input: json!({"path": "a", "content": "half"}),
            invalid: None,
            opaque: None,
        };
        assembler.push(&StreamEvent::BlockStart { index: 0, block });
        assert!(assembler.finish(&StopReason::MaxTokens).last_call_cut);
    }

    #[test]
    fn of_calls_that_arrive_mixed_the_one_that_came_last_is_cut() {
        let call = |id: &str, input: Value| crate::tool_use(id, "write", input);
        let mut assembler = Assembler::default();
        let starts = [call("a", json!({})), call("b", json!({})), Block::text("Both.")];
        for (index, block) in starts.into_iter().enumerate() {
            assembler.push(&StreamEvent::BlockStart { index, block });
        }
        for (index, text) in [(0, r#"{"n":"#), (1, r#"{"n":1}"#), (0, "0}")] {
            assembler.push(&StreamEvent::BlockDelta { index, text: text.into() });
        }
        let Assembled { message, last_call_cut } = assembler.finish(&StopReason::MaxTokens);
        let expected = vec![call("b", json!({"n": 1})), Block::text("Both."), call("a", json!({"n": 0}))];
        assert_eq!((message.content, last_call_cut), (expected, true));
    }
}
