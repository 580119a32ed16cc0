//! OpenAI's Chat Completions API, and the servers that imitate it.

mod request;
mod stream;

pub(crate) use request::body;
pub(crate) use stream::Decoder;
