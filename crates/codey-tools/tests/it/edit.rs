//! `edit`.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use codey_protocol::{Digest, ErrorCode, RelPath, Seen, ToolDisplay};
use serde_json::{Value, json};

use crate::fixture::{Fixture, diff_of, text_of};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_str": old, "new_str": new})
}

/// Reads `before` from a file, makes one edit and compares the bytes.
async fn check(before: &[u8], old: &str, new: &str, after: &[u8]) {
    let fixture = Fixture::new(&[]);
    fixture.put("f", before);
    fixture.read("f").await;
    fixture.call("edit", edit("f", old, new)).await.unwrap();
    assert_eq!(fixture.escaped("f"), after.escape_ascii().to_string());
}

/// Reads `before` from a file; the edit is refused, with this text, and changes nothing.
async fn check_refused(before: &[u8], old: &str, code: ErrorCode, expected: &str) {
    let fixture = Fixture::new(&[]);
    fixture.put("f", before);
    fixture.read("f").await;
    assert_eq!(fixture.refused("edit", edit("f", old, "something else"), code).await, expected);
    assert_eq!(fixture.escaped("f"), before.escape_ascii().to_string());
}

#[tokio::test]
async fn edit_01_lf_old_str_matches_crlf_file() {
    check(b"a\r\nb\r\nc\r\n", "a\nb", "a\nB", b"a\r\nB\r\nc\r\n").await;
    check(b"a\r\nb\r\n", "b", "b\nc\nd", b"a\r\nb\r\nc\r\nd\r\n").await;
    let fixture = Fixture::new(&[("f", "a\r\nb\r\nc\r\n")]);
    fixture.read("f").await;
    let output = fixture.call("edit", edit("f", "a\nb", "a\nB")).await.unwrap();
    let diff = diff_of(&output.for_user);
    assert_eq!((diff.added, diff.removed), (1, 1));
    assert_eq!(text_of(&output), "edited f\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+B\r\n c\r");
}

#[tokio::test]
async fn edit_03_the_byte_order_mark_stays() {
    check(b"\xEF\xBB\xBFhello\n", "hello", "hello2", b"\xEF\xBB\xBFhello2\n").await;
    check(b"\xEF\xBB\xBFhello\n", "\u{feff}hello\n", "bye\n", b"\xEF\xBB\xBFbye\n").await;
}

#[tokio::test]
async fn edit_05_bytes_that_do_not_decode_survive() {
    let mut before = b"name=x\n".to_vec();
    before.extend(b"filler\n".repeat(997));
    before.extend(b"\x99\n");
    let after = [b"name=y".as_slice(), &before[6..]].concat();
    check(&before, "name=x", "name=y", &after).await;
    check(b"\x99a\n", "a", "b", b"\x99b\n").await;
}

#[tokio::test]
async fn edit_07_typographic_quotes_are_other_characters_than_straight_ones() {
    check(b"'%s'", "'%s'", "\u{2018}%s\u{2019}", b"\xe2\x80\x98%s\xe2\x80\x99").await;
    check(b"\xe2\x80\x9cx\xe2\x80\x9d", "\u{201c}x\u{201d}", "\"x\"", b"\"x\"").await;
}

#[tokio::test]
async fn edit_09_the_new_text_is_taken_by_the_letter() {
    check(b"x = q()", "q()", "$$('a')", b"x = $$('a')").await;
    check(b"a.b", ".", "$0 $& \\1 ${x} %s", b"a$0 $& \\1 ${x} %sb").await;
}

#[tokio::test]
async fn edit_11_the_mode_stays() {
    for mode in [0o755, 0o600, 0o640, 0o4755] {
        let fixture = Fixture::new(&[("run.sh", "echo one\n")]);
        std::fs::set_permissions(fixture.path("run.sh"), std::fs::Permissions::from_mode(mode)).unwrap();
        fixture.read("run.sh").await;
        fixture.call("edit", edit("run.sh", "one", "two")).await.unwrap();
        assert_eq!(format!("{:o}", fixture.mode("run.sh")), format!("{mode:o}"));
    }
}

