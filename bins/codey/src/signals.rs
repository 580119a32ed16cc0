//! SIGINT, SIGTERM and SIGHUP end the run; a second one within two seconds leaves at once.

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
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let stop = CancellationToken::new();
    let token = stop.clone();
    // Lives as long as the process, which ends by `exit`: nothing is left to await it.
    drop(tokio::spawn(async move {
        let mut last: Option<Instant> = None;
        loop {
            any(&mut interrupt, &mut terminate, &mut hangup).await;
            if last.is_some_and(|last| last.elapsed() < AT_ONCE) {
                std::process::exit(INTERRUPTED);
            }
            last = Some(Instant::now());
            token.cancel();
        }
    }));
    Ok(stop)
}

async fn any(interrupt: &mut Signal, terminate: &mut Signal, hangup: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}
