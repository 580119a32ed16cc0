//! What commands left running, until the run ends.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::remains::{Remains, Strangers, grace};
use super::{Background, Group};

/// The background processes of a run. Dropped, it kills their groups.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    table: Mutex<Table>,
    pub(super) strangers: Strangers,
}

#[derive(Debug, Default)]
struct Table {
    groups: Vec<Leftover>,
    /// Marks of all commands of this run: some may have left their group without a trace.
    marks: Vec<String>,
    /// When the first of these commands was started.
    since: Option<Instant>,
}

/// A command that ended while something it started goes on.
#[derive(Debug)]
pub(super) struct Leftover {
    group: Group,
    /// Dropped, it ends `drain`.
    stop: DropGuard,
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
        Self { group, stop: stop.drop_guard(), drain }
    }
}

impl Leftovers {
    pub(super) fn remember(&self, mark: &str, started: Instant) {
        self.table(|table| {
            table.marks.push(mark.to_owned());
            table.since.get_or_insert(started);
        });
    }

    pub(super) fn adopt(&self, leftover: Leftover) {
        self.table(|table| table.groups.push(leftover));
    }

    /// Ends all of it: SIGTERM, the grace, SIGKILL.
    pub(crate) async fn end(&self, ending: &CancellationToken) {
        let Table { groups, marks, since } = self.table(std::mem::take);
        let Some(since) = since else { return };
        let mut remains = Remains::new(groups.iter().map(|one| one.group.leader).collect(), marks, since);
        if remains.count().await != Background::Nothing {
            remains.ask_to_end().await;
            tokio::select! {
                () = grace(ending) => {}
                () = remains.gone() => {}
            }
            remains.kill().await;
        }
        for Leftover { mut group, stop, drain } in groups {
            drop(stop);
            // A panic while reading into nothing would lose nothing.
            let _ = drain.await;
            group.release();
        }
    }

    fn table<T>(&self, act: impl FnOnce(&mut Table) -> T) -> T {
        // No change of the table can panic half way.
        act(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
