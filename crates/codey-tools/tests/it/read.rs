//! `read`.

use codey_protocol::ErrorCode;
use nix::sys::stat::Mode;
use serde_json::json;

use crate::fixture::Fixture;

async fn check(content: &[u8], expected: &str) {
    let fixture = Fixture::new(&[]);
    fixture.put("f", content);
    assert_eq!(fixture.text("read", json!({"path": "f"})).await, expected);
}

#[tokio::test]
async fn read_01_content_decides_and_not_the_name() {
    let fixture = Fixture::new(&[("pic.jpg", "<html>404</html>\n")]);
    assert_eq!(
        fixture.text("read", json!({"path": "pic.jpg"})).await,
        "     1\t<html>404</html>\n[the name ends in .jpg, but the content is text]"
    );
    fixture.put("notes.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0");
    let message = fixture.refused("read", json!({"path": "notes.txt"}), ErrorCode::BinaryFile).await;
    assert!(message.contains("notes.txt is a picture (image/png)"), "{message}");
}

#[tokio::test]
async fn read_03_output_is_capped_by_characters_too() {
    check(
        &vec![b'a'; 3_000_000],
        &format!(
            "     1\t{}[… 2998000 more characters]\n[lines are cut at 2000 characters; to see more of one use bash, for example \
             sed -n 7p FILE | cut -c2001-4000]",
            "a".repeat(2_000)
        ),
    )
    .await;
    let fixture = Fixture::new(&[("f", &format!("{}\n", "x".repeat(1_023)).repeat(100))]);
    let text = fixture.text("read", json!({"path": "f"})).await;
    assert!(text.ends_with("\n[lines 1-50 of 100; continue with offset=51]"), "{}", &text[text.len() - 100..]);
}

#[tokio::test]
async fn read_05_a_cut_file_says_range_total_and_next_offset() {
    let content: String = (1..=5_000).map(|line| format!("{line}\n")).collect();
    let fixture = Fixture::new(&[("f", &content)]);
    let text = fixture.text("read", json!({"path": "f"})).await;
    assert_eq!(text.lines().count(), 2_001);
    assert!(text.ends_with("  2000\t2000\n[lines 1-2000 of 5000; continue with offset=2001]"));
    let text = fixture.text("read", json!({"path": "f", "offset": 4_999, "limit": 10})).await;
    assert_eq!(text, "  4999\t4999\n  5000\t5000\n[lines 4999-5000 of 5000]");
    let message = fixture.refused("read", json!({"path": "f", "offset": 5_001}), ErrorCode::InvalidArguments).await;
    assert_eq!(message, "offset 5001 is past the end: f has 5000 lines. Use a smaller offset.");
}

#[tokio::test]
async fn an_empty_path_names_no_file() {
    let fixture = Fixture::new(&[]);
    for (tool, input) in [
        ("read", json!({"path": ""})),
        ("edit", json!({"path": "", "old_str": "a", "new_str": "b"})),
        ("write", json!({"path": "", "content": "b"})),
    ] {
        let message = fixture.refused(tool, input, ErrorCode::InvalidArguments).await;
        assert_eq!(message, "path is empty; nothing was done. Name a file.");
    }
}

