//! What an armed process does, seen from outside it.
#![cfg(debug_assertions)]
#![allow(clippy::unwrap_used)]

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use codey_faults::{Faults, Point};

/// The other half: writes two records with a rename between them in a process that was armed.
#[test]
#[ignore = "runs in a process that is killed"]
fn write_and_rename() {
    let folder = std::env::var("FOLDER").unwrap();
    let folder = Path::new(&folder);
    let die_at = std::env::var("DIE_AT").ok().map(|point| point.parse().unwrap());
    codey_faults::arm(Faults { die_at, ledger: Some(folder.join("ledger")) }).unwrap();
    let mut file = std::fs::File::create(folder.join("old")).unwrap();
    codey_faults::write(&mut file, b"one\n", "record").unwrap();
    codey_faults::before("rename");
    std::fs::rename(folder.join("old"), folder.join("new")).unwrap();
    codey_faults::write(&mut file, b"two\n", "record").unwrap();
}

/// Armed with `die_at` it is killed if `dies`, and leaves `text` in the file `name`, and `ledger`.
fn check(die_at: Option<&str>, dies: bool, (name, text): (&str, &str), ledger: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "write_and_rename", "--ignored"]).env("FOLDER", folder.path()).stdout(Stdio::null());
    command.envs(die_at.map(|point| ("DIE_AT", point)));
    let status = command.status().unwrap();
    assert_eq!((status.signal(), status.success()), (dies.then_some(9), !dies), "{die_at:?}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!((read(name).as_str(), read("ledger").as_str()), (text, ledger), "{die_at:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "{die_at:?}");
}

#[test]
fn it_dies_exactly_there() {
    let dies = |point, left, ledger| check(Some(point), true, left, ledger);
    dies("record:0:0", ("old", ""), "died record 0\n");
    dies("record:0:3", ("old", "one"), "died record 3\n");
    dies("record:0:9", ("old", "one\n"), "record 4\ndied record 4\n");
    dies("rename:0:1", ("old", "one\n"), "record 4\ndied rename 0\n");
    dies("record:1:1", ("new", "one\nt"), "record 4\nrename 0\ndied record 1\n");
}

#[test]
fn it_lives_where_there_is_nothing_to_die_at() {
    for point in [None, Some("record:2:0"), Some("other:0:0")] {
        check(point, false, ("new", "one\ntwo\n"), "record 4\nrename 0\nrecord 4\n");
    }
}

#[test]
fn a_point_is_written_in_one_way() {
    assert_eq!("cut:2:30".parse(), Ok(Point { what: "cut".to_owned(), nth: 2, part: 30 }));
    for text in ["", "7", "cut:1", "cut:one:2"] {
        assert_eq!(text.parse::<Point>(), Err(format!("{text:?} is no point; expected WHAT:NTH:PART")));
    }
}
