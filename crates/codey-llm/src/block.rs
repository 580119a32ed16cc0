//! Messages and the blocks they are made of.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who a message is from. System text is no message: it belongs to the request.
///
/// ```
/// use codey_llm::{Message, Role};
/// assert_eq!(Message::user(Vec::new()).role, Role::User);
/// assert_eq!(serde_json::to_string(&Role::Assistant).unwrap(), r#""assistant""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, and the results of tool calls.
    User,
    /// The model.
    Assistant,
}

/// Pairs a tool call with its result; unique within a session path.
///
/// ```
/// use codey_llm::{Block, CallId, tool_use};
/// let Block::ToolUse { id, .. } = tool_use("toolu_1", "read", serde_json::json!({})) else { panic!() };
/// assert_eq!(id, CallId::from("toolu_1"));
/// assert_eq!(id.to_string(), "toolu_1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

impl CallId {
    /// Wraps the id a provider gave to a call.
    ///
    /// ```
    /// use codey_llm::CallId;
    /// assert_eq!(CallId::new(String::from("call_7")), CallId::new("call_7"));
    /// ```
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id as the provider wrote it.
    ///
    /// ```
    /// use codey_llm::CallId;
    /// assert_eq!(CallId::new("call_7").as_str(), "call_7");
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

/// One turn of the conversation, by one side.
///
/// ```
/// use codey_llm::{Block, Message};
/// let message = Message::assistant(vec![Block::text("done")]);
/// let json = serde_json::to_string(&message).unwrap();
/// assert_eq!(json, r#"{"role":"assistant","content":[{"type":"text","text":"done"}]}"#);
/// assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said, in order.
    pub content: Vec<Block>,
}

impl Message {
    /// A message from the person, or one that carries tool results.
    ///
    /// ```
    /// use codey_llm::{Block, Message};
    /// let result =
    ///     Block::ToolResult { call: "toolu_1".into(), content: vec![Block::text("12 passed")], is_error: false };
    /// let message = Message::user(vec![result, Block::text("and now the docs")]);
    /// assert_eq!(message.text(), "and now the docs");
    /// ```
    pub fn user(content: Vec<Block>) -> Self {
        Self { role: Role::User, content }
    }

    /// A message from the model.
    ///
    /// ```
    /// use codey_llm::{Block, Message, Role};
    /// assert_eq!(Message::assistant(vec![Block::text("done")]).role, Role::Assistant);
    /// ```
    pub fn assistant(content: Vec<Block>) -> Self {
        Self { role: Role::Assistant, content }
    }

    /// The text blocks, joined without a separator.
    ///
    /// ```
    /// use codey_llm::{Block, Message, tool_use};
    /// let call = tool_use("c1", "read", serde_json::json!({"path": "a.txt"}));
    /// let message = Message::assistant(vec![Block::text("I look"), call, Block::text(" at a.txt.")]);
    /// assert_eq!(message.text(), "I look at a.txt.");
    /// ```
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Block::as_text).collect()
    }
}

/// What a provider sent that only it understands.
///
/// `raw` is JSON text kept byte for byte: signatures break when it is written anew. It is sent back only to the
/// provider and model that issued it.
///
/// ```
/// use codey_llm::{Block, Opaque};
/// let opaque = Opaque { provider: "anthropic".into(), model: "m".into(), raw: r#"{ "signature": "EqQB" }"#.into() };
/// let block = Block::Thinking { text: "Which file?".into(), opaque: Some(opaque) };
/// let json = serde_json::to_string(&block).unwrap();
/// assert!(json.contains(r#""raw":"{ \"signature\": \"EqQB\" }""#), "its own JSON is a string, so no byte changes");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Opaque {
    /// [`crate::Provider::id`] of the issuer.
    pub provider: String,
    /// The model that issued it.
    pub model: String,
    /// The JSON text.
    pub raw: Arc<str>,
}

