//! What both request mappings do with blocks.

use codey_llm::{Block, Message, Opaque};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use crate::decode::Origin;
use crate::json::Json;

/// Stands where an API wants text and there is none.
pub(crate) const NOTHING: &str = "(nothing)";

/// The blocks of a message, tool results first: APIs want them directly after their calls.
pub(crate) fn results_first(message: &Message) -> impl Iterator<Item = &Block> {
    let is_result = |block: &&Block| matches!(block, Block::ToolResult { .. });
    let rest = message.content.iter().filter(move |block| !is_result(block));
    message.content.iter().filter(is_result).chain(rest)
}

/// Provider ballast, if it was issued by the model that is asked now.
pub(crate) fn echoed<'a>(opaque: &'a Opaque, origin: &Origin) -> Option<&'a RawValue> {
    let is_issuer = opaque.provider == origin.provider && opaque.model == origin.model;
    // Text that is no JSON cannot be sent; only a damaged session file holds such.
    is_issuer.then(|| serde_json::from_str(&opaque.raw).ok()).flatten()
}

/// Whether a block of the Messages API may stand in what the assistant said. One that may not would make every later
/// request of the session invalid.
pub(crate) fn is_of_assistant(block: &Json<'_>) -> bool {
    let kind = block["type"].as_str().unwrap_or_default();
    !matches!(kind, "" | "tool_result" | "image" | "document" | "search_result")
}

/// Bytes that are written as base64, without a copy in between.
pub(crate) struct Base64<'a> {
    /// Written before them, for data URLs.
    pub(crate) prefix: Option<&'a str>,
    pub(crate) data: &'a [u8],
}

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data = Base64Display::new(self.data, &STANDARD);
        match self.prefix {
            Some(media_type) => serializer.collect_str(&format_args!("data:{media_type};base64,{data}")),
            None => serializer.collect_str(&data),
        }
    }
}
