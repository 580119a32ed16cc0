//! `bash`.

use std::time::{Duration, Instant};

use codey_protocol::{ErrorCode, RelPath, ToolDisplay};
use codey_tools::{Workspace, WorkspaceOptions};
use serde_json::json;

use crate::fixture::{Fixture, text_of};

async fn check(command: &str, expected: &str) {
    let fixture = Fixture::new(&[]);
    assert_eq!(fixture.text("bash", json!({"command": command})).await, expected, "{command}");
    fixture.workspace.end_run(&fixture.ending).await;
}

/// Whether a process with this command line runs (and is no zombie). Linux alone tells; tests of what is left behind run
/// there only.
#[cfg(target_os = "linux")]
fn is_running(command_line: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let Ok(text) = std::fs::read(entry.path().join("cmdline")) else { return false };
        let words: Vec<_> = text.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        words.join(" ").trim_end() == command_line
    })
}

/// Waits until nothing runs under this command line; fails after a while.
#[cfg(target_os = "linux")]
async fn check_ends(command_line: &str) {
    let start = Instant::now();
    while is_running(command_line) {
        assert!(start.elapsed() < Duration::from_secs(10), "{command_line} goes on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A number for `sleep` that no other test uses.
#[cfg(target_os = "linux")]
fn unique_seconds() -> String {
    format!("{}.{}", 1_000 + std::process::id() % 1_000, rand())
}

#[cfg(target_os = "linux")]
fn rand() -> u128 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() % 1_000_000_000
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn bash_01_a_background_process_does_not_hold_up_the_result() {
    let fixture = Fixture::new(&[]);
    let sleep = format!("sleep {}", unique_seconds());
    let start = Instant::now();
    let text = fixture.text("bash", json!({"command": format!("{sleep} & echo done")})).await;
    assert_eq!(text, "done\n[exit 0, still running in background: 1 process]");
    assert!(start.elapsed() < Duration::from_secs(2));
    assert!(is_running(&sleep));
    fixture.workspace.end_run(&fixture.ending).await;
    assert!(!is_running(&sleep));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn bash_01_background_processes_of_every_kind_are_seen_and_ended_with_the_run() {
    let fixture = Fixture::new(&[]);
    let sleep = format!("sleep {}", unique_seconds());
    let command = format!("{sleep} & nohup {sleep} >/dev/null 2>&1 & setsid {sleep} & (trap '' TERM; {sleep}) & true");
    let text = fixture.text("bash", json!({"command": command})).await;
    let (start, count) = text.split_once("[exit 0, still running in background: ").unwrap();
    assert_eq!(start, "(no output)\n");
    // The subshell may already have become its sleep.
    assert!(["4 processes]", "5 processes]"].contains(&count), "{text}");
    // Without a trace but its environment: no group, no pipe.
    fixture.text("bash", json!({"command": format!("setsid {sleep} </dev/null >/dev/null 2>&1 &")})).await;
    fixture.ending.cancel();
    fixture.workspace.end_run(&fixture.ending).await;
    assert!(!is_running(&sleep));
}

#[tokio::test]
async fn bash_01_a_background_process_may_go_on_printing() {
    let fixture = Fixture::new(&[]);
    let command = "(for i in $(seq 50); do head -c 10000 /dev/zero; done; touch finished; sleep 1000) & echo started";
    let text = fixture.text("bash", json!({"command": command})).await;
    assert!(text.contains("started"), "{text}");
    let start = Instant::now();
    while !fixture.path("finished").exists() {
        assert!(start.elapsed() < Duration::from_secs(10), "the background process is held up");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.workspace.end_run(&fixture.ending).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn bash_01_a_daemon_without_a_pipe_is_seen() {
    let fixture = Fixture::new(&[]);
    let sleep = format!("sleep {}", unique_seconds());
    let command = format!("setsid nohup {sleep} >/dev/null 2>&1 & echo x");
    let text = fixture.text("bash", json!({"command": command})).await;
    assert_eq!(text, "x\n[exit 0, still running in background: 1 process]");
    // It may still be on its way through the two other programs.
    let start = Instant::now();
    while !is_running(&sleep) {
        assert!(start.elapsed() < Duration::from_secs(10), "it never started");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    fixture.workspace.end_run(&fixture.ending).await;
    assert!(!is_running(&sleep));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn bash_01_a_zombie_is_no_running_process() {
    let fixture = Fixture::new(&[]);
    let sleep = format!("sleep {}", unique_seconds());
    // What becomes `sleep` never takes note of the end of its child, which ends only once it has become that.
    let child = "until [ \"$(cat /proc/$PPID/comm)\" = sleep ]; do :; done";
    let is_zombie = "[ -s child ] && grep -q ') Z ' /proc/$(cat child)/stat";
    let command = format!(
        "(sh -c '{child}' & echo $! > child; exec {sleep}) & until {is_zombie}; do sleep 0.01; done; cat child"
    );
    let text = fixture.text("bash", json!({"command": command})).await;
    let (child, status) = text.split_once('\n').unwrap();
    assert_eq!(status, "[exit 0, still running in background: 1 process]");
    let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
    assert!(stat.contains(") Z "), "{stat}");
    let start = Instant::now();
    fixture.workspace.end_run(&fixture.ending).await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(!is_running(&sleep));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn bash_03_a_timeout_keeps_the_output_and_ends_the_whole_group() {
    let fixture = Fixture::new(&[]);
    let sleep = format!("sleep {}", unique_seconds());
    let command = format!("(echo x; {sleep}) | cat; {sleep}");
    let message = fixture.refused("bash", json!({"command": command, "timeout_ms": 300}), ErrorCode::Timeout).await;
    assert_eq!(
        message,
        "timed out after 0.3 s (it did not fail, it did not finish)\nx\n[All it started was ended. Give it more time with \
         timeout_ms (at most 600000), or do less at once.]"
    );
    assert!(!is_running(&sleep));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn bash_05_cancelling_ends_all_that_a_command_started() {
    let fixture = Fixture::new(&[]);
    let sleep = format!("sleep {}", unique_seconds());
    // In the group, out of it, deaf to SIGTERM.
    let command = format!("{sleep} & setsid {sleep} & (trap '' TERM; {sleep}) & echo started; wait");
    let started = async {
        while !fixture.streamed.lock().unwrap().contains("started") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        fixture.ending.cancel();
        fixture.cancel.cancel();
    };
    let (result, ()) = tokio::join!(fixture.call("bash", json!({"command": command})), started);
    let error = result.unwrap_err();
    assert_eq!(error.code, ErrorCode::Cancelled);
    assert_eq!(
        error.message,
        "cancelled by the user before it finished\nstarted\n[All it started was ended; what it did before stays.]"
    );
    assert!(!is_running(&sleep));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn bash_05_cancelling_finds_what_left_its_group_and_cleared_its_environment() {
    let fixture = Fixture::new(&[]);
    let sleep = format!("sleep {}", unique_seconds());
    // By its parent, which is there when it is looked for.
    let bare = format!("env -i \"PATH=$PATH\" {sleep}");
    let both_run = format!("[ $(pgrep -xfc '{sleep}') = 2 ]");
    let command = format!("setsid {bare} & set -m; {bare} & until {both_run}; do :; done; echo started; wait");
    let started = async {
        while !fixture.streamed.lock().unwrap().contains("started") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        fixture.cancel.cancel();
    };
    let (result, ()) = tokio::join!(fixture.call("bash", json!({"command": command})), started);
    assert_eq!(result.unwrap_err().code, ErrorCode::Cancelled);
    assert!(!is_running(&sleep));
}

#[tokio::test]
async fn bash_05_a_command_gets_the_time_to_end_by_itself() {
    let fixture = Fixture::new(&[]);
    let command =
        "trap 'echo cleaning up; sleep 0.2; touch cleaned; exit' TERM; echo started; while :; do sleep 0.01; done";
    let message = fixture.refused("bash", json!({"command": command, "timeout_ms": 300}), ErrorCode::Timeout).await;
    // One SIGTERM each, and no more: many programs take a second one for impatience.
    assert_eq!(message.matches("cleaning up").count(), 1, "{message}");
    assert!(fixture.path("cleaned").exists());
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn bash_05_a_dropped_call_ends_its_command() {
    let fixture = Fixture::new(&[]);
    let sleep = format!("sleep {}", unique_seconds());
    let input = json!({"command": format!("echo started; {sleep}; true")});
    tokio::select! {
        _ = fixture.call("bash", input) => panic!("it ended"),
        () = async {
            while !is_running(&sleep) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        } => {}
    }
    check_ends(&sleep).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn bash_05_a_dropped_workspace_ends_what_runs_in_the_background() {
    let fixture = Fixture::new(&[]);
    let sleep = format!("sleep {}", unique_seconds());
    fixture.text("bash", json!({"command": format!("{sleep} &")})).await;
    assert!(is_running(&sleep));
    drop(fixture);
    check_ends(&sleep).await;
}

#[tokio::test]
async fn bash_07_no_editor_and_no_pager_can_start() {
    let fixture = Fixture::new(&[]);
    let setup = "git init -q . && git config user.name t && git config user.email t@t && echo 1 > f && git add f && \
                 git commit -qm one && echo 2 > f && git commit -qam two && git branch other HEAD~1 && git switch -q other && \
                 echo 3 > f && git commit -qam three && git rebase main -q 2>/dev/null || git rebase master -q 2>/dev/null; \
                 echo 4 > f; git add f";
    fixture.call("bash", json!({"command": setup})).await.unwrap();
    let start = Instant::now();
    for command in ["git rebase --continue", "git commit", "git rebase --abort && git rebase -i HEAD~1"] {
        let text = fixture.text("bash", json!({"command": command})).await;
        assert!(text.contains("[exit 1]") && text.contains("editor 'false'"), "{command}: {text}");
    }
    let text = fixture
        .text("bash", json!({"command": "git log --oneline --no-decorate | cut -d' ' -f2; git --paginate log -1"}))
        .await;
    assert!(text.contains("one") && !text.contains('\u{1b}'), "{text}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn bash_09_there_is_no_input_and_no_terminal() {
    check("read -p 'name? ' x; echo \"[$?] [$x]\"", "[1] []").await;
    check("cat", "(no output)").await;
    check("(: < /dev/tty) 2>/dev/null; echo $?", "1").await;
    check("(: > /dev/tty) 2>/dev/null; echo $?", "1").await;
    check("[ -t 0 ] || [ -t 1 ] || [ -t 2 ]; echo $?", "1").await;
    check("ps -o pgid= -p $$ | tr -d ' ' | grep -qx $$ && echo own group", "own group").await;
}

#[tokio::test]
async fn bash_11_every_call_starts_anew() {
    let fixture = Fixture::new(&[("sub/f", "")]);
    fixture.call("bash", json!({"command": "mkdir t && cd t && rm -rf ../t"})).await.unwrap();
    assert_eq!(fixture.text("bash", json!({"command": "echo ok"})).await, "ok");
    let message = fixture.refused("bash", json!({"command": "echo ok", "workdir": "t"}), ErrorCode::NotFound).await;
    assert_eq!(message, "directory t does not exist; nothing was run. Leave workdir out, or name an existing one.");
    let message =
        fixture.refused("bash", json!({"command": "ls", "workdir": "sub/f"}), ErrorCode::InvalidArguments).await;
    assert!(message.starts_with("sub/f is no directory"), "{message}");
    fixture.refused("bash", json!({"command": "ls", "workdir": ".."}), ErrorCode::OutsideRoot).await;
    assert_eq!(fixture.text("bash", json!({"command": "ls", "workdir": "sub"})).await, "f");
    std::fs::remove_dir_all(fixture.root()).unwrap();
    let error = fixture.error("bash", json!({"command": "echo ok"})).await;
    assert!(error.message.contains("is gone; nothing was run"), "{}", error.message);
    fixture.refused("read", json!({"path": "sub/f"}), ErrorCode::NotFound).await;
    // "No files" would be a lie if the folder was only moved.
    fixture.refused("glob", json!({"pattern": "*"}), ErrorCode::Io).await;
}

#[tokio::test]
async fn bash_11_a_root_that_was_replaced_is_said_to_be() {
    let parent = tempfile::tempdir().unwrap();
    let root = parent.path().canonicalize().unwrap().join("w");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("f"), "one\n").unwrap();
    let mut fixture = Fixture::new(&[]);
    fixture.workspace = crate::fixture::open(&root, "");
    let replace = "cd /; mv \"$OLDPWD\" \"$OLDPWD.x\"; mkdir \"$OLDPWD\"";
    assert_eq!(fixture.text("bash", json!({"command": replace})).await, "(no output)");
    std::fs::write(root.join("other"), "one\n").unwrap();
    let expected = format!("{} is no longer the folder this session works in; nothing was ", root.display());
    let message = fixture.refused("bash", json!({"command": "pwd"}), ErrorCode::NotFound).await;
    assert_eq!(message, format!("{expected}run. It was moved, replaced or deleted: tell the user."));
    // What looks by path must not show another folder; what goes by the held one keeps working.
    for (tool, input) in [("glob", json!({"pattern": "*"})), ("grep", json!({"pattern": "one"}))] {
        assert!(fixture.refused(tool, input, ErrorCode::Io).await.starts_with(&expected));
    }
    assert_eq!(fixture.text("read", json!({"path": "f"})).await, "     1\tone");
}

#[tokio::test]
async fn bash_11_relative_paths_start_in_cwd() {
    let fixture = Fixture::below("sub", &[("sub/deep/f", "")]);
    let sub = fixture.path("sub").display().to_string();
    assert_eq!(fixture.text("bash", json!({"command": "pwd"})).await, sub);
    assert_eq!(fixture.text("bash", json!({"command": "pwd", "workdir": "deep"})).await, format!("{sub}/deep"));
}

#[tokio::test]
async fn a_command_does_not_start_in_a_folder_whose_files_are_denied() {
    for deny in ["secrets", "secrets/**", "secrets/*"] {
        let mut fixture = Fixture::new(&[("secrets/in/key", "x"), ("open/key", "x")]);
        let options = WorkspaceOptions {
            root: fixture.root(),
            cwd: RelPath::root(),
            deny_paths: vec![deny.to_owned()],
            hidden_env: Vec::new(),
        };
        fixture.workspace = Workspace::open(options).unwrap();
        fixture.link("secrets", "link");
        for workdir in ["secrets", "secrets/in", "open/../secrets", "link"] {
            let call = json!({"command": "cat key */key", "workdir": workdir});
            fixture.refused("bash", call, ErrorCode::Denied).await;
        }
        let call = json!({"command": "cat key", "workdir": "open"});
        assert_eq!(fixture.text("bash", call).await, "x");
    }
}

#[tokio::test]
async fn bash_13_a_huge_output_keeps_head_tail_and_a_file() {
    let fixture = Fixture::new(&[]);
    let command = "echo first; yes | head -c 60000000; echo last";
    let output = fixture.call("bash", json!({"command": command})).await.unwrap();
    let text = text_of(&output);
    assert!(text.chars().count() < 30_200 && text.starts_with("first\ny\n") && text.ends_with("\ny\nlast"));
    let ToolDisplay::Command { truncated: true, spill: Some(spill), exit: Some(0), .. } = output.for_user else {
        panic!()
    };
    let kept = fixture.bytes(spill.as_str());
    assert_eq!(kept.len(), 5 * 1024 * 1024);
    assert!(kept.starts_with(b"first\ny\n"));
    assert_eq!(fixture.mode(spill.as_str()), 0o600);
    assert_eq!((fixture.mode(".codey"), fixture.mode(".codey/output")), (0o700, 0o700));
    let marker = text.lines().find(|line| line.starts_with("[… ")).unwrap();
    assert!(marker.ends_with(&format!(" bytes left out; the first 5 MiB of it: {spill} …]")), "{marker}");
    // The model can look at it.
    assert!(fixture.text("read", json!({"path": spill.as_str()})).await.starts_with("     1\tfirst\n"));
}

#[tokio::test]
async fn bash_13_a_medium_output_is_kept_whole() {
    let fixture = Fixture::new(&[]);
    let output = fixture.call("bash", json!({"command": "seq 10000"})).await.unwrap();
    let ToolDisplay::Command { spill: Some(spill), output: shown, .. } = &output.for_user else { panic!() };
    let all: String = (1..=10_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(fixture.bytes(spill.as_str()), all.as_bytes());
    assert!(shown.contains(&format!(" bytes left out; full output: {spill} …]\n")), "{shown}");
    let left_out: usize = shown.split("[… ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let marker = shown.lines().find(|line| line.starts_with("[… ")).unwrap();
    assert_eq!(shown.len() - marker.len() - 1 + left_out - usize::from(!shown.is_empty()), all.len());
}

#[tokio::test]
async fn bash_13_where_nothing_can_be_kept_the_text_says_why() {
    let fixture = Fixture::new(&[(".codey", "a file where the folder should be")]);
    let text = fixture.text("bash", json!({"command": "seq 10000"})).await;
    assert!(text.contains(" bytes left out; the rest was not kept: not a directory …]\n"), "{text}");
}

#[tokio::test]
async fn bash_15_secrets_are_not_passed_on() {
    let fixture = Fixture::new(&[]);
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new(program)
        .args(["--exact", "bash::print_environment", "--ignored", "--nocapture"])
        .env("CODEY_TEST_ROOT", fixture.root())
        .envs([("OPENAI_API_KEY", "sk-1"), ("my_token", "sk-2"), ("MY_PROVIDER", "sk-3"), ("DB_PASSWORD", "sk-4")])
        .envs([("AWS_SECRET", "sk-5"), ("X_CREDENTIALS", "sk-6"), ("HARMLESS", "passed on"), ("FORCE_COLOR", "1")])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("sk-") && text.contains("HARMLESS=passed on"), "{text}");
    for line in ["TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "EDITOR=false", "GIT_TERMINAL_PROMPT=0"] {
        assert!(text.lines().any(|other| other == line), "{line} is missing in {text}");
    }
    assert!(!text.contains("FORCE_COLOR"), "{text}");
}

/// The other half of [`bash_15_secrets_are_not_passed_on`].
#[tokio::test]
#[ignore = "runs in a process with a prepared environment"]
#[allow(clippy::print_stdout, reason = "the output is what is tested")]
async fn print_environment() {
    let mut fixture = Fixture::new(&[]);
    let root = std::path::PathBuf::from(std::env::var_os("CODEY_TEST_ROOT").unwrap());
    fixture.workspace = crate::fixture::open(&root, "");
    println!("{}", fixture.text("bash", json!({"command": "env"})).await);
}

#[tokio::test]
async fn bash_17_the_command_reaches_the_shell_byte_for_byte() {
    check(r#"echo '!x' "a!b""#, "!x a!b").await;
    check("jq -n '1 != 2'", "true").await;
    check("printf '%s' 'é \\n \"$HOME\" `x` %d'", "é \\n \"$HOME\" `x` %d").await;
    check("cat <<'E'\n$x\n\ttab\nE", "$x\n\ttab").await;
    check("-x() { :; }; echo a", "a").await;
}

#[tokio::test]
async fn bash_19_the_status_is_stated() {
    check("exit 3", "(no output)\n[exit 3]").await;
    check("kill -9 $$", "(no output)\n[killed by signal 9]").await;
    check("false", "(no output)\n[exit 1]").await;
    check("true", "(no output)").await;
    check("echo; echo ' '", "(no output)").await;
    check("echo out; echo err >&2; echo out; exit 1", "out\nerr\nout\n[exit 1]").await;
    let fixture = Fixture::new(&[]);
    let output = fixture.call("bash", json!({"command": "nosuchcmd"})).await.unwrap();
    let text = text_of(&output);
    assert!(text.contains("nosuchcmd: command not found\n[exit 127]"), "{text}");
    let ToolDisplay::Command { exit: Some(127), signal: None, truncated: false, spill: None, .. } = output.for_user
    else {
        panic!("{:?}", output.for_user)
    };
}

#[tokio::test]
async fn output_streams_as_it_comes_and_is_never_cut_inside_a_character() {
    let fixture = Fixture::new(&[]);
    let command = "printf '\\xf0\\x9f'; sleep 0.05; printf '\\x98\\x80\\n'; printf '\\xff'";
    assert_eq!(fixture.text("bash", json!({"command": command})).await, "😀\n\u{FFFD}");
    assert_eq!(*fixture.streamed.lock().unwrap(), "😀\n\u{FFFD}");
}

#[tokio::test]
async fn prov_17_a_cap_never_falls_inside_a_character() {
    let fixture = Fixture::new(&[]);
    let text = fixture.text("bash", json!({"command": "printf '😀%.0s' $(seq 40000)"})).await;
    assert!(!text.contains('\u{FFFD}') && text.matches('😀').count() == 30_000);
}

#[tokio::test]
async fn a_command_that_cannot_start_says_why() {
    let fixture = Fixture::new(&[]);
    let command = format!("echo {}", "x".repeat(200_000));
    let message = fixture.refused("bash", json!({"command": command}), ErrorCode::InvalidArguments).await;
    assert_eq!(message, "command is longer than 128 KiB. Write it to a file and run that.");
    let longest = format!("echo {} | wc -c", "x".repeat(128 * 1024 - 20));
    assert_eq!(fixture.text("bash", json!({"command": longest})).await, (128 * 1024 - 19).to_string());
}

#[tokio::test]
async fn the_plan_shows_the_command() {
    let fixture = Fixture::new(&[]);
    let plan = fixture.plan("bash", &json!({"command": "cargo test\necho 2"})).await.unwrap();
    assert_eq!(plan.summary, "bash cargo test …");
    assert_eq!(plan.preview, ToolDisplay::text("cargo test\necho 2"));
}

#[tokio::test]
async fn a_plain_command_is_cheap() {
    let fixture = Fixture::new(&[]);
    fixture.text("bash", json!({"command": "true"})).await;
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        fixture.text("bash", json!({"command": "true"})).await;
        best = best.min(start.elapsed());
    }
    // Nothing waits for a grace or a timer; the rest is what two programs take to start.
    assert!(best < Duration::from_millis(60), "{best:?}");
}
