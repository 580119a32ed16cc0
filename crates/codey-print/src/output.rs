//! The two streams, written in the order of events, with readers that may be slow, stuck or gone.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Chunks that may wait for the reader.
const CAPACITY: usize = 64;
/// How long a stuck reader is waited for once the run was told to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Stdout as the system has it. The standard library's takes a descriptor that cannot be written to for one that took
/// everything.
#[derive(Clone, Copy, Debug)]
pub struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(nix::unistd::write(std::io::stdout(), bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Text for one of the streams.
pub(crate) enum Chunk {
    Stdout(Vec<u8>),
    Stderr(String),
}

/// Writes in a thread of its own, since a write to a full pipe cannot be cancelled.
pub(crate) struct Output {
    chunks: Option<Sender<Chunk>>,
    ended: oneshot::Receiver<std::io::Result<()>>,
    stop: CancellationToken,
    gave_up: bool,
}

/// How writing ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Written {
    All,
    /// The reader went away.
    ReaderGone,
    /// The reader was stuck when the run was told to end.
    GaveUp,
    Failed(String),
}

impl Output {
    /// Writes until dropped; after `stop` a stuck reader is not waited for.
    pub(crate) fn new(
        mut stdout: impl Write + Send + 'static,
        mut stderr: impl Write + Send + 'static,
        stop: CancellationToken,
    ) -> Self {
        let (chunks, mut received) = channel(CAPACITY);
        let (report, ended) = oneshot::channel();
        std::thread::spawn(move || {
            let mut result = Ok(());
            while let Some(chunk) = received.blocking_recv() {
                match chunk {
                    Chunk::Stdout(bytes) => result = stdout.write_all(&bytes).and_then(|()| stdout.flush()),
                    // A closed stderr leaves nobody to tell, and is no reason to stop.
                    Chunk::Stderr(text) => drop(stderr.write_all(text.as_bytes())),
                }
                if result.is_err() {
                    break;
                }
            }
            // Nobody waits for the report of an output that was given up.
            let _ = report.send(result);
        });
        Self { chunks: Some(chunks), ended, stop, gave_up: false }
    }

    /// Hands over a chunk; `false` when there is no use in further ones.
    pub(crate) async fn write(&mut self, chunk: Chunk) -> bool {
        let Some(chunks) = &self.chunks else { return false };
        let sent = tokio::select! {
            biased;
            sent = chunks.send(chunk) => sent.is_ok(),
            () = patience(&self.stop) => {
                self.gave_up = true;
                false
            }
        };
        if !sent {
            self.chunks = None;
        }
        sent
    }

    /// Waits until everything is written.
    pub(crate) async fn finish(mut self) -> Written {
        self.chunks = None;
        if self.gave_up {
            return Written::GaveUp;
        }
        tokio::select! {
            biased;
            result = &mut self.ended => match result {
                Ok(Ok(())) => Written::All,
                Ok(Err(error)) if error.kind() == ErrorKind::BrokenPipe => Written::ReaderGone,
                Ok(Err(error)) => Written::Failed(error.to_string()),
                Err(_) => Written::Failed("the writing thread ended early".to_owned()),
            },
            () = patience(&self.stop) => Written::GaveUp,
        }
    }
}

async fn patience(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep_until(Instant::now() + PATIENCE).await;
}
