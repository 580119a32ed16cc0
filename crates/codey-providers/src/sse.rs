//! Bytes to server-sent events.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::stream::{self, BoxStream, Stream, StreamExt as _};
use sse_stream::{Sse, SseByteStream};

/// Most bytes of one event. Source: contract section 8.
pub(crate) const MAX_EVENT: usize = 16 << 20;
/// How much of the body is kept to say what it was when it held no event.
const KEPT_HEAD: usize = 1_024;

/// Why a body cannot be read on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    /// The connection failed.
    #[error(transparent)]
    Read(Box<dyn StdError + Send + Sync>),
    /// An event is larger than [`MAX_EVENT`].
    #[error("an event is larger than {MAX_EVENT} bytes")]
    TooLarge,
    /// The bytes are not UTF-8.
    #[error("the stream is not UTF-8")]
    NotUtf8,
}

/// A response body; ends at its first error.
pub(crate) type Body = BoxStream<'static, Result<Bytes, Box<dyn StdError + Send + Sync>>>;

/// The events of a body.
pub(crate) struct Events {
    events: Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>,
    meter: Arc<Meter>,
}

/// What the reader of the bytes tells the reader of the events.
#[derive(Default)]
struct Meter {
    since_event: AtomicUsize,
    ended: AtomicBool,
    head: Mutex<Vec<u8>>,
}

impl Events {
    pub(crate) fn new(body: Body) -> Self {
        let meter = Arc::new(Meter::default());
        let counted = body.map({
            let meter = Arc::clone(&meter);
            move |chunk| meter.count(chunk.map_err(BodyError::Read)?)
        });
        // A last event without its blank line is dropped by the standard, yet servers send it.
        let terminator = stream::once({
            let meter = Arc::clone(&meter);
            async move {
                meter.ended.store(true, Ordering::Relaxed);
                Ok(Bytes::from_static(b"\n\n"))
            }
        });
        Self { events: Box::pin(SseByteStream::new(Box::pin(counted.chain(terminator)))), meter }
    }

    /// The next event that holds data, or `None` at the end. Not to be called again after an error.
    pub(crate) async fn next(&mut self) -> Option<Result<Sse, BodyError>> {
        loop {
            let event = match self.events.next().await? {
                Ok(event) => event,
                Err(error) => return Some(Err(body_error(error))),
            };
            self.meter.since_event.store(0, Ordering::Relaxed);
            if event.data.is_some() {
                return Some(Ok(event));
            }
        }
    }

    /// Whether the body has ended, so that a broken last event is a cut one.
    pub(crate) fn ended(&self) -> bool {
        self.meter.ended.load(Ordering::Relaxed)
    }

    /// The first bytes of the body.
    pub(crate) fn head(&self) -> Vec<u8> {
        self.meter.head.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Meter {
    fn count(&self, chunk: Bytes) -> Result<Bytes, BodyError> {
        let since = self.since_event.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
        if since > MAX_EVENT {
            return Err(BodyError::TooLarge);
        }
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let room = KEPT_HEAD.saturating_sub(head.len()).min(chunk.len());
        head.extend_from_slice(&chunk[..room]);
        Ok(chunk)
    }
}

fn body_error(error: sse_stream::Error) -> BodyError {
    match error {
        sse_stream::Error::Body(error) => match error.downcast::<BodyError>() {
            Ok(error) => *error,
            Err(error) => BodyError::Read(error),
        },
        // The only other error without the parser's strict mode is a failed conversion to text.
        _ => BodyError::NotUtf8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn events_of(chunks: Vec<Bytes>) -> Vec<Result<String, String>> {
        let mut events = Events::new(stream::iter(chunks).map(Ok).boxed());
        let mut seen = Vec::new();
        while let Some(event) = events.next().await {
            let stop = event.is_err();
            seen.push(event.map(|event| event.data.unwrap_or_default()).map_err(|error| error.to_string()));
            if stop {
                break;
            }
        }
        seen
    }

    #[tokio::test]
    async fn every_framing_in_use_is_read() {
        for text in [
            "data: a\n\ndata: b\n\n",
            "\u{feff}data:a\r\n\r\n: note\r\nid: 1\r\ndata:b",
            "data: a\r\rfoo: x\rdata: b\r\r",
        ] {
            let bytes: Vec<Bytes> = text.bytes().map(|byte| Bytes::from(vec![byte])).collect();
            assert_eq!(events_of(bytes).await, vec![Ok("a".to_owned()), Ok("b".to_owned())], "{text:?}");
        }
    }

    #[tokio::test]
    async fn an_event_over_the_limit_is_an_error() {
        let chunk = Bytes::from(vec![b'x'; 1 << 20]);
        let mut small = vec![Bytes::from_static(b"data: ")];
        small.extend(std::iter::repeat_n(chunk.clone(), 15));
        small.push(Bytes::from_static(b"\n\n"));
        let mut large = [small.clone(), small].concat();
        assert!(events_of(large.clone()).await.iter().all(Result::is_ok));
        large.extend(std::iter::repeat_n(chunk, 17));
        assert_eq!(events_of(large).await.pop(), Some(Err("an event is larger than 16777216 bytes".to_owned())));
    }

    #[tokio::test]
    async fn bytes_that_are_no_text_are_an_error() {
        let seen = events_of(vec![Bytes::from_static(b"data: \xff\xfe\n\n")]).await;
        assert_eq!(seen, vec![Err("the stream is not UTF-8".to_owned())]);
    }
}
