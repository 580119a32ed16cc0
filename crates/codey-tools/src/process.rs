//! Running a command so that it can always be ended, with all it started.
//!
//! A command gets a process group of its own, no input, no terminal, and one pipe for both its outputs. Where Codey has a
//! terminal, the group also is a session of its own (through the program `setsid`), so that the terminal is out of reach.
//! Waiting is for the process, never for the end of the pipe: a background process may hold that for ever.
//!
//! What a command starts is found again by its process group and, on Linux, by its session if it has one, by a mark in
//! its environment, which also finds what moved elsewhere, and by its parent while that lives. Not found is only what
//! did all of it: left the group, cleared its environment and lost its parent before anybody looked.

mod environment;
mod leftovers;
mod remains;
mod watchdog;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{AccessFlags, Pid, access};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use ulid::Ulid;

use leftovers::Leftover;
pub(crate) use leftovers::Leftovers;
use remains::{Remains, grace};

/// How long to go on reading after the process ended while something else still holds the pipe.
const DRAIN: Duration = Duration::from_millis(100);
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
        status = running.output.read_during(running.child.wait(), &mut sink) => Some(status?),
        () = sleep_until(deadline) => None,
        () = stops.cancel.cancelled() => None,
    };
    // A slow `sink` can hold up the look at all three: what ended by itself meanwhile has not timed out. This is asked
    // for here, since a biased `select!` would let a command that never stops printing starve the other two.
    let status = match status {
        Some(status) => Some(status),
        None => running.child.try_wait()?,
    };
    let Some(status) = status else {
        let end = if stops.cancel.is_cancelled() { End::Cancelled } else { End::TimedOut };
        running.terminate(stops.ending, &mut sink).await;
        return Ok(end);
    };
    let background = running.settle(leftovers, &mut sink).await;
    Ok(End::Exited { code: status.code(), signal: status.signal(), background })
}

/// A started command.
struct Running {
    child: Child,
    group: Group,
    output: Output,
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
        let (name, value) = watchdog::mark();
        command.env(name, value);
        watchdog::ready();
        let started = std::time::Instant::now();
        let child = command.spawn()?;
        // `command` still holds the writing ends; with them open the pipe would never end.
        drop(command);
        let id = child.id().expect("a child that nobody waited for has its id");
        let group = Group::new(Pid::from_raw(id.cast_signed()), mark, started);
        leftovers.remember(&group.mark, started);
        Ok(Self { child, group, output: Output::new(reader)? })
    }

    /// After the process ended by itself: sees what it left behind and hands that over.
    async fn settle(mut self, leftovers: &Leftovers, sink: &mut impl FnMut(&[u8])) -> Background {
        self.output.drain(sink).await;
        // Always looked for: a daemon that left the group and closed the pipe leaves no other trace.
        let background = self.group.remains().count_after(self.group.leader, &leftovers.strangers).await;
        if background == Background::Nothing {
            self.group.release();
        } else {
            leftovers.adopt(Leftover::new(self.group, self.output.pipe));
        }
        background
    }

    /// Ends all of it and waits until it is gone.
    async fn terminate(self, ending: &CancellationToken, sink: &mut impl FnMut(&[u8])) {
        let Self { mut child, mut group, mut output } = self;
        let mut remains = group.remains();
        remains.ask_to_end().await;
        let gone = async {
            // How it ended no longer matters.
            let _ = child.wait().await;
            remains.gone().await;
        };
        tokio::select! {
            () = grace(ending) => {}
            () = output.read_during(gone, sink) => {}
        }
        remains.kill().await;
        // Takes note of its end; if the kernel still holds it, the runtime does that later.
        let _ = timeout(DRAIN, child.wait()).await;
        output.drain(sink).await;
        group.release();
    }
}

/// What a command prints, from our end of the pipe.
struct Output {
    pipe: Receiver,
    has_ended: bool,
    buffer: Vec<u8>,
}

impl Output {
    fn new(reader: io::PipeReader) -> io::Result<Self> {
        let pipe = Receiver::from_owned_fd(OwnedFd::from(reader))?;
        Ok(Self { pipe, has_ended: false, buffer: vec![0; CHUNK] })
    }

    /// Reads what comes until `end`; nobody is to be held up by a full pipe.
    async fn read_during<T>(&mut self, end: impl Future<Output = T>, sink: &mut impl FnMut(&[u8])) -> T {
        tokio::pin!(end);
        loop {
            tokio::select! {
                result = &mut end => return result,
                () = self.read(sink), if !self.has_ended => {}
            }
        }
    }

    /// Reads the rest: until the pipe ends, or for a moment if something else holds it.
    async fn drain(&mut self, sink: &mut impl FnMut(&[u8])) {
        let rest = async {
            while !self.has_ended {
                self.read(sink).await;
            }
        };
        // Out of time is how it ends when there is a background process.
        let _ = timeout(DRAIN, rest).await;
    }

