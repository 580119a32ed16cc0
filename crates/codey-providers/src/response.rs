//! A response to stream events.

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::time::Duration;

use bytes::Bytes;
use codey_llm::StreamEvent;
use futures::stream::{self, Stream, StreamExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use crate::decode::{Decoder, Fault, Progress};
use crate::failure::{self, Failure, Head};
use crate::http::broken;
use crate::place::Place;
use crate::sse::{Body, BodyError, Events, MAX_EVENT};

/// How much of an error body is read.
const MAX_ERROR_BODY: usize = 64 << 10;
/// Most bytes of data in one response. The decoders keep what they do not emit yet, where a limit on what they emit does
/// not see it. An event of one token takes up to 400 bytes, and large output limits are 128,000 tokens: all of it fits.
const MAX_DATA: usize = 64 << 20;
/// How long what is not the answer may take in all: token counts after the end mark, the body of an error.
const TAIL_WAIT: Duration = Duration::from_secs(5);
/// How many blanks may stand before what a body is.
const MAX_BLANKS: usize = 1 << 10;
/// How long the end of a body may take once everything in it was read. A connection whose body was read to the end is
/// used again; waiting longer would hold up the answer.
const DRAIN_WAIT: Duration = Duration::from_millis(50);

/// Reads one response.
pub(crate) struct Reader {
    place: Place,
    idle_timeout: Duration,
    head: Head,
    source: Source,
    decoder: Decoder,
    ready: VecDeque<StreamEvent>,
    seen_event: bool,
    /// Bytes of data so far.
    taken: usize,
    /// When waiting for what may follow the end mark is over.
    tail_end: Option<Instant>,
}

enum Source {
    /// The head is not judged yet.
    Unread(Body),
    Events(Events),
    /// The body was dropped; it is not to be read after an error.
    Over,
}

impl Reader {
    pub(crate) fn new(place: Place, head: Head, body: Body, decoder: Decoder, idle_timeout: Duration) -> Self {
        let source = Source::Unread(body);
        let ready = VecDeque::new();
        Self { place, idle_timeout, head, source, decoder, ready, seen_event: false, taken: 0, tail_end: None }
    }

    /// The events, and last `Done` or the failure.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<StreamEvent, Failure>> + Send {
        // Boxed, since it is handed on with each event.
        stream::unfold(Box::new(self), |mut reader| async move {
            let item = reader.next().await?;
            Some((item, reader))
        })
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, Failure>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            // Taken out, so that an error drops the body and with it the connection.
            let read = match std::mem::replace(&mut self.source, Source::Over) {
                Source::Unread(body) => self.judge(body).await,
                Source::Events(events) => self.read(events).await,
                Source::Over => return None,
            };
            if let Err(failure) = read {
                return Some(Err(failure));
            }
        }
    }

    /// Decides whether the body is a stream: by the head, and where that denies it by the first bytes, since some servers
    /// give every answer the same type.
    async fn judge(&mut self, mut body: Body) -> Result<(), Failure> {
        if self.head.status != 200 {
            let body = read_whole(body, MAX_ERROR_BODY, TAIL_WAIT).await;
            return Err(failure::refused(&self.place, &self.head, &body));
        }
        let other = ["json", "html", "xml"].iter().any(|kind| self.head.content_type.contains(kind));
        if other && !self.head.content_type.contains("event-stream") {
            let start = read_start(&mut body).await;
            let is_document = matches!(start.trim_ascii().first(), Some(b'{' | b'[' | b'<'));
            body = stream::iter([Ok(Bytes::from(start))]).chain(body).boxed();
            if is_document {
                let body = read_whole(body, MAX_ERROR_BODY, TAIL_WAIT).await;
                return Err(failure::no_stream(&self.place, &body));
            }
        }
        self.source = Source::Events(Events::new(body));
        Ok(())
    }

    /// Takes the next event, or ends the response.
    async fn read(&mut self, mut events: Events) -> Result<(), Failure> {
        let next = match self.decoder.progress() {
            Progress::Open => events.next().await,
            // The answer is complete, so whatever fails from here on is no loss.
            Progress::Ended => {
                let end = *self.tail_end.get_or_insert_with(|| Instant::now() + TAIL_WAIT);
                timeout_at(end, events.next()).await.ok().flatten().filter(Result::is_ok)
            }
            Progress::Final => {
                let _ = timeout(DRAIN_WAIT, async { while let Some(Ok(_)) = events.next().await {} }).await;
                // On a runtime of one thread the connection's own task has not seen the end yet; without this turn the
                // next request would find no connection to use again.
                tokio::task::yield_now().await;
                None
            }
        };
        let event = match next {
            Some(Ok(event)) => event,
            Some(Err(error)) => return Err(self.unreadable(&events, &error)),
            None => return self.finish(&events),
        };
        self.seen_event = true;
        let data = event.data.unwrap_or_default();
        self.taken += data.len();
        if self.taken > MAX_DATA {
            return Err(failure::endless(&self.place, MAX_DATA));
        }
        match self.decoder.push(event.event.as_deref(), &data) {
            Ok(decoded) => {
                self.ready.extend(decoded);
                self.source = Source::Events(events);
                Ok(())
            }
            // The last event of a body that was cut off.
            Err(Fault::Garbage(_) | Fault::Cut) if events.ended() => self.finish(&events),
            Err(fault) => Err(self.failure(fault)),
        }
    }

    fn finish(&mut self, events: &Events) -> Result<(), Failure> {
        if !self.seen_event {
            return Err(failure::no_stream(&self.place, &events.head()));
        }
        let decoded = self.decoder.finish().map_err(|fault| self.failure(fault))?;
        self.ready.extend(decoded);
        Ok(())
    }

    fn failure(&self, fault: Fault) -> Failure {
        match fault {
            Fault::Reported(object) => failure::reported(&self.place, &object),
            Fault::Garbage(piece) => failure::garbage(&self.place, &piece),
            Fault::OtherApi(api) => failure::other_api(&self.place, api),
            Fault::Cut => failure::cut(&self.place),
        }
    }

    fn unreadable(&self, events: &Events, error: &BodyError) -> Failure {
        match error {
            BodyError::Read(error) => {
                let error: &(dyn StdError + 'static) = error.as_ref();
                broken(&self.place, error, self.idle_timeout)
            }
            BodyError::NotUtf8 if events.ended() => failure::cut(&self.place),
            BodyError::NotUtf8 => failure::garbage(&self.place, &error.to_string()),
            BodyError::TooLarge => failure::oversized(&self.place, MAX_EVENT),
        }
    }
}

/// The first `limit` bytes of a body, or what came of it within `patience`. A body that cannot be read on is as good as
/// ended: the status says enough.
pub(crate) async fn read_whole(mut body: Body, limit: usize, patience: Duration) -> Vec<u8> {
    let deadline = Instant::now() + patience;
    let mut bytes = Vec::new();
    while bytes.len() < limit
        && let Ok(Some(Ok(chunk))) = timeout_at(deadline, body.next()).await
    {
        let room = limit - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    bytes
}

/// The first chunks of a body, up to one that is not blank. The body goes on after them.
async fn read_start(body: &mut Body) -> Vec<u8> {
    let deadline = Instant::now() + TAIL_WAIT;
    let mut bytes = Vec::new();
    while bytes.len() < MAX_BLANKS
        && bytes.trim_ascii().is_empty()
        && let Ok(Some(Ok(chunk))) = timeout_at(deadline, body.next()).await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes
}
