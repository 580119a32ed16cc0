//! What survives of a file that was cut, hit or written by someone else.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use codey_llm::Usage;
use codey_session::SessionError;
use ulid::Ulid;

use crate::{Place, say, texts};

#[test]
fn sess_01_a_torn_tail_is_dropped_and_cut_before_the_next_append() {
    let place = Place::new();
    let all = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let id = place.session(&all);
    let file = place.file(id);
    let whole = fs::read(&file).unwrap();
    let torn = &whole[..whole.len() - 20];
    fs::write(&file, torn).unwrap();

    let (mut session, warnings) = place.open(id).unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].line, 10);
    assert_eq!(texts(&session), &all[..8]);
    assert_eq!(fs::read(&file).unwrap(), torn, "opening changes nothing");
    say(&mut session, 0, "new");
    drop(session);

    let (after, lines) = place.reopen(id);
    assert_eq!(after, [&all[..8], &["new"]].concat());
    assert_eq!(lines, [] as [u64; 0]);
}

#[test]
fn sess_01_a_file_cut_at_any_byte_loads_goes_on_and_loses_one_record_at_most() {
    let place = Place::new();
    let all = ["eins", "zwei €", "drei"];
    let id = place.session(&all);
    let file = place.file(id);
    let whole = fs::read(&file).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&file, &whole[..cut]).unwrap();
        let whole_lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        let kept = &all[..whole_lines.saturating_sub(1)];

        let (mut session, warnings) = place.open(id).unwrap();
        assert_eq!(texts(&session), kept, "cut at {cut}");
        let is_torn = cut > 0 && whole[cut - 1] != b'\n';
        let begins_anew = whole_lines == 0;
        assert_eq!(warnings.len(), usize::from(is_torn) + usize::from(begins_anew), "cut at {cut}");
        say(&mut session, 0, "new");
        drop(session);

        assert_eq!(place.reopen(id), ([kept, &["new"]].concat().iter().map(|t| t.to_string()).collect(), vec![]));
    }
}

/// Opens a session whose file another program writes to, by `meddle`. The next append fails with `said`, and the file is
/// as that program left it.
fn check_meddled(torn: usize, meddle: impl Fn(&mut Vec<u8>), said: &str) {
    let place = Place::new();
    let id = place.session(&["1", "2"]);
    let file = place.file(id);
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - torn);
    fs::write(&file, &bytes).unwrap();
    let (mut session, _) = place.open(id).unwrap();
    meddle(&mut bytes);
    fs::write(&file, &bytes).unwrap();
    for _ in 0..2 {
        let error = session.append_head("x", 1, Usage::default()).unwrap_err();
        let expected = format!(
            "another program {said} {} while the session was open; nothing was cut off or added",
            file.display()
        );
        assert_eq!(error.to_string(), expected);
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
}

#[test]
fn what_another_program_wrote_is_not_cut() {
    let record = b"{\"v\":1,\"type\":\"weather\"}\n";
    for torn in [0, 20] {
        check_meddled(torn, |bytes| bytes.extend(record), "wrote to");
    }
    check_meddled(20, |bytes| *bytes.last_mut().unwrap() ^= 1, "wrote to");
    check_meddled(0, |bytes| bytes.truncate(9), "shortened");
}

/// Replaces lines (counted from 1) and says what loads.
fn check_hit(texts: &[&str], hit: &[(usize, &str)], expected: &[&str], warned: &[u64]) {
    let place = Place::new();
    let id = place.session(texts);
    let mut lines = place.lines(id);
    for (line, text) in hit {
        lines[line - 1] = format!("{text}\n");
    }
    fs::write(place.file(id), lines.concat()).unwrap();
    let (found, found_warned) = place.reopen(id);
    assert_eq!((found, &found_warned[..]), (expected.iter().map(|text| text.to_string()).collect(), warned));
}

