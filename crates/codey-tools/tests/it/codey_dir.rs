//! The folder `.codey` and git's exclude file.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use codey_tools::prepare_codey_dir;

fn git(folder: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"];
    let output = Command::new("git").args(identity).args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "one"]);
    folder
}

/// Prepares twice; then git does not see `.codey`, which is private, and one line says so.
fn check(root: &Path, exclude: &Path) {
    let before = std::fs::read_to_string(exclude).unwrap_or_default();
    prepare_codey_dir(root).unwrap();
    prepare_codey_dir(root).unwrap();
    assert_eq!(std::fs::metadata(root.join(".codey")).unwrap().permissions().mode() & 0o7777, 0o700);
    assert_eq!(std::fs::read_to_string(exclude).unwrap(), before + "/.codey/\n");
    std::fs::write(root.join(".codey/file"), "").unwrap();
    let status = Command::new("git").args(["status", "--porcelain"]).current_dir(root).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "");
    assert!(!root.join(".gitignore").exists());
}

#[test]
fn a_repository_lists_it_once() {
    let folder = repository();
    check(folder.path(), &folder.path().join(".git/info/exclude"));
}

#[test]
fn an_exclude_file_that_is_missing_or_unfinished_is_mended() {
    let folder = repository();
    std::fs::remove_dir_all(folder.path().join(".git/info")).unwrap();
    check(folder.path(), &folder.path().join(".git/info/exclude"));
    let folder = repository();
    let exclude = folder.path().join(".git/info/exclude");
    std::fs::write(&exclude, "*.o").unwrap();
    prepare_codey_dir(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(exclude).unwrap(), "*.o\n/.codey/\n");
}

#[test]
fn worktrees_and_submodules_use_the_exclude_file_that_git_uses() {
    let main = repository();
    let parent = tempfile::tempdir().unwrap();
    let tree = parent.path().join("tree");
    git(main.path(), &["worktree", "add", "-q", tree.to_str().unwrap()]);
    check(&tree, &main.path().join(".git/info/exclude"));
    let outer = repository();
    git(outer.path(), &["submodule", "--quiet", "add", main.path().to_str().unwrap(), "sub"]);
    check(&outer.path().join("sub"), &outer.path().join(".git/modules/sub/info/exclude"));
}

#[test]
fn outside_git_only_the_folder_is_made() {
    let folder = tempfile::tempdir().unwrap();
    prepare_codey_dir(folder.path()).unwrap();
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [".codey"]);
}

#[test]
fn a_folder_that_git_could_not_use_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let victim = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".git"), format!("gitdir: {}\n", victim.path().display())).unwrap();
    prepare_codey_dir(folder.path()).unwrap();
    assert_eq!(std::fs::read_dir(victim.path()).unwrap().count(), 0);
}

#[test]
fn git_does_not_see_it_though_the_exclude_file_cannot_be_written() {
    let folder = repository();
    let exclude = folder.path().join(".git/info/exclude");
    std::fs::rename(&exclude, folder.path().join(".git/shared")).unwrap();
    std::os::unix::fs::symlink("../shared", &exclude).unwrap();
    prepare_codey_dir(folder.path()).unwrap();
    prepare_codey_dir(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join(".codey/.gitignore")).unwrap(), "*\n");
    std::fs::write(folder.path().join(".codey/file"), "").unwrap();
    let status = Command::new("git").args(["status", "--porcelain"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "");
}

#[test]
fn an_exclude_file_that_is_a_link_to_elsewhere_is_not_written() {
    let folder = repository();
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "x\n").unwrap();
    let exclude = folder.path().join(".git/info/exclude");
    std::fs::remove_file(&exclude).unwrap();
    std::os::unix::fs::symlink(&victim, &exclude).unwrap();
    prepare_codey_dir(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "x\n");
}

#[test]
fn a_link_in_the_place_of_the_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join(".codey")).unwrap();
    assert!(prepare_codey_dir(folder.path()).is_err());
}

#[test]
fn a_folder_that_all_can_read_becomes_private() {
    let folder = tempfile::tempdir().unwrap();
    let codey = folder.path().join(".codey");
    std::fs::create_dir(&codey).unwrap();
    std::fs::set_permissions(&codey, std::fs::Permissions::from_mode(0o755)).unwrap();
    prepare_codey_dir(folder.path()).unwrap();
    assert_eq!(std::fs::metadata(&codey).unwrap().permissions().mode() & 0o7777, 0o700);
}

fn fifo(path: &Path) {
    let _ = std::fs::remove_file(path);
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
}

/// Prepares a repository that was tampered with: that ends, the folder is made, and these files stay as they are.
fn check_untouched(root: &Path, files: &[&str]) {
    let read = |file: &&str| std::fs::read(root.join(file)).unwrap();
    let before: Vec<_> = files.iter().map(read).collect();
    let (sender, done) = std::sync::mpsc::channel();
    let path = root.to_owned();
    std::thread::spawn(move || sender.send(prepare_codey_dir(&path).is_ok()));
    assert_eq!(done.recv_timeout(std::time::Duration::from_secs(10)), Ok(true), "it waits, or fails");
    assert!(root.join(".codey").is_dir());
    assert_eq!(files.iter().map(read).collect::<Vec<_>>(), before);
}

#[test]
fn what_is_no_regular_file_is_not_waited_on() {
    let folder = tempfile::tempdir().unwrap();
    fifo(&folder.path().join(".git"));
    check_untouched(folder.path(), &[]);
    for name in ["info/exclude", "HEAD", "commondir"] {
        let folder = repository();
        fifo(&folder.path().join(".git").join(name));
        check_untouched(folder.path(), &[".git/config"]);
    }
    let main = repository();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".git"), format!("gitdir: {}\n", main.path().join(".git").display())).unwrap();
    fifo(&main.path().join(".git/commondir"));
    check_untouched(folder.path(), &[]);
}

#[test]
fn links_in_the_git_folder_are_not_followed() {
    let folder = repository();
    let git = folder.path().join(".git");
    std::fs::remove_file(git.join("info/exclude")).unwrap();
    // Inside the git folder as well: this one is git's own.
    std::os::unix::fs::symlink("../config", git.join("info/exclude")).unwrap();
    check_untouched(folder.path(), &[".git/config"]);
    std::fs::remove_dir_all(git.join("info")).unwrap();
    std::fs::create_dir(git.join("other")).unwrap();
    std::fs::write(git.join("other/exclude"), "x\n").unwrap();
    std::os::unix::fs::symlink("other", git.join("info")).unwrap();
    check_untouched(folder.path(), &[".git/other/exclude"]);
}

#[test]
fn a_common_folder_that_is_no_git_folder_is_not_touched() {
    let folder = repository();
    let victim = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".git/commondir"), victim.path().to_str().unwrap()).unwrap();
    check_untouched(folder.path(), &[]);
    assert_eq!(std::fs::read_dir(victim.path()).unwrap().count(), 0);
}
