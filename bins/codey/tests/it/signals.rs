//! Signals: nothing is left running, the session goes on.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use codey_testkit::{Reply, ScriptedServer, TempWorkspace, anthropic_to_messages, check_anthropic};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::codey::{Api, Codey, bash, exit, reply, says};

/// How long ending may take. Source: the acceptance of the main job.
const PATIENCE: Duration = Duration::from_secs(3);

fn wait_for(workspace: &TempWorkspace, name: &str) -> i32 {
    loop {
        match std::fs::read_to_string(workspace.at(name)) {
            Ok(text) if text.ends_with('\n') => return text.trim().parse().unwrap(),
            Ok(_) | Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

/// Waits until a process group has no member left, not even one that waits to be reaped.
fn assert_gone(group: i32, since: Instant) {
    while killpg(Pid::from_raw(group), None).is_ok() {
        assert!(since.elapsed() < PATIENCE, "the command is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn server() -> ScriptedServer {
    let sleeps =
        reply(Api::Anthropic, vec![bash("c1", "echo $$ > group; sleep 60 & sleep 60"), bash("c2", "touch made")]);
    ScriptedServer::start(vec![sleeps, says(Api::Anthropic, "going on")])
}

fn start(workspace: &TempWorkspace, server: &ScriptedServer) -> (Codey, Child) {
    let mut codey = Codey::new(workspace.path()).asking(server, Api::Anthropic).args(&[
        "-p",
        "--mode",
        "json",
        "--always-approve",
        "go",
    ]);
    let child = codey.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    (codey, child)
}

#[test]
fn bash_05_a_signal_ends_the_command_and_the_session_goes_on() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let (workspace, server) = (TempWorkspace::new(&[]), server());
        let (_home, child) = start(&workspace, &server);
        let group = wait_for(&workspace, "group");
        let sent = Instant::now();
        kill(pid(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(sent.elapsed() < PATIENCE, "{signal}: {:?}", sent.elapsed());
        assert_gone(group, sent);
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(exit(output.status), 3, "{signal}: {stdout}");
        assert!(stdout.lines().last().unwrap().contains(r#""outcome":{"kind":"interrupted"}"#), "{stdout}");
        let ran =
            Codey::new(workspace.path()).asking(&server, Api::Anthropic).args(&["-p", "--continue", "go on"]).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "going on\n"), "{ran:?}");
        let request = server.requests()[1].json();
        check_anthropic(&request).unwrap();
        assert_eq!(anthropic_to_messages(&request).len(), 3);
        assert!(!workspace.exists("made"));
    }
}

#[test]
fn bash_05_a_killed_codey_takes_its_commands_along() {
    let (workspace, server) = (TempWorkspace::new(&[]), server());
    let (_home, mut child) = start(&workspace, &server);
    let group = wait_for(&workspace, "group");
    kill(pid(&child), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    assert_gone(group, Instant::now());
    let ran = Codey::new(workspace.path()).asking(&server, Api::Anthropic).args(&["-p", "--continue", "go on"]).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "going on\n"), "{ran:?}");
    check_anthropic(&server.requests()[1].json()).unwrap();
}

#[test]
fn a_reader_that_stops_reading_cannot_keep_a_signal_from_ending_it() {
    let long = "x".repeat(300_000);
    let server = ScriptedServer::start(vec![says(Api::Anthropic, &long)]);
    let workspace = TempWorkspace::new(&[]);
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::Anthropic).args(&["-p", "--mode", "json", "go"]);
    let (reader, writer) = std::io::pipe().unwrap();
    // A second way into the same pipe, which does not wait: it tells when there is no room left.
    let mut probe = File::options()
        .write(true)
        .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
        .open(format!("/proc/self/fd/{}", writer.as_raw_fd()))
        .unwrap();
    let mut child = codey.command().stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    // One line is read, then nothing: the pipe fills up.
    let mut reader = BufReader::with_capacity(16, reader);
    reader.read_line(&mut String::new()).unwrap();
    while probe.write(b"\n").is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Instant::now();
    kill(pid(&child), Signal::SIGINT).unwrap();
    let status = child.wait().unwrap();
    assert!(sent.elapsed() < PATIENCE, "{:?}", sent.elapsed());
    assert_eq!(exit(status), 3);
    drop(reader);
}

/// Whether the child has its handler for SIGINT.
#[cfg(target_os = "linux")]
fn hears_interrupts(child: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (Signal::SIGINT as i32 - 1)) != 0
}

/// A pipe that has no room left.
#[cfg(target_os = "linux")]
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let mut probe = File::options().write(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits()).open(path).unwrap();
    while probe.write(&[b'x'; 4096]).is_ok() {}
    while probe.write(b"x").is_ok() {}
    (reader, writer)
}

/// Interrupts a run that ended while its reader was stuck, with stderr in the same pipe or not. Returns the last that it
/// said.
#[cfg(target_os = "linux")]
fn interrupted_while_stuck(is_stderr_stuck: bool) -> String {
    let server = ScriptedServer::start(vec![says(Api::Anthropic, "done")]);
    let workspace = TempWorkspace::new(&[]);
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::Anthropic).args(&["-p", "go"]);
    let (reader, writer) = full_pipe();
    let stderr = if is_stderr_stuck { Stdio::from(writer.try_clone().unwrap()) } else { Stdio::piped() };
    let child = codey.command().stdout(writer).stderr(stderr).spawn().unwrap();
    let has_ended = || {
        let metrics = std::fs::read_to_string(workspace.at(".codey/events.jsonl"));
        metrics.is_ok_and(|lines| lines.contains(r#""type":"run""#))
    };
    while !has_ended() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Instant::now();
    kill(pid(&child), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(sent.elapsed() < PATIENCE, "{:?}", sent.elapsed());
    assert_eq!(exit(output.status), 3);
    drop(reader);
    String::from_utf8(output.stderr).unwrap().lines().last().unwrap_or_default().to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_was_not_read_before_a_signal_is_no_success() {
    let said = "codey: interrupted before the reader of stdout took all of the output; the rest is lost. The session file \
                has all of it.";
    assert_eq!(interrupted_while_stuck(false), said);
    interrupted_while_stuck(true);
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_signal_is_obeyed_though_both_streams_are_stuck() {
    let workspace = TempWorkspace::new(&[]);
    let (reader, writer) = full_pipe();
    // There is no model, and it is stuck while it says so.
    let mut codey = Codey::new(workspace.path()).args(&["-p", "--mode", "json", "go"]);
    let mut child = codey.command().stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
    while !hears_interrupts(&child) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let start = Instant::now();
    let status = loop {
        kill(pid(&child), Signal::SIGINT).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < PATIENCE, "it hears nothing any more");
    };
    assert_eq!(exit(status), 3);
    drop(reader);
}

#[test]
fn a_second_signal_leaves_at_once() {
    // Ignores SIGTERM, so that the first signal needs its grace.
    let stubborn = reply(
        Api::Anthropic,
        vec![bash(
            "c1",
            "trap '' TERM; setsid sleep 60 & echo $! > daemon; echo $$ > group; while :; do sleep 1; done",
        )],
    );
    let server = ScriptedServer::start(vec![stubborn]);
    let workspace = TempWorkspace::new(&[]);
    let (_home, mut child) = start(&workspace, &server);
    let group = wait_for(&workspace, "group");
    let sent = Instant::now();
    kill(pid(&child), Signal::SIGINT).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    kill(pid(&child), Signal::SIGINT).unwrap();
    assert_eq!(exit(child.wait().unwrap()), 3);
    assert!(sent.elapsed() < Duration::from_millis(450), "{:?}", sent.elapsed());
    assert_gone(wait_for(&workspace, "daemon"), sent);
    assert_gone(group, sent);
}

#[test]
fn a_signal_ends_a_request_that_never_answers() {
    let server = ScriptedServer::start(vec![Reply::silence()]);
    let workspace = TempWorkspace::new(&[]);
    let (_home, child) = start(&workspace, &server);
    while server.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Instant::now();
    kill(pid(&child), Signal::SIGINT).unwrap();
    assert_eq!(exit(child.wait_with_output().unwrap().status), 3);
    assert!(sent.elapsed() < PATIENCE, "{:?}", sent.elapsed());
}

#[test]
fn a_signal_while_it_starts_is_an_interrupt() {
    let workspace = TempWorkspace::new(&[]);
    let config = "[[endpoint]]\nname = 'x'\nbase_url = 'http://127.0.0.1:9/v1'\napi_key = 'cmd:sh ./key.sh'\n";
    workspace.write("key.sh", "echo on > started; sleep 9");
    let mut codey = Codey::new(workspace.path()).config(config).args(&["-p", "--mode", "json", "--model", "m", "go"]);
    let child = codey.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !workspace.exists("started") {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(pid(&child), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(exit(output.status), 3, "{stdout}");
    assert!(stdout.contains(r#""outcome":{"kind":"interrupted"}"#) && stdout.lines().count() == 1, "{stdout}");
}

#[test]
fn a_signal_while_stdin_is_awaited_is_an_interrupt() {
    let workspace = TempWorkspace::new(&[]);
    let mut codey = Codey::new(workspace.path()).args(&["-p"]);
    let mut child = codey.command().stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let held = child.stdin.take();
    // Its mask of caught signals tells that it listens.
    let listens = |status: String| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0").trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap() & (1 << (Signal::SIGTERM as i32 - 1)) != 0
    };
    while !listens(std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert_eq!(exit(child.wait().unwrap()), 3);
    drop(held);
}

#[test]
fn a_hangup_that_was_ignored_at_the_start_stays_ignored() {
    let server = ScriptedServer::start(vec![
        reply(Api::Anthropic, vec![bash("c1", "echo $$ > group; sleep 0.5")]),
        says(Api::Anthropic, "done"),
    ]);
    let workspace = TempWorkspace::new(&[]);
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::Anthropic);
    let program = format!("trap '' HUP; exec {} -p --always-approve go", env!("CARGO_BIN_EXE_codey"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &program]).current_dir(workspace.path()).stdin(Stdio::null()).stdout(Stdio::piped());
    for (name, value) in codey.command().get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let child = shell.spawn().unwrap();
    wait_for(&workspace, "group");
    kill(pid(&child), Signal::SIGHUP).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((exit(output.status), output.stdout.as_slice()), (0, b"done\n".as_slice()));
}

/// `script` gives what it runs a terminal of its own.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stderr, reason = "whoever reads the log is to know that nothing was checked")]
fn bash_09_a_command_cannot_reach_the_terminal_that_codey_runs_in() {
    if std::process::Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: the program `script` (util-linux) is not installed");
        return;
    }
    let looks = "(: < /dev/tty) 2>/dev/null && echo reached > seen || echo none > seen";
    let server = ScriptedServer::start(vec![reply(Api::Anthropic, vec![bash("c1", looks)]), says(Api::Anthropic, "x")]);
    let workspace = TempWorkspace::new(&[]);
    let whole = "(: < /dev/tty) && exec \"$CODEY\" -p --always-approve go";
    let codey = Codey::new(workspace.path()).asking(&server, Api::Anthropic).env("CODEY", env!("CARGO_BIN_EXE_codey"));
    let ran = codey.args(&["-qec", whole, "/dev/null"]).replacing("script".as_ref()).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(workspace.read("seen"), "none\n");
}
