//! The built program against toy suites and scripted model servers.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use codey_eval::{Campaign, Tree, Verdict, Workspace, load_suite, prove};
use codey_llm::{Block, Message, StopReason, Usage, tool_use};
use codey_testkit::{Reply, ScriptedServer, openai_sse};
use serde_json::json;
use tempfile::TempDir;

/// Says yes when the greeting is right.
const VERIFY: &str = "grep -qx hello greeting.txt || { echo 'no greeting'; exit 1; }\n";
const SOLUTION: &str = "--- a/greeting.txt\n+++ b/greeting.txt\n@@ -1 +1 @@\n-helo\n+hello\n";
const NEAR_MISS: &str = "--- a/greeting.txt\n+++ b/greeting.txt\n@@ -1 +1 @@\n-helo\n+hullo\n";

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// A folder with a suite and its campaigns.
struct Suite {
    folder: TempDir,
}

impl Suite {
    fn new(names: &[&str]) -> Self {
        let suite = Self { folder: tempfile::tempdir().unwrap() };
        for name in names {
            suite.put(name, "prompt.txt", "Mend the greeting.\n");
            suite.put(name, "setup.sh", "exit 0\n");
            suite.put(name, "verify.sh", VERIFY);
            suite.put(name, "repo/greeting.txt", "helo\n");
            suite.put(name, "solution/solution.patch", SOLUTION);
            suite.put(name, "near_miss/other.patch", NEAR_MISS);
        }
        suite
    }

    fn tasks(&self) -> PathBuf {
        self.folder.path().join("tasks")
    }

