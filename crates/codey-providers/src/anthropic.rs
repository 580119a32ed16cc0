//! Anthropic's Messages API.

mod request;
mod stream;

pub(crate) use request::body;
pub(crate) use stream::Decoder;
