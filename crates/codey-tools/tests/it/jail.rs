//! What no tool may reach, whatever the path looks like.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codey_protocol::ErrorCode;
use codey_tools::{Workspace, WorkspaceError, WorkspaceOptions};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// One call of each file tool that concerns `path`.
fn calls(path: &str) -> [(&'static str, Value); 6] {
    [
        ("read", json!({"path": path})),
        ("edit", json!({"path": path, "old_str": "a", "new_str": "b"})),
        ("write", json!({"path": path, "content": "x"})),
        ("grep", json!({"pattern": ".", "path": path})),
        ("glob", json!({"pattern": "*", "path": path})),
        ("glob", json!({"pattern": format!("{path}/*")})),
    ]
}

#[tokio::test]
async fn perm_09_links_that_lead_outside_are_refused_by_every_tool() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret\n").unwrap();
    let fixture = Fixture::new(&[("a", "")]);
    fixture.link(outside.path(), "out");
    fixture.link("out/secret", "indirect");
    fixture.link(outside.path().join("secret"), "direct");
    for path in ["out/secret", "out", "out/new", "indirect", "direct"] {
        for (tool, input) in calls(path) {
            let message = fixture.refused(tool, input, ErrorCode::OutsideRoot).await;
            assert!(message.contains("leads outside the workspace"), "{message}");
        }
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    // Searching around the links is no way in either.
    let text = fixture.text("grep", json!({"pattern": "secret"})).await;
    assert!(text.starts_with("[no matches]"), "{text}");
    let text = fixture.text("glob", json!({"pattern": "**/secret"})).await;
    assert!(text.starts_with("[no files found]"), "{text}");
}

#[tokio::test]
async fn a_git_folder_of_any_name_is_not_written_to() {
    let fixture = Fixture::new(&[("gitdata/HEAD", "ref: refs/heads/main\n"), ("gitdata/config", "[core]\n")]);
    for folder in ["gitdata/objects", "gitdata/refs", "gitdata/hooks", "other/worktrees/w"] {
        std::fs::create_dir_all(fixture.path(folder)).unwrap();
    }
    for (name, text) in [("HEAD", "ref: x\n"), ("commondir", "../..\n")] {
        std::fs::write(fixture.path("other/worktrees/w").join(name), text).unwrap();
    }
    fixture.link("gitdata", "link");
    for path in ["gitdata/hooks/pre-commit", "gitdata/new/a", "link/config", "other/worktrees/w/gitdir"] {
        let message = fixture.refused("write", json!({"path": path, "content": "x"}), ErrorCode::Denied).await;
        assert!(message.contains("belongs to git"), "{message}");
    }
    fixture.text("read", json!({"path": "gitdata/config"})).await;
    let edit = json!({"path": "gitdata/config", "old_str": "[core]", "new_str": "[core]\n\tfsmonitor = x"});
    fixture.refused("edit", edit, ErrorCode::Denied).await;
    fixture.text("write", json!({"path": "other/file", "content": "x"})).await;
}

#[tokio::test]
async fn perm_11_a_longer_name_beside_the_root_is_outside() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    std::fs::create_dir_all(parent.join("abc/x")).unwrap();
    std::fs::create_dir(parent.join("abcdef")).unwrap();
    std::fs::write(parent.join("abcdef/secret"), "secret").unwrap();
    std::fs::write(parent.join("abc/own"), "own\n").unwrap();
    let mut fixture = Fixture::new(&[]);
    fixture.workspace = crate::fixture::open(&parent.join("abc"), "");
    let absolute = parent.join("abcdef/secret").display().to_string();
    for path in
        [absolute.as_str(), "../abcdef/secret", "x/../../abcdef/secret", "/etc/passwd", "../abc/../abcdef/secret"]
    {
        fixture.refused("read", json!({"path": path}), ErrorCode::OutsideRoot).await;
        fixture.refused("write", json!({"path": path, "content": "x"}), ErrorCode::OutsideRoot).await;
    }
    assert_eq!(fixture.text("read", json!({"path": "../abc/own"})).await, "     1\town");
}

