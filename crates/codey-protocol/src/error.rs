//! What can go wrong, by who it is for.

use std::fmt;

use codey_llm::{ProviderError, ProviderErrorKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a tool call failed. The model reads the text; metrics count the code.
///
/// ```
/// use codey_protocol::{ErrorCode, Event};
/// /// Counts the edits that did not find their place.
/// fn missed(events: &[Event]) -> usize {
///     let is_missed = |event: &&Event| matches!(event, Event::ToolEnd { code: Some(ErrorCode::NoMatch), .. });
///     events.iter().filter(is_missed).count()
/// }
/// assert_eq!(missed(&[Event::RunStart {}]), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the contract's codes and say it")]
pub enum ErrorCode {
    InvalidArguments,
    UnknownTool,
    NotFound,
    IsDirectory,
    NotRegularFile,
    BinaryFile,
    TooLarge,
    NoMatch,
    AmbiguousMatch,
    NotRead,
    StaleRead,
    OutsideRoot,
    Denied,
    NeedsApproval,
    Timeout,
    Cancelled,
    Io,
    ToolPanic,
    Mcp,
}

/// Why a run failed, by what the user can do about it.
///
/// ```
/// use codey_llm::ProviderErrorKind;
/// use codey_protocol::FailCode;
/// assert_eq!(FailCode::from(ProviderErrorKind::Auth), FailCode::Auth);
/// assert_eq!(serde_json::to_string(&FailCode::RateLimit).unwrap(), r#""rate_limit""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the contract's codes and say it")]
pub enum FailCode {
    Auth,
    RateLimit,
    Quota,
    Overloaded,
    ServerError,
    Network,
    Stalled,
    ContextOverflow,
    OutputLimit,
    ModelNotFound,
    BadRequest,
    Refusal,
    Config,
    Session,
    Internal,
}

impl From<ProviderErrorKind> for FailCode {
    fn from(kind: ProviderErrorKind) -> Self {
        match kind {
            ProviderErrorKind::Auth => Self::Auth,
            ProviderErrorKind::RateLimit => Self::RateLimit,
            ProviderErrorKind::Quota => Self::Quota,
            ProviderErrorKind::Overloaded => Self::Overloaded,
            ProviderErrorKind::ServerError => Self::ServerError,
            ProviderErrorKind::Network => Self::Network,
            ProviderErrorKind::Stalled => Self::Stalled,
            ProviderErrorKind::ContextOverflow => Self::ContextOverflow,
            ProviderErrorKind::ModelNotFound => Self::ModelNotFound,
            ProviderErrorKind::BadRequest => Self::BadRequest,
            ProviderErrorKind::Refusal => Self::Refusal,
            ProviderErrorKind::Config => Self::Config,
        }
    }
}

/// Ends a run; for the user.
///
/// ```
/// use codey_llm::{ProviderError, ProviderErrorKind};
/// use codey_protocol::{FailCode, RunError};
/// let error = ProviderError::new(ProviderErrorKind::Auth, "example answered 401").hint("Check EXAMPLE_KEY.");
/// let error = RunError::from(error);
/// assert_eq!((error.code, error.to_string().as_str()), (FailCode::Auth, "example answered 401"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RunError {
    /// What kind of failure.
    pub code: FailCode,
    /// What and where, one line.
    pub message: String,
    /// What to do, one sentence; may be empty.
    pub hint: String,
}

impl RunError {
    /// An error of a run.
    ///
    /// ```
    /// use codey_protocol::{FailCode, RunError, RunOutcome};
    /// let error = RunError::new(FailCode::ModelNotFound, "example has no model qwen9", "Name one that it has.");
    /// assert!(matches!(RunOutcome::from(error), RunOutcome::Failed { code: FailCode::ModelNotFound, .. }));
    /// ```
    pub fn new(code: FailCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ProviderError> for RunError {
    fn from(error: ProviderError) -> Self {
        Self { code: error.kind.into(), message: error.message, hint: error.hint }
    }
}

/// Prevents an agent from starting; for the user.
///
/// ```
/// use codey_protocol::{FailCode, StartError};
/// let error = StartError {
///     code: FailCode::Session,
///     message: "the session is in use by process 4711".into(),
///     hint: "Wait until it ends, or start a new session.".into(),
/// };
/// assert_eq!(format!("{error}. {}", error.hint).lines().count(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StartError {
    /// What kind of failure.
    pub code: FailCode,
    /// What and where, one line.
    pub message: String,
    /// What to do, one sentence; may be empty.
    pub hint: String,
}

impl StartError {
    /// The user asked for something that cannot be.
    ///
    /// ```
    /// use codey_protocol::{FailCode, StartError};
    /// let error = StartError::config("there is no endpoint named \"nowhere\"", "Name one of the configured ones.");
    /// assert_eq!(error.code, FailCode::Config);
    /// ```
    pub fn config(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: FailCode::Config, message: message.into(), hint: hint.into() }
    }
}
