//! `grep`.

use std::time::{Duration, Instant};

use codey_protocol::{ErrorCode, ToolDisplay};
use serde_json::{Value, json};

use crate::fixture::{Fixture, text_of};

const LEFT_OUT: &str = "[left out: hidden and ignored files (name them in the path or pattern to include them; what deny_paths \
                        covers stays out)]";

async fn check(fixture: &Fixture, input: Value, expected: &str) {
    assert_eq!(fixture.text("grep", input.clone()).await, expected, "{input}");
}

#[tokio::test]
async fn srch_09_the_pattern_is_always_data() {
    let fixture = Fixture::new(&[("f", "-77\n--ctx-size 5\na->b\n")]);
    check(&fixture, json!({"pattern": "-77"}), "f\n1:-77").await;
    check(&fixture, json!({"pattern": "--ctx-size"}), "f\n2:--ctx-size 5").await;
    check(&fixture, json!({"pattern": "->"}), "f\n3:a->b").await;
    check(&fixture, json!({"pattern": "-e", "path": "f"}), "[no matches]").await;
}

#[tokio::test]
async fn srch_05_links_and_ignored_folders_are_not_searched() {
    let fixture = Fixture::new(&[("a/f", "needle\n"), (".gitignore", "ignored/\n"), ("ignored/f", "needle\n")]);
    fixture.link("/", "everything");
    fixture.link("..", "a/up");
    check(&fixture, json!({"pattern": "needle"}), "a/f\n1:needle").await;
    check(&fixture, json!({"pattern": "needle", "path": "ignored"}), "ignored/f\n1:needle").await;
}

#[tokio::test]
async fn matches_are_grouped_by_file_with_context() {
    let fixture = Fixture::new(&[("b.txt", "1\n2\nx3\n4\n5\n6\n7\nx8\n"), ("a.txt", "x1\r\nx2\n"), ("c.rs", "x\n")]);
    check(
        &fixture,
        json!({"pattern": "x", "context": 1, "glob": "*.txt"}),
        "a.txt\n1:x1\n2:x2\n\nb.txt\n2-2\n3:x3\n4-4\n--\n7-7\n8:x8",
    )
    .await;
    check(&fixture, json!({"pattern": "X", "ignore_case": true, "glob": "!*.txt"}), "c.rs\n1:x").await;
    check(&fixture, json!({"pattern": "x", "files_only": true}), "a.txt\nb.txt\nc.rs").await;
    check(&fixture, json!({"pattern": "^x2$", "path": "a.txt"}), "a.txt\n2:x2").await;
    check(&fixture, json!({"pattern": "x1$", "path": "a.txt"}), "a.txt\n1:x1").await;
    check(&fixture, json!({"pattern": "4\\n5"}), "b.txt\n4:4\n5:5").await;
}

#[tokio::test]
async fn the_first_matches_by_path_are_shown_and_all_are_counted() {
    let files: Vec<String> = (0..40).map(|number| format!("d{number:02}/f")).collect();
    let fixture = Fixture::new(&files.iter().map(|path| (path.as_str(), "x\nx\nx\n")).collect::<Vec<_>>());
    let output = fixture.call("grep", json!({"pattern": "x", "limit": 4})).await.unwrap();
    assert_eq!(
        text_of(&output),
        "d00/f\n1:x\n2:x\n3:x\n\nd01/f\n1:x\n[4 of 120 matches shown; narrow the pattern or the path]"
    );
    assert_eq!(output.for_user, ToolDisplay::Matches { count: 4, suppressed: 116 });
    check(
        &fixture,
        json!({"pattern": "x", "limit": 2, "files_only": true}),
        "d00/f\nd01/f\n[2 of 40 files with matches shown; narrow the pattern or the path]",
    )
    .await;
    let text = fixture.text("grep", json!({"pattern": "x"})).await;
    assert!(text.ends_with("[100 of 120 matches shown; narrow the pattern or the path]"), "{text}");
}

#[tokio::test]
async fn the_result_as_a_whole_is_bounded() {
    let fixture = Fixture::new(&[("f", &format!("{}\n", "x".repeat(10_000)).repeat(500))]);
    let text = fixture.text("grep", json!({"pattern": "x", "limit": 500})).await;
    assert!(text.len() < 60_000, "{}", text.len());
    assert!(text.contains("\n1:") && text.contains(" of 500 matches shown; narrow"), "{}", &text[text.len() - 100..]);
}

