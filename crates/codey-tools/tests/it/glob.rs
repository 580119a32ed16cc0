//! `glob`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime};

use codey_protocol::{ErrorCode, ToolDisplay};
use serde_json::json;

use crate::fixture::Fixture;

const LEFT_OUT: &str = "[left out: hidden and ignored files (name them in the path or pattern to include them; what deny_paths \
                        covers stays out)]";

/// Files that a pattern finds, sorted: age is a matter of its own test.
async fn found(fixture: &Fixture, pattern: &str) -> Vec<String> {
    let text = fixture.text("glob", json!({"pattern": pattern})).await;
    let mut files: Vec<String> = text.lines().filter(|line| !line.starts_with('[')).map(str::to_owned).collect();
    files.sort();
    files
}

#[tokio::test]
async fn srch_01_a_component_with_a_dot_names_hidden_entries() {
    let files = [".github/workflows/ci.yml", ".eslintrc.json", "a.json", "src/.hidden/b.json", ".git/config.json"];
    let fixture = Fixture::new(&files.map(|path| (path, "")));
    assert_eq!(found(&fixture, ".github/workflows/*.yml").await, [".github/workflows/ci.yml"]);
    assert_eq!(found(&fixture, ".*/*/*.yml").await, [".github/workflows/ci.yml"]);
    assert_eq!(found(&fixture, "**/*.json").await, ["a.json"]);
    assert_eq!(found(&fixture, ".*.json").await, [".eslintrc.json"]);
    assert_eq!(found(&fixture, "**/.hidden/*.json").await, ["src/.hidden/b.json"]);
    assert_eq!(found(&fixture, ".git/*.json").await, [".git/config.json"]);
    assert_eq!(found(&fixture, ".eslintrc.json").await, [".eslintrc.json"]);
}

#[tokio::test]
async fn srch_03_out_of_time_gives_what_was_found_and_says_so() {
    let files: Vec<String> = (0..50).map(|number| format!("d{number}/f.rs")).collect();
    let mut fixture = Fixture::new(&files.iter().map(|path| (path.as_str(), "x\n")).collect::<Vec<_>>());
    fixture.timeout = Duration::ZERO;
    for (tool, input) in [("glob", json!({"pattern": "**/*.rs"})), ("grep", json!({"pattern": "x"}))] {
        let text = fixture.text(tool, input).await;
        let note = "[stopped: the time for one call was over; found until then: 0; narrow the path or the pattern]";
        assert!(text.ends_with(note), "{text}");
    }
}

#[tokio::test]
async fn srch_03_a_cancelled_call_gives_what_was_found_and_says_so() {
    let fixture = Fixture::new(&[("a.rs", "x\n")]);
    fixture.cancel.cancel();
    for (tool, input) in [("glob", json!({"pattern": "**/*.rs"})), ("grep", json!({"pattern": "x"}))] {
        let text = fixture.text(tool, input).await;
        assert!(text.ends_with("[stopped: the call was cancelled; found until then: 0]"), "{text}");
    }
}

#[tokio::test]
async fn srch_05_links_loops_and_ignored_folders_are_not_walked() {
    let fixture = Fixture::new(&[("a/config.toml", ""), (".gitignore", "ignored/\n"), ("ignored/config.toml", "")]);
    fixture.link("/", "everything");
    fixture.link("..", "a/a");
    fixture.link("a/config.toml", "config.link");
    fixture.link("/etc/passwd", "config.passwd");
    assert_eq!(found(&fixture, "**/config.*").await, ["a/config.toml", "config.link"]);
    assert_eq!(found(&fixture, "ignored/config.*").await, ["ignored/config.toml"]);
    // A link that is named is followed, inside the root.
    assert_eq!(found(&fixture, "a/a/a/config.*").await, ["a/config.toml"]);
    fixture.refused("glob", json!({"pattern": "everything/etc/*"}), ErrorCode::OutsideRoot).await;
}

#[tokio::test]
async fn srch_07_what_exists_as_written_is_taken_by_the_letter() {
    let path = "src/app/[locale]/(auth)/page.tsx";
    let fixture = Fixture::new(&[(path, "one\n"), ("src/app/l/(auth)/page.tsx", ""), ("x/{a,b}.c", ""), ("x/a.c", "")]);
    assert_eq!(found(&fixture, "src/app/[locale]/(auth)/**").await, [path]);
    assert_eq!(found(&fixture, path).await, [path]);
    assert_eq!(found(&fixture, "src/app/[l]/(auth)/*").await, ["src/app/l/(auth)/page.tsx"]);
    assert_eq!(found(&fixture, "**/[locale]/**/*.tsx").await, [path, "src/app/l/(auth)/page.tsx"]);
    assert_eq!(found(&fixture, "**/{a,b}.c").await, ["x/a.c", "x/{a,b}.c"]);
    assert_eq!(fixture.text("read", json!({"path": path})).await, "     1\tone");
    fixture.call("edit", json!({"path": path, "old_str": "one", "new_str": "two"})).await.unwrap();
    assert_eq!(fixture.escaped(path), "two\\n");
    // A path is no pattern: nothing but the very file is read.
    fixture.refused("read", json!({"path": "src/app/[l]/(auth)/page.tsx"}), ErrorCode::NotFound).await;
}

