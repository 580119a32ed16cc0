//! What can go wrong, by who it is for.

use std::fmt;

use codey_llm::{ProviderError, ProviderErrorKind};
use serde::{Deserialize, Serialize};

/// Why a tool call failed. The model reads the text; metrics count the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    pub fn config(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: FailCode::Config, message: message.into(), hint: hint.into() }
    }
}
