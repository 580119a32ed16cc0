//! What one request to a model holds, and what it cost.

use std::ops::AddAssign;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Message;

/// A tool as the model is told of it.
///
/// ```
/// use codey_llm::ToolSpec;
/// let spec = ToolSpec {
///     name: "ticket".into(),
///     description: "Shows a ticket of the issue tracker.".into(),
///     schema: serde_json::json!({"type": "object", "properties": {"number": {"type": "integer"}}}),
/// };
/// assert_eq!(spec.schema["type"], "object");
/// ```
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
///
/// ```
/// use codey_llm::Effort;
/// assert_eq!(serde_json::from_str::<Effort>(r#""high""#).unwrap(), Effort::High);
/// ```
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
    ///
    /// ```
    /// use codey_llm::Effort;
    /// assert_eq!(Effort::Medium.as_str(), "medium");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// US dollars a million tokens.
///
/// ```
/// use codey_llm::{Price, Usage};
/// let price = Price { input: 1.0, output: 5.0, cache_read: 0.1, cache_write: 1.25 };
/// let usage = Usage { input: 500_000, output: 100_000, ..Usage::default() };
/// assert_eq!(price.cost_usd(&usage), 1.0);
/// ```
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
    ///
    /// ```
    /// use codey_llm::{Price, Usage};
    /// let price = Price { input: 1.0, output: 5.0, cache_read: 0.1, cache_write: 1.25 };
    /// let cached = Usage { cache_read: 1_000_000, ..Usage::default() };
    /// let fresh = Usage { input: 1_000_000, ..Usage::default() };
    /// assert!(price.cost_usd(&cached) < price.cost_usd(&fresh));
    /// ```
    pub fn cost_usd(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_read, self.cache_read)
            + part(usage.cache_write, self.cache_write)
    }
}

/// What a model can take beyond text.
///
/// ```
/// use codey_llm::Capabilities;
/// let nothing_but_text = Capabilities::default();
/// assert!(!nothing_but_text.images && !nothing_but_text.effort);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Pictures in messages.
    pub images: bool,
    /// An effort setting.
    pub effort: bool,
}

/// What is known of a model.
///
/// ```
/// use codey_llm::{Capabilities, ModelInfo};
/// let model = ModelInfo {
///     id: "qwen3".into(),
///     window: Some(32_768),
///     max_output: 4_096,
///     price: None, // unknown, which is not free of charge
///     capabilities: Capabilities { images: false, effort: true },
/// };
/// assert!(model.window.is_some_and(|window| window > model.max_output));
/// ```
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
///
/// ```
/// use codey_llm::CachePoint;
/// let newest = 4;
/// let points = [CachePoint::Prefix, CachePoint::Message(newest - 2), CachePoint::Message(newest)];
/// assert_eq!(points.iter().filter(|point| **point == CachePoint::Prefix).count(), 1);
/// ```
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
///
/// ```
/// use codey_llm::{Block, CachePoint, Capabilities, Message, ModelInfo, Request};
/// let capabilities = Capabilities::default();
/// let model = ModelInfo { id: "m".into(), window: None, max_output: 4_096, price: None, capabilities };
/// let request = Request {
///     max_tokens: model.max_output,
///     model,
///     system: ["You are a coding agent.".to_owned()].into(),
///     tools: [].into(),
///     messages: vec![Message::user(vec![Block::text("hi")]).into()],
///     effort: None,
///     temperature: None,
///     cache_points: vec![CachePoint::Prefix],
/// };
/// let copy = request.clone(); // shares system, tools and messages
/// assert!(std::sync::Arc::ptr_eq(&request.messages[0], &copy.messages[0]));
/// ```
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
///
/// ```
/// use codey_llm::Usage;
/// let mut session = Usage::default();
/// session += Usage { input: 200, output: 50, cache_read: 3_000, ..Usage::default() };
/// session += Usage { input: 100, output: 10, cache_read: 3_200, ..Usage::default() };
/// assert_eq!((session.input, session.total()), (300, 6_560));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    ///
    /// ```
    /// use codey_llm::Usage;
    /// let usage = Usage { input: 100, output: 7, cache_read: 3_000, cache_write: 200, reasoning: 5 };
    /// assert_eq!(usage.context(), 3_300);
    /// ```
    pub fn context(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Prompt and output together.
    ///
    /// ```
    /// use codey_llm::Usage;
    /// let usage = Usage { input: 100, output: 7, cache_read: 3_000, cache_write: 200, reasoning: 5 };
    /// assert_eq!(usage.total(), 3_307, "reasoning is part of the output");
    /// ```
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
