//! Finding sessions.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use codey_llm::Usage;
use codey_protocol::SessionSummary;
use codey_session::{Session, SessionError, find, latest, list, view};
use ulid::Ulid;

use crate::{Place, say, start};

/// Says that a session changed last so many seconds after the year 2025 began.
fn touch(place: &Place, id: Ulid, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_735_689_600 + seconds);
    File::options().append(true).open(place.file(id)).unwrap().set_modified(time).unwrap();
}

fn summaries(place: &Place) -> Vec<SessionSummary> {
    list(&place.dir).unwrap().into_iter().map(|session| session.summary).collect()
}

#[test]
fn a_listing_tells_what_the_head_record_tells() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "what is this?");
    let usage = Usage { input: 5, output: 6, ..Usage::default() };
    session.append_head("what is this?", 4, usage).unwrap();
    let id = session.id();
    drop(session);
    touch(&place, id, 1);
    let header: serde_json::Value = serde_json::from_str(&place.lines(id)[0]).unwrap();
    let expected = SessionSummary {
        id: id.to_string(),
        title: "what is this?".into(),
        created_at: header["created_at"].as_str().unwrap().into(),
        updated_at: "2025-01-01T00:00:01.000Z".into(),
        turns: 4,
        usage,
        branches: 1,
        problem: None,
    };
    assert_eq!(summaries(&place), [expected]);
    assert_eq!(list(&place.dir).unwrap()[0].root.as_deref(), Some("/w".as_ref()));
}

#[test]
fn a_session_that_was_killed_in_its_first_run_is_listed_by_its_nodes() {
    let place = Place::new();
    let long = "y".repeat(100_000);
    place.session(&["do it", &long, "more", "done"]);
    let found = summaries(&place).remove(0);
    assert_eq!((&found.title[..], found.turns, found.branches, found.problem), ("do it", 2, 1, None));
}

#[test]
fn the_one_that_changed_last_comes_first_and_a_folder_that_is_not_there_is_empty() {
    let place = Place::new();
    assert_eq!(list(&place.dir).unwrap(), []);
    assert_eq!(latest(&place.dir).unwrap(), None);
    let [a, mut b, mut c] = ["a", "b", "c"].map(|text| place.session(&[text]));
    if b > c {
        // Names made in one millisecond by two sessions are in no order.
        std::mem::swap(&mut b, &mut c);
    }
    for (id, seconds) in [(a, 3), (b, 1), (c, 1)] {
        touch(&place, id, seconds);
    }
    let order: Vec<Ulid> = list(&place.dir).unwrap().iter().map(|session| session.id).collect();
    assert_eq!(order, [a, c, b]);
    assert_eq!(latest(&place.dir).unwrap(), Some(a));
}

#[test]
fn sess_07_a_damaged_session_is_listed_with_its_problem_beside_the_others() {
    let place = Place::new();
    let good: Vec<Ulid> = (0..5).map(|_| place.session(&["fine"])).collect();
    let contents: [(&[u8], &str); 5] = [
        (b"", "no session header"),
        (b"\xFF\xFE garbage", "no session header"),
        (b"garbage\n{}\n", "no session header"),
        (b"{\"v\":2,\"type\":\"session\"}\n", "newer Codey (format 2"),
        (b"{\"v\":1,\"type\":\"session\",\"id\":\"00000000000000000000000000\",\"cwd\":\"/w\",\"root\":\"/w\",\"created_at\":\"\",\"version\":\"\"}\n", "says that it is session 0"),
    ];
    for (index, (content, _)) in contents.iter().enumerate() {
        fs::write(place.file(Ulid::from_parts(1, index as u128 + 1)), content).unwrap();
    }
    let found = list(&place.dir).unwrap();
    let (broken, fine): (Vec<_>, Vec<_>) = found.into_iter().partition(|session| session.summary.problem.is_some());
    assert_eq!(fine.len(), good.len());
    for (index, (_, problem)) in contents.iter().enumerate() {
        let id = Ulid::from_parts(1, index as u128 + 1);
        let listed = broken.iter().find(|session| session.id == id).unwrap();
        assert!(listed.summary.problem.as_ref().unwrap().contains(problem), "{:?}", listed.summary.problem);
    }
    assert!(good.iter().all(|id| place.open(*id).is_ok()));
}

#[test]
fn other_files_are_no_sessions() {
    let place = Place::new();
    let id = place.session(&["hi"]);
    let lower = id.to_string().to_lowercase();
    for name in [format!("{lower}.jsonl"), "notes.txt".into(), "x.jsonl".into(), format!("{id}.lock")] {
        fs::write(place.dir.join(name), "").unwrap();
    }
    fs::create_dir(place.file(Ulid::from_parts(1, 1))).unwrap();
    let found = summaries(&place);
    assert_eq!(found.len(), 2);
    assert!(found.iter().any(|session| session.problem.as_ref().is_some_and(|problem| problem.contains("plain file"))));
}

#[test]
fn a_session_is_found_by_id_or_by_eight_characters_of_it() {
    let place = Place::new();
    let id = place.session(&["hi"]);
    let other = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let twin = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
    for id in [other, twin] {
        fs::write(place.dir.join(format!("{id}.jsonl")), "").unwrap();
    }
    let name = id.to_string();
    for text in [name.clone(), format!("codey-{name}"), name.to_lowercase(), name[..9].to_owned(), name[..8].to_owned()]
    {
        assert_eq!(find(&place.dir, &text).unwrap(), id, "{text}");
    }
    for text in [&name[..7], "", "codey-", "01ARZ3NDEKTSV4RRFFQ69G5FAX", "fix the test", &format!("{name}0")] {
        let error = find(&place.dir, text).unwrap_err();
        assert!(matches!(&error, SessionError::NotFound { id, .. } if id == text), "{text}: {error}");
    }
    let error = find(&place.dir, "01arz3nd").unwrap_err();
    assert_eq!(error.to_string(), format!("01arz3nd is the beginning of 2 sessions: {other}, {twin}"));
}

#[test]
fn a_session_can_be_viewed_while_someone_writes_it() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    let first = say(&mut session, 0, "hi");
    let second = say(&mut session, 1, "ho");
    session.set_head(Some(first.id)).unwrap();
    session.append_head("hi", 1, Usage::default()).unwrap();
    let view = view(&place.dir, session.id()).unwrap();
    assert_eq!(view.id, session.id().to_string());
    assert_eq!(view.root, "/w");
    assert_eq!(view.nodes, [first.view(), second.view()]);
    assert_eq!(view.head, Some(first.id));
    assert_eq!(view.warnings, [] as [String; 0]);
}

#[test]
fn a_view_tells_what_is_damaged() {
    let place = Place::new();
    let id = place.session(&["1", "2", "3"]);
    let mut lines = place.lines(id);
    lines[2] = "garbage\n".into();
    fs::write(place.file(id), lines.concat()).unwrap();
    let view = view(&place.dir, id).unwrap();
    assert_eq!(view.nodes[1].parent, Some(view.nodes[0].id));
    assert_eq!(view.warnings, ["line 3: the record is damaged and is left out"]);
}

#[test]
fn the_latest_session_is_the_newest_even_if_it_is_damaged() {
    let place = Place::new();
    place.session(&["older"]);
    let damaged = Ulid::from_parts(1, 1);
    fs::write(place.file(damaged), "garbage\n").unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(place.file(damaged)).unwrap().set_modified(later).unwrap();
    assert_eq!(latest(&place.dir).unwrap(), Some(damaged));
}