#[tokio::test]
async fn edit_11_the_owner_stays_where_that_is_possible() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    if std::os::unix::fs::chown(fixture.path("f"), Some(1234), Some(5678)).is_err() {
        // Only root can give files away, and keep them given.
        return;
    }
    fixture.read("f").await;
    fixture.call("edit", edit("f", "one", "two")).await.unwrap();
    let metadata = std::fs::metadata(fixture.path("f")).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (1234, 5678));
}

#[tokio::test]
async fn edit_13_a_link_stays_and_its_target_is_changed() {
    let fixture = Fixture::new(&[("real.md", "one\n"), ("docs/", "")]);
    fixture.link("real.md", "link.md");
    fixture.link(fixture.path("link.md"), "docs/far.md");
    for (path, old, new) in [("link.md", "one", "two"), ("docs/far.md", "two", "three")] {
        fixture.read(path).await;
        let output = fixture.call("edit", edit(path, old, new)).await.unwrap();
        assert_eq!(diff_of(&output.for_user).path.as_str(), "real.md");
        assert!(std::fs::symlink_metadata(fixture.path(path)).unwrap().is_symlink());
    }
    assert_eq!(fixture.escaped("real.md"), "three\\n");
    // Read by one name, edited by another: it is the same file.
    fixture.call("edit", edit("real.md", "three", "four")).await.unwrap();
}

#[tokio::test]
async fn edit_15_a_file_that_changed_since_it_was_read_is_left_alone() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    fixture.read("f").await;
    fixture.put("f", b"one\nfrom outside\n");
    for (tool, input) in [("edit", edit("f", "one", "two")), ("write", json!({"path": "f", "content": "two\n"}))] {
        let message = fixture.refused(tool, input, ErrorCode::StaleRead).await;
        assert_eq!(
            message,
            "f changed since it was last read (by a command, another program or the user); nothing was changed by this \
             call. Read it again, then send what still fits."
        );
    }
    assert_eq!(fixture.escaped("f"), "one\\nfrom outside\\n");
}

#[tokio::test]
async fn edit_15_a_change_between_plan_and_run_is_found() {
    for during_approval in [&b"one\nfrom outside\n"[..], b""] {
        let fixture = Fixture::new(&[("f", "one\n")]);
        fixture.read("f").await;
        for (tool, input) in [("edit", edit("f", "one", "two")), ("write", json!({"path": "f", "content": "two\n"}))] {
            fixture.put("f", b"one\n");
            let plan = fixture.plan(tool, &input).await.unwrap();
            fixture.put("f", during_approval);
            let error = fixture.carry_out(tool, input, plan).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::StaleRead, "{}", error.message);
            assert_eq!(fixture.bytes("f"), during_approval);
        }
    }
}

#[tokio::test]
async fn edit_15_a_file_put_back_with_the_same_content_is_the_same_version() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    fixture.read("f").await;
    fixture.put("f", b"other\n");
    fixture.put("f", b"one\n");
    fixture.call("edit", edit("f", "one", "two")).await.unwrap();
}

#[tokio::test]
async fn edit_15_a_file_deleted_during_the_approval_stays_deleted() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    fixture.read("f").await;
    for (tool, input) in [("edit", edit("f", "one", "two")), ("write", json!({"path": "f", "content": "two\n"}))] {
        fixture.put("f", b"one\n");
        let plan = fixture.plan(tool, &input).await.unwrap();
        std::fs::remove_file(fixture.path("f")).unwrap();
        let error = fixture.carry_out(tool, input, plan).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::StaleRead);
        assert!(error.message.contains("has been deleted since"), "{}", error.message);
        assert!(!fixture.path("f").exists());
    }
}

#[tokio::test]
async fn edit_17_own_edits_count_as_read() {
    let fixture = Fixture::new(&[("f", "one\ntwo\nthree\n")]);
    fixture.read("f").await;
    fixture.call("edit", edit("f", "one", "1")).await.unwrap();
    fixture.call("edit", edit("f", "two", "2")).await.unwrap();
    fixture.call("bash", json!({"command": "true"})).await.unwrap();
    fixture.call("edit", edit("f", "three", "3")).await.unwrap();
    fixture.call("write", json!({"path": "f", "content": "a\n"})).await.unwrap();
    fixture.call("edit", edit("f", "a", "b")).await.unwrap();
    fixture.call("write", json!({"path": "new", "content": "a\n"})).await.unwrap();
    fixture.call("edit", edit("new", "a", "b")).await.unwrap();
    assert_eq!((fixture.escaped("f"), fixture.escaped("new")), ("b\\n".into(), "b\\n".into()));
}

