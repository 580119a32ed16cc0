//! Context files.

use std::collections::BTreeMap;
use std::io;

use codey_ctx::{ContextFile, FileOptions, context_files};
use codey_protocol::RelPath;

fn options(cwd: &str) -> FileOptions {
    let names = ["AGENTS.md", "REPOMAP.md"].map(str::to_owned).to_vec();
    FileOptions { names, cwd: RelPath::new(cwd), walk_up: true, budget_tokens: 20_000 }
}

fn read(files: &[(&str, &[u8])], options: &FileOptions) -> (Vec<ContextFile>, Vec<String>) {
    let files: BTreeMap<&str, &[u8]> = files.iter().copied().collect();
    context_files(|path| Ok(files.get(path).map(|content| content.to_vec())), options)
}

fn check(files: &[(&str, &[u8])], options: &FileOptions, expected: &[(&str, &str)]) {
    let (found, warnings) = read(files, options);
    let found: Vec<_> = found.iter().map(|file| (&file.path[..], &file.text[..])).collect();
    assert_eq!((found, warnings), (expected.to_vec(), vec![]));
}

#[test]
fn files_come_from_the_root_down_in_the_order_of_their_names() {
    let files: &[(&str, &[u8])] = &[
        ("REPOMAP.md", b"map"),
        ("AGENTS.md", b"root"),
        ("a/b/AGENTS.md", b"near"),
        ("a/other/AGENTS.md", b"elsewhere"),
        ("a/b/c/AGENTS.md", b"below"),
    ];
    let all = [("AGENTS.md", "root"), ("REPOMAP.md", "map"), ("a/b/AGENTS.md", "near")];
    check(files, &options("a/b"), &all);
    check(files, &options(""), &all[..2]);
    check(files, &FileOptions { walk_up: false, ..options("a/b") }, &all[2..]);
}

#[test]
fn claude_md_stands_in_where_there_is_no_agents_md() {
    check(
        &[("CLAUDE.md", b"c"), ("a/AGENTS.md", b"a"), ("a/CLAUDE.md", b"no")],
        &options("a"),
        &[("CLAUDE.md", "c"), ("a/AGENTS.md", "a")],
    );
    check(&[("CLAUDE.md", b"c"), ("AGENTS.md", b" \n")], &options(""), &[("CLAUDE.md", "c")]);
    let both = FileOptions { names: ["AGENTS.md", "CLAUDE.md"].map(str::to_owned).to_vec(), ..options("") };
    check(&[("CLAUDE.md", b"c")], &both, &[("CLAUDE.md", "c")]);
    check(&[("CLAUDE.md", b"c"), ("AGENTS.md", b"a")], &both, &[("AGENTS.md", "a"), ("CLAUDE.md", "c")]);
}

#[test]
fn bytes_become_text_whatever_they_are() {
    let cases: [(&[u8], &str); 6] = [
        (b"\xEF\xBB\xBFhi\r\n", "hi\r\n"),
        (b"caf\xE9", "caf\u{FFFD}"),
        (b"\xFF\xFEh\0i\0", "hi"),
        (b"\xFE\xFF\0h\0i", "hi"),
        (b"a\0b", "a\u{FFFD}b"),
        ("名前".as_bytes(), "名前"),
    ];
    for (content, text) in cases {
        check(&[("AGENTS.md", content)], &options(""), &[("AGENTS.md", text)]);
    }
    for empty in [&b""[..], b"\n \n", b"\xEF\xBB\xBF", b"\xFF\xFE"] {
        check(&[("AGENTS.md", empty)], &options(""), &[]);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_load() {
    let refuse = |path: &str| match path {
        "AGENTS.md" => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        "REPOMAP.md" => Ok(Some(b"map".to_vec())),
        _ => Ok(None),
    };
    let (files, warnings) = context_files(refuse, &options(""));
    assert_eq!(files.len(), 1);
    assert_eq!(warnings, ["AGENTS.md is left out: permission denied"]);
}

#[test]
fn skill_03_the_root_most_file_is_cut_at_a_line_end_and_the_nearest_stays_whole() {
    let root = "This is a rule of the whole repository.\n".repeat(1_024);
    let near = "Rule: never touch generated files.\n".repeat(30);
    let files: &[(&str, &[u8])] = &[("AGENTS.md", root.as_bytes()), ("pkg/AGENTS.md", near.as_bytes())];
    let (found, warnings) = read(files, &FileOptions { budget_tokens: 9_000, ..options("pkg") });

    let marker = format!("of {} bytes shown; read ../AGENTS.md for the rest]\n", root.len());
    let kept = found[0].text.rsplit_once("[cut: ").unwrap().0;
    assert!(root.starts_with(kept) && kept.ends_with(".\n"), "whole lines are kept");
    assert!(found[0].text.ends_with(&format!("[cut: {} {marker}", kept.len())));
    assert_eq!((found[0].bytes, found[0].cut), (root.len() as u64, true));
    assert_eq!((&found[1].text, found[1].cut), (&near, false));
    assert_eq!(
        warnings,
        [format!(
            "AGENTS.md (40960 bytes) is cut to {} bytes: context files may take 9000 tokens (context.max_tokens)",
            found[0].text.len()
        )]
    );
    let bytes: usize = found.iter().map(|file| file.text.len()).sum();
    let tokens = bytes as f64 / 3.4 * 1.15;
    assert!((8_900.0..=9_000.0).contains(&tokens), "{tokens}: no more is cut than must be");
}

#[test]
fn far_files_go_entirely_before_near_ones_are_touched_and_maps_before_rules() {
    let text = "a line\n".repeat(500);
    let files = ["AGENTS.md", "REPOMAP.md", "a/AGENTS.md", "a/b/AGENTS.md"].map(|path| (path, text.as_bytes()));
    let kept = |budget_tokens| {
        let (found, warnings) = read(&files, &FileOptions { budget_tokens, ..options("a/b") });
        (found.into_iter().map(|file| (file.path, file.cut)).collect::<Vec<_>>(), warnings.len())
    };
    let file = |path: &str, cut| (path.to_owned(), cut);
    let (root, map, middle, near) = ("AGENTS.md", "REPOMAP.md", "a/AGENTS.md", "a/b/AGENTS.md");
    // One file takes about 1,190 tokens.
    assert_eq!(kept(4_800), (vec![file(root, false), file(map, false), file(middle, false), file(near, false)], 0));
    assert_eq!(kept(4_000), (vec![file(root, false), file(map, true), file(middle, false), file(near, false)], 1));
    assert_eq!(kept(2_400), (vec![file(middle, false), file(near, false)], 2));
    assert_eq!(kept(1_800), (vec![file(middle, true), file(near, false)], 3));
    assert_eq!(kept(600), (vec![file(near, true)], 4));
    assert_eq!(kept(0), (vec![], 4));
}

#[test]
fn a_line_that_is_too_long_by_itself_is_cut_at_a_character() {
    let line = "é".repeat(500_000);
    let (found, _) = read(&[("AGENTS.md", line.as_bytes())], &FileOptions { budget_tokens: 500, ..options("") });
    let kept = found[0].text.split_once("\n[cut: ").unwrap().0;
    assert!(!kept.is_empty() && line.starts_with(kept));
}