#[tokio::test]
async fn what_was_not_searched_is_said() {
    let fixture = Fixture::new(&[("text", "needle\n"), ("latin", "")]);
    fixture.put("binary", b"needle\0\n");
    fixture.put("latin", b"caf\xE9 needle\n");
    fixture.put("utf16", b"\xFF\xFEn\0e\0e\0d\0l\0e\0\n\0");
    check(
        &fixture,
        json!({"pattern": "needle"}),
        "latin\n1:caf\u{FFFD} needle\n\ntext\n1:needle\n\nutf16\n1:needle\n[left out: 1 binary]",
    )
    .await;
    check(&fixture, json!({"pattern": "needle", "path": "binary"}), "[no matches]\n[left out: 1 binary]").await;
    check(&fixture, json!({"pattern": "absent", "path": "text"}), "[no matches]").await;
    check(&fixture, json!({"pattern": "absent", "glob": "t*"}), &format!("[no matches]\n{LEFT_OUT}")).await;
}

/// Cancels a search soon after it began; it has to end at once.
async fn check_cancelled(content: &[u8], input: Value) {
    let fixture = Fixture::new(&[]);
    fixture.put("f", content);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        fixture.cancel.cancel();
        Instant::now()
    };
    let (text, cancelled) = tokio::join!(fixture.text("grep", input.clone()), cancel);
    // Generous, since it also runs unoptimised and beside other tests.
    assert!(cancelled.elapsed() < Duration::from_secs(3), "{input}: {:?}", cancelled.elapsed());
    assert!(text.contains("cancelled") || text.contains("too large"), "{input}: {text:.300}");
}

#[tokio::test]
async fn srch_03_a_huge_file_does_not_hold_up_the_end() {
    let line = vec![b'a'; 60 << 20];
    let lines = b"aaaaaaaaaaaaaaaaaaa\n".repeat(3 << 20);
    for path in ["f", ""] {
        check_cancelled(&line, json!({"pattern": ".*", "path": path})).await;
        check_cancelled(&lines, json!({"pattern": ".*", "path": path})).await;
        check_cancelled(&lines, json!({"pattern": "b$", "path": path})).await;
        check_cancelled(&lines, json!({"pattern": "a\\n.*b", "path": path})).await;
    }
    // What is just not too large for memory.
    check_cancelled(&line[..7 << 20], json!({"pattern": ".*"})).await;
    check_cancelled(&lines[..7 << 20], json!({"pattern": "a\\n"})).await;
}

#[tokio::test]
async fn hidden_files_are_searched_once_named() {
    let fixture = Fixture::new(&[(".github/ci.yml", "needle\n"), (".env.d/x", "needle\n"), ("a", "")]);
    check(&fixture, json!({"pattern": "needle"}), &format!("[no matches]\n{LEFT_OUT}")).await;
    check(&fixture, json!({"pattern": "needle", "path": ".github"}), ".github/ci.yml\n1:needle").await;
    check(&fixture, json!({"pattern": "needle", "glob": ".github/*"}), ".github/ci.yml\n1:needle").await;
    check(&fixture, json!({"pattern": "needle", "path": ".github/ci.yml"}), ".github/ci.yml\n1:needle").await;
}

#[tokio::test]
async fn a_broken_pattern_is_refused_with_the_reason_and_the_way_to_search_it_by_the_letter() {
    let fixture = Fixture::new(&[]);
    let message = fixture.refused("grep", json!({"pattern": "foo("}), ErrorCode::InvalidArguments).await;
    assert!(
        message.contains("unclosed group") && message.ends_with("to find it by the letter send foo\\("),
        "{message}"
    );
    let message = fixture
        .refused("grep", json!({"pattern": "(".to_owned() + &"a".repeat(300_000)}), ErrorCode::InvalidArguments)
        .await;
    assert!(message.len() < 1_000 && message.contains("unclosed group\nMend it"), "{message:.1000}");
    let message = fixture.refused("grep", json!({"pattern": "x", "glob": "[a"}), ErrorCode::InvalidArguments).await;
    assert!(message.contains("unclosed character class"), "{message}");
    fixture.refused("grep", json!({"pattern": "x", "path": "nowhere"}), ErrorCode::NotFound).await;
}
