//! The one way to ask a model.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{EventStream, Request};

/// Asks models of one API at one place.
///
/// ```
/// use codey_llm::{Block, EventStream, Provider, Request, StopReason, StreamEvent, Usage};
/// use futures::{StreamExt as _, stream};
///
/// /// Says the same to everything.
/// struct Parrot;
///
/// impl Provider for Parrot {
///     fn id(&self) -> &str {
///         "parrot"
///     }
///
///     fn stream(&self, _: Request) -> EventStream {
///         let events = [
///             StreamEvent::BlockStart { index: 0, block: Block::text("") },
///             StreamEvent::BlockDelta { index: 0, text: "Hello!".into() },
///             StreamEvent::BlockStop { index: 0, opaque: None },
///             StreamEvent::Done { stop: StopReason::EndTurn, usage: Usage::default() },
///         ];
///         stream::iter(events.map(Ok)).boxed()
///     }
/// }
/// assert_eq!(Parrot.id(), "parrot");
/// ```
pub trait Provider: Send + Sync {
    /// Names the issuer of opaque blocks: API and place.
    ///
    /// ```
    /// use codey_llm::{Opaque, Provider, ScriptedProvider};
    /// /// Whether a block may be echoed to this provider.
    /// fn is_its_own(provider: &dyn Provider, opaque: &Opaque) -> bool {
    ///     provider.id() == opaque.provider
    /// }
    /// let opaque = Opaque { provider: "anthropic".into(), model: "m".into(), raw: "{}".into() };
    /// assert!(!is_its_own(&*ScriptedProvider::new("other", Vec::new()), &opaque));
    /// ```
    fn id(&self) -> &str;

    /// Starts a request. Nothing is sent before the stream is polled; dropping the stream aborts it.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use codey_llm::{
    ///     Block, Capabilities, Message, ModelInfo, Provider, Request, ScriptedProvider, StopReason, StreamEvent, turn,
    /// };
    /// use futures::StreamExt as _;
    /// let provider = ScriptedProvider::new("test", vec![turn(vec![Block::text("hello")], StopReason::EndTurn)]);
    /// let capabilities = Capabilities::default();
    /// let model = ModelInfo { id: "m".into(), window: None, max_output: 100, price: None, capabilities };
    /// let mut stream = provider.stream(Request {
    ///     model,
    ///     system: [].into(),
    ///     tools: [].into(),
    ///     messages: vec![Message::user(vec![Block::text("hi")]).into()],
    ///     max_tokens: 100,
    ///     effort: None,
    ///     temperature: None,
    ///     cache_points: Vec::new(),
    /// });
    /// let mut last = None;
    /// while let Some(event) = stream.next().await {
    ///     last = Some(event?);
    /// }
    /// assert!(matches!(last, Some(StreamEvent::Done { stop: StopReason::EndTurn, .. })));
    /// # Ok::<(), codey_llm::ProviderError>(()) }).unwrap();
    /// ```
    fn stream(&self, request: Request) -> EventStream;
}

/// What kind of failure ended a request, by what the user can do about it.
///
/// ```
/// use codey_llm::ProviderErrorKind;
/// assert_eq!(serde_json::to_string(&ProviderErrorKind::RateLimit).unwrap(), r#""rate_limit""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderErrorKind {
    /// The key is wrong or may not do this.
    Auth,
    /// Too many requests.
    RateLimit,
    /// No money or allowance left.
    Quota,
    /// The provider has no room.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// The connection failed or was cut.
    Network,
    /// Nothing came for too long.
    Stalled,
    /// The prompt is larger than the window.
    ContextOverflow,
    /// No such model.
    ModelNotFound,
    /// The provider does not take this request.
    BadRequest,
    /// The provider declined.
    Refusal,
    /// The endpoint cannot be used as configured.
    Config,
}

/// A request that ended without a response.
///
/// ```
/// use std::time::Duration;
/// use codey_llm::{ProviderError, ProviderErrorKind};
/// let error = ProviderError {
///     retry_after: Some(Duration::from_secs(300)),
///     ..ProviderError::new(ProviderErrorKind::RateLimit, "example answered 429")
/// };
/// assert_eq!(error.to_string(), "example answered 429");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind of failure.
    pub kind: ProviderErrorKind,
    /// What happened and where, one line.
    pub message: String,
    /// What the user can do, one sentence; may be empty.
    pub hint: String,
    /// How long the provider asked to wait, if it did.
    pub retry_after: Option<Duration>,
}

impl ProviderError {
    /// An error without a hint.
    ///
    /// ```
    /// use codey_llm::{ProviderError, ProviderErrorKind};
    /// let error = ProviderError::new(ProviderErrorKind::Network, "cannot reach example.com");
    /// assert!(error.hint.is_empty() && error.retry_after.is_none());
    /// ```
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: String::new(), retry_after: None }
    }

    /// The same error with what the user can do.
    ///
    /// ```
    /// use codey_llm::{ProviderError, ProviderErrorKind};
    /// let error = ProviderError::new(ProviderErrorKind::Auth, "example answered 401").hint("Check EXAMPLE_KEY.");
    /// assert_eq!(error.hint, "Check EXAMPLE_KEY.");
    /// ```
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}
