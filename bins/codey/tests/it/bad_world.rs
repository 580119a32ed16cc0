//! Folders, disks, programs and session files that are not as they should be: one clear line, nothing lost.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;

use codey_llm::{Block, tool_use};
use codey_testkit::{ScriptedServer, TempWorkspace, check_openai};
use serde_json::{Value, json};

use crate::codey::{Api, Codey, Ran, bash, read, reply, says, session_file, talker};

const HELLO: [&str; 2] = ["-p", "hi"];
/// The user without rights, where the tests run as one with all.
const NOBODY: u32 = 65534;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The program as somebody whom permissions bind. The superuser is not, so it then runs as another user.
fn bound(workspace: &TempWorkspace, server: &ScriptedServer) -> Codey {
    let mut codey = Codey::new(workspace.path()).asking(server, Api::OpenAi);
    set_mode(codey.home.path(), 0o777);
    if codey.home.path().metadata().unwrap().uid() == 0 {
        // That user may not get to where programs are built, but can run one that lies in its home.
        let program = codey.home.path().join("codey");
        let built = env!("CARGO_BIN_EXE_codey");
        std::fs::hard_link(built, &program).or_else(|_| std::fs::copy(built, &program).map(drop)).unwrap();
        codey = codey.replacing(&program);
        codey.command().uid(NOBODY).gid(NOBODY);
    }
    codey
}

#[test]
fn folders_that_are_none() {
    let server = talker(Api::OpenAi, "OK", 0);
    let workspace = TempWorkspace::new(&[("file", "")]);
    let long = format!("/{}", "x".repeat(5_000));
    let why = "Name an existing folder with --cwd.";
    for (cwd, expected) in [
        ("missing", format!("cannot work in missing: No such file or directory. {why}")),
        ("file", format!("cannot work in file: it is not a folder. {why}")),
        ("/no\u{1b}[2J\n", format!("cannot work in /no\\u{{1b}}[2J\\n: No such file or directory. {why}")),
        ("", "--cwd needs a value. ".to_owned()),
    ] {
        let codey = || Codey::new(workspace.path()).asking(&server, Api::OpenAi);
        codey().args(&["-p", "x", "--cwd", cwd]).run().assert_refused(&expected);
        codey().args(&["sessions", "--cwd", cwd]).run().assert_refused(&expected);
        codey().args(&["context", "--cwd", cwd]).run().assert_refused(&expected);
    }
    let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "x", "--cwd", &long]).run();
    ran.assert_refused("cannot work in /xxx");
    assert!(ran.complaint().ends_with(&format!("…{}: File name too long. {why}", "x".repeat(280))), "{ran:?}");
}

#[test]
fn folders_that_may_not_be_entered_or_written_to() {
    let server = talker(Api::OpenAi, "OK", 1);
    let workspace = TempWorkspace::new(&[("closed/.keep", "")]);
    set_mode(&workspace.at("closed"), 0o000);
    set_mode(workspace.path(), 0o555);
    let ran = bound(&workspace, &server).args(&HELLO).run();
    ran.assert_refused(&format!(
        "cannot keep a session in {}: Permission denied. Use --no-session",
        workspace.path().display()
    ));
    let ran = bound(&workspace, &server).args(&["-p", "x", "--cwd", "closed"]).run();
    ran.assert_refused("cannot work in closed: Permission denied. Change its permissions, or name another folder ");
    let ran = bound(&workspace, &server).args(&["-p", "--no-session", "hi"]).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "OK\n"), "{ran:?}");
    set_mode(workspace.path(), 0o755);
    set_mode(&workspace.at("closed"), 0o755);
}

#[test]
fn a_home_that_may_not_be_written_to_is_enough() {
    let server = talker(Api::OpenAi, "OK", 1);
    let workspace = TempWorkspace::new(&[]);
    set_mode(workspace.path(), 0o777);
    let codey = bound(&workspace, &server).args(&["-p", "-vv", "hi"]);
    set_mode(codey.home.path(), 0o555);
    let ran = codey.run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "OK\n"), "{ran:?}");
    session_file(&workspace);
}

