//! What is written and when.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use codey_llm::{Block, Message, Usage, tool_use};
use codey_protocol::{Meta, NodeId, PermissionMode};
use codey_session::{NodeKind, Session, SessionError, SetRecord};
use serde_json::Value;
use ulid::Ulid;

use crate::{Place, append, child_dir, names_in, rerun, say, start, texts};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn perm_18_folders_are_0700_and_files_0600_under_any_umask() {
    if let Some(dir) = child_dir() {
        let mut session = Session::create(&dir, start());
        say(&mut session, 0, "hi");
        let [file, lock] = ["jsonl", "lock"].map(|end| dir.join(format!("{}.{end}", session.id())));
        let found = [dir.parent().unwrap(), &dir, &file, &lock].map(mode);
        assert_eq!(found, [0o700, 0o700, 0o600, 0o600]);
        return;
    }
    for umask in ["000", "022", "077", "777"] {
        let name = "store::perm_18_folders_are_0700_and_files_0600_under_any_umask";
        let place = Place::new();
        rerun(name, &format!("umask {umask}"), &place.dir);
        assert_eq!(names_in(&place.dir).len(), 1, "the test ran there");
    }
}

#[test]
fn nothing_is_on_disk_before_the_first_node_and_all_of_it_afterwards() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    let set = SetRecord { permission_mode: Some(PermissionMode::Plan), ..SetRecord::default() };
    session.append_set(set.clone()).unwrap();
    session.append_prefix("h", &[], &[]).unwrap();
    assert!(session.is_stored());
    assert!(!place.dir.parent().unwrap().exists());

    say(&mut session, 0, "hi");
    let types: Vec<Value> = place
        .lines(session.id())
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].take())
        .collect();
    assert_eq!(types, ["session", "set", "prefix", "node"]);
    assert_eq!(session.settings(), &set);
}

/// How many writes this thread has asked the system for so far.
#[cfg(target_os = "linux")]
fn writes() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = counters.lines().find_map(|line| line.strip_prefix("syscw: "));
    line.unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn each_record_is_one_write() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "hi");
    let node = session.head().unwrap();
    let long = "long line\n".repeat(100_000);
    let records: [&mut dyn FnMut(&mut Session); 6] = [
        &mut |session| drop(say(session, 1, "short")),
        &mut |session| drop(say(session, 2, &long)),
        &mut |session| session.append_prefix("h", &[], &[]).unwrap(),
        &mut |session| {
            session.append_set(SetRecord { model: Some("m".into()), ..SetRecord::default() }).unwrap();
        },
        &mut |session| session.append_mark(node, Some("start"), None).unwrap(),
        &mut |session| session.append_head("hi", 1, Usage::default()).unwrap(),
    ];
    for (index, append) in records.into_iter().enumerate() {
        let (lines, before) = (place.lines(session.id()).len(), writes());
        append(&mut session);
        assert_eq!((writes() - before, place.lines(session.id()).len()), (1, lines + 1), "record {index}");
    }
}

#[test]
fn a_session_without_a_file_leaves_nothing_and_has_a_tree_all_the_same() {
    let mut session = Session::in_memory(start());
    let first = say(&mut session, 0, "one");
    say(&mut session, 1, "two");
    session.append_head("one", 1, Usage::default()).unwrap();
    session.append_mark(first.id, Some("here"), None).unwrap();
    assert!(!session.is_stored());
    assert_eq!(texts(&session), ["one", "two"]);
    assert_eq!(session.totals().title, "one");
}

