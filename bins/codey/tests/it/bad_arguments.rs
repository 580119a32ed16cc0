//! What a command line and stdin can hold that cannot be followed: one line each, exit code 2, nothing written.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use codey_testkit::{TempWorkspace, openai_to_messages};
use serde_json::json;

use crate::codey::{Api, Codey, Ran, talker};

/// Runs with a server that would answer; nothing may be asked and nothing written.
fn run<S: AsRef<OsStr>>(args: &[S], stdin: Option<&[u8]>) -> Ran {
    let (server, workspace) = (talker(Api::OpenAi, "OK", 1), TempWorkspace::new(&[("latin1", ""), ("folder/x", "")]));
    workspace.write("latin1", b"caf\xe9");
    workspace.write("large", vec![b'x'; (1 << 20) + 1]);
    let mut codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(args);
    if let Some(bytes) = stdin {
        codey = codey.stdin_bytes(bytes);
    }
    let ran = codey.run();
    assert!(server.requests().is_empty() && !workspace.exists(".codey"), "{ran:?}");
    ran
}

fn check(args: &[&str], message: &str) {
    run(args, None).assert_refused(message);
}

fn bytes(words: &[&[u8]]) -> Vec<OsString> {
    words.iter().map(|word| OsStr::from_bytes(word).to_owned()).collect()
}

#[test]
fn flags_that_do_not_exist_or_do_not_fit() {
    check(&["-p", "--nonsense", "x"], "there is no flag --nonsense. Did you mean --no-session? See codey --help.");
    check(&["-p", "--zzz\n\u{1b}[2J", "x"], "there is no flag --zzz\\n\\u{1b}[2J. See codey --help.");
    check(&["sessions", "--zzz"], "there is no flag --zzz. See codey --help.");
    check(
        &["-p", "-x fix it"],
        "there is no flag -x. See codey --help. A prompt that begins with a dash comes after --.",
    );
    check(&["-p", "two", "words"], "\"words\" is one word too many. Put a prompt of several words in quotes.");
    check(&["-p", "x", "--model"], "--model needs a value. ");
    check(&["-p", "x", "--mode", "yaml"], "--mode cannot be \"yaml\". It can be text, json.");
    check(&["-p", "x", "--sandbox", "workspace"], "--sandbox cannot be \"workspace\". It can be off.");
    check(&["-p", "x", "--branch", "n"], "--resume <ID> is missing. ");
    // The newest session may be another one than the node is from.
    check(&["-p", "x", "--continue", "--branch", "n"], "--continue and --branch exclude each other. ");
    check(&["-p", "x", "--continue", "--no-session"], "--continue and --no-session exclude each other. ");
    for flag in ["--model a --model b", "--yolo --yolo", "--mode text --mode text", "-p"] {
        let args: Vec<&str> = ["-p", "x"].into_iter().chain(flag.split(' ')).collect();
        let ran = run(&args, None);
        ran.assert_refused("--");
        assert!(ran.complaint().ends_with(" is given twice. Leave one of them out."), "{ran:?}");
    }
}

#[test]
fn limits_that_are_none() {
    let (turns, tokens) = ("a whole number from 1 to 4294967295", "a whole number from 1 to 18446744073709551615");
    for (flag, values, expected) in [
        ("--max-turns", &["0", "-1", "99999999999999", "1.5", "many"][..], turns),
        ("--max-tokens-total", &["0", "-1", "99999999999999999999999"], tokens),
        ("--max-cost", &["0", "-1", "nan", "inf", "1e999", "$5"], "a positive number of US dollars"),
        ("--compact-floor", &["0", "-0.5", "1.1", "nan"], "a share between 0 and 1, such as 0.97"),
    ] {
        for value in values {
            check(&["-p", "x", flag, value], &format!("{flag} cannot be \"{value}\": expected {expected}. "));
        }
    }
    check(&["-p", "x", "--max-cost", "1e300"], "the cost limit cannot be held: the price of m is unknown. ");
}

#[test]
fn names_of_nothing() {
    let tools = "The tools are read, glob, grep, edit, write, bash.";
    for value in ["", " \n ", "a\nb"] {
        for flag in ["--model", "--endpoint", "--resume"] {
            check(&["-p", "x", flag, value], &format!("{flag} cannot be {value:?}: expected a name. "));
        }
    }
    check(&["-p", "x", "--endpoint", "nowhere"], "there is no endpoint named \"nowhere\". Built in are ");
    check(&["-p", "x", "--tools", ""], &format!("there is no tool named \"\". {tools}"));
    check(&["-p", "x", "--tools", "read,"], &format!("there is no tool named \"\". {tools}"));
    check(&["-p", "x", "--tools", "read,f\u{1b}ly"], &format!("there is no tool named \"f\\u{{1b}}ly\". {tools}"));
    check(&["-p", "x", "--resume", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--branch", "z\n"], "\"z\\n\" is no node id. ");
    for id in ["nonsense", "../../etc/passwd", "/etc/passwd", "*", "codey-"] {
        check(&["-p", "x", "--resume", id], &format!("no session {id} in /"));
        check(&["resume", id, "x", "-p"], &format!("no session {id} in /"));
    }
}

#[test]
fn tools_may_be_named_twice_and_with_blanks() {
    let (server, workspace) = (talker(Api::OpenAi, "OK", 1), TempWorkspace::new(&[]));
    let args = ["-p", "x", "--tools", "grep, read,read", "--tools", "read"];
    let ran = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&args).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let tools = server.requests()[0].json()["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|t| t["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "grep"]);
}

