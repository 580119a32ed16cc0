//! Sessions through the program: kept, listed, gone on with.

use std::os::unix::fs::PermissionsExt as _;

use codey_testkit::{ScriptedServer, TempWorkspace, anthropic_to_messages};
use serde_json::Value;

use crate::codey::{Api, Codey, bash, reply, says, session_file, talker};

fn texts(server: &ScriptedServer, request: usize) -> Vec<String> {
    anthropic_to_messages(&server.requests()[request].json()).iter().map(codey_llm::Message::text).collect()
}

#[test]
fn a_session_is_kept_privately_listed_and_gone_on_with() {
    let server = talker(Api::Anthropic, "answer", 4);
    let workspace = TempWorkspace::with_git(&[("a.txt", "")]);
    let codey = || Codey::new(workspace.path()).asking(&server, Api::Anthropic);
    assert_eq!(codey().args(&["-p", "first"]).run().code, 0);
    let file = session_file(&workspace);
    for (path, mode) in [
        (file.as_path(), 0o600),
        (file.parent().unwrap(), 0o700),
        (&workspace.at(".codey"), 0o700),
        (&workspace.at(".codey/events.jsonl"), 0o600),
    ] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode, "{}", path.display());
    }
    let id = file.file_stem().unwrap().to_str().unwrap().to_owned();
    assert_eq!(codey().args(&["-p", "--continue", "second"]).run().code, 0);
    assert_eq!(codey().args(&["resume", &id[..12], "-p", "third"]).run().code, 0);
    assert_eq!(codey().args(&["-p", "--resume", &format!("codey-{id}"), "fourth"]).run().code, 0);
    assert_eq!(texts(&server, 3), ["first", "answer", "second", "answer", "third", "answer", "fourth"]);
    let listed = Codey::new(workspace.path()).args(&["sessions"]).run();
    assert!(listed.stdout.starts_with(&id) && listed.stdout.contains("4 turns  first"), "{listed:?}");
    let json: Value =
        serde_json::from_str(&Codey::new(workspace.path()).args(&["sessions", "--json"]).run().stdout).unwrap();
    assert_eq!((&json["id"], &json["turns"], &json["title"]), (&id.into(), &4.into(), &"first".into()));
}

#[test]
fn a_torn_line_is_dropped_with_a_warning_and_the_session_goes_on() {
    let server = talker(Api::Anthropic, "answer", 3);
    let workspace = TempWorkspace::new(&[]);
    let codey = || Codey::new(workspace.path()).asking(&server, Api::Anthropic);
    codey().args(&["-p", "first"]).run();
    let file = session_file(&workspace);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}{{\"v\":1,\"type\":\"no")).unwrap();
    let ran = codey().args(&["-p", "--continue", "second"]).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("codey: warning: "), "{ran:?}");
    let again = codey().args(&["-p", "--continue", "third"]).run();
    assert!(!again.stderr.contains("warning: line"), "{again:?}");
    assert_eq!(texts(&server, 2), ["first", "answer", "second", "answer", "third"]);
}

#[test]
fn a_damaged_record_is_named_by_its_line() {
    let server = talker(Api::Anthropic, "answer", 2);
    let workspace = TempWorkspace::new(&[]);
    let ask = |words: &[&str]| Codey::new(workspace.path()).asking(&server, Api::Anthropic).args(words).run();
    ask(&["-p", "first"]);
    let file = session_file(&workspace);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines = text.lines().enumerate().map(|(index, line)| if index == 2 { "{bad" } else { line });
    std::fs::write(&file, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let ran = ask(&["-p", "--continue", "second"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("codey: warning: line 3: "), "{ran:?}");
}

#[test]
fn no_session_leaves_nothing() {
    let server = talker(Api::Anthropic, "answer", 1);
    let workspace = TempWorkspace::new(&[]);
    let ran = Codey::new(workspace.path()).asking(&server, Api::Anthropic).args(&["-p", "--no-session", "hi"]).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "answer\n"));
    assert!(!ran.stderr.contains("session"), "{ran:?}");
    assert!(!workspace.exists(".codey"));
}

#[test]
fn a_session_belongs_to_its_root() {
    let server = talker(Api::Anthropic, "answer", 1);
    let (here, there) = (TempWorkspace::new(&[]), TempWorkspace::new(&[]));
    Codey::new(here.path()).asking(&server, Api::Anthropic).args(&["-p", "first"]).run();
    let file = session_file(&here);
    let copy = there.at(".codey/sessions").join(file.file_name().unwrap());
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    std::fs::copy(&file, &copy).unwrap();
    let ran = Codey::new(there.path()).asking(&server, Api::Anthropic).args(&["-p", "--continue", "second"]).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains(here.path().to_str().unwrap()), "{ran:?}");
}

#[test]
fn sess_05_a_session_in_use_is_refused_by_name() {
    let turns = vec![
        reply(Api::Anthropic, vec![bash("c1", "touch started; while [ ! -e go ]; do sleep 0.01; done")]),
        says(Api::Anthropic, "done"),
    ];
    let server = ScriptedServer::start(turns);
    let workspace = TempWorkspace::new(&[]);
    let codey = || Codey::new(workspace.path()).asking(&server, Api::Anthropic);
    let mut first = codey().args(&["-p", "--always-approve", "first"]);
    let mut child =
        first.command().stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    while !workspace.exists("started") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let second = codey().args(&["-p", "--continue", "second"]).run();
    std::fs::write(workspace.at("go"), "").unwrap();
    child.wait().unwrap();
    assert_eq!(second.code, 2);
    assert!(second.stderr.contains(&format!("in use by process {}", child.id())), "{second:?}");
}
