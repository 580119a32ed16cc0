//! What commands left running, until the run ends.

use std::sync::{Mutex, PoisonError};

use nix::sys::signal::Signal;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Group, POLL, grace, sweep};

/// The background processes of a run.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    groups: Vec<Leftover>,
    /// Marks of all commands of this run: some may have left their group without a trace.
    marks: Vec<String>,
}

/// A command that ended while something it started goes on.
#[derive(Debug)]
pub(super) struct Leftover {
    group: Group,
    stop: CancellationToken,
    drain: JoinHandle<()>,
}

impl Leftover {
    /// Keeps reading the pipe, or whoever writes to it would be held up or killed.
    pub(super) fn new(group: Group, mut pipe: Receiver) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let drain = tokio::spawn(async move {
            let mut buffer = vec![0; 4096];
            loop {
                tokio::select! {
                    () = stopped.cancelled() => return,
                    read = pipe.read(&mut buffer) => if !matches!(read, Ok(1..)) { return },
                }
            }
        });
        Self { group, stop, drain }
    }
}

impl Leftovers {
    pub(super) fn remember(&self, mark: &str) {
        self.table(|table| table.marks.push(mark.to_owned()));
    }

    pub(super) fn adopt(&self, leftover: Leftover) {
        self.table(|table| table.groups.push(leftover));
    }

    /// Ends all of it: SIGTERM, the grace, SIGKILL.
    pub(crate) async fn end(&self, ending: &CancellationToken) {
        let Table { mut groups, marks } = self.table(std::mem::take);
        if marks.is_empty() {
            return;
        }
        let strays = sweep::strays(marks.clone(), groups.iter().map(|one| one.group.leader).collect()).await;
        groups.iter().for_each(|one| one.group.signal_group(Signal::SIGTERM));
        strays.iter().for_each(|pid| {
            // It may have ended by itself since.
            let _ = nix::sys::signal::kill(*pid, Signal::SIGTERM);
        });
        if !groups.is_empty() || !strays.is_empty() {
            tokio::select! {
                () = grace(ending) => {}
                () = all_gone(&groups, &marks) => {}
            }
            for one in &groups {
                if !one.group.is_gone() {
                    one.group.signal_group(Signal::SIGKILL);
                }
            }
            sweep::kill_marked(marks).await;
        }
        for Leftover { group, stop, drain } in &mut groups {
            stop.cancel();
            // A panic while reading into nothing would lose nothing.
            let _ = drain.await;
            group.release();
        }
    }

    fn table<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        // A panic while the lock is held leaves a whole table: each change is one push or one swap.
        act(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn all_gone(groups: &[Leftover], marks: &[String]) {
    loop {
        sleep(POLL).await;
        if groups.iter().all(|one| one.group.is_gone()) && sweep::marked(marks.to_vec()).await.is_empty() {
            return;
        }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        // The groups kill what is left of them when they are dropped; the readers have nothing to wait for.
        self.table(|table| table.groups.iter().for_each(|one| one.stop.cancel()));
    }
}