#[tokio::test]
async fn srch_09_a_pattern_that_looks_like_an_option_is_a_pattern() {
    let fixture = Fixture::new(&[("-77", ""), ("--all", ""), ("b", "")]);
    assert_eq!(found(&fixture, "-*").await, ["--all", "-77"]);
    assert_eq!(found(&fixture, "-77").await, ["-77"]);
}

#[tokio::test]
async fn newest_files_come_first_and_the_rest_is_counted() {
    let fixture = Fixture::new(&["a", "b", "c", "d"].map(|path| (path, "")));
    let now = SystemTime::now();
    for (path, age) in [("a", 30), ("b", 10), ("c", 20), ("d", 20)] {
        let file = std::fs::File::options().write(true).open(fixture.path(path)).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    assert_eq!(fixture.text("glob", json!({"pattern": "*"})).await, "b\nc\nd\na");
    let output = fixture.call("glob", json!({"pattern": "*", "limit": 2})).await.unwrap();
    assert_eq!(
        crate::fixture::text_of(&output),
        "b\nc\n[2 of 4 files shown, the newest; narrow the pattern or the path]"
    );
    assert_eq!(output.for_user, ToolDisplay::Matches { count: 2, suppressed: 2 });
}

#[tokio::test]
async fn paths_are_relative_to_cwd() {
    let fixture = Fixture::below("sub", &[("sub/a.rs", ""), ("b.rs", ""), ("sub/deep/c.rs", "")]);
    assert_eq!(found(&fixture, "**/*.rs").await, ["a.rs", "deep/c.rs"]);
    assert_eq!(found(&fixture, "../*.rs").await, ["../b.rs"]);
    let pattern = format!("{}/**/*.rs", fixture.root().display());
    assert_eq!(found(&fixture, &pattern).await, ["../b.rs", "a.rs", "deep/c.rs"]);
    assert_eq!(fixture.text("glob", json!({"pattern": "*.rs", "path": "deep"})).await, "deep/c.rs");
    fixture.refused("glob", json!({"pattern": "../../*"}), ErrorCode::OutsideRoot).await;
}

#[tokio::test]
async fn names_that_could_be_misread_are_json_strings() {
    let fixture = Fixture::new(&[("a\nb", ""), ("plain", "")]);
    std::fs::write(fixture.root().join(OsStr::from_bytes(b"latin\xE9")), "").unwrap();
    assert_eq!(found(&fixture, "*").await, ["\"a\\nb\"", "\"latin\u{FFFD}\"", "plain"]);
}

#[tokio::test]
async fn when_nothing_is_found_the_result_says_what_was_left_out() {
    let fixture = Fixture::new(&[("src/a.rs", ""), ("Docs/x", "")]);
    let check = async |pattern: &str, expected: &str| {
        assert_eq!(fixture.text("glob", json!({"pattern": pattern})).await, expected, "{pattern}");
    };
    check("*.rs", &format!("[no files found; for all folders below use **/*.rs]\n{LEFT_OUT}")).await;
    check("src/*.c", &format!("[no files found]\n{LEFT_OUT}")).await;
    check("src/b.rs", "[no files found: b.rs does not exist]").await;
    check("lib/**", "[no files found: lib does not exist]").await;
    check("src/a.rs/*", "[no files found: src/a.rs is no folder]").await;
    check(
        "docs/*",
        "[no files found: docs does not exist, but there is \"Docs\", which differs only in upper and lower case]",
    )
    .await;
    check(
        "s*",
        &format!(
            "[folders that match: src/; add /** for the files in one]\n[no files found; for all folders below \
                          use **/s*]\n{LEFT_OUT}"
        ),
    )
    .await;
    check("src", "[folders that match: src/; add /** for the files in one]\n[no files found]").await;
}

#[tokio::test]
async fn a_working_directory_that_was_deleted_is_named() {
    let fixture = Fixture::below("sub", &[("sub/a", "")]);
    std::fs::remove_dir_all(fixture.path("sub")).unwrap();
    let expected = "the working directory sub does not exist: it was deleted meanwhile. Name another folder by its absolute \
                    path.";
    for (tool, input) in [
        ("glob", json!({"pattern": "*"})),
        ("glob", json!({"pattern": "*", "path": "."})),
        ("grep", json!({"pattern": "x"})),
    ] {
        assert_eq!(fixture.refused(tool, input, ErrorCode::NotFound).await, expected);
    }
    let message = fixture.refused("bash", json!({"command": "ls"}), ErrorCode::NotFound).await;
    assert!(message.contains("/sub is gone; nothing was run. Name an existing one as workdir"), "{message}");
    assert_eq!(fixture.text("glob", json!({"pattern": "*", "path": fixture.root()})).await.lines().count(), 2);
}

#[tokio::test]
async fn what_no_regular_file_says_is_ignored_is_not_waited_for() {
    let fixture = Fixture::new(&[("a.rs", "x\n"), ("b/c.rs", "x\n"), ("d/.git/HEAD", ""), ("d/e.rs", "x\n")]);
    let fifo = |path: &str| nix::unistd::mkfifo(&fixture.path(path), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fifo("b/.gitignore");
    fifo("d/.git/commondir");
    fifo(".git");
    assert_eq!(found(&fixture, "**/*.rs").await, ["a.rs", "d/e.rs"]);
    let text = fixture.text("grep", json!({"pattern": "x"})).await;
    assert_eq!(text, "a.rs\n1:x\n\nd/e.rs\n1:x\n[left out: 1 unreadable]");
    let text = fixture.text("grep", json!({"pattern": "x", "path": "b"})).await;
    assert!(text.ends_with("1 unreadable]"), "{text}");
}

#[tokio::test]
async fn rules_of_what_is_ignored_that_are_too_large_to_read_are_left_out_with_their_folder() {
    let fixture = Fixture::new(&[("a.rs", ""), ("b/c.rs", ""), ("d/e.rs", "")]);
    for path in ["b/.gitignore", "d/.git"] {
        std::fs::File::create(fixture.path(path)).unwrap().set_len(1 << 40).unwrap();
    }
    let text = fixture.text("glob", json!({"pattern": "**/*.rs"})).await;
    assert_eq!(text, "a.rs\n[left out: 2 unreadable]");
}

#[tokio::test]
async fn files_that_wait_to_be_put_in_place_are_not_found() {
    let name = format!(".codey-1-{}.tmp", ulid::Ulid::generate());
    let fixture = Fixture::new(&[(name.as_str(), "needle\n"), (".codey-notes.tmp", "needle\n")]);
    assert_eq!(found(&fixture, ".codey-*").await, [".codey-notes.tmp"]);
    let text = fixture.text("grep", json!({"pattern": "needle", "glob": ".*"})).await;
    assert_eq!(text, ".codey-notes.tmp\n1:needle");
}

#[tokio::test]
async fn a_broken_pattern_is_refused_with_the_reason() {
    let fixture = Fixture::new(&[]);
    let message = fixture.refused("glob", json!({"pattern": "a/[b"}), ErrorCode::InvalidArguments).await;
    assert_eq!(
        message,
        "the pattern [b is broken: unclosed character class; missing ']'. Mend it; a backslash takes a character by the letter."
    );
    fixture.refused("glob", json!({"pattern": "*", "path": "nowhere"}), ErrorCode::NotFound).await;
}

#[tokio::test]
async fn a_pattern_too_long_to_be_made_soon_is_refused_before_anything_runs() {
    let fixture = Fixture::new(&[("a/b", "")]);
    let pattern = "a/".repeat(200_000) + "*";
    for (tool, name, input) in
        [("glob", "pattern", json!({"pattern": pattern})), ("grep", "glob", json!({"pattern": "x", "glob": pattern}))]
    {
        let error = fixture.plan(tool, &input).await.unwrap_err();
        let expected =
            format!("{name} has 400001 bytes, and at most 4096 are taken; nothing was searched. Shorten it.");
        assert_eq!((error.code, error.message), (ErrorCode::InvalidArguments, expected));
    }
    assert_eq!(found(&fixture, &("**/".repeat(1_365) + "b")).await, ["a/b"]);
}

#[tokio::test]
async fn a_root_that_cannot_be_looked_at_is_not_said_to_be_gone() {
    let fixture = Fixture::new(&[]);
    let (root, away) = (fixture.root(), fixture.root().with_extension("away"));
    std::fs::rename(&root, &away).unwrap();
    std::os::unix::fs::symlink(&root, &root).unwrap();
    let message = fixture.refused("glob", json!({"pattern": "*"}), ErrorCode::Io).await;
    std::fs::remove_file(&root).unwrap();
    std::fs::rename(&away, &root).unwrap();
    let expected = format!("cannot look at {}: too many levels of symbolic links. ", root.display());
    assert!(message.starts_with(&expected), "{message}");
}
