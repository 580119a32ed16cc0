//! One writer a session.

use std::fs::{self, OpenOptions};
use std::sync::Barrier;
use std::thread;

use codey_session::{Session, SessionError};

use crate::{Place, names_in, say, start};

#[test]
fn sess_05_a_second_writer_is_told_who_has_the_session() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "hi");
    let id = session.id();
    let error = place.open(id).unwrap_err();
    assert!(matches!(error, SessionError::InUse { .. }));
    assert_eq!(error.to_string(), format!("session {id} is in use by process {}", std::process::id()));

    let (_, warnings) = {
        drop(session);
        place.open(id).unwrap()
    };
    assert_eq!(warnings, []);
}

#[test]
fn sess_05_a_second_writer_is_refused_though_the_lock_file_was_deleted() {
    let place = Place::new();
    let mut session = Session::create(&place.dir, start());
    say(&mut session, 0, "hi");
    let id = session.id();
    fs::remove_file(place.dir.join(format!("{id}.lock"))).unwrap();
    assert_eq!(place.open(id).unwrap_err().to_string(), format!("session {id} is in use by another process"));
    assert_eq!(names_in(&place.dir), [format!("{id}.jsonl")]);
    say(&mut session, 1, "ho");
    drop(session);
    assert_eq!(place.reopen(id), (vec!["hi".into(), "ho".into()], vec![]));
}

#[test]
fn sess_05_a_lock_that_nobody_holds_is_taken_over_and_removed_in_the_end() {
    let place = Place::new();
    let id = place.session(&["hi"]);
    let lock = place.dir.join(format!("{id}.lock"));
    fs::write(&lock, "4194304\n").unwrap();
    let (session, _) = place.open(id).unwrap();
    assert_eq!(fs::read_to_string(&lock).unwrap(), format!("{}\n", std::process::id()));
    drop(session);
    assert_eq!(names_in(&place.dir), [format!("{id}.jsonl")]);
}

#[test]
fn a_lock_without_a_name_in_it_still_refuses() {
    let place = Place::new();
    let id = place.session(&["hi"]);
    let lock = OpenOptions::new().create_new(true).write(true).open(place.dir.join(format!("{id}.lock"))).unwrap();
    lock.lock().unwrap();
    assert_eq!(place.open(id).unwrap_err().to_string(), format!("session {id} is in use by another process"));
}

#[test]
fn a_refused_or_unknown_session_leaves_no_lock_file() {
    let place = Place::new();
    let id = place.session(&["hi"]);
    fs::write(place.file(id), "garbage\n").unwrap();
    place.open(id).unwrap_err();
    let unknown = ulid::Ulid::from_parts(1, 1);
    assert!(matches!(place.open(unknown), Err(SessionError::NotFound { .. })));
    assert_eq!(names_in(&place.dir), [format!("{id}.jsonl")]);
}

/// The lock file comes and goes; no two threads may ever get past it together, and no line may be lost.
#[test]
fn sess_05_writers_that_race_for_a_session_append_one_after_the_other() {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 50;
    let place = Place::new();
    let id = place.session(&["hi"]);
    let barrier = Barrier::new(WRITERS);
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                barrier.wait();
                let mut done = 0;
                while done < ROUNDS {
                    match place.open(id) {
                        Ok((mut session, warnings)) => {
                            assert_eq!(warnings, []);
                            say(&mut session, 0, "mine");
                            done += 1;
                        }
                        Err(SessionError::InUse { .. }) => thread::yield_now(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let (texts, warned) = place.reopen(id);
    assert_eq!((texts.len(), warned), (1 + WRITERS * ROUNDS, vec![]));
    assert_eq!(names_in(&place.dir), [format!("{id}.jsonl")]);
}
