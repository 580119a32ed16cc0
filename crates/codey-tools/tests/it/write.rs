//! `write`.

use std::os::unix::fs::PermissionsExt;

use codey_protocol::ErrorCode;
use serde_json::{Value, json};

use crate::fixture::{Fixture, diff_of};

fn write(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content})
}

/// Reads `before` from a file, writes over it and compares the bytes.
async fn check(before: &[u8], content: &str, after: &[u8]) {
    let fixture = Fixture::new(&[]);
    fixture.put("f", before);
    fixture.read("f").await;
    fixture.call("write", write("f", content)).await.unwrap();
    assert_eq!(fixture.escaped("f"), after.escape_ascii().to_string());
}

#[tokio::test]
async fn write_01_overwriting_needs_a_read() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    let message = fixture.refused("write", write("f", "two\n"), ErrorCode::NotRead).await;
    assert_eq!(message, "f exists and has not been read yet; nothing was changed. Read it, then send this again.");
    assert_eq!(fixture.escaped("f"), "one\\n");
    fixture.read("f").await;
    assert_eq!(fixture.text("write", write("f", "two\n")).await, "wrote f (+1 -1)\n@@ -1 +1 @@\n-one\n+two");
    assert_eq!(fixture.escaped("f"), "two\\n");
}

#[tokio::test]
async fn write_03_a_shorter_text_leaves_nothing_of_the_longer_one() {
    let fixture = Fixture::new(&[("f", &"a".repeat(340))]);
    fixture.read("f").await;
    for length in [1_100, 10, 0] {
        let content = "b".repeat(length);
        fixture.call("write", write("f", &content)).await.unwrap();
        assert_eq!(fixture.bytes("f"), content.as_bytes());
    }
}

#[tokio::test]
async fn write_05_text_is_written_in_utf_8() {
    let fixture = Fixture::new(&[]);
    let content = "─ │ ┌ ю 😀";
    fixture.call("write", write("f", content)).await.unwrap();
    assert_eq!(fixture.bytes("f"), b"\xe2\x94\x80 \xe2\x94\x82 \xe2\x94\x8c \xd1\x8e \xf0\x9f\x98\x80");
}

#[tokio::test]
async fn write_07_the_dominant_line_end_is_kept_and_a_new_file_is_as_sent() {
    check(b"a\r\nb\r\n", "a\nb\nc\n", b"a\r\nb\r\nc\r\n").await;
    check(b"a\nb\n", "a\r\nb\r\n", b"a\nb\n").await;
    check(b"a\r\nb\r\nc\n", "a\nb\r\n", b"a\r\nb\r\n").await;
    check(b"no line end", "a\r\nb\n", b"a\r\nb\n").await;
    check(b"\xEF\xBB\xBFa\n", "b\n", b"\xEF\xBB\xBFb\n").await;
    let fixture = Fixture::new(&[]);
    fixture.call("write", write("f", "a\r\nb\n")).await.unwrap();
    assert_eq!(fixture.escaped("f"), "a\\r\\nb\\n");
}

#[tokio::test]
async fn folders_are_made_and_the_result_counts_the_lines() {
    let fixture = Fixture::new(&[]);
    let output = fixture.call("write", write("a/b/c.txt", "one\ntwo")).await.unwrap();
    assert_eq!(crate::fixture::text_of(&output), "created a/b/c.txt (2 lines)");
    assert_eq!(diff_of(&output.for_user).old, None);
    assert_eq!(output.observed[0].path.as_str(), "a/b/c.txt");
    assert_eq!(fixture.escaped("a/b/c.txt"), "one\\ntwo");
    // A fresh file has the mode any program would give it.
    fixture.put("plain", b"");
    assert_eq!(fixture.mode("a/b/c.txt"), fixture.mode("plain"));
}

#[tokio::test]
async fn a_link_to_nothing_creates_its_target() {
    let fixture = Fixture::new(&[]);
    fixture.link("target", "link");
    fixture.call("write", write("link", "x")).await.unwrap();
    assert_eq!(fixture.escaped("target"), "x");
    assert!(std::fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
}

#[tokio::test]
async fn what_appears_during_the_approval_is_not_overwritten() {
    let fixture = Fixture::new(&[]);
    let plan = fixture.plan("write", &write("f", "mine")).await.unwrap();
    fixture.put("f", b"theirs");
    let error = fixture.carry_out("write", write("f", "mine"), plan).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotRead, "{}", error.message);
    assert_eq!(fixture.escaped("f"), "theirs");
}

#[tokio::test]
async fn a_name_that_could_be_taken_for_another_is_not_created() {
    let fixture = Fixture::new(&[("README.md", ""), ("cafe\u{301}.txt", "")]);
    for (path, difference) in [("readme.md", "upper and lower case"), ("caf\u{e9}.txt", "Unicode normalisation")] {
        let message = fixture.refused("write", write(path, "x"), ErrorCode::InvalidArguments).await;
        assert!(message.contains(difference) && message.contains("nothing was written"), "{message}");
        assert!(!fixture.path(path).exists());
    }
}

