//! Where the prompt comes from.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use codey_testkit::{ScriptedServer, TempWorkspace, openai_to_messages};

use crate::codey::{Api, Codey, exit, talker};

fn asked(server: &ScriptedServer) -> String {
    openai_to_messages(&server.requests()[0].json())[0].text()
}

fn check(args: &[&str], stdin: Option<&str>, expected: &str) {
    let server = talker(Api::OpenAi, "OK", 1);
    let workspace = TempWorkspace::new(&[]);
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(args);
    if let Some(text) = stdin {
        codey = codey.stdin(text);
    }
    let ran = codey.run();
    assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    assert_eq!(asked(&server), expected, "{args:?}");
}

#[test]
fn the_prompt_is_the_argument_or_stdin_or_both() {
    check(&["-p", "hi"], None, "hi");
    check(&["-p"], Some("from stdin\n"), "from stdin\n");
    check(&["-p", "-"], Some("from stdin"), "from stdin");
    check(&["-p", "explain"], Some("the log"), "explain\n\nthe log");
    check(&["-p", "explain"], Some(""), "explain");
    check(&["-p", "demo"], None, "demo");
    check(&["hi", "-p"], None, "hi");
}

#[test]
fn head_01_a_silent_pipe_is_waited_for_only_shortly_and_said() {
    let server = talker(Api::OpenAi, "OK", 1);
    let workspace = TempWorkspace::new(&[]);
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "say OK"]);
    let started = Instant::now();
    let mut child =
        codey.command().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let held = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    assert_eq!((exit(output.status), String::from_utf8(output.stdout).unwrap().as_str()), (0, "OK\n"));
    assert!(String::from_utf8(output.stderr).unwrap().contains("nothing came on stdin for 3 s"));
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    drop(held);
}

#[test]
fn head_01_a_slow_pipe_is_read_to_its_end_once_it_began() {
    let server = talker(Api::OpenAi, "OK", 1);
    let workspace = TempWorkspace::new(&[]);
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "say"]);
    let mut child = codey.command().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"one ").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    pipe.write_all(b"two").unwrap();
    drop(pipe);
    assert_eq!(exit(child.wait().unwrap()), 0);
    assert_eq!(asked(&server), "say\n\none two");
}

#[test]
fn head_01_a_closed_stdin_does_not_matter() {
    let server = talker(Api::OpenAi, "OK", 1);
    let workspace = TempWorkspace::new(&[]);
    let program = format!("exec {} -p 'say OK' <&-", env!("CARGO_BIN_EXE_codey"));
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &program]).current_dir(workspace.path());
    for (name, value) in codey.command().get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let output = shell.output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "OK\n");
}

#[test]
fn more_than_ten_mebibytes_are_refused() {
    let workspace = TempWorkspace::new(&[]);
    let server = talker(Api::OpenAi, "OK", 1);
    let ran = Codey::new(workspace.path())
        .asking(&server, Api::OpenAi)
        .args(&["-p"])
        .stdin(&"x".repeat(10 * 1024 * 1024 + 1))
        .run();
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(server.requests().is_empty());
}