#[tokio::test]
async fn read_07_what_is_no_regular_file_is_refused_at_once() {
    let fixture = Fixture::new(&[("folder/", "")]);
    nix::unistd::mkfifo(&fixture.path("live.pipe"), Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap();
    fixture.link("/dev/zero", "zero");
    fixture.link("live.pipe", "to-pipe");
    for path in ["live.pipe", "to-pipe", "socket"] {
        let message = fixture.refused("read", json!({"path": path}), ErrorCode::NotRegularFile).await;
        assert!(message.starts_with(&format!("{path} is no regular file")), "{message}");
    }
    fixture.refused("read", json!({"path": "zero"}), ErrorCode::OutsideRoot).await;
    let message = fixture.refused("read", json!({"path": "folder"}), ErrorCode::IsDirectory).await;
    assert_eq!(message, "folder is a directory. List the files in it with glob, or search them with grep.");
    for tool in ["edit", "write"] {
        let input = match tool {
            "edit" => json!({"path": "live.pipe", "old_str": "a", "new_str": "b"}),
            _ => json!({"path": "live.pipe", "content": "b"}),
        };
        fixture.refused(tool, input, ErrorCode::NotRegularFile).await;
    }
}

#[tokio::test]
async fn read_09_a_character_cut_by_the_sample_is_no_sign_of_binary() {
    let text = "中".repeat(2_000);
    check(text.as_bytes(), &format!("     1\t{text}")).await;
    // The sample of 8 KiB ends inside the last character.
    let text = format!("{}\n{}é", "a".repeat(1_000), "b".repeat(1_000)) + &format!("\n{}", "c".repeat(98)).repeat(62);
    let text = format!("{text}\n{}é", "d".repeat(8_190 - text.len()));
    let expected: Vec<String> =
        text.split('\n').zip(1..).map(|(line, number)| format!("{number:>6}\t{line}")).collect();
    check(text.as_bytes(), &expected.join("\n")).await;
}

#[tokio::test]
async fn read_11_without_its_prefix_each_line_is_byte_for_byte_that_of_the_file() {
    let lines = ["12\tx", "\t7", "12→ y", "a\rb\r", "c\u{c}d", "", "  8\t9", "\u{2028}e\u{85}f"];
    let fixture = Fixture::new(&[("f", &(lines.join("\n") + "\n"))]);
    let text = fixture.text("read", json!({"path": "f"})).await;
    let shown: Vec<&str> = text.split('\n').map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!(shown, lines);
    let numbers: Vec<&str> = text.split('\n').map(|line| line.split_once('\t').unwrap().0).collect();
    assert_eq!(numbers, (1..=8).map(|number| format!("{number:>6}")).collect::<Vec<_>>());
    for line in lines.iter().filter(|line| !line.is_empty()) {
        fixture.call("edit", json!({"path": "f", "old_str": line, "new_str": format!("{line}!")})).await.unwrap();
    }
}

#[tokio::test]
async fn encodings_are_said() {
    check(b"", "[empty file]").await;
    check(b"\xEF\xBB\xBF", "[empty file]").await;
    check(b"\xEF\xBB\xBFhello\n", "     1\thello").await;
    check(
        b"caf\xE9\n",
        "     1\tcaf\u{FFFD}\n[the file is not valid UTF-8; what does not decode is shown as \u{FFFD} and kept by edit]",
    )
    .await;
    let note = "[the file is UTF-16LE, shown decoded; edit cannot change it, convert it with iconv in bash]";
    check(b"\xFF\xFEa\0\r\0\n\0\xE9\0", &format!("     1\ta\r\n     2\té\n{note}")).await;
    let note = note.replace("LE", "BE");
    check(b"\xFE\xFF\0a\xD8\x3D\xDE\0", &format!("     1\ta😀\n{note}")).await;
}

#[tokio::test]
async fn binary_files_are_refused_with_advice() {
    let fixture = Fixture::new(&[]);
    fixture.put("f", b"PK\x03\x04\0\0\0\0");
    let message = fixture.refused("read", json!({"path": "f"}), ErrorCode::BinaryFile).await;
    assert_eq!(
        message,
        "f is a binary file (application/zip), not text. Inspect it with bash, for example with file, strings or xxd."
    );
}

#[tokio::test]
async fn a_missing_file_is_said_to_be_missing_and_a_lookalike_is_named() {
    let fixture = Fixture::new(&[("src/Main.rs", ""), ("cafe\u{301}.txt", "")]);
    let message = fixture.refused("read", json!({"path": "src/lib.rs"}), ErrorCode::NotFound).await;
    assert_eq!(message, "src/lib.rs does not exist. Look for it with glob.");
    let message = fixture.refused("read", json!({"path": "src/main.rs"}), ErrorCode::NotFound).await;
    assert_eq!(
        message,
        "src/main.rs does not exist; there is \"Main.rs\", which differs only in upper and lower case. Use that name exactly."
    );
    let message = fixture.refused("read", json!({"path": "SRC/Main.rs"}), ErrorCode::NotFound).await;
    assert!(message.contains("there is \"src\", which differs only in upper and lower case"), "{message}");
    let message = fixture.refused("read", json!({"path": "caf\u{e9}.txt"}), ErrorCode::NotFound).await;
    assert!(message.contains("which differs only in Unicode normalisation"), "{message}");
    let message = fixture.refused("read", json!({"path": "src/Main.rs/x"}), ErrorCode::NotFound).await;
    assert!(message.contains("Main.rs is no folder"), "{message}");
}

#[tokio::test]
async fn paths_start_at_cwd_and_may_be_absolute_inside_the_root() {
    let fixture = Fixture::below("sub", &[("sub/a", "1\n"), ("b", "2\n")]);
    let absolute = fixture.path("b");
    let dotted = fixture.path("sub/../b");
    for (path, expected) in [
        ("a", "     1\t1"),
        ("./a", "     1\t1"),
        ("../b", "     1\t2"),
        ("../sub/../b", "     1\t2"),
        (absolute.to_str().unwrap(), "     1\t2"),
        (dotted.to_str().unwrap(), "     1\t2"),
    ] {
        assert_eq!(fixture.text("read", json!({"path": path})).await, expected, "{path}");
    }
    assert_eq!(fixture.read("../b").await[0].path.as_str(), "b");
}

#[tokio::test]
async fn a_lookalike_is_found_among_any_number_of_files() {
    let fixture = Fixture::new(&[("f", "")]);
    // In which order a folder lists them is up to the disk. Links are made faster than files.
    let twins = (0..8).map(|number| format!("Twin{number}"));
    for name in (0..20_000).map(|number| number.to_string()).chain(twins) {
        std::fs::hard_link(fixture.path("f"), fixture.path(&name)).unwrap();
    }
    for number in 0..8 {
        let message = fixture.refused("read", json!({"path": format!("twin{number}")}), ErrorCode::NotFound).await;
        assert!(message.contains(&format!("there is \"Twin{number}\"")), "{message}");
    }
}

#[tokio::test]
async fn a_path_that_ends_in_a_slash_names_no_file() {
    let fixture = Fixture::new(&[("f", "one\n")]);
    for path in ["f/", "f//", "f/."] {
        for (tool, input) in [("read", json!({"path": path})), ("grep", json!({"pattern": "one", "path": path}))] {
            let message = fixture.refused(tool, input, ErrorCode::InvalidArguments).await;
            let expected = format!(
                "{path} ends like the path of a folder, but there is none; nothing was done. If a file is meant, end with \
                 its name."
            );
            assert_eq!(message, expected);
        }
    }
    fixture.refused("write", json!({"path": "new/", "content": "x"}), ErrorCode::InvalidArguments).await;
    assert!(!fixture.path("new").exists());
    fixture.refused("read", json!({"path": "new/"}), ErrorCode::NotFound).await;
}
