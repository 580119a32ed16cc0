//! SIGINT, SIGTERM and SIGHUP end the run; a second one within two seconds leaves at once.

use std::io::Write as _;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Source: contract section 1, exit codes.
const INTERRUPTED: i32 = 3;
/// Source: contract section 1, exit codes.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Cancels the returned token at the first signal. Watches until the process ends.
pub(crate) fn stop_token() -> std::io::Result<CancellationToken> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let stop = CancellationToken::new();
    let token = stop.clone();
    // Lives as long as the process, which ends by `exit`: nothing is left to await it.
    drop(tokio::spawn(async move {
        let mut last: Option<Instant> = None;
        loop {
            any(&mut interrupt, &mut terminate, &mut hangup).await;
            if last.is_some_and(|last| last.elapsed() < AT_ONCE) {
                // A closed stderr leaves nobody to tell.
                let _ = std::io::stderr().write_all(b"codey: interrupted twice, so it leaves at once.\n");
                std::process::exit(INTERRUPTED);
            }
            last = Some(Instant::now());
            token.cancel();
        }
    }));
    Ok(stop)
}

/// Listens to a signal, unless whoever started Codey chose to ignore it (`nohup`, a job in the background).
fn listen(kind: SignalKind) -> std::io::Result<Option<Signal>> {
    if is_ignored(kind) { Ok(None) } else { signal(kind).map(Some) }
}

/// Whether the signal was ignored when the process began; only Linux tells.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (kind.as_raw_value() - 1)) != 0
}

async fn any(interrupt: &mut Option<Signal>, terminate: &mut Option<Signal>, hangup: &mut Option<Signal>) {
    tokio::select! {
        () = next(interrupt) => {}
        () = next(terminate) => {}
        () = next(hangup) => {}
    }
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