#[tokio::test]
async fn edit_19_two_edits_of_one_turn_are_both_in_the_file() {
    let numbers: String = (1..=100).map(|line| format!("{line}\n")).collect();
    let fixture = Fixture::new(&[("n.txt", &numbers)]);
    fixture.read("n.txt").await;
    fixture.call("edit", edit("n.txt", "\n50\n", "\nFIFTY\n")).await.unwrap();
    fixture.call("edit", edit("n.txt", "\n75\n", "\nSEVENTY\n")).await.unwrap();
    let expected = numbers.replace("\n50\n", "\nFIFTY\n").replace("\n75\n", "\nSEVENTY\n");
    assert_eq!(fixture.bytes("n.txt"), expected.as_bytes());
}

#[tokio::test]
async fn edit_19_edits_that_run_at_once_do_not_undo_each_other() {
    let fixture = Fixture::new(&[("f", "one\ntwo\n")]);
    fixture.read("f").await;
    let (first, second) = (edit("f", "one", "1"), edit("f", "two", "2"));
    let plans = (fixture.plan("edit", &first).await.unwrap(), fixture.plan("edit", &second).await.unwrap());
    let results = tokio::join!(fixture.carry_out("edit", first, plans.0), fixture.carry_out("edit", second, plans.1));
    // Both were planned against the same version, so one of them has to be refused.
    let (done, refused) = match results {
        (Ok(done), Err(refused)) | (Err(refused), Ok(done)) => (done, refused),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused.code, ErrorCode::StaleRead);
    assert_eq!(fixture.bytes("f"), if text_of(&done).contains("+1") { "1\ntwo\n" } else { "one\n2\n" }.as_bytes());
}

#[tokio::test]
async fn edit_21_empty_and_equal_texts_are_refused() {
    let text = "old_str is empty; nothing was changed. For a new file use write; to append, give the last line as old_str \
                and that line with the new ones as new_str.";
    check_refused(b"one\n", "", ErrorCode::InvalidArguments, text).await;
    let text = "old_str and new_str are the same; nothing was changed. Send what the text is to become as new_str.";
    check_refused(b"something else\n", "something else", ErrorCode::InvalidArguments, text).await;
}

#[tokio::test]
async fn edit_21_a_text_that_only_the_mark_tells_from_nothing_or_from_the_new_one_is_refused() {
    let fixture = Fixture::new(&[("f", "\u{feff}hello\n")]);
    fixture.read("f").await;
    let refused = async |old: &str, new: &str| {
        let input = json!({"path": "f", "old_str": old, "new_str": new, "replace_all": true});
        fixture.refused("edit", input, ErrorCode::InvalidArguments).await
    };
    assert_eq!(
        refused("\u{feff}", "x").await,
        "old_str is nothing but the byte order mark, which f keeps; nothing was changed. Send the text behind it as old_str."
    );
    let expected = "this edit would leave f as it is; nothing was changed. The two texts differ only in the byte order mark, \
                    and the file keeps its own. To change that use bash.";
    assert_eq!(refused("\u{feff}hello", "hello").await, expected);
    assert_eq!(refused("hello", "\u{feff}hello").await, expected);
    assert_eq!(fixture.bytes("f"), "\u{feff}hello\n".as_bytes());
}

#[tokio::test]
async fn edit_23_a_partly_invented_text_is_no_match() {
    let text = "old_str does not occur in f; nothing was changed. The closest place is lines 5-8: line 6 is \"    two();\", \
                old_str has \"    invented();\"\n     5\tfn b() {\n     6\t    two();\n     7\t    three();\n     8\t}\n\
                Copy old_str exactly from the file.";
    check_refused(
        b"fn a() {\n    one();\n}\n\nfn b() {\n    two();\n    three();\n}\n",
        "fn b() {\n    invented();\n    also();\n}",
        ErrorCode::NoMatch,
        text,
    )
    .await;
}

