//! How bytes from model servers become stream events.
//!
//! One adapter for each API: it maps a [`codey_llm::Request`] to a body and decodes the answer's stream. Around both lie
//! the same HTTP client, SSE reader, error texts and retries. Peculiarities of endpoints are data ([`Quirks`]), and so
//! are the built-in endpoints and models. This crate must not know tools, sessions or the loop, and it reads no
//! environment variables: callers pass [`EndpointOptions`].
//!
//! ```
//! use codey_providers::{Api, EndpointOptions, connect, model_info};
//! let options = EndpointOptions::new("local", Api::OpenAi, "http://127.0.0.1:8080/v1");
//! let provider = connect(options);
//! assert_eq!(provider.id(), "openai http://127.0.0.1:8080/v1");
//! assert_eq!(model_info("some-local-model").window, None);
//! ```

mod anthropic;
mod arguments;
mod body;
mod builtin;
mod call_ids;
mod content;
mod decode;
mod endpoint;
mod error;
mod failure;
mod http;
mod json;
mod models;
mod openai;
mod place;
mod random;
mod response;
mod retry;
mod sse;
mod wire_name;
#[cfg(test)]
mod wire_suite;

pub use builtin::{BuiltinEndpoint, builtin_endpoints};
pub use endpoint::{Api, CONNECT_TIMEOUT, EndpointOptions, IDLE_TIMEOUT, MaxTokensField, Quirks, connect};
pub use http::{check_base_url, check_header, check_key, list_models};
pub use models::{DEFAULT_MAX_OUTPUT, model_info, models_as_of};
