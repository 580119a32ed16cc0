//! What is left of commands, and ending it.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems tell of groups only"))]

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Background;

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// The same once Codey itself is told to end.
const SHORT_GRACE: Duration = Duration::from_millis(500);
/// Between two looks at whether something is gone.
const POLL: Duration = Duration::from_millis(10);
/// How long killed processes may take to vanish; longer only if the kernel holds one.
const VANISH: Duration = Duration::from_secs(5);

/// How long stopping all processes of a command may take.
const HOLD: Duration = Duration::from_millis(500);

/// Ends when SIGKILL is due.
pub(super) async fn grace(ending: &CancellationToken) {
    tokio::select! {
        () = sleep(GRACE) => {}
        () = async {
            ending.cancelled().await;
            sleep(SHORT_GRACE).await;
        } => {}
    }
}

/// The processes of some commands: those in their groups and, where this system tells more of processes, those in their
/// sessions, those that carry their marks, and all that descend from any of these.
#[derive(Clone, Debug)]
pub(super) struct Remains {
    groups: Vec<Pid>,
    marks: Vec<String>,
    /// When the first of these commands was started.
    since: Instant,
    /// What the last look found. Once found, a process is known also after its parent has ended.
    found: Vec<Found>,
}

/// A live process of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    pid: Pid,
    /// When it began; tells it from a later one with its number.
    began: u64,
    /// It is in none of the groups, and so a signal must be sent to it alone.
    is_outside: bool,
    /// It runs nothing until it gets SIGCONT.
    is_stopped: bool,
}

/// Numbers of processes that were no command's when last looked at. The kernel gives a number again only after all
/// others (32,768 at least); a background process that got such a one in so short a time would not be counted at the end
/// of its command, but is ended with the run all the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Strangers(Arc<Mutex<HashSet<i32>>>);

impl Remains {
    pub(super) fn new(groups: Vec<Pid>, marks: Vec<String>, since: Instant) -> Self {
        Self { groups, marks, since, found: Vec::new() }
    }

    /// How many of them run; ended ones that nobody took note of do not.
    pub(super) async fn count(&mut self) -> Background {
        imp::look(self, &Strangers::default()).await
    }

    /// The same at the end of every command, for `leader` that was waited for: whatever is among `strangers` is not looked
    /// at, and they are brought up to date. With a hundred processes around that takes a tenth of the time.
    pub(super) async fn count_after(&mut self, leader: Pid, strangers: &Strangers) -> Background {
        if imp::is_newest(leader) {
            return Background::Nothing;
        }
        imp::look(self, strangers).await
    }

    /// Waits until none is left.
    pub(super) async fn gone(&mut self) {
        while self.count().await != Background::Nothing {
            sleep(POLL).await;
        }
    }

    /// Asks all of them to end. Each process is asked once: many take a second time for impatience.
    pub(super) async fn ask_to_end(&mut self) {
        self.hold_still().await;
        // A stopped process takes note of none but SIGCONT.
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            self.send(signal);
        }
    }

    /// Kills all of them, also what they start meanwhile, and waits until they are gone.
    pub(super) async fn kill(&mut self) {
        self.hold_still().await;
        self.send(Signal::SIGKILL);
        let kill_rounds = async {
            while self.count().await != Background::Nothing {
                self.send(Signal::SIGKILL);
                sleep(Duration::from_millis(1)).await;
            }
        };
        // What outlasts this nobody could end, as a process of another user.
        let _ = timeout(VANISH, kill_rounds).await;
    }

    /// Stops all of them and finds those that were being started meanwhile: once its parent has ended, a process with
    /// an environment and a group of its own is found no more.
    async fn hold_still(&mut self) {
        let rounds = async {
            loop {
                let before = self.found.clone();
                self.count().await;
                if self.found == before && self.found.iter().all(|process| process.is_stopped) {
                    return;
                }
                self.send(Signal::SIGSTOP);
                sleep(Duration::from_millis(1)).await;
            }
        };
        // What cannot be stopped, as a process of another user, must not keep the others from being ended.
        let _ = timeout(HOLD, rounds).await;
    }

    fn send(&self, signal: Signal) {
        for group in &self.groups {
            // Whatever ended since needs no signal.
            let _ = killpg(*group, signal);
        }
        for process in self.found.iter().filter(|process| process.is_outside) {
            let _ = kill(process.pid, signal);
        }
    }
}