#[tokio::test]
async fn perm_13_denied_paths_are_denied_to_every_tool() {
    let fixture =
        Fixture::new(&[(".env", "KEY=1\n"), ("src/.env.local", "KEY=2\n"), ("a", "KEY=3\n"), ("dir/id_rsa", "KEY")]);
    fixture.link(".env", "innocent");
    fixture.link("src", "alias");
    for path in
        [".env", "src/../.env", "./src/.env.local", "innocent", "alias/.env.local", "dir/id_rsa", ".ENV", ".env/x"]
    {
        for (tool, input) in calls(path) {
            let message = fixture.refused(tool, input, ErrorCode::Denied).await;
            assert!(message.starts_with("denied by deny_paths: "), "{message}");
            assert!(!message.contains("KEY"), "{message}");
        }
    }
    assert_eq!(fixture.text("grep", json!({"pattern": "KEY", "path": "."})).await, "a\n1:KEY=3");
    for pattern in ["**/*", "**/.*", ".*", "src/.*", "**/id_*", "inno*"] {
        let text = fixture.text("glob", json!({"pattern": pattern})).await;
        assert!(!text.contains(".env") && !text.contains("id_rsa") && !text.contains("innocent"), "{text}");
    }
    let text = fixture.text("grep", json!({"pattern": "KEY", "glob": ".env*"})).await;
    assert!(text.starts_with("[no matches]"), "{text}");
}

#[tokio::test]
async fn perm_13_a_denied_file_that_does_not_exist_is_denied_all_the_same() {
    let fixture = Fixture::new(&[]);
    for (tool, input) in calls(".env") {
        fixture.refused(tool, input, ErrorCode::Denied).await;
    }
}

#[tokio::test]
async fn perm_13_on_the_way_a_denied_path_does_not_tell_what_it_is() {
    let fixture = Fixture::new(&[("a", "x"), ("file/.env", "KEY"), ("folder/.env/f", "KEY"), ("none/f", "")]);
    fixture.link("target/../f", "file/id_rsa");
    for place in ["file", "folder", "none"] {
        fixture.link(format!("{place}/.env"), &format!("{place}-link"));
        let ways = ["/.env/../../a", "/id_rsa/../../a", "-link/x", "-link/x/y", "-link/../../a", "-link/../f"];
        for (tool, input) in ways.iter().flat_map(|way| calls(&format!("{place}{way}"))) {
            let message = fixture.refused(tool, input, ErrorCode::Denied).await;
            assert!(message.starts_with("denied by deny_paths: "), "{message}");
        }
    }
}

#[tokio::test]
async fn a_path_longer_than_the_system_takes_is_refused_before_it_is_looked_up() {
    let fixture = Fixture::new(&[("a/b", "")]);
    let long = "a/../".repeat(30_000) + "a/b";
    for path in ["n".repeat(256), format!("new/{}/f", "n".repeat(256)), long.clone(), "a/".repeat(2_048) + "a"] {
        for (tool, input) in calls(&path) {
            let message = fixture.refused(tool, input, ErrorCode::InvalidArguments).await;
            assert!(message.len() < 250 && message.contains(" bytes, "), "{message:.500}");
        }
    }
    assert_eq!(
        fixture.refused("read", json!({"path": long}), ErrorCode::InvalidArguments).await,
        "the path is too long: it has 150003 bytes, of which one name has 2, and no path has more than 4096, no name more \
         than 255; nothing was done. Use a shorter one."
    );
    fixture.text("read", json!({"path": "a/../".repeat(818) + "a/b"})).await;
    fixture.text("write", json!({"path": "n".repeat(255), "content": ""})).await;
}

#[tokio::test]
async fn a_path_outside_is_said_to_be_there_and_a_link_to_lead_there() {
    let fixture = Fixture::new(&[]);
    fixture.link("/dev/zero", "zero");
    fixture.link("../x", "up");
    for (path, verb) in [("/dev/zero", "is"), ("../x", "is"), ("zero", "leads"), ("up", "leads")] {
        let message = fixture.refused("read", json!({"path": path}), ErrorCode::OutsideRoot).await;
        assert!(message.starts_with(&format!("{path} {verb} outside the workspace ")), "{message}");
    }
}

