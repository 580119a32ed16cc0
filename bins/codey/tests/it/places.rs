//! Where a run works, and by which ways it is reached.

use std::fs;
use std::os::unix::fs::symlink;

use codey_llm::{Block, tool_use};
use codey_testkit::{ScriptedServer, TempWorkspace};
use nix::sys::stat::Mode;
use serde_json::json;

use crate::codey::{Api, Codey, Ran, read, reply, says};

/// Lets the model make one call in `workspace`, with an environment that `prepare` sets up.
fn call(call: Block, prepare: impl FnOnce(Codey) -> Codey) -> Ran {
    let server = ScriptedServer::start(vec![reply(Api::OpenAi, vec![call]), says(Api::OpenAi, "done")]);
    let elsewhere = tempfile::tempdir().unwrap();
    let codey = Codey::new(elsewhere.path()).asking(&server, Api::OpenAi);
    let ran = prepare(codey).args(&["-p", "--mode", "json", "go"]).run();
    assert_eq!((ran.code, server.unplayed()), (0, 0), "{ran:?}");
    ran
}

fn result(ran: &Ran) -> String {
    ran.of_type("tool_end")[0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_workspace_entered_through_a_link_knows_its_files_by_that_link() {
    let workspace = TempWorkspace::with_git(&[("sub/f", "hello\n")]);
    let links = tempfile::tempdir().unwrap();
    let link = links.path().join("link");
    symlink(workspace.path(), &link).unwrap();
    let file = link.join("sub/f");
    let ran =
        call(read("c1", file.to_str().unwrap()), |codey| codey.args(&["--cwd", link.join("sub").to_str().unwrap()]));
    assert!(result(&ran).contains("hello"), "{ran:?}");
}

#[test]
fn what_the_user_ignores_everywhere_is_ignored_by_the_top_of_the_work_tree() {
    let workspace = TempWorkspace::with_git(&[("foo/a", ""), ("sub/foo/b", "")]);
    let glob = || tool_use("c1", "glob", json!({"pattern": "**"}));
    let ran = call(glob(), |codey| {
        let config = codey.home.path().join(".config/git");
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join("ignore"), "/foo\n").unwrap();
        codey.args(&["--cwd", workspace.path().to_str().unwrap()])
    });
    assert_eq!(result(&ran), "sub/foo/b");
    // What can never be read is not waited for.
    let ran = call(glob(), |codey| {
        nix::unistd::mkfifo(&codey.home.path().join(".gitconfig"), Mode::S_IRWXU).unwrap();
        codey.args(&["--cwd", workspace.path().to_str().unwrap()])
    });
    assert_eq!(result(&ran).lines().count(), 2, "{ran:?}");
}
