//! SIGINT, SIGTERM and SIGHUP end the run; a second one within two seconds leaves at once. SIGXFSZ does nothing.

use std::io::{self, Write as _};
use std::sync::mpsc;
use std::time::Duration;

use codey_protocol::StartError;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Source: contract section 1, exit codes.
const INTERRUPTED: i32 = 3;
/// Source: contract section 1, exit codes.
const AT_ONCE: Duration = Duration::from_secs(2);
/// How long the last words may take.
const STDERR_PATIENCE: Duration = Duration::from_millis(100);

/// Cancels the returned token at the first signal. Watches until the process ends, in a thread of its own: whatever else
/// is stuck, say in a write to a disk that does not answer, the second signal is obeyed.
///
/// # Errors
/// Signals cannot be watched.
pub(crate) fn stop_token() -> Result<CancellationToken, StartError> {
    let stop = CancellationToken::new();
    watch(stop.clone()).map_err(|error| {
        let hint = "Free memory or raise the limit on threads.";
        StartError::config(format!("cannot watch signals: {error}"), hint)
    })?;
    Ok(stop)
}

fn watch(stop: CancellationToken) -> io::Result<()> {
    let (began, beginning) = mpsc::channel();
    // A runtime must not be dropped in another one, which is where this is called: it is made where it runs. The thread
    // lives as long as the process, which ends by `exit`: nothing is left to await it.
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let listened = runtime.and_then(|runtime| {
            let signals = runtime.block_on(async { Signals::listen() })?;
            Ok((runtime, signals))
        });
        // The caller waits for it.
        match listened {
            Ok((runtime, signals)) => {
                let _ = began.send(Ok(()));
                runtime.block_on(signals.obey(&stop));
            }
            Err(error) => drop(began.send(Err(error))),
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(run)?;
    beginning.recv().unwrap_or_else(|gone| Err(io::Error::other(gone)))
}

/// Those that end the run; `None` for one that is ignored.
struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        // The handler stays, and with it a file that reaches the limit on file sizes is a failed write, which is said
        // and survived; without it the signal would end the process in the middle of it. Commands do not inherit it.
        drop(listen(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32))?);
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn obey(mut self, stop: &CancellationToken) {
        let mut last: Option<Instant> = None;
        loop {
            self.any().await;
            if last.is_some_and(|last| last.elapsed() < AT_ONCE) {
                say_that_it_leaves();
                std::process::exit(INTERRUPTED);
            }
            last = Some(Instant::now());
            stop.cancel();
        }
    }

    async fn any(&mut self) {
        tokio::select! {
            () = next(&mut self.interrupt) => {}
            () = next(&mut self.terminate) => {}
            () = next(&mut self.hangup) => {}
        }
    }
}

/// In a thread that nobody waits for long: stderr may be the very thing that is stuck.
fn say_that_it_leaves() {
    let (done, said) = mpsc::channel();
    let say = move || {
        // A closed stderr leaves nobody to tell.
        let _ = io::stderr().write_all(b"codey: interrupted twice, so it leaves at once.\n");
        let _ = done.send(());
    };
    if std::thread::Builder::new().spawn(say).is_ok() {
        let _ = said.recv_timeout(STDERR_PATIENCE);
    }
}

/// Listens to a signal, unless whoever started Codey chose to ignore it (`nohup`, a job in the background).
fn listen(kind: SignalKind) -> io::Result<Option<Signal>> {
    if is_ignored(kind) { Ok(None) } else { signal(kind).map(Some) }
}

/// Whether the signal was ignored when the process began; only Linux tells.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (kind.as_raw_value() - 1)) != 0
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