#[tokio::test]
async fn git_and_codeys_own_folder_are_not_written() {
    let fixture = Fixture::new(&[
        (".git/config", "a\n"),
        (".git/info/exclude", "/.codey/\n"),
        ("sub/.git", "gitdir: x\n"),
        (".codey/sessions/s.jsonl", "a\n"),
        (".codey/config.toml", "a\n"),
        (".codey/output/o.txt", "needle\n"),
        (".codey/skills/s/SKILL.md", "needle\n"),
    ]);
    fixture.link(".git", "alias");
    let all = [".git/config", ".GIT/config", "alias/config", "sub/.git", "sub/.git/hooks/x", ".git/hooks/new"];
    let codey =
        [".codey/sessions/s.jsonl", ".codey/config.toml", ".Codey/config.toml", ".codey/output/o.txt", ".codey/new"];
    for path in all.iter().chain(&codey) {
        fixture.refused("write", json!({"path": path, "content": "x"}), ErrorCode::Denied).await;
        fixture.refused("edit", json!({"path": path, "old_str": "a", "new_str": "b"}), ErrorCode::Denied).await;
    }
    assert_eq!(fixture.text("read", json!({"path": ".git/config"})).await, "     1\ta");
    for path in [".codey/output/o.txt", ".codey/skills/s/SKILL.md"] {
        assert_eq!(fixture.text("read", json!({"path": path})).await, "     1\tneedle");
    }
    for path in [".codey/sessions/s.jsonl", ".codey/config.toml"] {
        fixture.refused("read", json!({"path": path}), ErrorCode::Denied).await;
    }
    assert_eq!(
        fixture.text("grep", json!({"pattern": "a|needle", "path": ".codey"})).await,
        ".codey/output/o.txt\n1:needle\n\n.codey/skills/s/SKILL.md\n1:needle"
    );
    let text = fixture.text("glob", json!({"pattern": ".codey/**"})).await;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, [".codey/output/o.txt", ".codey/skills/s/SKILL.md"]);
}

#[tokio::test]
async fn a_linked_folder_of_codey_is_guarded_where_it_really_lies() {
    for target in ["conf", "./a/../conf"] {
        let fixture = Fixture::new(&[
            ("conf/config.toml", "a\n"),
            ("conf/sessions/s.jsonl", "a\n"),
            ("conf/output/o.txt", "a\n"),
            ("a/", ""),
        ]);
        fixture.link(target, ".codey");
        fixture.link("conf", "alias");
        for path in ["conf/config.toml", "conf/new", "CONF/../conf/new", ".codey/config.toml", "alias/config.toml"] {
            let result = fixture.call("write", json!({"path": path, "content": "x"})).await;
            assert!(result.is_err(), "{path}");
        }
        fixture.refused("write", json!({"path": "conf/config.toml", "content": "x"}), ErrorCode::Denied).await;
        fixture.refused("read", json!({"path": "conf/sessions/s.jsonl"}), ErrorCode::Denied).await;
        assert_eq!(fixture.text("glob", json!({"pattern": "conf/**"})).await, "conf/output/o.txt");
        assert_eq!(fixture.text("grep", json!({"pattern": "a"})).await, "conf/output/o.txt\n1:a");
        assert_eq!(fixture.escaped("conf/config.toml"), "a\\n");
    }
}

#[tokio::test]
async fn perm_13_a_denied_path_is_known_by_every_name() {
    let fixture = Fixture::new(&[(".env", "KEY"), ("sub/x", ""), (".codey/config.toml", "")]);
    fixture.link(".env", "AGENTS.md");
    fixture.link("/etc/passwd", "outside");
    let denies = |path: &str| fixture.workspace.denies(&codey_protocol::RelPath::new(path));
    for path in [".env", "sub/.env.local", ".ENV", ".env/below", "AGENTS.md", "nowhere/id_rsa"] {
        assert!(denies(path), "{path}");
    }
    for path in ["", "sub/x", "nowhere", ".codey/config.toml", ".git/config", "outside"] {
        assert!(!denies(path), "{path}");
    }
}