#[tokio::test]
async fn edit_25_a_missing_final_newline_stays_missing() {
    check(br#"{"a":1}"#, "1", "2", br#"{"a":2}"#).await;
    check(b"a\r\nb", "b", "c", b"a\r\nc").await;
}

#[tokio::test]
async fn edit_27_tabs_where_spaces_were_sent_are_counted() {
    let fixture = Fixture::new(&[("f.go", "func f() {\n\t\tx := 1\n}\n")]);
    assert_eq!(
        fixture.text("read", json!({"path": "f.go"})).await,
        "     1\tfunc f() {\n     2\t\t\tx := 1\n     3\t}"
    );
    let message = fixture.refused("edit", edit("f.go", "        x := 1", "x := 2"), ErrorCode::NoMatch).await;
    assert_eq!(
        message,
        "old_str does not occur in f.go; nothing was changed. The closest place is line 2: line 2 begins with 2 tabs, old_str \
         has 8 spaces there\n     2\t\t\tx := 1\nCopy old_str exactly from the file."
    );
}

#[tokio::test]
async fn edit_29_several_matches_need_replace_all() {
    let before = b"const a=1\nconst b=2\n// constant\n";
    let text = "old_str occurs 3 times in f (lines 1, 2, 3); nothing was changed. Add surrounding lines until it is unique, or \
                set replace_all.";
    check_refused(before, "const", ErrorCode::AmbiguousMatch, text).await;
    let fixture = Fixture::new(&[]);
    fixture.put("f", before);
    fixture.read("f").await;
    let input = json!({"path": "f", "old_str": "const", "new_str": "let", "replace_all": true});
    let text = fixture.text("edit", input).await;
    assert!(text.starts_with("edited f: 3 occurrences replaced (lines 1, 2, 3)\n@@ -1,3 +1,3 @@\n"), "{text}");
    assert_eq!(fixture.escaped("f"), "let a=1\\nlet b=2\\n// letant\\n");
}

#[tokio::test]
async fn edit_29_places_that_overlap_are_all_listed() {
    let text = "old_str occurs 2 times in f (lines 1, 2); nothing was changed. Add surrounding lines until it is unique, or \
                set replace_all.";
    check_refused(b"foo(1)\nfoo(1)\nfoo(1)\n", "foo(1)\nfoo(1)\n", ErrorCode::AmbiguousMatch, text).await;
}

#[tokio::test]
async fn edit_29_of_many_matches_the_first_lines_are_listed() {
    let text = format!(
        "old_str occurs 25 times in f (lines {}, and 5 more); nothing was changed. Add surrounding lines until it is unique, or \
         set replace_all.",
        (1..=20).map(|line| line.to_string()).collect::<Vec<_>>().join(", ")
    );
    check_refused("x\n".repeat(25).as_bytes(), "x", ErrorCode::AmbiguousMatch, &text).await;
}

#[tokio::test]
async fn edit_31_composed_and_decomposed_characters_are_told_apart() {
    let text = "old_str does not occur in f; nothing was changed. The closest place is line 1: Unicode normalisation differs in \
                line 1: decomposed characters in the file, composed ones in old_str\n     1\tcafe\u{301}\nCopy old_str exactly \
                from the file.";
    check_refused("cafe\u{301}\n".as_bytes(), "caf\u{e9}", ErrorCode::NoMatch, text).await;
}

#[tokio::test]
async fn each_reason_not_to_trust_a_read_has_its_own_text() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    let input = edit("f", "one", "two");
    let message = fixture.refused("edit", input.clone(), ErrorCode::NotRead).await;
    assert_eq!(message, "f exists and has not been read yet; nothing was changed. Read it, then send this again.");
    let digest = Digest::new(blake3::hash(b"one\n").to_hex().as_str());
    let seen = |visible| Seen { path: RelPath::new("f"), digest: digest.clone(), visible };
    fixture.workspace.reset_seen(vec![seen(false)]);
    let message = fixture.refused("edit", input.clone(), ErrorCode::StaleRead).await;
    assert_eq!(
        message,
        "f was read, but its content is no longer in this conversation (it was summarised); nothing was changed. Read it \
         again, then send this again."
    );
    fixture.workspace.reset_seen(vec![seen(true)]);
    std::fs::remove_file(fixture.path("f")).unwrap();
    let message = fixture.refused("edit", input.clone(), ErrorCode::StaleRead).await;
    assert_eq!(
        message,
        "f was read, but has been deleted since; nothing was changed. If it is to exist, create it with write."
    );
    fixture.workspace.reset_seen(Vec::new());
    fixture.refused("edit", input, ErrorCode::NotFound).await;
}

