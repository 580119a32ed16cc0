//! What is left of commands, and ending it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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

/// Looks at processes that are to hold still. Three do, unless one of them is another user's or waits in the kernel.
const MOST_ROUNDS: u32 = 30;

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
    pub(super) fn new(groups: Vec<Pid>, marks: Vec<String>) -> Self {
        Self { groups, marks, found: Vec::new() }
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
        let kill_rounds = async {
            self.hold_still().await;
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
        for _ in 0..MOST_ROUNDS {
            let before = self.found.clone();
            self.count().await;
            if self.found == before && self.found.iter().all(|process| process.is_stopped) {
                return;
            }
            self.send(Signal::SIGSTOP);
            sleep(Duration::from_millis(1)).await;
        }
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

#[cfg(target_os = "linux")]
mod imp {
    use std::collections::HashSet;
    use std::io::Read as _;
    use std::path::Path;
    use std::sync::PoisonError;
    use std::time::Duration;

    use cap_std::ambient_authority;
    use cap_std::fs::Dir;
    use nix::unistd::Pid;

    use super::super::Background;
    use super::super::environment::MARK;
    use super::{Found, Remains, Strangers};

    /// Flag in `stat`. Source: include/linux/sched.h.
    const KERNEL_THREAD: u32 = 0x0020_0000;
    /// Looks at a process that has no environment, and the time between two; some never have one.
    const EXEC_POLLS: u32 = 4;
    const EXEC_POLL: Duration = Duration::from_millis(1);

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
            let Ok(proc) = Dir::open_ambient_dir("/proc", ambient_authority()) else { return Vec::new() };
            let mut strangers = strangers.0.lock().unwrap_or_else(PoisonError::into_inner);
            let listed = listed(&proc);
            let live = listed.iter().filter(|pid| !strangers.contains(pid)).filter_map(|pid| process(&proc, *pid));
            let found = known.find(&proc, &live.collect::<Vec<_>>());
            strangers.clear();
            strangers.extend(listed.into_iter().filter(|pid| !found.iter().any(|found| found.pid.as_raw() == *pid)));
            found
        };
        // It ends without a result only when the runtime does; then the drop guards kill what they can.
        remains.found = tokio::task::spawn_blocking(look).await.unwrap_or_default();
        if remains.found.is_empty() { Background::Nothing } else { Background::Processes(Some(remains.found.len())) }
    }

    impl Remains {
        fn find(&self, proc: &Dir, live: &[Process]) -> Vec<Found> {
            let is_group = |number: i32| self.groups.iter().any(|group| group.as_raw() == number);
            let is_known = |process: &Process| {
                self.found.iter().any(|found| found.pid.as_raw() == process.pid && found.began == process.began)
            };
            let ours = live.iter().filter(|process| {
                is_group(process.group)
                    || is_group(process.session)
                    || is_known(process)
                    || carries(proc, process, &self.marks)
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

    fn environment(proc: &Dir, process: &Process) -> Option<Vec<u8>> {
        let mut environment = read(proc, process.pid, "environ")?;
        // Between two programs a process has none for a moment.
        for _ in 0..EXEC_POLLS {
            if !environment.is_empty() || process.is_of_the_kernel {
                break;
            }
            std::thread::sleep(EXEC_POLL);
            environment = read(proc, process.pid, "environ")?;
        }
        Some(environment)
    }

    /// Whether the mark in its environment names one of `marks`; false if its environment is not ours to see.
    fn carries(proc: &Dir, process: &Process, marks: &[String]) -> bool {
        let Some(environment) = environment(proc, process) else { return false };
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
    use nix::errno::Errno;
    use nix::sys::signal::killpg;
    use nix::unistd::Pid;

    use super::super::Background;
    use super::{Remains, Strangers};

    pub(super) fn is_newest(_leader: Pid) -> bool {
        false
    }

    pub(super) async fn look(remains: &mut Remains, _strangers: &Strangers) -> Background {
        let is_gone = |group: Pid| killpg(group, None) == Err(Errno::ESRCH);
        let are_gone = remains.groups.iter().all(|group| is_gone(*group));
        if are_gone { Background::Nothing } else { Background::Processes(None) }
    }
}
