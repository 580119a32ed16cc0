//! What Codey and a language model say to each other.
//!
//! The message model is richer than any provider's: adapters map down, never up. This crate must not know HTTP,
//! the disk or the environment.
//!
//! ```
//! use codey_llm::{Block, Message};
//! let question = Message::user(vec![Block::text("What does main.rs do?")]);
//! assert_eq!(question.text(), "What does main.rs do?");
//! ```

mod assembler;
mod block;
mod estimator;
mod provider;
mod request;
mod scripted;
mod stream;

pub use assembler::{Assembled, Assembler};
pub use block::{Block, CallId, Message, Opaque, Role};
pub use estimator::{TokenEstimator, bytes_in_tokens_of};
pub use provider::{Provider, ProviderError, ProviderErrorKind};
pub use request::{CachePoint, Capabilities, Effort, ModelInfo, Price, Request, ToolSpec, Usage};
pub use scripted::{ScriptedProvider, ScriptedTurn, Step, tool_use, turn};
pub use stream::{EventStream, StopReason, StreamEvent};