/// What is left as far as groups tell: all there is to ask where processes cannot be listed.
fn by_groups(groups: &[Pid]) -> Background {
    let is_gone = |group: &Pid| killpg(*group, None) == Err(Errno::ESRCH);
    if groups.iter().all(is_gone) { Background::Nothing } else { Background::Processes(None) }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::collections::HashSet;
    use std::io::Read as _;
    use std::path::Path;
    use std::sync::PoisonError;
    use std::thread;
    use std::time::Duration;

    use cap_std::ambient_authority;
    use cap_std::fs::Dir;
    use nix::unistd::Pid;
    use tokio::sync::oneshot;

    use super::super::Background;
    use super::super::environment::MARK;
    use super::{Found, Remains, Strangers};

    /// Flag in `stat`. Source: include/linux/sched.h.
    const KERNEL_THREAD: u32 = 0x0020_0000;
    /// Looks at processes that have no environment, and the time between two; some never have one.
    const EXEC_POLLS: u32 = 4;
    const EXEC_POLL: Duration = Duration::from_millis(1);
    /// In what `stat` counts time in. Source: USER_HZ, the same for all programs on Linux.
    const TICKS_A_SECOND: f64 = 100.0;

    /// Whether no process is newer than `leader`, so that it, having ended, left none. One small file is read in place of a
    /// list of all processes, which pays since a shell becomes the single program that it is to run.
    pub(super) fn is_newest(leader: Pid) -> bool {
        let proc = Dir::open_ambient_dir("/proc", ambient_authority());
        let text = proc.and_then(|proc| proc.read_to_string("loadavg")).unwrap_or_default();
        text.split_ascii_whitespace().nth(4).is_some_and(|newest| newest.parse() == Ok(leader.as_raw()))
    }

    /// Finds what is left, but for strangers; afterwards they are all others that live.
    pub(super) async fn look(remains: &mut Remains, strangers: &Strangers) -> Background {
        let (known, strangers) = (remains.clone(), strangers.clone());
        let look = move || {
            let proc = Dir::open_ambient_dir("/proc", ambient_authority()).ok()?;
            let mut strangers = strangers.0.lock().unwrap_or_else(PoisonError::into_inner);
            let listed = listed(&proc);
            if listed.is_empty() {
                return None;
            }
            let live = listed.iter().filter(|pid| !strangers.contains(pid)).filter_map(|pid| process(&proc, *pid));
            let found = known.find(&proc, &live.collect::<Vec<_>>());
            strangers.clear();
            strangers.extend(listed.into_iter().filter(|pid| !found.iter().any(|found| found.pid.as_raw() == *pid)));
            Some(found)
        };
        // A thread of its own, since the runtime panics where it cannot make one, as when a user has all the processes
        // that a limit allows. Then as much is seen as without a list.
        let (give, found) = oneshot::channel();
        let give = move || drop(give.send(look()));
        let thread = thread::Builder::new().name("codey-look".to_owned()).spawn(give);
        let Some(found) = (if thread.is_ok() { found.await.unwrap_or_default() } else { None }) else {
            return super::by_groups(&remains.groups);
        };
        remains.found = found;
        if remains.found.is_empty() { Background::Nothing } else { Background::Processes(Some(remains.found.len())) }
    }

    impl Remains {
        /// Those of `live` that carry one of the marks; an environment that is not ours to see carries none.
        fn marked(&self, proc: &Dir, live: &[Process]) -> HashSet<i32> {
            let mut marked = HashSet::new();
            let mut unread: Vec<&Process> = live.iter().collect();
            let since = self.since(proc);
            for round in 0..=EXEC_POLLS {
                unread.retain(|process| {
                    let environment = read(proc, process.pid, "environ").unwrap_or_default();
                    if carries(&environment, &self.marks) {
                        marked.insert(process.pid);
                    }
                    // Between two programs a process has no environment for a moment. What is older than these commands
                    // is not one of theirs.
                    environment.is_empty() && !process.is_of_the_kernel && process.began >= since
                });
                if unread.is_empty() || round == EXEC_POLLS {
                    break;
                }
                thread::sleep(EXEC_POLL);
            }
            marked
        }

        /// The same as `self.since`, as `stat` counts; a tick early, since it rounds down.
        fn since(&self, proc: &Dir) -> u64 {
            let uptime = proc.read_to_string("uptime").unwrap_or_default();
            let now = uptime.split_ascii_whitespace().next().and_then(|seconds| seconds.parse::<f64>().ok());
            let seconds = now.unwrap_or(0.0) - self.since.elapsed().as_secs_f64();
            ((seconds * TICKS_A_SECOND) as u64).saturating_sub(1)
        }

        fn find(&self, proc: &Dir, live: &[Process]) -> Vec<Found> {
            let is_group = |number: i32| self.groups.iter().any(|group| group.as_raw() == number);
            let is_known = |process: &Process| {
                self.found.iter().any(|found| found.pid.as_raw() == process.pid && found.began == process.began)
            };
            let marked = self.marked(proc, live);
            let ours = live.iter().filter(|process| {
                is_group(process.group)
                    || is_group(process.session)
                    || is_known(process)
                    || marked.contains(&process.pid)
            });
            let mut ours: HashSet<i32> = ours.map(|process| process.pid).collect();
            let mut count = 0;
            // Parents may be listed after their children.
            while count < ours.len() {
                count = ours.len();
                let children: Vec<i32> =
                    live.iter().filter(|process| ours.contains(&process.parent)).map(|process| process.pid).collect();
                ours.extend(children);
            }
            let ours = live.iter().filter(|process| ours.contains(&process.pid));
            let found = |process: &Process| Found {
                pid: Pid::from_raw(process.pid),
                began: process.began,
                is_outside: !is_group(process.group),
                is_stopped: process.is_stopped,
            };
            ours.map(found).collect()
        }
    }

    /// A process that has not ended.
    struct Process {
        pid: i32,
        parent: i32,
        group: i32,
        session: i32,
        began: u64,
        is_stopped: bool,
        is_of_the_kernel: bool,
    }

    fn listed(proc: &Dir) -> Vec<i32> {
        let Ok(entries) = proc.entries() else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    fn read(proc: &Dir, pid: i32, name: &str) -> Option<Vec<u8>> {
        let mut file = proc.open(Path::new(&pid.to_string()).join(name)).ok()?;
        // These files say that they are empty; without room at hand they would be read 32 bytes at a time.
        let mut bytes = Vec::with_capacity(4096);
        file.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// `None` if it has ended; then it stays listed until its parent takes note.
    fn process(proc: &Dir, pid: i32) -> Option<Process> {
        let text = read(proc, pid, "stat")?;
        let text = String::from_utf8_lossy(&text);
        // The name in brackets may hold anything, also brackets and blanks.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse().ok();
        let state = *fields.first()?;
        if matches!(state, "Z" | "X") {
            return None;
        }
        let began = fields.get(19)?.parse().ok()?;
        let is_stopped = matches!(state, "T" | "t");
        let flags: u32 = fields.get(6)?.parse().ok()?;
        Some(Process {
            pid,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            began,
            is_stopped,
            is_of_the_kernel: flags & KERNEL_THREAD != 0,
        })
    }

    /// Whether the mark in an environment names one of `marks`.
    fn carries(environment: &[u8], marks: &[String]) -> bool {
        environment.split(|byte| *byte == 0).any(|variable| {
            let value = variable.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            // A Codey inside Codey appends its own; what it runs is also ours.
            value.is_some_and(|value| {
                value.split(|byte| *byte == b':').any(|one| marks.iter().any(|mark| mark.as_bytes() == one))
            })
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use nix::unistd::Pid;

    use super::super::Background;
    use super::{Remains, Strangers};

    pub(super) fn is_newest(_leader: Pid) -> bool {
        false
    }

    pub(super) async fn look(remains: &mut Remains, _strangers: &Strangers) -> Background {
        super::by_groups(&remains.groups)
    }
}
