//! Trying again.

use std::pin::Pin;
use std::time::Duration;

use codey_llm::{EventStream, ProviderError, StreamEvent};
use futures::stream::{self, Stream, StreamExt as _};
use jiff::Timestamp;

use crate::failure::{Failure, LONGEST_TOLD, Retry, spoken};
use crate::random::Random;

/// First wait without a word from the server. Source: contract section 6, as all numbers here.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest wait of our own.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Longest wait a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60);
/// How far a wait of our own strays to either side.
const JITTER: f64 = 0.25;
/// Tries for the most patient kind of failure, and so of a request.
const MOST_TRIES: u32 = 10;

/// One try: events, and last `Done` or the failure.
pub(crate) type Attempt = Pin<Box<dyn Stream<Item = Result<StreamEvent, Failure>> + Send>>;

/// Runs tries until one succeeds or no further one makes sense.
///
/// A try that has begun a block is never repeated: its text was shown. Cancelled by drop, while waiting too.
pub(crate) fn with_retries<F>(open: F, random: Random) -> EventStream
where
    F: FnMut() -> Attempt + Send + 'static,
{
    let run = Run { open, tries: Tries::new(random), attempt: None, wait: Duration::ZERO, started: false, over: false };
    // Boxed, since it is handed on with each event.
    stream::unfold(Box::new(run), Run::step).boxed()
}

struct Run<F> {
    open: F,
    tries: Tries,
    attempt: Option<Attempt>,
    wait: Duration,
    started: bool,
    over: bool,
}

impl<F: FnMut() -> Attempt + Send> Run<F> {
    async fn step(mut self: Box<Self>) -> Option<(Result<StreamEvent, ProviderError>, Box<Self>)> {
        if self.over {
            return None;
        }
        let mut attempt = match self.attempt.take() {
            Some(attempt) => attempt,
            None => {
                if !self.wait.is_zero() {
                    tokio::time::sleep(self.wait).await;
                }
                (self.open)()
            }
        };
        let item = match attempt.next().await? {
            Ok(event) => {
                self.started |= matches!(event, StreamEvent::BlockStart { .. });
                self.over = matches!(event, StreamEvent::Done { .. });
                self.attempt = Some(attempt);
                Ok(event)
            }
            Err(failure) => {
                let verdict =
                    if self.started { Err(failure.error) } else { self.tries.after(failure, Timestamp::now()) };
                match verdict {
                    Ok(retry) => {
                        self.wait = retry.delay;
                        let Again { attempt, of, delay, reason } = retry;
                        Ok(StreamEvent::Retrying { attempt, of, delay, reason })
                    }
                    Err(error) => {
                        self.over = true;
                        Err(error)
                    }
                }
            }
        };
        Some((item, self))
    }
}

/// Counts the failures of one request and decides about the next try.
struct Tries {
    random: Random,
    failed: u32,
    /// By [`Retry`]: transport, stall, crowded.
    by_kind: [u32; 3],
}

/// The next try.
#[derive(Debug, PartialEq)]
struct Again {
    /// Number of the try that failed, from 1.
    attempt: u32,
    /// Tries in all, if they go on failing like this.
    of: u32,
    delay: Duration,
    reason: String,
}

impl Tries {
    fn new(random: Random) -> Self {
        Self { random, failed: 0, by_kind: [0; 3] }
    }

    /// The next try after `failure`, or the error to end with.
    fn after(&mut self, failure: Failure, now: Timestamp) -> Result<Again, ProviderError> {
        self.failed += 1;
        let Failure { mut error, retry } = failure;
        let (kind, limit) = match retry {
            Retry::Never => return Err(self.counted(error)),
            Retry::Transport => (0, 4),
            Retry::Stall => (1, 2),
            Retry::Crowded => (2, MOST_TRIES),
        };
        if let Some(asked) = error.retry_after.filter(|asked| *asked > LONGEST_ASKED) {
            error.message = format!("{}; it asks to wait {}", error.message, spoken(asked));
            let when = match now.checked_add(asked) {
                Ok(until) if asked <= LONGEST_TOLD => {
                    until.strftime("Try again after %Y-%m-%d %H:%M:%S UTC, or").to_string()
                }
                Ok(_) | Err(_) => "Try again by hand, or".to_owned(),
            };
            error.hint = format!("{when} choose another endpoint.");
            return Err(self.counted(error));
        }
        self.by_kind[kind] += 1;
        // Each kind of failure has tries of its own: one timeout must not use up the patience for a busy server.
        let of = (self.failed - self.by_kind[kind] + limit).min(MOST_TRIES);
        if self.failed >= of {
            return Err(self.counted(error));
        }
        let delay = error.retry_after.filter(|asked| !asked.is_zero()).unwrap_or_else(|| self.backoff());
        Ok(Again { attempt: self.failed, of, delay, reason: error.message })
    }

    fn counted(&self, mut error: ProviderError) -> ProviderError {
        if self.failed > 1 {
            error.message = format!("{} ({} tries)", error.message, self.failed);
        }
        error
    }