#[tokio::test]
async fn a_hard_link_that_is_parted_is_said_to_be_one() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    let check = async |tool: &str, input: Value, expected: &str| {
        fixture.read("f").await;
        let text = fixture.text(tool, input).await;
        assert!(text.ends_with(expected), "{text}");
    };
    let link = |name: &str| std::fs::hard_link(fixture.path("f"), fixture.path(name)).unwrap();
    link("a");
    check("write", write("f", "two\n"), "+two\n[it was a hard link; its other name keeps the old content]").await;
    link("b");
    link("c");
    let edit = json!({"path": "f", "old_str": "two", "new_str": "three"});
    check("edit", edit, "+three\n[it was a hard link; its 2 other names keep the old content]").await;
    check("write", write("f", "four\n"), "+four").await;
    assert_eq!(["a", "b", "c", "f"].map(|name| fixture.escaped(name)), ["one\\n", "two\\n", "two\\n", "four\\n"]);
}

#[tokio::test]
async fn a_name_that_would_take_more_than_a_line_is_shown_as_a_json_string() {
    let fixture = Fixture::new(&[]);
    let name = "a\n@@ b";
    let plan = fixture.plan("write", &write(name, "one\n")).await.unwrap();
    assert_eq!(plan.summary, r#"write "a\n@@ b""#);
    assert_eq!(fixture.text("write", write(name, "one\n")).await, r#"created "a\n@@ b" (1 line)"#);
    let edit = json!({"path": name, "old_str": "one", "new_str": "two"});
    let text = fixture.text("edit", edit.clone()).await;
    assert_eq!(text, "edited \"a\\n@@ b\"\n@@ -1 +1 @@\n-one\n+two");
    let message = fixture.refused("edit", edit, ErrorCode::NoMatch).await;
    assert!(message.starts_with(r#"old_str does not occur in "a\n@@ b"; nothing was changed."#), "{message}");
}

#[tokio::test]
async fn a_deleted_file_is_written_anew() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    fixture.read("f").await;
    std::fs::remove_file(fixture.path("f")).unwrap();
    assert_eq!(fixture.text("write", write("f", "two\n")).await, "created f (1 line)");
}

#[tokio::test]
async fn the_same_content_is_said_to_be_there_already() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    fixture.read("f").await;
    assert_eq!(fixture.text("write", write("f", "one\n")).await, "f already had this content");
}

#[tokio::test]
async fn what_a_killed_write_left_is_removed_by_the_next_one() {
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let name = |pid: u32| format!("sub/.codey-{pid}-{}.tmp", ulid::Ulid::generate());
    let (stale, fresh) = (name(gone.id()), name(std::process::id()));
    let fixture = Fixture::new(&[(stale.as_str(), "x"), (fresh.as_str(), "x"), ("sub/.codey-notes.tmp", "x")]);
    fixture.call("write", write("sub/f", "one\n")).await.unwrap();
    assert!(!fixture.path(&stale).exists());
    assert!(fixture.path(&fresh).exists() && fixture.path("sub/.codey-notes.tmp").exists());
    assert_eq!(fixture.escaped("sub/f"), "one\\n");
}

#[tokio::test]
async fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    fixture.read("f").await;
    // A limit on file sizes fails a write half-way, as a full disk does; only a process of its own can have one.
    let program = std::env::current_exe().unwrap();
    let status = std::process::Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""])
        .arg(program)
        .args(["--exact", "write::half_a_write", "--ignored", "--nocapture"])
        .env("CODEY_TEST_ROOT", fixture.root())
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
    assert_eq!(fixture.escaped("f"), "one\\n");
    let names: Vec<_> = std::fs::read_dir(fixture.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["f"]);
}

/// The other half of [`a_failed_write_leaves_the_old_file_and_nothing_else`].
#[tokio::test]
#[ignore = "runs in a process with a limit on file sizes"]
async fn half_a_write() {
    let root = std::path::PathBuf::from(std::env::var_os("CODEY_TEST_ROOT").unwrap());
    let workspace = crate::fixture::open(&root, "");
    let call = async |tool: &str, input: Value| {
        let tool = crate::fixture::tool_named(tool);
        let plan = tool.plan(&input, &workspace).await?;
        let context = codey_tools::ToolContext {
            workspace: &workspace,
            cancel: Default::default(),
            ending: Default::default(),
            deadline: tokio::time::Instant::now() + std::time::Duration::from_secs(60),
            output: &|_| {},
        };
        tool.run(input, plan, context).await
    };
    workspace.observe(&call("read", json!({"path": "f"})).await.unwrap().observed);
    for path in ["f", "new"] {
        let error = call("write", write(path, &"x".repeat(1 << 20))).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Io);
        assert!(error.message.starts_with(&format!("cannot write {path}: file too large")), "{}", error.message);
    }
}

#[tokio::test]
async fn a_folder_without_write_permission_is_said_to_be_so() {
    let fixture = Fixture::new(&[("locked/", "")]);
    std::fs::set_permissions(fixture.path("locked"), std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(fixture.path("locked/probe"), "").is_ok() {
        // For root every folder is writable.
        return;
    }
    let message = fixture.refused("write", write("locked/f", "x"), ErrorCode::Io).await;
    assert!(message.starts_with("cannot write locked/f: permission denied."), "{message}");
}
