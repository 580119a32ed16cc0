//! Running a command so that it can always be ended, with all it started.
//!
//! A command gets a session and a process group of its own (through the program `setsid`; where there is none, a group
//! only), no input, no terminal, and one pipe for both its outputs. Waiting is for the process, never for the end of the
//! pipe: a background process may hold that for ever.
//!
//! What a command starts is found again in two ways: by its process group, and, on Linux, by a mark in its environment,
//! which also finds what moved to a session of its own. Not found is what did both: left the group and cleared its
//! environment.

mod environment;
mod leftovers;
mod sweep;
mod watchdog;

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{AccessFlags, Pid, access};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::{Instant, interval, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use ulid::Ulid;

use leftovers::Leftover;
pub(crate) use leftovers::Leftovers;

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// The same once Codey itself is told to end.
const SHORT_GRACE: Duration = Duration::from_millis(500);
/// How long to go on reading after the process ended while something else still holds the pipe.
const DRAIN: Duration = Duration::from_millis(100);
/// Between two looks at whether a group is gone.
const POLL: Duration = Duration::from_millis(20);
/// How long a killed process may take to vanish; longer only if the kernel holds it.
const VANISH: Duration = Duration::from_secs(5);
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// A command to run.
#[derive(Debug)]
pub(crate) struct Shell<'a> {
    /// For `bash -c`, byte for byte.
    pub(crate) command: &'a str,
    /// Working directory.
    pub(crate) folder: PathBuf,
    /// Variables it does not get, besides the built-in patterns.
    pub(crate) hidden_env: &'a [String],
    /// How long it may take.
    pub(crate) timeout: Duration,
}

/// When to stop waiting for a command.
#[derive(Debug)]
pub(crate) struct Stops<'a> {
    /// Ends the command.
    pub(crate) cancel: &'a CancellationToken,
    /// Shortens the grace.
    pub(crate) ending: &'a CancellationToken,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Exited {
        /// Exit status, unless a signal killed it.
        code: Option<i32>,
        /// The signal.
        signal: Option<i32>,
        /// What it left running.
        background: Background,
    },
    /// Its time was over.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
}

/// What still runs of a command that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Background {
    /// Nothing that is known of.
    Nothing,
    /// Processes; `None` where this system does not say how many.
    Processes(Option<usize>),
}

/// Runs `shell` to its end and gives its output to `sink` as it comes.
///
/// # Errors
/// It cannot be started; nothing ran.
pub(crate) async fn run(
    shell: Shell<'_>,
    stops: Stops<'_>,
    leftovers: &Leftovers,
    mut sink: impl FnMut(&[u8]),
) -> io::Result<End> {
    if stops.cancel.is_cancelled() {
        return Ok(End::Cancelled);
    }
    let deadline = Instant::now() + shell.timeout;
    let mut running = Running::start(&shell, leftovers)?;
    let status = tokio::select! {
        status = running.wait(&mut sink) => Some(status?),
        () = sleep_until(deadline) => None,
        () = stops.cancel.cancelled() => None,
    };
    let Some(status) = status else {
        let end = if stops.cancel.is_cancelled() { End::Cancelled } else { End::TimedOut };
        running.terminate(stops.ending, &mut sink).await;
        return Ok(end);
    };
    let background = running.settle(leftovers, &mut sink).await;
    Ok(End::Exited { code: status.code(), signal: status.signal(), background })
}

/// A started command. Dropped before its end is known, its group is killed: the last resort.
struct Running {
    child: Child,
    group: Group,
    pipe: Receiver,
    is_drained: bool,
    buffer: Vec<u8>,
}

impl Running {
    fn start(shell: &Shell<'_>, leftovers: &Leftovers) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let mark = Ulid::generate().to_string();
        let mut command = shell_command()?;
        command
            .arg(shell.command)
            .current_dir(&shell.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::from(writer.try_clone()?))
            .stderr(Stdio::from(writer))
            .kill_on_drop(true);
        environment::prepare(&mut command, shell.hidden_env, &mark);
        let child = command.spawn()?;
        // `command` still holds the writing ends; with them open the pipe would never end.
        drop(command);
        let id = child.id().expect("a child that nobody waited for has its id");
        let group = Group::new(Pid::from_raw(id.cast_signed()), mark);
        leftovers.remember(&group.mark);
        let pipe = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        Ok(Self { child, group, pipe, is_drained: false, buffer: vec![0; CHUNK] })
    }

    /// Waits for the process, reading what it prints.
    async fn wait(&mut self, sink: &mut impl FnMut(&[u8])) -> io::Result<ExitStatus> {
        loop {
            tokio::select! {
                status = self.child.wait() => return status,
                read = self.pipe.read(&mut self.buffer), if !self.is_drained => self.take(read, sink),
            }
        }
    }

    fn take(&mut self, read: io::Result<usize>, sink: &mut impl FnMut(&[u8])) {
        match read {
            Ok(0) | Err(_) => self.is_drained = true,
            Ok(count) => sink(&self.buffer[..count]),
        }
    }

