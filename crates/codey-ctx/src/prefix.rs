//! What every request of a session begins with.

use std::sync::Arc;

use codey_llm::{Block, Message, ToolSpec, bytes_in_tokens_of};

/// System prompt and tools. Built once a session and never changed: providers cache it by its bytes.
#[derive(Clone, Debug)]
pub struct Prefix {
    /// System prompt in parts; the first is the stablest.
    pub system: Arc<[String]>,
    /// Tools in their fixed order.
    pub tools: Arc<[ToolSpec]>,
    /// Names these bytes: 64 hex digits, the same in every process.
    pub hash: String,
    bytes: u64,
}

impl Prefix {
    /// A prefix of these parts.
    pub fn new(system: Vec<String>, tools: Vec<ToolSpec>) -> Self {
        let written = serde_json::to_string(&(&system, &tools)).expect("texts and JSON values can be written as JSON");
        let hash = blake3::hash(written.as_bytes()).to_hex().to_string();
        Self { system: system.into(), tools: tools.into(), hash, bytes: weight(&written) }
    }

    /// Its size as the token estimator weighs it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Bytes of a text as the token estimator weighs them.
pub(crate) fn weight(text: &str) -> u64 {
    bytes_in_tokens_of(&Message::user(vec![Block::text(text)]))
}

/// A tool as the estimator weighs it: as the JSON that is sent.
pub(crate) fn written(tool: &ToolSpec) -> String {
    serde_json::to_string(tool).expect("texts and JSON values can be written as JSON")
}