#[test]
fn something_else_in_the_place_of_codeys_folders() {
    let server = talker(Api::OpenAi, "OK", 0);
    type Make = fn(&TempWorkspace);
    let make: [(&str, Make, &str); 3] = [
        (
            ".codey",
            |workspace| workspace.write(".codey", ""),
            ".codey/config.toml: cannot be read: a folder of its path",
        ),
        (".codey/sessions", |workspace| workspace.write(".codey/sessions", ""), "cannot keep a session in "),
        (
            ".codey",
            |workspace| std::os::unix::fs::symlink("/tmp", workspace.at(".codey")).unwrap(),
            "cannot keep a session in ",
        ),
    ];
    for (name, make, expected) in make {
        let workspace = TempWorkspace::new(&[]);
        make(&workspace);
        let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&HELLO).run();
        ran.assert_refused("");
        assert!(ran.complaint().contains(expected) && ran.complaint().contains(name), "{ran:?}");
    }
}

/// The calls are made one a turn; returns what the model read of each.
fn told(workspace: &TempWorkspace, calls: Vec<Block>, change: impl Fn(Codey) -> Codey) -> (Ran, Vec<String>) {
    let mut turns: Vec<_> = calls.into_iter().map(|call| reply(Api::OpenAi, vec![call])).collect();
    turns.push(says(Api::OpenAi, "done"));
    let server = ScriptedServer::start(turns);
    let codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "--always-approve", "go"]);
    let ran = change(codey).run();
    let last = |request: &Value| request["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let texts = server.requests().into_iter().skip(1).map(|request| {
        check_openai(&request.json()).unwrap();
        last(&request.json()).as_str().unwrap().to_owned()
    });
    (ran, texts.collect())
}

fn write(id: &str, path: &str, content: &str) -> Block {
    tool_use(id, "write", json!({"path": path, "content": content}))
}

/// Files may not grow beyond `kibibytes`: the write that crosses the limit is cut short, as on a full disk.
fn on_a_small_disk(kibibytes: u32) -> impl Fn(Codey) -> Codey {
    move |codey| codey.through("bash", &["-c", &format!("ulimit -f {kibibytes}; exec \"$0\" \"$@\"")])
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_recorded() {
    for (kibibytes, turns) in [(0, 0), (1, 0), (16, 1)] {
        let workspace = TempWorkspace::new(&[]);
        let (ran, told) = told(&workspace, vec![bash("c1", "seq 1 4000")], on_a_small_disk(kibibytes));
        assert_eq!((ran.code, told.len()), (1, 0), "{kibibytes}: {ran:?}");
        let said = ran.complaint();
        assert!(
            said.starts_with(&format!("codey: cannot write {}/.codey/sessions/", workspace.path().display())),
            "{said}"
        );
        assert!(said.contains(": File too large. Raise the limit on the size of files (ulimit -f), or use "), "{said}");
        assert_eq!(
            ran.stderr.contains("codey: 1 turn · "),
            turns == 1,
            "without a session nothing is summed up: {ran:?}"
        );
        if turns == 0 {
            continue;
        }
        let server = talker(Api::OpenAi, "going on", 1);
        let again =
            Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "--continue", "go on"]).run();
        assert_eq!((again.code, again.stdout.as_str()), (0, "going on\n"), "{again:?}");
        assert!(!again.stderr.contains("damaged") && !again.stderr.contains("torn"), "{again:?}");
        let request = server.requests()[0].json();
        check_openai(&request).unwrap();
        assert!(request.to_string().contains("seq 1 4000"), "the call was recorded before it ran");
    }
}

