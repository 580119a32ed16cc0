//! What both stream decoders have in common.

use codey_llm::{StopReason, StreamEvent, Usage};

use crate::endpoint::Api;
use crate::error::ErrorObject;
use crate::{anthropic, openai};

/// Who answers: the issuer of opaque blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// [`codey_llm::Provider::id`].
    pub(crate) provider: String,
    /// The model that was asked.
    pub(crate) model: String,
}

/// How far a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The end mark has not come.
    Open,
    /// The end mark came; token counts may follow.
    Ended,
    /// Nothing of interest follows.
    Final,
}

/// Why an event cannot be taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// The server reports an error.
    Reported(ErrorObject),
    /// The data is not what the API says; holds a piece of it.
    Garbage(String),
    /// The server speaks this API, which is not the one it is asked in.
    OtherApi(Api),
    /// The end came without an end mark.
    Cut,
}

/// Turns server-sent events into stream events. A pure state machine: no clock, no input of its own.
#[derive(Clone, Debug)]
pub(crate) enum Decoder {
    Anthropic(anthropic::Decoder),
    OpenAi(openai::Decoder),
}

impl Decoder {
    /// Takes the next event, given by its name and data.
    pub(crate) fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<StreamEvent>, Fault> {
        match self {
            Self::Anthropic(decoder) => decoder.push(name, data),
            Self::OpenAi(decoder) => decoder.push(data),
        }
    }

    /// Whether the end mark has come.
    pub(crate) fn progress(&self) -> Progress {
        match self {
            Self::Anthropic(decoder) => decoder.progress(),
            Self::OpenAi(decoder) => decoder.progress(),
        }
    }

    /// Ends the response: the last events, `Done` included, or [`Fault::Cut`].
    pub(crate) fn finish(&mut self) -> Result<Vec<StreamEvent>, Fault> {
        match self {
            Self::Anthropic(decoder) => decoder.finish(),
            Self::OpenAi(decoder) => decoder.finish(),
        }
    }
}

/// The last event of a response.
pub(crate) fn done(stop: StopReason, usage: Usage) -> StreamEvent {
    StreamEvent::Done { stop, usage }
}