/// A piece of a message.
///
/// All variants have named fields: serde cannot tag a newtype over a string.
///
/// ```
/// use codey_llm::Block;
/// let block: Block = serde_json::from_str(r#"{"type":"image","media_type":"image/png","data":"iVBORw=="}"#).unwrap();
/// let Block::Image { media_type, data } = block else { panic!() };
/// assert_eq!((media_type.as_str(), &data[..]), ("image/png", &b"\x89PNG"[..]));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Words for the other side.
    Text {
        /// The words.
        text: String,
    },
    /// The model's reasoning.
    Thinking {
        /// What may be shown; empty when the provider keeps it to itself.
        text: String,
        /// The provider's own form (signature and all), to be echoed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// The model asks for a tool to be run.
    ToolUse {
        /// Names the call.
        id: CallId,
        /// Which tool.
        name: String,
        /// The arguments; always a JSON object.
        #[schemars(with = "serde_json::Map<String, Value>")]
        input: Value,
        /// The raw argument text when it did not parse as an object; `input` is then empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invalid: Option<String>,
        /// Provider ballast of this call (a thought signature, say).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// Answers a tool call.
    ToolResult {
        /// The call that is answered.
        call: CallId,
        /// What the model reads: text and images.
        content: Vec<Block>,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// A picture.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// The file's bytes; base64 in JSON.
        #[serde(with = "base64_bytes")]
        #[schemars(with = "String", extend("contentEncoding" = "base64"))]
        data: Arc<[u8]>,
    },
    /// Something only its provider understands (a server tool, redacted thinking): echoed, never shown.
    Foreign {
        /// What was sent.
        opaque: Opaque,
    },
}

impl Block {
    /// A text block.
    ///
    /// ```
    /// use codey_llm::Block;
    /// assert_eq!(Block::text("hi"), Block::Text { text: "hi".into() });
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The words of a text block.
    ///
    /// ```
    /// use codey_llm::{Block, tool_use};
    /// assert_eq!(Block::text("hi").as_text(), Some("hi"));
    /// assert_eq!(tool_use("c1", "read", serde_json::json!({})).as_text(), None);
    /// ```
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Thinking { .. }
            | Self::ToolUse { .. }
            | Self::ToolResult { .. }
            | Self::Image { .. }
            | Self::Foreign { .. } => None,
        }
    }
}

mod base64_bytes {
    use std::sync::Arc;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(data: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(data))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Arc::from).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Session files hold these texts, so they may only grow.
    #[test]
    fn blocks_keep_their_written_form() {
        let blocks = vec![
            Block::text("hi"),
            Block::Thinking {
                text: "hm".into(),
                opaque: Some(Opaque { provider: "anthropic".into(), model: "m".into(), raw: r#"{"a": 1}"#.into() }),
            },
            Block::ToolUse {
                id: "c1".into(),
                name: "read".into(),
                input: serde_json::json!({"path": "a"}),
                invalid: None,
                opaque: None,
            },
            Block::ToolResult { call: "c1".into(), content: vec![Block::text("x")], is_error: false },
            Block::Image { media_type: "image/png".into(), data: Arc::from([1u8, 2, 3].as_slice()) },
        ];
        let written = serde_json::to_string(&blocks).unwrap();
        assert_eq!(
            written,
            concat!(
                r#"[{"type":"text","text":"hi"},"#,
                r#"{"type":"thinking","text":"hm","opaque":{"provider":"anthropic","model":"m","raw":"{\"a\": 1}"}},"#,
                r#"{"type":"tool_use","id":"c1","name":"read","input":{"path":"a"}},"#,
                r#"{"type":"tool_result","call":"c1","content":[{"type":"text","text":"x"}],"is_error":false},"#,
                r#"{"type":"image","media_type":"image/png","data":"AQID"}]"#
            )
        );
        assert_eq!(serde_json::from_str::<Vec<Block>>(&written).unwrap(), blocks);
    }
}
