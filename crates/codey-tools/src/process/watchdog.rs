//! Commands die with Codey, also when Codey is killed.
//!
//! One small `sh` per process, started before the first command, reads the groups that run from a pipe. Only Codey holds
//! the other end, so the pipe ends when Codey does, however that happens; then the script kills every group that is
//! still registered and, on Linux, every process that carries this Codey's mark in its environment: one that left its
//! group, or whose group had no time to be registered.
//!
//! Covered: SIGKILL, the out-of-memory killer, a crash, `abort`. Not covered: processes that left their group and cleared
//! their environment, and a watchdog that was killed itself.

use std::io::{self, PipeWriter};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::unistd::Pid;
use ulid::Ulid;

/// Uses builtins only, and holds no descriptor but its input: nothing may wait for it. Signals meant for Codey's
/// terminal or group do not reach it; it has to outlive Codey by a moment.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT PIPE
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
groups=
while read -r line; do
    case $line in
        +*) groups="$groups ${line#+}" ;;
        -*)
            kept=
            for group in $groups; do
                [ "$group" = "${line#-}" ] || kept="$kept $group"
            done
            groups=$kept
            ;;
    esac
done
for group in $groups; do
    kill -s KILL -- "-$group"
done
# Twice: what was just being started has its mark by then.
for round in 1 2; do
    for file in $(grep -lzx "$1" /proc/[0-9]*/environ); do
        process=${file#/proc/}
        kill -s KILL "${process%/environ}"
    done
done
"#;

/// Names the variable that marks all that this Codey started.
const MARK: &str = "CODEY_PROCESS";

/// Variable and value that mark a command as this Codey's.
pub(super) fn mark() -> (&'static str, &'static str) {
    static VALUE: OnceLock<String> = OnceLock::new();
    (MARK, VALUE.get_or_init(|| Ulid::generate().to_string()))
}

/// Starts the watchdog unless it runs; to be called before a command is started.
pub(super) fn ready() {
    WATCHDOG.get_or_init(start);
}

/// `None` if it could not be started.
static WATCHDOG: OnceLock<Option<Mutex<PipeWriter>>> = OnceLock::new();

/// Has the group killed if Codey dies.
pub(super) fn watch(group: Pid) {
    tell('+', group);
}

/// Nothing is left of the group.
pub(super) fn release(group: Pid) {
    tell('-', group);
}

fn tell(sign: char, group: Pid) {
    let Some(pipe) = WATCHDOG.get_or_init(start) else { return };
    let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = codey_faults::write(&mut *pipe, format!("{sign}{group}\n").as_bytes(), "watchdog") {
        tracing::debug!(%error, "the watchdog is gone");
    }
}

fn start() -> Option<Mutex<PipeWriter>> {
    match try_start() {
        Ok(pipe) => Some(Mutex::new(pipe)),
        Err(error) => {
            tracing::warn!(%error, "no watchdog: commands may outlive Codey if it is killed");
            None
        }
    }
}

fn try_start() -> io::Result<PipeWriter> {
    let (name, value) = mark();
    let (reader, writer) = io::pipe()?;
    let mut command = match super::program("setsid") {
        Some(setsid) => {
            let mut command = Command::new(setsid);
            command.arg("sh");
            command
        }
        None => {
            let mut command = Command::new("sh");
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            command
        }
    };
    command.args(["-c", SCRIPT, "codey-watchdog"]).arg(format!("{name}={value}")).env_clear().current_dir("/");
    // The handle is dropped on purpose: it ends after Codey, so nobody could wait for it.
    command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(writer)
}
