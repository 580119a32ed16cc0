//! Patches of runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use codey_eval::{Change, Tree, Workspace, load_suite, patch};

/// Changes a prepared workspace, and checks that its patch makes the same tree of a fresh one.
async fn check_patch(change: impl FnOnce(&Path), expected_left_out: &[&str]) -> String {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("tasks/one");
    for (path, bytes) in [
        ("prompt.txt", &b"-"[..]),
        ("setup.sh", b"printf 'log\\n' >kept.log; printf '\\0\\1' >picture; ln -s a.txt link"),
        ("verify.sh", b""),
        ("repo/.gitignore", b"*.log\n*.pyc\n"),
        ("repo/.gitattributes", b"* text=auto\n"),
        ("repo/a.txt", b"one\r\ntwo\r\n"),
        ("repo/latin1.txt", b"caf\xe9\n"),
        ("repo/run", b"true\n"),
        ("repo/gone/b.txt", b"b\n"),
    ] {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
    let task = load_suite(&place.path().join("tasks"), &[]).unwrap().remove(0);
    let (changed, fresh) = (place.path().join("changed"), place.path().join("fresh"));
    let changed = Workspace::prepare(&task, &changed).await.unwrap();
    let fresh = Workspace::prepare(&task, &fresh).await.unwrap();
    change(&changed.folder);
    let text = patch(&changed).await.unwrap();
    if !text.is_empty() {
        let file = place.path().join("patch");
        fs::write(&file, &text).unwrap();
        fresh.apply(&Change::Patch(file)).await.unwrap();
    }
    for path in expected_left_out {
        fs::remove_file(changed.folder.join(path)).unwrap();
    }
    assert_eq!(Tree::of(&fresh.folder).unwrap(), Tree::of(&changed.folder).unwrap(), "{text}");
    text
}

#[tokio::test]
async fn nothing_changed_is_an_empty_patch() {
    assert_eq!(check_patch(|_| {}, &[]).await, "");
}

#[tokio::test]
async fn a_patch_makes_the_same_tree_of_a_fresh_workspace() {
    let change = |folder: &Path| {
        fs::write(folder.join("new name.txt"), "new\n").unwrap();
        fs::write(folder.join("picture"), b"\x02\x00\xff").unwrap();
        fs::write(folder.join("no-end"), "no line end").unwrap();
        fs::set_permissions(folder.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(folder.join("gone/b.txt")).unwrap();
        fs::remove_file(folder.join("link")).unwrap();
        std::os::unix::fs::symlink("run", folder.join("link")).unwrap();
        fs::remove_file(folder.join("kept.log")).unwrap();
    };
    check_patch(change, &[]).await;
}

#[tokio::test]
async fn a_patch_is_text_even_where_a_file_is_not() {
    let change = |folder: &Path| fs::write(folder.join("latin1.txt"), b"th\xe9\n").unwrap();
    let text = check_patch(change, &[]).await;
    assert!(text.contains("GIT binary patch"), "{text}");
}

#[tokio::test]
async fn a_patch_keeps_line_ends_out_of_gits_hands() {
    check_patch(|folder| fs::write(folder.join("b.txt"), "three\r\n").unwrap(), &[]).await;
}

#[tokio::test]
async fn what_builds_and_codey_leave_behind_is_not_in_the_patch() {
    let change = |folder: &Path| {
        fs::create_dir_all(folder.join(".codey")).unwrap();
        fs::write(folder.join(".codey/note"), "-").unwrap();
        fs::write(folder.join("a.pyc"), "-").unwrap();
    };
    assert_eq!(check_patch(change, &["a.pyc"]).await, "");
}