    fn backoff(&mut self) -> Duration {
        let doubled = FIRST_WAIT.saturating_mul(1 << (self.failed - 1).min(16));
        doubled.min(LONGEST_WAIT).mul_f64(1.0 + JITTER * (2.0 * self.random.fraction() - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use codey_llm::{Block, ProviderErrorKind, StopReason, Usage};
    use tokio::time::Instant;

    use super::*;

    fn failure(retry: Retry) -> Failure {
        Failure { error: ProviderError::new(ProviderErrorKind::ServerError, format!("{retry:?}")), retry }
    }

    fn asking(retry: Retry, seconds: u64) -> Failure {
        let mut failure = failure(retry);
        failure.error.retry_after = Some(Duration::from_secs(seconds));
        failure
    }

    fn done() -> StreamEvent {
        StreamEvent::Done { stop: StopReason::EndTurn, usage: Usage::default() }
    }

    /// Plays one outcome a try; returns what the caller saw and when each try began, in seconds from the start.
    async fn play(tries: Vec<Result<(), Failure>>) -> (Vec<Result<StreamEvent, ProviderError>>, Vec<f64>) {
        let begun = Arc::new(Mutex::new(Vec::new()));
        let start = Instant::now();
        let mut tries = tries.into_iter();
        let open = {
            let begun = Arc::clone(&begun);
            move || {
                begun.lock().unwrap().push(start.elapsed().as_secs_f64());
                let item = tries.next().expect("one try more than scripted").map(|()| done());
                stream::iter([item]).boxed() as Attempt
            }
        };
        let seen: Vec<_> = with_retries(open, Random::seeded(7)).collect().await;
        let begun = begun.lock().unwrap().clone();
        (seen, begun)
    }

    fn is_near(wait: f64, expected: f64) -> bool {
        (expected * 0.75 - 0.002..=expected * 1.25 + 0.002).contains(&wait)
    }

    #[tokio::test(start_paused = true)]
    async fn prov_13_nine_overloads_are_waited_out_with_growing_waits() {
        let mut tries: Vec<_> = (0..9).map(|_| Err(failure(Retry::Crowded))).collect();
        tries.push(Ok(()));
        let (seen, begun) = play(tries).await;
        assert_eq!(seen.last(), Some(&Ok(done())));
        let waits: Vec<f64> = begun.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let expected = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0];
        assert!(waits.iter().zip(expected).all(|(wait, expected)| is_near(*wait, expected)), "{waits:?}");
        assert!(
            waits.iter().zip(expected).any(|(wait, expected)| (wait - expected).abs() > 0.01),
            "no jitter: {waits:?}"
        );
        for (index, event) in seen[..9].iter().enumerate() {
            let Ok(StreamEvent::Retrying { attempt, of, delay, reason }) = event else { panic!("{event:?}") };
            assert_eq!((*attempt, *of, reason.as_str()), (index as u32 + 1, 10, "Crowded"));
            assert!((delay.as_secs_f64() - waits[index]).abs() < 0.002);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn prov_13_a_wait_the_server_asks_for_is_kept_exactly() {
        let (seen, begun) = play(vec![Err(asking(Retry::Crowded, 2)), Err(asking(Retry::Transport, 60)), Ok(())]).await;
        assert_eq!(seen.len(), 3);
        let waits: Vec<i64> = begun.windows(2).map(|pair| (pair[1] - pair[0]).round() as i64).collect();
        assert_eq!(waits, [2, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn prov_13_a_wait_is_cancelled_by_drop() {
        let mut stream = with_retries(|| stream::iter([Err(asking(Retry::Crowded, 50))]).boxed(), Random::seeded(1));
        assert!(matches!(stream.next().await, Some(Ok(StreamEvent::Retrying { .. }))));
        let start = Instant::now();
        assert!(tokio::time::timeout(Duration::from_secs(1), stream.next()).await.is_err());
        drop(stream);
        assert!(start.elapsed() < Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn every_kind_of_failure_has_its_number_of_tries() {
        for (retry, tries) in [(Retry::Never, 1), (Retry::Transport, 4), (Retry::Stall, 2), (Retry::Crowded, 10)] {
            let (seen, begun) = play((0..tries).map(|_| Err(failure(retry))).collect()).await;
            assert_eq!((seen.len(), begun.len()), (tries, tries), "{retry:?}");
            let Some(Err(error)) = seen.last() else { panic!("{seen:?}") };
            let suffix = if tries > 1 { format!(" ({tries} tries)") } else { String::new() };
            assert_eq!(error.message, format!("{retry:?}{suffix}"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn kinds_of_failure_are_counted_apart() {
        let failures = [Retry::Crowded, Retry::Crowded, Retry::Crowded, Retry::Crowded, Retry::Stall, Retry::Transport];
        let mut tries: Vec<_> = failures.map(|retry| Err(failure(retry))).into();
        tries.push(Ok(()));
        let (seen, _) = play(tries).await;
        let of: Vec<u32> = seen
            .iter()
            .filter_map(|event| match event {
                Ok(StreamEvent::Retrying { of, .. }) => Some(*of),
                Ok(_) | Err(_) => None,
            })
            .collect();
        assert_eq!(of, [10, 10, 10, 10, 6, 9]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_wait_fails_at_once_and_says_when() {
        let (seen, _) = play(vec![Err(asking(Retry::Crowded, 330))]).await;
        let [Err(error)] = seen.as_slice() else { panic!("{seen:?}") };
        assert_eq!(error.message, "Crowded; it asks to wait 5 min 30 s");
        assert!(error.hint.starts_with("Try again after 20") && error.hint.contains(" UTC"), "{}", error.hint);
        assert_eq!(error.retry_after, Some(Duration::from_secs(330)));
        let (seen, _) = play(vec![Err(asking(Retry::Crowded, u64::MAX))]).await;
        let [Err(error)] = seen.as_slice() else { panic!("{seen:?}") };
        assert_eq!(error.message, "Crowded; it asks to wait more than a year");
        assert_eq!(error.hint, "Try again by hand, or choose another endpoint.");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_tried_again_once_a_block_has_begun() {
        let start = StreamEvent::BlockStart { index: 0, block: Block::text("") };
        let items = vec![Ok(start.clone()), Err(failure(Retry::Transport))];
        let seen: Vec<_> = with_retries(move || stream::iter(items.clone()).boxed(), Random::seeded(1)).collect().await;
        assert_eq!(seen, vec![Ok(start), Err(failure(Retry::Transport).error)]);
    }
}