#[test]
fn a_prefix_is_written_once_for_each_hash_also_after_resuming() {
    let place = Place::new();
    let id = place.session(&["hi"]);
    for hash in ["a", "a", "b"] {
        place.open(id).unwrap().0.append_prefix(hash, &["system".into()], &[]).unwrap();
    }
    let prefixes = place.lines(id).iter().filter(|line| line.contains(r#""type":"prefix""#)).count();
    assert_eq!(prefixes, 2);
}

#[test]
fn the_newest_of_each_setting_counts_after_resuming() {
    let place = Place::new();
    let id = place.session(&["hi"]);
    let (mut session, _) = place.open(id).unwrap();
    let model = |model: &str| SetRecord { model: Some(model.into()), ..SetRecord::default() };
    let plan = SetRecord { permission_mode: Some(PermissionMode::Plan), ..SetRecord::default() };
    for set in [model("a"), plan, SetRecord::default(), model("b")] {
        session.append_set(set).unwrap();
    }
    drop(session);
    assert_eq!(place.lines(id).len(), 5, "an empty record is not written");
    let expected = SetRecord { permission_mode: Some(PermissionMode::Plan), ..model("b") };
    assert_eq!(place.open(id).unwrap().0.settings(), &expected);
}

#[test]
fn a_rewind_makes_a_second_branch_and_both_load() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    let first = say(&mut session, 0, "question");
    let left = say(&mut session, 1, "left");
    session.set_head(Some(first.id)).unwrap();
    say(&mut session, 1, "right");
    session.append_head("question", 2, Usage::default()).unwrap();
    let id = session.id();
    drop(session);

    let (mut session, _) = place.open(id).unwrap();
    assert_eq!(texts(&session), ["question", "right"]);
    session.set_head(Some(left.id)).unwrap();
    assert_eq!(texts(&session), ["question", "left"]);
    session.append_head("question", 2, Usage::default()).unwrap();
    drop(session);
    assert_eq!(place.reopen(id).0, ["question", "left"]);
    assert!(place.lines(id)[4].contains(r#""branches":2"#));
}

#[test]
fn a_rewind_to_the_beginning_is_kept() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "first try");
    session.set_head(None).unwrap();
    session.append_head("first try", 0, Usage::default()).unwrap();
    let id = session.id();
    drop(session);
    let (mut session, _) = place.open(id).unwrap();
    assert_eq!(session.head(), None);
    say(&mut session, 0, "second try");
    assert_eq!(texts(&session), ["second try"]);
}

#[test]
fn an_unknown_node_can_be_neither_head_nor_marked() {
    let mut session = Session::in_memory(start());
    let node = NodeId(Ulid::from_parts(1, 1));
    assert!(matches!(session.set_head(Some(node)), Err(SessionError::UnknownNode { .. })));
    assert!(matches!(session.append_mark(node, None, Some(true)), Err(SessionError::UnknownNode { .. })));
}

#[test]
fn totals_go_on_from_the_last_head_record() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "count");
    session.append_head("count", 3, Usage { input: 7, ..Usage::default() }).unwrap();
    let id = session.id();
    let meta = Meta { usage: Some(Usage { input: 1, ..Usage::default() }), ..Meta::default() };
    session.append(NodeKind::Message(Arc::new(Message::assistant(vec![Block::text("4")]))), meta).unwrap();
    let live = session.totals().clone();
    drop(session);
    let (session, _) = place.open(id).unwrap();
    assert_eq!((session.totals().turns, session.totals().usage.input), (4, 8));
    assert_eq!(session.totals(), &live);
}

#[test]
fn a_count_of_turns_that_cannot_grow_stays_where_it_is() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "count");
    session.append_head("count", u32::MAX, Usage::default()).unwrap();
    say(&mut session, 1, "one more");
    assert_eq!(session.totals().turns, u32::MAX);
}

#[test]
fn only_the_recorded_root_can_resume() {
    let place = Place::new();
    let id = place.session(&["hi"]);
    let elsewhere = codey_session::SessionStart { root: "/elsewhere".into(), ..start() };
    let error = Session::open(&place.dir, id, elsewhere).unwrap_err();
    assert_eq!(error.to_string(), format!("session {id} belongs to /w"));
}

#[test]
fn a_link_in_place_of_a_session_file_is_not_followed() {
    let place = Place::new();
    let real = place.session(&["hi"]);
    let before = fs::read(place.file(real)).unwrap();
    let link = Ulid::from_parts(1, 1);
    std::os::unix::fs::symlink(place.file(real), place.file(link)).unwrap();
    assert!(matches!(place.open(link), Err(SessionError::Write { .. })));
    assert_eq!(fs::read(place.file(real)).unwrap(), before);
    assert_eq!(names_in(&place.dir).len(), 2, "no lock file stays behind");
}