#[test]
fn a_full_disk_fails_the_call_and_leaves_files_as_they_were() {
    let lines = |word: &str, count| format!("{}\n", word.repeat(250)).repeat(count);
    let old = lines("old ", 5);
    let workspace = TempWorkspace::new(&[("large.txt", &old)]);
    let grow = tool_use("c3", "edit", json!({"path": "large.txt", "old_str": old, "new_str": lines("new ", 10)}));
    let calls = vec![
        write("c1", "new.txt", &"x".repeat(9_000)),
        read("c2", "large.txt"),
        grow,
        bash("c4", "seq 1 20000"),
        bash("c5", "yes | head -c 99999 > full.txt"),
    ];
    let (ran, told) = told(&workspace, calls, |codey| on_a_small_disk(8)(codey.args(&["--no-session"])));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "done\n"), "{ran:?}");
    assert!(told[0].starts_with("Error: ") && told[0].contains("large") && !workspace.exists("new.txt"), "{}", told[0]);
    assert!(told[2].starts_with("Error: "), "{}", told[2]);
    assert_eq!(workspace.read("large.txt"), old);
    assert!(told[3].contains("20000") && told[3].contains("the rest was not kept: file too large"), "{}", told[3]);
    assert!(told[4].contains("File size limit exceeded") || told[4].contains("File too large"), "{}", told[4]);
    let entries = std::fs::read_dir(workspace.path()).unwrap();
    let mut left: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort_unstable();
    assert_eq!(left, [".codey", "full.txt", "large.txt"], "nothing half-written stays");
}

/// Runs with a stdout that takes nothing.
fn check_stdout(stdout: &std::fs::File, why: &str) {
    let said = format!("codey: cannot write to stdout: {why}. Send it to another place.");
    for args in [&HELLO[..], &["-p", "--mode", "json", "hi"], &["--help"], &["--version"], &["sessions"], &["context"]]
    {
        let (server, workspace) = (talker(Api::OpenAi, "OK", 1), TempWorkspace::new(&[]));
        let mut codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(args);
        let output = codey.command().stdout(stdout.try_clone().unwrap()).stderr(Stdio::piped()).output().unwrap();
        let ran = Ran::from(output);
        assert_eq!((ran.code, ran.complaint()), (1, said.as_str()), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_stdout_that_cannot_be_written_to_is_said() {
    check_stdout(&std::fs::File::options().write(true).open("/dev/full").unwrap(), "No space left on device");
    check_stdout(&std::fs::File::open("/dev/null").unwrap(), "Bad file descriptor");
}

#[test]
fn a_workspace_that_vanishes_ends_the_run() {
    let workspace = TempWorkspace::new(&[("a.txt", "")]);
    let (ran, _) = told(&workspace, vec![bash("c1", "rm -rf \"$PWD\""), bash("c2", "touch alive")], |codey| codey);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    let said = ran.complaint();
    let gone = ".jsonl: it was deleted or moved while the session was open, and writing it anew failed: No such file or \
                directory. Begin a new session; ";
    assert!(said.contains(gone), "{said}");
    assert!(!workspace.path().exists(), "nothing is made anew");
}

#[test]
fn a_session_file_that_vanishes_is_written_anew() {
    for command in ["rm -rf .codey", "mv .codey elsewhere", "rm .codey/sessions/*"] {
        let workspace = TempWorkspace::new(&[("a.txt", "")]);
        let (ran, _) = told(&workspace, vec![bash("c1", command), bash("c2", "touch alive")], |codey| codey);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "done\n"), "{command}: {ran:?}");
        assert_eq!(ran.stderr.matches(".jsonl was deleted or moved and is written anew").count(), 1, "{ran:?}");
        assert!(workspace.exists("alive"));
        let server = talker(Api::OpenAi, "going on", 1);
        let again =
            Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "--continue", "go on"]).run();
        assert_eq!((again.code, again.stdout.as_str()), (0, "going on\n"), "{again:?}");
        let request = server.requests()[0].json();
        check_openai(&request).unwrap();
        assert!(request.to_string().contains("touch alive"), "{request}");
    }
}