    async fn read(&mut self, sink: &mut impl FnMut(&[u8])) {
        match self.pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.has_ended = true,
            Ok(count) => sink(&self.buffer[..count]),
        }
    }
}

/// The processes of one command. Dropped before they are known to be gone, they are killed: the last resort.
#[derive(Debug)]
struct Group {
    leader: Pid,
    /// In the environment of all that the command started.
    mark: String,
    started: std::time::Instant,
    is_released: bool,
}

impl Group {
    fn new(leader: Pid, mark: String, started: std::time::Instant) -> Self {
        watchdog::watch(leader);
        Self { leader, mark, started, is_released: false }
    }

    fn remains(&self) -> Remains {
        Remains::new(vec![self.leader], vec![self.mark.clone()], self.started)
    }

    /// Nothing is left of it.
    fn release(&mut self) {
        if !std::mem::replace(&mut self.is_released, true) {
            watchdog::release(self.leader);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_released {
            // It may be gone already.
            let _ = killpg(self.leader, Signal::SIGKILL);
            self.release();
        }
    }
}

/// `bash -c --`: leader of a process group, and of a session of its own if Codey has a terminal that it could reach.
fn shell_command() -> io::Result<Command> {
    static PROGRAMS: OnceLock<(Option<PathBuf>, Option<PathBuf>)> = OnceLock::new();
    // Without a terminal there is none to take away, and one program less to start.
    let (bash, setsid) =
        PROGRAMS.get_or_init(|| (program("bash"), has_terminal().then(|| program("setsid")).flatten()));
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

/// Whether this process has a controlling terminal. If not, none of its children can come by one.
fn has_terminal() -> bool {
    Dir::open_ambient_dir("/dev", ambient_authority()).and_then(|dev| dev.open("tty")).is_ok()
}

/// Finds a program as a shell would.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.is_absolute() && access(file, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bash_03_what_ended_before_a_slow_reader_looked_has_not_timed_out() {
        let leftovers = Leftovers::default();
        let (cancel, ending) = (CancellationToken::new(), CancellationToken::new());
        for _ in 0..6 {
            let shell = Shell {
                command: "echo x",
                folder: std::env::temp_dir(),
                hidden_env: &[],
                timeout: Duration::from_millis(100),
            };
            let stops = Stops { cancel: &cancel, ending: &ending };
            // Holds up everything until both the end of the command and its deadline have come.
            let sink = |_: &[u8]| std::thread::sleep(Duration::from_millis(150));
            let end = run(shell, stops, &leftovers, sink).await.unwrap();
            assert_eq!(end, End::Exited { code: Some(0), signal: None, background: Background::Nothing });
        }
    }

    #[tokio::test]
    async fn bash_03_a_command_that_never_stops_printing_times_out() {
        let (cancel, ending) = (CancellationToken::new(), CancellationToken::new());
        let shell = Shell {
            command: "yes",
            folder: std::env::temp_dir(),
            hidden_env: &[],
            timeout: Duration::from_millis(100),
        };
        let stops = Stops { cancel: &cancel, ending: &ending };
        assert_eq!(run(shell, stops, &Leftovers::default(), |_| ()).await.unwrap(), End::TimedOut);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_command_runs_and_is_ended_where_no_thread_can_be_made() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::tests::run_without_threads", "--ignored"])
            .status();
        assert!(status.unwrap().success());
    }

    /// The other half. The stack of a thread takes 2 MiB of address space.
    #[tokio::test]
    #[cfg(target_os = "linux")]
    #[ignore = "runs in a process with a limit of its own"]
    async fn run_without_threads() {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let proc = Dir::open_ambient_dir("/proc", ambient_authority()).unwrap();
        let status = proc.read_to_string("self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.strip_suffix(" kB")).unwrap();
        let size: u64 = size.trim().parse().unwrap();
        let (_, most) = getrlimit(Resource::RLIMIT_AS).unwrap();
        setrlimit(Resource::RLIMIT_AS, (size + 1_024) * 1_024, most).unwrap();
        assert!(std::thread::Builder::new().spawn(|| ()).is_err());
        let leftovers = Leftovers::default();
        let (cancel, ending) = (CancellationToken::new(), CancellationToken::new());
        let shell = Shell {
            command: "sleep 1000 > /dev/null 2>&1 & echo $!",
            folder: std::env::temp_dir(),
            hidden_env: &[],
            timeout: Duration::from_secs(60),
        };
        let mut printed = Vec::new();
        let stops = Stops { cancel: &cancel, ending: &ending };
        let end = run(shell, stops, &leftovers, |bytes| printed.extend_from_slice(bytes)).await.unwrap();
        let background = Background::Processes(None);
        assert_eq!(end, End::Exited { code: Some(0), signal: None, background });
        leftovers.end(&ending).await;
        let pid = String::from_utf8(printed).unwrap();
        let stat = proc.read_to_string(format!("{}/stat", pid.trim())).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }
}
