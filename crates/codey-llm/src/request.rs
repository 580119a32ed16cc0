//! What one request to a model holds, and what it cost.

use std::ops::AddAssign;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Message;

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// At most 64 of `[A-Za-z0-9_-]`.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// JSON Schema of the arguments, an object at the top, without `$ref`.
    pub schema: Value,
}

/// How hard the model should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Quick answers.
    Low,
    /// The usual.
    Medium,
    /// Hard problems.
    High,
}

impl Effort {
    /// The word every API uses for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// US dollars a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Uncached input.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to the cache.
    pub cache_write: f64,
}

impl Price {
    /// What `usage` costs, in US dollars.
    pub fn cost_usd(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_read, self.cache_read)
            + part(usage.cache_write, self.cache_write)
    }
}

/// What a model can take beyond text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Pictures in messages.
    pub images: bool,
    /// An effort setting.
    pub effort: bool,
}

/// What is known of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The name requests use.
    pub id: String,
    /// Context window in tokens, input and output together.
    pub window: Option<u32>,
    /// Most tokens a response may have.
    pub max_output: u32,
    /// `None` when unknown; cost is then unknown too, never zero.
    pub price: Option<Price>,
    /// What it takes beyond text.
    pub capabilities: Capabilities,
}

/// Where the provider is asked to keep a cache of the prompt up to and including that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePoint {
    /// After tools and system prompt.
    Prefix,
    /// After the message with this index.
    Message(usize),
}

/// One request to a model. Cheap to build: nothing in it is copied deeply each turn.
///
/// Cache marks belong to a request, never to a stored block.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which model.
    pub model: ModelInfo,
    /// System prompt in parts; the first is the stablest.
    pub system: Arc<[String]>,
    /// Tools in a fixed order.
    pub tools: Arc<[ToolSpec]>,
    /// Roles alternate, the first is `User`, and every call is answered in the message after it.
    pub messages: Vec<Arc<Message>>,
    /// Most tokens of the response.
    pub max_tokens: u32,
    /// `None`: the provider's default.
    pub effort: Option<Effort>,
    /// `None`: the provider's default.
    pub temperature: Option<f32>,
    /// Places to cache; a provider that caches by itself ignores them.
    pub cache_points: Vec<CachePoint>,
}

/// Tokens a response took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that was not in the cache.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// The whole prompt, cached or not.
    pub fn context(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Prompt and output together.
    pub fn total(&self) -> u64 {
        self.context().saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    /// Saturates: a server may report any number, and must not be able to stop a session with one.
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.reasoning, other.reasoning);
    }
}