#[tokio::test]
async fn a_link_with_an_absolute_target_inside_the_root_is_followed() {
    let fixture = Fixture::new(&[("real/f", "one\n")]);
    fixture.link(fixture.path("real"), "folder");
    fixture.link(fixture.path("folder/f"), "file");
    for path in ["folder/f", "file", "folder/../real/f"] {
        assert_eq!(fixture.text("read", json!({"path": path})).await, "     1\tone");
    }
    fixture.call("write", json!({"path": "folder/new", "content": "x"})).await.unwrap();
    assert_eq!(fixture.escaped("real/new"), "x");
}

#[tokio::test]
async fn circles_of_links_end() {
    let fixture = Fixture::new(&[]);
    fixture.link("b", "a");
    fixture.link("a", "b");
    fixture.link("self/x", "self");
    for path in ["a", "self", "self/y"] {
        let message = fixture.refused("read", json!({"path": path}), ErrorCode::Io).await;
        assert!(message.contains("circle of links"), "{message}");
    }
}

/// A folder is exchanged with a link to the outside, again and again, while tools use paths through it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_swapped_for_a_link_lets_nothing_escape() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("f"), "outside\n").unwrap();
    let fixture = Fixture::new(&[("d/f", "inside\n"), ("empty", "")]);
    fixture.link(outside.path(), "evil");
    let is_done = Arc::new(AtomicBool::new(false));
    let swapper = {
        let (root, is_done) = (fixture.root(), Arc::clone(&is_done));
        std::thread::spawn(move || {
            let mut swaps = 0;
            while !is_done.load(Ordering::Relaxed) {
                for (from, to) in [("d", "away"), ("evil", "d"), ("d", "evil"), ("away", "d")] {
                    // `write` makes a missing folder, right between two steps.
                    while std::fs::rename(root.join(from), root.join(to)).is_err() {
                        let _ = std::fs::remove_dir_all(root.join(to));
                    }
                }
                swaps += 1;
            }
            swaps
        })
    };
    let reads = std::cell::Cell::new(0);
    // Which reads fall between two swaps is up to the machine: it goes on until some did.
    for round in (0..20_000).take_while(|round| *round < 100 || reads.get() == 0) {
        if let Ok(output) = fixture.call("read", json!({"path": "d/f"})).await {
            assert_eq!(crate::fixture::text_of(&output), "     1\tinside");
            reads.set(reads.get() + 1);
        }
        // Whatever they answer, they must not touch or show what is outside.
        let _ = fixture.call("write", json!({"path": format!("d/new{round}"), "content": "x"})).await;
        let _ = fixture.call("edit", json!({"path": "d/f", "old_str": "outside", "new_str": "x"})).await;
        if let Ok(output) = fixture.call("grep", json!({"pattern": "side", "path": "d"})).await {
            assert!(!crate::fixture::text_of(&output).contains("outside"));
        }
    }
    is_done.store(true, Ordering::Relaxed);
    assert!(swapper.join().unwrap() > 0 && reads.get() > 0, "the race did not take place");
    assert_eq!(std::fs::read_to_string(outside.path().join("f")).unwrap(), "outside\n");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_workspace_without_a_root_or_with_a_broken_rule_does_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let open = |root: &str, deny: &str| {
        Workspace::open(WorkspaceOptions {
            root: folder.path().join(root),
            cwd: codey_protocol::RelPath::root(),
            deny_paths: vec![deny.to_owned()],
            hidden_env: Vec::new(),
        })
    };
    assert!(matches!(open("nowhere", "x"), Err(WorkspaceError::Root { .. })));
    assert!(matches!(open("", "a/[b"), Err(WorkspaceError::DenyGlob { .. })));
    assert!(open("", "x").is_ok());
}