    /// Reads on until the pipe ends, or for a moment if something else holds it.
    async fn drain(&mut self, sink: &mut impl FnMut(&[u8])) {
        let until = Instant::now() + DRAIN;
        while !self.is_drained {
            tokio::select! {
                biased;
                () = sleep_until(until) => return,
                read = self.pipe.read(&mut self.buffer) => self.take(read, sink),
            }
        }
    }

    /// After the process ended by itself: sees what it left behind and hands that over.
    async fn settle(mut self, leftovers: &Leftovers, sink: &mut impl FnMut(&[u8])) -> Background {
        self.drain(sink).await;
        // The usual case must stay cheap: one system call says that the group is gone, and a pipe that ended says
        // that nobody else holds it.
        if self.is_drained && self.group.is_gone() {
            self.group.release();
            return Background::Nothing;
        }
        let background = self.group.count().await;
        if background == Background::Nothing {
            self.group.release();
        } else {
            leftovers.adopt(Leftover::new(self.group, self.pipe));
        }
        background
    }

    /// Ends all of it and waits until it is gone.
    async fn terminate(mut self, ending: &CancellationToken, sink: &mut impl FnMut(&[u8])) {
        self.group.ask_to_end().await;
        let grace = grace(ending);
        tokio::pin!(grace);
        let mut ticks = interval(POLL);
        let mut has_ended = false;
        loop {
            tokio::select! {
                () = &mut grace => break,
                _ = self.child.wait(), if !has_ended => has_ended = true,
                read = self.pipe.read(&mut self.buffer), if !self.is_drained => self.take(read, sink),
                _ = ticks.tick(), if has_ended => {
                    if self.group.count().await == Background::Nothing {
                        break;
                    }
                }
            }
        }
        self.group.kill().await;
        // Only a process that the kernel itself holds can outlast this.
        let _ = timeout(VANISH, self.child.wait()).await;
        self.drain(sink).await;
        self.group.release();
    }
}

/// Ends when SIGKILL is due.
async fn grace(ending: &CancellationToken) {
    tokio::select! {
        () = sleep(GRACE) => {}
        () = async {
            ending.cancelled().await;
            sleep(SHORT_GRACE).await;
        } => {}
    }
}

/// The processes of one command.
#[derive(Debug)]
struct Group {
    leader: Pid,
    /// Value of the mark in the environment of all that the command started.
    mark: String,
    is_released: bool,
}

impl Group {
    fn new(leader: Pid, mark: String) -> Self {
        watchdog::watch(leader);
        Self { leader, mark, is_released: false }
    }

    /// Whether no process is left in the group; says nothing of those that moved to another.
    fn is_gone(&self) -> bool {
        killpg(self.leader, None) == Err(Errno::ESRCH)
    }

    /// Asks the group, and what left it, to end. Each process is asked once: many take a second time for impatience.
    async fn ask_to_end(&self) {
        let strays = sweep::strays(vec![self.mark.clone()], vec![self.leader]).await;
        self.signal_group(Signal::SIGTERM);
        for pid in strays {
            // It may have ended since; then there is nothing to do.
            let _ = kill(pid, Signal::SIGTERM);
        }
    }

    fn signal_group(&self, signal: Signal) {
        if killpg(self.leader, signal).is_err() {
            // Before `setsid` got to its work there is no group yet, only the process.
            let _ = kill(self.leader, signal);
        }
        if signal == Signal::SIGTERM {
            // A stopped process takes note of nothing else.
            let _ = killpg(self.leader, Signal::SIGCONT);
        }
    }

    /// Kills whatever is left, also what is being started meanwhile.
    async fn kill(&self) {
        if !self.is_gone() {
            self.signal_group(Signal::SIGKILL);
        }
        sweep::kill_marked(vec![self.mark.clone()]).await;
    }

    async fn count(&self) -> Background {
        sweep::count(self.leader, self.mark.clone()).await
    }

    /// Nothing of it is left, or somebody else sees to it.
    fn release(&mut self) {
        if !std::mem::replace(&mut self.is_released, true) {
            watchdog::release(self.leader);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_released {
            self.signal_group(Signal::SIGKILL);
            self.release();
        }
    }
}

/// `bash -c --`, as leader of a session where that is possible.
fn shell_command() -> io::Result<Command> {
    static PROGRAMS: OnceLock<(Option<PathBuf>, Option<PathBuf>)> = OnceLock::new();
    let (bash, setsid) = PROGRAMS.get_or_init(|| (program("bash"), program("setsid")));
    let Some(bash) = bash else {
        return Err(io::Error::new(io::ErrorKind::NotFound, "bash is not installed (not found on PATH)"));
    };
    let mut command = match setsid {
        Some(setsid) => {
            // It becomes leader and then bash, under the same process id, as long as it leads no group before.
            let mut command = Command::new(setsid);
            command.arg(bash);
            command
        }
        None => {
            let mut command = Command::new(bash);
            command.process_group(0);
            command
        }
    };
    command.arg("-c").arg("--");
    Ok(command)
}

/// Finds a program as a shell would.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_absolute() && file.file_name() != Some(OsStr::new("")) && access(file, AccessFlags::X_OK).is_ok()
}