/// Goes on with a session after `lose` did something to its file: all of it is at its place again, is locked as before,
/// and that is said once.
fn check_restored(lose: impl Fn(&Place, Ulid)) {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "hi");
    let id = session.id();
    assert_eq!(session.take_restored(), None);
    lose(&place, id);
    say(&mut session, 1, "ho");
    assert_eq!((session.take_restored(), session.take_restored()), (Some(place.file(id)), None));
    say(&mut session, 2, "he");
    assert_eq!(texts(&session), ["hi", "ho", "he"]);
    assert!(matches!(place.open(id), Err(SessionError::InUse { pid: Some(_), .. })));
    assert_eq!([place.dir.parent().unwrap(), &place.dir, &place.file(id)].map(mode), [0o700, 0o700, 0o600]);
    drop(session);
    assert_eq!(names_in(&place.dir), [format!("{id}.jsonl")]);
    assert_eq!(place.reopen(id), (["hi", "ho", "he"].map(str::to_owned).to_vec(), vec![]));
}

#[test]
fn a_file_that_was_deleted_or_moved_is_written_anew() {
    check_restored(|place, id| fs::remove_file(place.file(id)).unwrap());
    check_restored(|place, _| fs::remove_dir_all(&place.dir).unwrap());
    check_restored(|place, _| fs::remove_dir_all(place.dir.parent().unwrap()).unwrap());
    check_restored(|place, _| fs::rename(&place.dir, place.dir.with_extension("old")).unwrap());
    check_restored(|place, id| {
        let kept = place.dir.with_extension("kept");
        fs::hard_link(place.file(id), kept).unwrap();
        fs::remove_file(place.file(id)).unwrap();
    });
}

/// Tries to go on with a session whose file went and cannot be written anew: it fails with `said`, where `FILE` stands for
/// the file, and is as before.
fn check_gone(lose: impl Fn(&Place, Ulid), said: &str) -> Place {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "hi");
    lose(&place, session.id());
    let lost = session.append(NodeKind::Message(Arc::new(Message::user(vec![Block::text("lost")]))), Meta::default());
    let said = said.replace("FILE", &place.file(session.id()).display().to_string());
    assert_eq!(lost.unwrap_err().to_string().split(" (os error").next(), Some(said.as_str()));
    assert_eq!((texts(&session), session.take_restored()), (vec!["hi".to_owned()], None));
    place
}

#[test]
fn with_its_workspace_gone_a_file_is_not_written_anew() {
    let place = check_gone(
        |place, _| fs::remove_dir_all(place.dir.ancestors().nth(2).unwrap()).unwrap(),
        "cannot write FILE: it was deleted or moved while the session was open, and writing it anew failed: No such file \
         or directory",
    );
    assert!(!place.dir.ancestors().nth(2).unwrap().exists());
}

#[test]
fn what_took_the_place_of_a_file_is_left_alone() {
    let replace = |place: &Place, id| {
        fs::remove_file(place.file(id)).unwrap();
        fs::write(place.file(id), "theirs").unwrap();
    };
    let said = "another program replaced FILE while the session was open; nothing was cut off or added";
    let place = check_gone(replace, said);
    let [file] = &names_in(&place.dir)[..] else { panic!("the lock is left") };
    assert_eq!(fs::read_to_string(place.dir.join(file)).unwrap(), "theirs");
}

#[test]
fn arguments_nested_as_deeply_as_the_parser_allows_come_back() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "hi");
    let nested = format!(r#"{{"a":{}{}}}"#, "[".repeat(126), "]".repeat(126));
    let input: Value = serde_json::from_str(&nested).unwrap();
    let node = append(&mut session, Message::assistant(vec![Block::text("x"), tool_use("c", "t", input)]));
    let id = session.id();
    drop(session);
    let (session, warnings) = place.open(id).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(session.lineage().unwrap()[1], node);
}

#[test]
fn a_line_of_many_megabytes_comes_back() {
    let place = Place::new();
    let long = "long line \u{1F600}\n".repeat(300_000);
    let id = place.session(&[&long, "short"]);
    assert_eq!(place.reopen(id), (vec![long, "short".into()], vec![]));
}