#[test]
fn without_a_session_a_workspace_that_vanishes_is_the_models_to_tell() {
    let workspace = TempWorkspace::new(&[("a.txt", "")]);
    let calls = vec![bash("c1", "rm -rf \"$PWD\""), bash("c2", "ls"), read("c3", "a.txt"), write("c4", "b.txt", "x")];
    let (ran, told) = told(&workspace, calls, |codey| codey.args(&["--no-session"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "done\n"), "{ran:?}");
    let gone = format!("Error: the folder {} that this session works in is gone; ", workspace.path().display());
    assert!(told[1].starts_with(&gone), "{}", told[1]);
    assert!(told[2].starts_with("Error: ") && told[3].starts_with("Error: "), "{told:?}");
    assert!(!workspace.path().exists(), "nothing is made anew");
}

#[test]
fn names_that_are_no_text_are_shown_and_break_no_line() {
    let workspace = TempWorkspace::new(&[("line\nbreak.txt", "needle\n"), ("escape\u{1b}[2J.txt", "needle\n")]);
    std::fs::write(workspace.path().join(OsStr::from_bytes(b"latin\xe9.txt")), "needle\n").unwrap();
    workspace.git(&["init", "-q"]);
    std::fs::write(workspace.at(".git/HEAD"), b"ref: refs/heads/caf\xe9\n").unwrap();
    let calls = vec![
        tool_use("c1", "glob", json!({"pattern": "*.txt"})),
        tool_use("c2", "grep", json!({"pattern": "needle"})),
        read("c3", "line\nbreak.txt"),
        read("c4", "latin\u{FFFD}.txt"),
        bash("c5", "cat latin*; git status --short --branch"),
    ];
    let (ran, told) = told(&workspace, calls, |codey| codey);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "done\n"), "{ran:?}");
    let mut names: Vec<&str> = told[0].lines().collect();
    names.sort_unstable();
    assert_eq!(names, ["\"escape\\u001b[2J.txt\"", "\"latin\u{FFFD}.txt\"", "\"line\\nbreak.txt\""]);
    assert_eq!(told[1].matches("1:needle").count(), 3, "{}", told[1]);
    assert_eq!(told[2], "     1\tneedle");
    assert!(told[3].starts_with("Error: latin\u{FFFD}.txt does not exist. "), "{}", told[3]);
    assert!(told[4].starts_with("needle\n## "), "{}", told[4]);
    assert!(ran.stderr.contains("read \"line\\nbreak.txt\" … ok"), "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn repositories_that_are_broken_are_worked_in_all_the_same() {
    let make: [fn(&TempWorkspace); 6] = [
        |workspace| workspace.write(".git", "gitdir: /nowhere/at/all\n"),
        |workspace| workspace.write(".git", b"\xff\0"),
        |workspace| workspace.write(".git/HEAD", "nonsense"),
        |workspace| nix::unistd::mkfifo(&workspace.at(".git"), nix::sys::stat::Mode::S_IRWXU).unwrap(),
        |workspace| std::os::unix::fs::symlink("/nowhere", workspace.at(".git")).unwrap(),
        |workspace| drop(workspace.git(&["init", "-q", "--bare"])),
    ];
    for make in make {
        let workspace = TempWorkspace::new(&[("a.txt", "text\n")]);
        make(&workspace);
        let (ran, told) = told(&workspace, vec![read("c1", "a.txt")], |codey| codey);
        assert_eq!((ran.code, ran.stdout.as_str(), told[0].as_str()), (0, "done\n", "     1\ttext"), "{ran:?}");
        session_file(&workspace);
    }
}

#[test]
fn a_repository_of_somebody_else_is_gits_to_refuse() {
    let workspace = TempWorkspace::with_git(&[("a.txt", "")]);
    let change = |codey: Codey| codey.env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    let (ran, told) = told(&workspace, vec![bash("c1", "git status")], change);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(told[0].contains("dubious ownership") && told[0].ends_with("[exit 128]"), "{}", told[0]);
}