#[test]
fn the_path_bridges_a_damaged_record_and_the_warning_names_its_line() {
    let all = ["1", "2", "3", "4"];
    check_hit(&all, &[(3, "garbage")], &["1", "3", "4"], &[3]);
    check_hit(&all, &[(2, "garbage")], &["2", "3", "4"], &[2]);
    check_hit(&all, &[(5, "garbage")], &["1", "2", "3"], &[5]);
    check_hit(&all, &[(3, "\0\0\0"), (4, r#"{"v":1,"type":"node"}"#)], &["1", "4"], &[3, 4]);
    check_hit(&all, &[(2, ""), (4, r#"{"v":0,"type":"node"}"#)], &["2", "4"], &[2, 4]);
}

#[test]
fn damage_on_one_branch_does_not_move_the_other() {
    let place = Place::new();
    let id = place.session(&["root", "left 1", "left 2"]);
    let (mut session, _) = place.open(id).unwrap();
    let root = session.lineage().unwrap()[0].id;
    session.set_head(Some(root)).unwrap();
    session.append_head("root", 1, Usage::default()).unwrap();
    let right_1 = say(&mut session, 1, "right 1");
    say(&mut session, 0, "right 2");
    session.set_head(Some(right_1.id)).unwrap();
    say(&mut session, 0, "right 3");
    drop(session);
    // Line 6 is "right 1"; both of its children are joined to its parent, not to what stands before it in the file.
    let mut lines = place.lines(id);
    assert!(lines[5].contains("right 1"));
    lines[5] = "garbage\n".into();
    fs::write(place.file(id), lines.concat()).unwrap();

    let (mut session, warnings) = place.open(id).unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(texts(&session), ["root", "right 3"]);
    let right_2 = session.nodes()[3].id;
    session.set_head(Some(right_2)).unwrap();
    assert_eq!(texts(&session), ["root", "right 2"]);
}

#[test]
fn a_parent_that_was_never_there_and_a_node_that_is_there_twice_are_named() {
    let place = Place::new();
    let id = place.session(&["1", "2", "3"]);
    let mut lines = place.lines(id);
    lines.remove(2);
    lines.push(lines[1].clone());
    fs::write(place.file(id), lines.concat()).unwrap();
    assert_eq!(place.reopen(id), (vec!["1".into(), "3".into()], vec![3, 4]));
}

#[test]
fn unknown_records_of_this_format_are_kept_and_skipped() {
    let place = Place::new();
    let id = place.session(&["1"]);
    let unknown = "{\"v\":1,\"type\":\"weather\",\"sunny\":[true]}\n";
    OpenOptions::new().append(true).open(place.file(id)).unwrap().write_all(unknown.as_bytes()).unwrap();
    let (mut session, warnings) = place.open(id).unwrap();
    assert_eq!(warnings, []);
    say(&mut session, 1, "2");
    drop(session);
    assert_eq!(place.reopen(id), (vec!["1".into(), "2".into()], vec![]));
    assert_eq!(place.lines(id)[2], unknown);
}

#[test]
fn a_node_of_an_unknown_kind_is_left_out_with_a_warning() {
    let place = Place::new();
    let id = place.session(&["1", "2", "3"]);
    let lines = place.lines(id).concat();
    let changed = lines.replacen(
        r#""role":"assistant","content":[{"type":"text""#,
        r#""role":"assistant","content":[{"type":"hologram""#,
        1,
    );
    fs::write(place.file(id), changed).unwrap();
    assert_eq!(place.reopen(id), (vec!["1".into(), "3".into()], vec![3]));
}

fn refusal(change: impl Fn(&str) -> String) -> SessionError {
    let place = Place::new();
    let id = place.session(&["1"]);
    fs::write(place.file(id), change(&place.lines(id).concat())).unwrap();
    place.open(id).unwrap_err()
}

#[test]
fn a_newer_format_is_refused_by_name_wherever_it_stands() {
    for kind in ["session", "node"] {
        let old = format!(r#"{{"v":1,"type":"{kind}""#);
        let error = refusal(|file| file.replace(&old, &old.replace(":1,", ":2,")));
        assert!(matches!(error, SessionError::Newer { v: 2, .. }), "{error}");
        assert!(error.to_string().ends_with("was written by a newer Codey (format 2, this one knows 1)"), "{error}");
    }
}

#[test]
fn a_file_that_does_not_begin_with_its_own_header_is_refused() {
    let garbage = refusal(|file| file.replacen("session", "bession", 1));
    let renamed = refusal(|file| file.replacen(r#""id":"0"#, r#""id":"1"#, 1));
    for error in [garbage, renamed] {
        assert!(matches!(error, SessionError::Damaged { .. }), "{error}");
    }
}

#[test]
fn a_file_whose_newest_name_leaves_none_for_a_further_node_is_refused() {
    let last = Ulid::from_parts(u64::MAX, u128::MAX).to_string();
    let error = refusal(|file| {
        let node: serde_json::Value = serde_json::from_str(file.lines().nth(1).unwrap()).unwrap();
        file.replace(node["id"].as_str().unwrap(), &last)
    });
    let said = format!("is damaged: a record in it is named {last}, which leaves no name for those that would follow");
    assert!(error.to_string().ends_with(&said), "{error}");
}