#[tokio::test]
async fn a_ranged_read_counts_for_the_whole_file() {
    let fixture = Fixture::new(&[("f", "one\ntwo\nthree\n")]);
    fixture.call("read", json!({"path": "f", "offset": 2, "limit": 1})).await.unwrap();
    fixture.call("edit", edit("f", "three", "3")).await.unwrap();
}

#[tokio::test]
async fn a_file_in_utf_16_is_refused_by_name_of_its_encoding() {
    let fixture = Fixture::new(&[]);
    fixture.put("f", b"\xFF\xFEo\0n\0e\0");
    fixture.read("f").await;
    let message = fixture.refused("edit", edit("f", "one", "two"), ErrorCode::BinaryFile).await;
    assert!(message.contains("f is encoded in UTF-16LE") && message.contains("iconv"), "{message}");
}

#[tokio::test]
async fn a_write_protected_file_is_left_alone() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    fixture.read("f").await;
    std::fs::set_permissions(fixture.path("f"), std::fs::Permissions::from_mode(0o444)).unwrap();
    let message = fixture.refused("edit", edit("f", "one", "two"), ErrorCode::Io).await;
    assert!(message.starts_with("cannot write f: permission denied."), "{message}");
    assert_eq!(fixture.escaped("f"), "one\\n");
}

#[tokio::test]
async fn the_preview_shows_what_will_change() {
    let fixture = Fixture::new(&[("src/a.rs", "one\ntwo\n")]);
    fixture.read("src/a.rs").await;
    let plan = fixture.plan("edit", &edit("src/a.rs", "two", "2")).await.unwrap();
    assert_eq!(plan.summary, "edit src/a.rs");
    let ToolDisplay::Diff(diff) = plan.preview else { panic!() };
    assert_eq!(diff.unified, "--- src/a.rs\n+++ src/a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    assert_eq!((diff.old.as_deref(), diff.new.as_str()), (Some("one\ntwo\n"), "one\n2\n"));
    assert_eq!(fixture.escaped("src/a.rs"), "one\\ntwo\\n");
}

#[tokio::test]
async fn nothing_is_left_beside_the_file() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    fixture.read("f").await;
    let before = std::fs::metadata(fixture.path("f")).unwrap();
    fixture.call("edit", edit("f", "one", "two")).await.unwrap();
    let names: Vec<_> = std::fs::read_dir(fixture.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["f"]);
    // A new inode: readers of the old one still have it whole.
    assert_ne!(before.ino(), std::fs::metadata(fixture.path("f")).unwrap().ino());
}