#[test]
fn programs_that_are_not_there_or_hang_are_not_waited_for() {
    let workspace = TempWorkspace::with_git(&[("a.txt", ""), ("bin/git", "#!/bin/sh\nsleep 60\n")]);
    set_mode(&workspace.at("bin/git"), 0o755);
    let path = format!("{}:{}", workspace.at("bin").display(), std::env::var("PATH").unwrap());
    let began = std::time::Instant::now();
    let (ran, _) = told(&workspace, Vec::new(), |codey| codey.env("PATH", &path));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(began.elapsed().as_secs() < 10, "git is not asked at the start");
    for path in ["", "/nowhere"] {
        let (ran, told) = told(&workspace, vec![bash("c1", "ls")], |codey| codey.env("PATH", path));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(
            told[0],
            "Error: the command could not be started: bash is not installed (not found on PATH). Nothing was run; tell the user."
        );
    }
}

const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

#[test]
fn session_files_that_are_none() {
    type Make = fn(&Path);
    let make: [(Make, &str); 7] = [
        (|path| std::fs::create_dir(path).unwrap(), ": Is a directory. Move what is there out of the way, or use "),
        (
            |path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap(),
            ": it is no plain file. Move what is there out of the way, or use --no-session",
        ),
        (
            |path| std::os::unix::fs::symlink("/etc/passwd", path).unwrap(),
            ". Move what is there out of the way, or use ",
        ),
        (
            |path| std::fs::write(path, "{\"v\":9,\"type\":\"session\"}\n").unwrap(),
            " was written by a newer Codey (format 9, this one knows 1). Update Codey.",
        ),
        (
            |path| std::fs::write(path, b"\xff\xfe\0\n").unwrap(),
            " is damaged: its first line is no session header. Start a new session; the file is left as it is.",
        ),
        (
            |path| std::fs::write(path, "[]\n").unwrap(),
            " is damaged: its first line is no session header. Start a new session; the file is left as it is.",
        ),
        (
            |path| {
                let header = json!({"v": 1, "type": "session", "id": ID, "cwd": "/x", "root": "/x\u{1b}\ny",
                    "created_at": "2026-01-01T00:00:00.000Z", "version": "0"});
                std::fs::write(path, format!("{header}\n")).unwrap();
            },
            " belongs to /x\\u{1b}\\ny. Run codey there: --cwd /x\\u{1b}\\ny",
        ),
    ];
    for (make, expected) in make {
        let server = talker(Api::OpenAi, "OK", 0);
        let workspace = TempWorkspace::new(&[(".codey/sessions/.keep", "")]);
        let file = workspace.at(&format!(".codey/sessions/{ID}.jsonl"));
        make(&file);
        let before = std::fs::symlink_metadata(&file).unwrap();
        for args in [&["-p", "--resume", ID, "hi"][..], &["-p", "--continue", "hi"]] {
            let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(args).run();
            ran.assert_refused("");
            assert!(ran.complaint().contains(ID) && ran.complaint().contains(expected), "{expected}: {ran:?}");
        }
        let listed = Codey::new(workspace.path()).args(&["sessions"]).run();
        assert!(listed.code == 0 && listed.stdout.starts_with(ID) && listed.stdout.lines().count() == 1, "{listed:?}");
        assert!(!listed.stdout.contains("os error") && !listed.stdout.contains('\u{1b}'), "{listed:?}");
        assert_eq!(std::fs::symlink_metadata(&file).unwrap().len(), before.len(), "it is left as it is");
    }
    assert!(std::fs::read_to_string("/etc/passwd").unwrap().contains("root"));
}

#[test]
fn an_empty_session_file_begins_anew() {
    let server = talker(Api::OpenAi, "OK", 1);
    let workspace = TempWorkspace::new(&[(&format!(".codey/sessions/{ID}.jsonl"), "")]);
    let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p", "--resume", ID, "hi"]).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "OK\n"), "{ran:?}");
    assert!(
        ran.stderr.contains("codey: warning: line 1: nothing of this session could be read, so it begins anew"),
        "{ran:?}"
    );
}
