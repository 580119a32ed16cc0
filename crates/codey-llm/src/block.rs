//! Messages and the blocks they are made of.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who a message is from. System text is no message: it belongs to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, and the results of tool calls.
    User,
    /// The model.
    Assistant,
}

/// Pairs a tool call with its result; unique within a session path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

impl CallId {
    /// Wraps the id a provider gave to a call.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id as the provider wrote it.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said, in order.
    pub content: Vec<Block>,
}

impl Message {
    /// A message from the person, or one that carries tool results.
    pub fn user(content: Vec<Block>) -> Self {
        Self { role: Role::User, content }
    }

    /// A message from the model.
    pub fn assistant(content: Vec<Block>) -> Self {
        Self { role: Role::Assistant, content }
    }

    /// The text blocks, joined without a separator.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Block::as_text).collect()
    }
}

/// What a provider sent that only it understands.
///
/// `raw` is JSON text kept byte for byte: signatures break when it is written anew. It is sent back only to the
/// provider and model that issued it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The words of a text block.
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