#[test]
fn arguments_that_are_no_text() {
    let message = "\"a\u{FFFD}b\" is not valid UTF-8. Only paths may hold other bytes; a prompt can come on stdin.";
    for args in [
        bytes(&[b"-p", b"a\xffb"]),
        bytes(&[b"-p", b"x", b"--model", b"a\xffb"]),
        bytes(&[b"-p", b"x", b"--append-system", b"a\xffb"]),
        bytes(&[b"-p", b"--cwd", b"c\xff", b"a\xffb"]),
    ] {
        run(&args, None).assert_refused(message);
    }
    run(&bytes(&[b"-p", b"x", b"--\xff"]), None).assert_refused("there is no flag --\u{FFFD}. ");
    run(&bytes(&[b"-p", b"x", b"--cwd", b"c\xff"]), None).assert_refused("cannot work in c\u{FFFD}: No such file");
    run(&bytes(&[b"-p", b"x", b"--system", b"s\xff"]), None).assert_refused("cannot use s\u{FFFD}: No such file");
}

#[test]
fn system_prompts_that_are_no_text() {
    for (file, why) in [
        ("missing\n", "cannot use missing\\n: No such file or directory. "),
        ("folder", "cannot use folder: Is a directory. "),
        ("latin1", "cannot use latin1: it is not valid UTF-8 (from byte 3). "),
        ("large", "cannot use large: it is larger than 1 MiB. "),
        ("/dev/zero", "cannot use /dev/zero: it is larger than 1 MiB. "),
        ("/dev/null", "cannot use /dev/null: it is empty. "),
    ] {
        check(&["-p", "x", "--system", file], &format!("{why}Name a text file with --system."));
    }
}

#[test]
fn prompts_that_say_nothing() {
    let nothing = "there is no prompt; give one as an argument or on stdin. See codey --help.";
    for args in [&["-p"][..], &["-p", ""], &["-p", " \n\t "], &["-p", "-"]] {
        check(args, nothing);
        run(args, Some(b" \n")).assert_refused(nothing);
    }
    check(&["x"], "this version has no terminal interface. Use codey -p");
    check(&[], "this version has no terminal interface. Use codey -p");
    run(&["-p", "x"], Some(b"ELF\0\0")).assert_refused("stdin is no text: byte 3 is NUL; name a file in the prompt ");
}

#[test]
fn a_stdin_that_is_nearly_text_is_read_and_said() {
    let (server, workspace) = (talker(Api::OpenAi, "OK", 1), TempWorkspace::new(&[]));
    let codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi).args(&["-p"]);
    let ran = codey.stdin_bytes(b"caf\xe9 au lait").run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("codey: warning: stdin is not valid UTF-8 (from byte 3); "), "{ran:?}");
    assert_eq!(openai_to_messages(&server.requests()[0].json())[0].text(), "caf\u{FFFD} au lait");
}

#[test]
fn events_say_the_same_in_one_line() {
    for (args, message) in [
        (&["--zzz\n"][..], "there is no flag --zzz\\n"),
        (&["--max-turns", "-1"], "--max-turns cannot be \"-1\": expected a whole number from 1 to 4294967295"),
        (&["--system", "missing\u{1b}"], "cannot use missing\\u{1b}: No such file or directory"),
        (&["--resume", "nonsense"], "no session nonsense in /"),
        (&["--cwd", "/missing\n"], "cannot work in /missing\\n: No such file or directory"),
    ] {
        let ran = run(&[&["-p", "--mode", "json", "x"], args].concat(), None);
        let events = ran.events();
        let [end] = events.as_slice() else { panic!("{ran:?}") };
        let outcome = &end["outcome"];
        assert_eq!(
            (&end["type"], &outcome["code"], &end["exit_code"]),
            (&json!("run_end"), &json!("config"), &json!(2))
        );
        let (said, hint) = (outcome["message"].as_str().unwrap(), outcome["hint"].as_str().unwrap());
        assert!(said.starts_with(message), "{ran:?}");
        assert_eq!((ran.code, ran.complaint()), (2, format!("codey: {said}. {hint}").as_str()));
    }
}

#[test]
fn lines_of_json_that_ask_nothing_are_no_success() {
    let run = |lines: &str| {
        let (server, workspace) = (talker(Api::OpenAi, "OK", 1), TempWorkspace::new(&[]));
        let codey = Codey::new(workspace.path()).asking(&server, Api::OpenAi);
        let ran = codey.args(&["-p", "--mode", "json", "--input", "json"]).stdin(lines).run();
        assert!(server.requests().is_empty() && !workspace.exists(".codey"), "{ran:?}");
        ran
    };
    for lines in
        ["nonsense\n", "{\"type\":\"fly\\u001b\"}", "{\"type\":\"prompt\",\"text\":\" \"}\n", &"[".repeat(99_999)]
    {
        let ran = run(lines);
        let events = ran.events();
        let end = events.last().unwrap();
        assert_eq!(
            (ran.code, &end["type"], &end["outcome"]["code"]),
            (2, &json!("run_end"), &json!("config")),
            "{ran:?}"
        );
        assert_eq!(
            ran.complaint(),
            "codey: nothing was asked: no line of stdin was a prompt. Send lines such as {\"type\":\"prompt\",\"text\":\"…\"}."
        );
        assert_eq!(ran.stderr.lines().count(), 2, "a warning says which line: {ran:?}");
    }
    for lines in ["", "\n \n", "{\"type\":\"interrupt\"}\n"] {
        let ran = run(lines);
        assert_eq!((ran.code, ran.stderr.as_str(), ran.events().len()), (0, "", 1), "who only looks in may leave");
    }
}
