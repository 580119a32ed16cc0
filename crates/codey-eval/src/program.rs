//! Programs that the suite runs: git, `setup.sh`, `verify.sh`.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

/// Bytes kept of the end of each stream.
const KEPT_OUTPUT: usize = 64 * 1024;
/// Environment variables that programs of a task get; all else could make them differ between machines.
const KEPT_VARIABLES: [&str; 6] = ["PATH", "HOME", "TMPDIR", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME"];
/// Git as on a fresh machine, and commits that are the same every time.
const GIT: [(&str, &str); 8] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_AUTHOR_NAME", "Codey evals"),
    ("GIT_AUTHOR_EMAIL", "evals@example.com"),
    ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
    ("GIT_COMMITTER_NAME", "Codey evals"),
    ("GIT_COMMITTER_EMAIL", "evals@example.com"),
    ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
];

/// A program and how it is to be run.
pub(crate) struct Program {
    name: OsString,
    arguments: Vec<OsString>,
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

/// How a program ended.
pub(crate) struct Ended {
    /// Its exit code; `None`: a signal or the time ended it.
    pub(crate) code: Option<i32>,
    /// The last line it wrote, on stderr if there is one.
    pub(crate) last_line: String,
}

impl Program {
    pub(crate) fn bash(script: &Path, folder: &Path) -> Self {
        Self::new("bash", [script.as_os_str()], folder)
    }

    pub(crate) fn command(text: &str, folder: &Path) -> Self {
        Self::new("bash", ["-c", text].map(OsStr::new), folder)
    }

    pub(crate) fn git(arguments: &[&str], folder: &Path) -> Self {
        Self::new("git", arguments.iter().map(OsStr::new), folder)
    }

    fn new<'a>(name: &str, arguments: impl IntoIterator<Item = &'a OsStr>, folder: &Path) -> Self {
        let arguments = arguments.into_iter().map(OsStr::to_owned).collect();
        Self { name: name.into(), arguments, folder: folder.to_owned(), variables: Vec::new() }
    }

    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Runs it, and ends all it started when it ends or `time` is over.
    pub(crate) async fn run(self, time: Duration) -> Result<Ended> {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments).current_dir(&self.folder).env_clear();
        command.envs(KEPT_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(GIT).env("LC_ALL", "C").env("TZ", "UTC").envs(self.variables);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", self.name.to_string_lossy()))?;
        let group = Group::of(&child);
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let all = async {
            let (out, err, status) = tokio::join!(read(out), read(err), async {
                let status = child.wait().await;
                // What it left behind would hold the pipes open.
                group.kill();
                status
            });
            (out, err, status)
        };
        let Ok((out, err, status)) = tokio::time::timeout(time, all).await else {
            return Ok(Ended { code: None, last_line: format!("it took over {} s", time.as_secs()) });
        };
        let text = if err.trim().is_empty() { out } else { err };
        let last_line = text.trim_end().lines().last().unwrap_or_default().trim().to_owned();
        Ok(Ended { code: status?.code(), last_line })
    }
}

/// The process group of a program, ended with it.
pub(crate) struct Group(Cell<Option<u32>>);

impl Group {
    pub(crate) fn of(child: &Child) -> Self {
        Self(Cell::new(child.id()))
    }

    pub(crate) fn terminate(&self) {
        Self::send(self.0.get(), Signal::SIGTERM);
    }

    pub(crate) fn kill(&self) {
        Self::send(self.0.take(), Signal::SIGKILL);
    }

    fn send(id: Option<u32>, signal: Signal) {
        if let Some(id) = id.and_then(|id| i32::try_from(id).ok()) {
            // There may be nobody left.
            let _ = killpg(Pid::from_raw(id), signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn read(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut kept = Vec::new();
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        // The last line matters, so the end is kept.
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > 2 * KEPT_OUTPUT {
            kept.drain(..kept.len() - KEPT_OUTPUT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