#[cfg(target_os = "linux")]
#[tokio::test]
#[allow(clippy::print_stdout, reason = "says what was not tested")]
async fn access_lists_and_attributes_are_kept_and_none_is_gained() {
    // Root alone, and one more who may read; by the mode alone the owning group could as well.
    let list = b"\x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x02\0\x04\0\xd2\x04\0\0\x04\0\0\0\xff\xff\xff\xff\
        \x10\0\x04\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff";
    let fixture = Fixture::new(&[("listed", "one\n"), ("plain", "one\n")]);
    let set = |path: &str, name: &str, value: &[u8]| {
        rustix::fs::setxattr(fixture.path(path), name, value, rustix::fs::XattrFlags::empty())
    };
    // What else is made in the folder gets a list, too.
    for (path, name, value) in [
        ("listed", "user.origin", b"elsewhere".as_slice()),
        ("listed", "system.posix_acl_access", list),
        ("", "system.posix_acl_default", list),
    ] {
        if let Err(error) = set(path, name, value) {
            return println!("skipped: this disk does not take {name}: {error}");
        }
    }
    let state = |path: &str| {
        let get = |name: &str| {
            let mut value = [0; 100];
            let length = rustix::fs::getxattr(fixture.path(path), name, &mut value[..]).ok()?;
            Some(value[..length].to_vec())
        };
        (fixture.mode(path), get("user.origin"), get("system.posix_acl_access"))
    };
    let before = [state("listed"), state("plain")];
    assert_eq!(before[0], (0o640, Some(b"elsewhere".to_vec()), Some(list.to_vec())));
    for path in ["listed", "plain"] {
        fixture.read(path).await;
        fixture.call("edit", edit(path, "one", "two")).await.unwrap();
    }
    assert_eq!([state("listed"), state("plain")], before);
}

/// What this process has worked; however busy the machine is, that hardly changes it.
fn processor_time() -> Duration {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF).unwrap();
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    Duration::from_micros((micros(usage.user_time()) + micros(usage.system_time())).try_into().unwrap())
}

/// Generous, since it also runs unoptimised; anything quadratic takes hours.
fn assert_bounded(start: Duration) {
    let taken = processor_time() - start;
    assert!(taken < Duration::from_secs(30), "{taken:?}");
}

#[tokio::test]
async fn a_large_file_is_edited_and_missed_in_linear_time() {
    let content: String = (0..50_000).map(|line| format!("    let value_{line} = compute({line});\n")).collect();
    let repeated = "    return Ok(());\n".repeat(100_000);
    let fixture = Fixture::new(&[("f", &content), ("repeated", &repeated)]);
    fixture.read("f").await;
    fixture.read("repeated").await;
    let start = processor_time();
    fixture.call("edit", edit("f", "value_49999 ", "last ")).await.unwrap();
    let invented = "    let value_30000 = compute(1);\n    nothing(30000);\n".repeat(50);
    for (path, old) in [("f", "let  value_39999=compute(39998)"), ("f", &invented), ("repeated", "  return Ok(())\n")] {
        fixture.refused("edit", edit(path, old, "x"), ErrorCode::NoMatch).await;
    }
    fixture.refused("edit", edit("repeated", "return", "x"), ErrorCode::AmbiguousMatch).await;
    assert_bounded(start);
}

#[tokio::test]
async fn a_file_of_one_huge_line_is_edited_and_missed_in_linear_time() {
    let fixture = Fixture::new(&[("f", &"a".repeat(5 << 20)), ("g", &format!("{}!", "a".repeat(5 << 20)))]);
    fixture.read("f").await;
    fixture.read("g").await;
    let start = processor_time();
    let input = json!({"path": "f", "old_str": "aa", "new_str": "b", "replace_all": true});
    let output = fixture.call("edit", input).await.unwrap();
    assert!(text_of(&output).starts_with("edited f: 2621440 occurrences replaced (line 1)\n"));
    assert!(text_of(&output).len() < 20_000, "{}", text_of(&output).len());
    assert_eq!(fixture.bytes("f"), "b".repeat(5 << 19).as_bytes());
    let half = format!("{}?", "a".repeat(1 << 20));
    for (old, code) in [("aa", ErrorCode::AmbiguousMatch), ("aab", ErrorCode::NoMatch), (&half, ErrorCode::NoMatch)] {
        let message = fixture.refused("edit", edit("g", old, "x\ny"), code).await;
        assert!(message.len() < 10_000, "{}", message.len());
    }
    assert_bounded(start);
}

#[tokio::test]
async fn in_a_file_of_very_many_lines_no_similar_place_is_looked_for() {
    let fixture = Fixture::new(&[("a", &"\n".repeat(1_100_000))]);
    fixture.read("a").await;
    let message =
        fixture.refused("edit", json!({"path": "a", "old_str": "q", "new_str": "r"}), ErrorCode::NoMatch).await;
    assert!(message.contains("too many lines to look for what is similar"), "{message}");
}