    fn put(&self, task: &str, file: &str, text: &str) {
        let path = self.tasks().join(task).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codey-evals"));
        command.arg("--tasks").arg(self.tasks()).args(arguments);
        if arguments[0] == "run" && !arguments.contains(&"--resume") {
            command.arg("--runs").arg(self.folder.path().join("runs"));
        }
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        let output = command.env("HOME", self.folder.path()).envs(variables.iter().copied()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Against a model, on one task at a time in the order of the names.
    fn ask(&self, server: &str, more: &[&str]) -> Ran {
        let arguments = [&["run", "--jobs", "1", "--base-url", server, "--model", "m"], more].concat();
        self.run(&arguments, &[])
    }

    fn campaigns(&self) -> Vec<PathBuf> {
        let folders = fs::read_dir(self.folder.path().join("runs")).into_iter().flatten();
        let mut folders: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        folders
    }

    /// Task and verdict of the newest campaign's runs: `+` solved, `-` unsolved, `?` void.
    fn verdicts(&self) -> String {
        let records = Campaign::open(self.campaigns().last().unwrap()).unwrap().records();
        let sign = |verdict: &Verdict| match verdict {
            Verdict::Solved {} => '+',
            Verdict::Unsolved { .. } => '-',
            Verdict::Void { .. } => '?',
        };
        records.iter().map(|record| format!("{}{} ", record.task, sign(&record.verdict))).collect()
    }
}

fn url(server: &ScriptedServer) -> String {
    format!("{}/v1", server.url())
}

fn answer(blocks: Vec<Block>, stop: StopReason) -> Reply {
    let usage = Usage { input: 100, output: 20, ..Usage::default() };
    Reply::sse(openai_sse(&Message::assistant(blocks), &stop, usage))
}

/// What a model says that solves the toy task.
fn solving() -> Vec<Reply> {
    let edit = json!({"path": "greeting.txt", "old_str": "helo", "new_str": "hello"});
    vec![
        answer(vec![tool_use("c1", "read", json!({"path": "greeting.txt"}))], StopReason::ToolUse),
        answer(vec![tool_use("c2", "edit", edit)], StopReason::ToolUse),
        answer(vec![Block::text("Done.")], StopReason::EndTurn),
    ]
}

fn too_many_requests() -> Vec<Reply> {
    (0..40).map(|_| Reply::status(429).header("retry-after-ms", "1")).collect()
}

#[test]
fn scripted_agents_show_that_the_checker_can_tell_right_from_wrong() {
    let suite = Suite::new(&["a", "b"]);
    for (agent, verdicts) in [("oracle", "a+ a+ b+ b+ "), ("nop", "a- a- b- b- "), ("liar", "a- a- b- b- ")] {
        let ran = suite.run(&["run", "--agent", agent, "-n", "2"], &[]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(suite.verdicts(), verdicts, "{agent}");
    }
    let campaigns = suite.campaigns();
    let [oracle, nop] = [&campaigns[0], &campaigns[1]].map(|folder| folder.to_str().unwrap());
    let compared = suite.run(&["compare", oracle, nop], &[]);
    assert!(compared.code == 0 && compared.stdout.contains("McNemar"), "{}", compared.stdout);
    let plain = suite.run(&["report", oracle, "--format", "json"], &[]);
    let report: serde_json::Value = serde_json::from_str(&plain.stdout).unwrap();
    assert!(report.is_object());
    assert!(fs::read_to_string(Path::new(oracle).join("a/1.events.jsonl")).unwrap().contains(r#""type":"run_end""#));
    assert!(Path::new(oracle).join("a/1.session.jsonl").is_file());
}

#[test]
fn eval_01_what_was_not_measured_is_in_no_rate() {
    let suite = Suite::new(&["a-fine", "b-no-setup", "c-no-verify", "d-no-toolchain"]);
    suite.put("b-no-setup", "setup.sh", "echo 'no such tool' >&2; exit 1\n");
    fs::remove_file(suite.tasks().join("c-no-verify/verify.sh")).unwrap();
    suite.put("d-no-toolchain", "verify.sh", "echo 'no compiler'; exit 99\n");
    let ran = suite.run(&["run", "--agent", "oracle"], &[]);
    assert_eq!(suite.verdicts(), "a-fine+ b-no-setup? c-no-verify? d-no-toolchain? ");
    assert!(ran.stdout.contains("1 solved of 1 measured"), "{}", ran.stdout);
    for reason in ["no such tool", "the task has no verify.sh", "no compiler"] {
        assert!(ran.stdout.contains(reason), "{reason}: {}", ran.stdout);
    }
}

#[test]
fn eval_01_a_model_that_cannot_be_reached_is_void_and_measured_when_the_campaign_is_resumed() {
    let suite = Suite::new(&["a", "b"]);
    let server = ScriptedServer::start([solving(), too_many_requests()].concat());
    let ran = suite.ask(&url(&server), &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(["a+ b? ", "a? b+ "].contains(&suite.verdicts().as_str()), "{}", suite.verdicts());
    assert!(ran.stdout.contains("1 solved of 1 measured"), "{}", ran.stdout);
    let server = ScriptedServer::start(solving());
    let folder = suite.campaigns().remove(0);
    let resumed = suite.run(&["run", "--resume", folder.to_str().unwrap(), "--base-url", &url(&server)], &[]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert_eq!((suite.verdicts().as_str(), server.unplayed()), ("a+ b+ ", 0), "only the void run is made again");
}

#[test]
fn eval_03_a_workspace_holds_one_commit_and_nothing_of_the_solution() {
    let suite = Suite::new(&["a"]);
    suite.put("a", "setup.sh", "printf 'one line of it all\\nanother line of it\\n' > old.txt\n");
    let patch =
        "--- a/greeting.txt\n+++ b/greeting.txt\n@@ -1 +1,2 @@\n-helo\n+one line of it all\n+another line of it\n";
    let task = |suite: &Suite| load_suite(&suite.tasks(), &[]).unwrap().remove(0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        let workspace = Workspace::prepare(&task(&suite), &place.path().join("w")).await.unwrap();
        let git = |arguments: &[&str]| {
            let output = Command::new("git").args(arguments).current_dir(&workspace.folder).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(git(&["log", "--all", "--reflog", "--format=%s"]), "Start\n");
        assert_eq!(git(&["fsck", "--lost-found", "--unreachable"]), "");
        assert_eq!(git(&["remote"]) + &git(&["tag"]) + &git(&["stash", "list"]), "");
        assert_eq!(Tree::of(&workspace.folder).unwrap(), Tree::of(&workspace.before).unwrap());
        suite.put("a", "solution/solution.patch", patch);
        let proofs = prove(&task(&suite), &place.path().join("p")).await;
        let leak = proofs.iter().find(|proof| proof.case == "leak").unwrap();
        assert_eq!(leak.problem.as_deref(), Some("old.txt holds most lines of the solution"));
    });
}

#[test]
fn eval_05_no_model_is_asked_while_the_suite_cannot_tell_right_from_wrong() {
    let server = ScriptedServer::start(solving());
    for (verify, reason) in [("exit 0\n", "Solved"), ("echo never; exit 1\n", "never")] {
        let suite = Suite::new(&["a", "b", "c"]);
        suite.put("b", "verify.sh", verify);
        let ran = suite.ask(&url(&server), &[]);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("the suite cannot be trusted") && ran.stderr.contains(reason), "{}", ran.stderr);
        let wrong = suite.run(&["verify"], &[]);
        assert!(wrong.code == 1 && wrong.stdout.contains("WRONG b "), "{}", wrong.stdout);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn rules_hold_whatever_the_checker_says() {
    let suite = Suite::new(&["a", "b", "c", "d"]);
    suite.put("a", "task.toml", "max_turns = 1\n");
    suite.put("b", "task.toml", "must_survive = ['greeting.txt']\n");
    suite.put("c", "task.toml", "expect_no_changes = true\n");
    suite.put("d", "task.toml", "test = 'sleep 60'\ntimeout = '1s'\n");
    let ran = suite.run(&["run", "--agent", "oracle"], &[]);
    assert_eq!(suite.verdicts(), "a- b- c- d- ");
    for reason in ["it reached a limit", "greeting.txt had to stay", "nothing was to be changed", "it took over 1 s"] {
        assert!(ran.stderr.contains(reason), "{reason}: {}", ran.stderr);
    }
}

#[test]
fn what_an_agent_breaks_is_no_reason_to_count_nothing() {
    let suite = Suite::new(&["a", "b", "c", "d", "e"]);
    for (task, command) in [
        ("a", "rm -rf \"$PWD\""),
        ("b", "echo hello > greeting.txt; mkdir sub; git init -q sub"),
        // The session cannot be written then, and the run fails.
        ("c", "echo hello > greeting.txt; rm -rf .codey; echo > .codey"),
        ("d", "echo hello > greeting.txt; echo > ../before/greeting.txt"),
        ("e", "echo hello > greeting.txt; rm -rf .git"),
    ] {
        suite.put(task, "solution/solution.sh", &format!("{command}\n"));
        fs::remove_file(suite.tasks().join(task).join("solution/solution.patch")).unwrap();
    }
    let ran = suite.run(&["run", "--agent", "oracle"], &[]);
    assert_eq!(suite.verdicts(), "a- b+ c- d- e+ ", "{}", ran.stderr);
}

#[test]
fn a_record_that_is_none_is_named_and_its_run_made_again() {
    let suite = Suite::new(&["a"]);
    suite.run(&["run", "--agent", "oracle", "-n", "2"], &[]);
    let folder = suite.campaigns().remove(0);
    let record = fs::read(folder.join("a/1.json")).unwrap();
    fs::write(folder.join("a/2.json"), &record[..100]).unwrap();
    fs::write(folder.join("a/9.json"), &record).unwrap();
    let report = suite.run(&["report", folder.to_str().unwrap()], &[]);
    assert!(report.stdout.contains("1 solved of 1 measured"), "{}", report.stdout);
    assert!(
        report.stderr.contains("a/2.json") && report.stderr.contains("a/9.json: is run 1 of a"),
        "{}",
        report.stderr
    );
    suite.run(&["run", "--resume", folder.to_str().unwrap()], &[]);
    assert_eq!(suite.verdicts(), "a+ a+ ");
    let twice = suite.run(&["report", folder.to_str().unwrap(), folder.to_str().unwrap()], &[]);
    assert!(twice.code == 2 && twice.stderr.contains("is named twice"), "{}", twice.stderr);
}

#[test]
fn a_program_that_does_not_begin_or_end_holds_no_campaign_up() {
    let suite = Suite::new(&["a"]);
    let program = suite.folder.path().join("codey");
    for (script, verdict) in [
        ("echo 'bad config' >&2; exit 2", "a? "),
        // Ignores being told to end, and leaves somebody who holds stdout.
        ("trap '' TERM; setsid sleep 600 & echo '{}'; sleep 600", "a- "),
    ] {
        let text = format!("#!/bin/bash\n{script}\n");
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let program = program.to_str().unwrap();
        let arguments = ["run", "--via", "print", "--model", "m", "--timeout", "1", "--codey", program];
        let ran = suite.run(&arguments, &[("CODEY_BASE_URL", "http://127.0.0.1:1/v1")]);
        assert_eq!(suite.verdicts(), verdict, "{}", ran.stderr);
        assert!(verdict == "a- " || ran.stderr.contains("bad config"), "{}", ran.stderr);
    }
}

#[test]
fn a_suite_is_read_whole_before_anything_runs() {
    let suite = Suite::new(&["a", "b"]);
    suite.put("b", "task.toml", "max_turn = 3\n");
    let ran = suite.run(&["run", "a", "--agent", "oracle"], &[]);
    assert_eq!((ran.code, suite.campaigns().len()), (2, 0));
    assert!(ran.stderr.contains("/tasks/b: task.toml") && ran.stderr.contains("max_turn"), "{}", ran.stderr);
    suite.put("b", "task.toml", "");
    let ran = suite.run(&["run", "z", "--agent", "oracle"], &[]);
    assert!(ran.code == 2 && ran.stderr.contains("there is no task \"z\""), "{}", ran.stderr);
    let ran = suite.run(&["run", "--via", "acp"], &[]);
    assert!(ran.code == 2 && ran.stderr.contains("lib, print"), "{}", ran.stderr);
}

#[test]
fn the_generated_table_of_a_file_is_replaced_and_nothing_else() {
    let suite = Suite::new(&["a"]);
    suite.run(&["run", "--agent", "oracle"], &[]);
    let file = suite.folder.path().join("METRICS.md");
    fs::write(&file, "before\n<!-- eval:begin latest -->\nstale text\n<!-- eval:end latest -->\nafter\n").unwrap();
    let campaign = suite.campaigns().remove(0);
    let ran = suite.run(&["report", campaign.to_str().unwrap(), "--update", file.to_str().unwrap()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("before\n") && text.ends_with("after\n") && !text.contains("stale text"), "{text}");
    assert!(text.contains("pass@1"), "{text}");
}
