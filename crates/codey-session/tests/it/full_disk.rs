//! A disk that takes half a record.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use codey_llm::{Block, Message};
use codey_protocol::Meta;
use codey_session::{NodeKind, Session, SessionError};
use ulid::Ulid;

use crate::{Place, child_dir, rerun, start, texts};

/// Runs itself in a process whose files may not grow beyond a few kilobytes: the write that crosses the limit is cut
/// short by the kernel, as on a full disk.
#[test]
fn a_record_that_the_disk_takes_half_of_is_cut_off_again() {
    if let Some(dir) = child_dir() {
        return fill(&dir);
    }
    let place = Place::new();
    let name = "full_disk::a_record_that_the_disk_takes_half_of_is_cut_off_again";
    rerun(name, r#"trap "" XFSZ; ulimit -f 16"#, &place.dir);

    let id: Ulid = codey_session::latest(&place.dir).unwrap().unwrap();
    let (mut session, warnings) = place.open(id).unwrap();
    assert_eq!(warnings, [], "nothing torn is left in the file");
    let kept = texts(&session).len();
    session.append(record(), Meta::default()).unwrap();
    drop(session);
    assert_eq!(place.reopen(id).0.len(), kept + 1);
}

fn record() -> NodeKind {
    NodeKind::Message(Arc::new(Message::user(vec![Block::text("x".repeat(3_500))])))
}

fn fill(dir: &Path) {
    let mut session = Session::create(dir, start());
    let file = dir.join(format!("{}.jsonl", session.id()));
    let mut whole = 0;
    for appended in 0.. {
        let head = session.head();
        match session.append(record(), Meta::default()) {
            Ok(_) => whole = fs::metadata(&file).unwrap().len(),
            Err(error) => {
                assert!(appended > 0, "the first records must fit: {error}");
                assert!(matches!(error, SessionError::Write { .. }), "{error}");
                assert_eq!(fs::metadata(&file).unwrap().len(), whole);
                assert_eq!(session.head(), head);
                assert_eq!(texts(&session).len(), appended);
                break;
            }
        }
    }
    session.append_head("x", 1, codey_llm::Usage::default()).expect("a small record still fits");
}

#[test]
fn a_session_that_cannot_be_begun_leaves_no_file_and_can_be_begun_later() {
    let place = Place::new();
    let parent = place.dir.parent().unwrap();
    fs::write(parent, "a file where the folder should be").unwrap();
    let mut session = Session::create(&place.dir, start());
    assert!(matches!(session.append(record(), Meta::default()), Err(SessionError::Write { .. })));
    assert_eq!(session.head(), None);

    fs::remove_file(parent).unwrap();
    session.append(record(), Meta::default()).unwrap();
    assert_eq!(place.lines(session.id()).len(), 2);
}
