//! The one way to ask a model.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{EventStream, Request};

/// Asks models of one API at one place.
pub trait Provider: Send + Sync {
    /// Names the issuer of opaque blocks: API and place.
    fn id(&self) -> &str;

    /// Starts a request. Nothing is sent before the stream is polled; dropping the stream aborts it.
    fn stream(&self, request: Request) -> EventStream;
}

/// What kind of failure ended a request, by what the user can do about it.
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
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: String::new(), retry_after: None }
    }

    /// The same error with what the user can do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}
