//! Both adapters against a scripted server: what goes over the socket, and what comes back.
#![allow(clippy::unwrap_used)]

mod calls;
mod dialects;
mod failures;
mod models;
mod recorded;
mod requests;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use codey_llm::{Assembler, Block, Message, ProviderError, Request, StopReason, StreamEvent, Usage};
use codey_providers::{Api, EndpointOptions, connect, model_info};
use codey_testkit::{ScriptedServer, anthropic_sse, openai_sse};
use futures::StreamExt as _;

pub(crate) const APIS: [Api; 2] = [Api::Anthropic, Api::OpenAi];
pub(crate) const USAGE: Usage = Usage { input: 10, output: 5, cache_read: 0, cache_write: 0, reasoning: 0 };

/// An endpoint at the server, with a key and short times.
pub(crate) fn endpoint(api: Api, server: &ScriptedServer) -> EndpointOptions {
    EndpointOptions {
        api_key: Some("sk-test-key".into()),
        idle_timeout: Duration::from_secs(5),
        ..EndpointOptions::new("test", api, server.url())
    }
}

/// A request with these messages and nothing else.
pub(crate) fn request(messages: Vec<Message>) -> Request {
    Request {
        model: model_info("m"),
        system: Arc::from([]),
        tools: Arc::from([]),
        messages: messages.into_iter().map(Arc::new).collect(),
        max_tokens: 1_000,
        effort: None,
        temperature: None,
        cache_points: Vec::new(),
    }
}

pub(crate) fn hello() -> Request {
    request(vec![Message::user(vec![Block::text("hello")])])
}

/// A response as the API streams it.
pub(crate) fn sse(api: Api, content: Vec<Block>, stop: StopReason) -> String {
    let message = Message::assistant(content);
    match api {
        Api::Anthropic => anthropic_sse(&message, &stop, USAGE),
        Api::OpenAi => openai_sse(&message, &stop, USAGE),
    }
}

/// What a request came to.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) events: Vec<StreamEvent>,
    pub(crate) end: Result<(Message, StopReason, Usage, bool), ProviderError>,
}

impl Answer {
    pub(crate) fn message(&self) -> &Message {
        &self.end.as_ref().unwrap().0
    }

    pub(crate) fn error(&self) -> &ProviderError {
        self.end.as_ref().unwrap_err()
    }

    pub(crate) fn retries(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, StreamEvent::Retrying { .. })).count()
    }
}

/// Asks and collects everything.
pub(crate) async fn ask(options: EndpointOptions, request: Request) -> Answer {
    ask_provider(&*connect(options), request).await
}

pub(crate) async fn ask_provider(provider: &dyn codey_llm::Provider, request: Request) -> Answer {
    let mut stream = provider.stream(request);
    let mut events = Vec::new();
    let mut assembler = Assembler::default();
    while let Some(item) = stream.next().await {
        match item {
            Ok(StreamEvent::Done { stop, usage }) => {
                assert!(stream.next().await.is_none(), "something after Done");
                let assembled = assembler.finish(&stop);
                return Answer { events, end: Ok((assembled.message, stop, usage, assembled.last_call_cut)) };
            }
            Ok(event) => {
                assembler.push(&event);
                events.push(event);
            }
            Err(error) => {
                assert!(stream.next().await.is_none(), "something after an error");
                return Answer { events, end: Err(error) };
            }
        }
    }
    panic!("the stream ended without Done or an error");
}
