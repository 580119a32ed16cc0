//! Sessions as files: what is written, what survives, who may write.
#![allow(clippy::unwrap_used)]

mod damage;
mod full_disk;
mod listing;
mod lock;
mod store;
mod tree;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use codey_llm::{Block, Message};
use codey_protocol::Meta;
use codey_session::{LoadWarning, Node, NodeKind, Session, SessionError, SessionStart};
use tempfile::TempDir;
use ulid::Ulid;

/// A folder for sessions that does not exist yet, inside one that goes away with the test.
struct Place {
    _outer: TempDir,
    dir: PathBuf,
}

impl Place {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join(".codey/sessions");
        Self { _outer: outer, dir }
    }

    fn file(&self, id: Ulid) -> PathBuf {
        self.dir.join(format!("{id}.jsonl"))
    }

    /// A closed session of one node for each text, user and assistant in turn.
    fn session(&self, texts: &[&str]) -> Ulid {
        let mut session = Session::create(&self.dir, start());
        for (index, text) in texts.iter().enumerate() {
            say(&mut session, index, text);
        }
        session.id()
    }

    fn open(&self, id: Ulid) -> Result<(Session, Vec<LoadWarning>), SessionError> {
        Session::open(&self.dir, id, start())
    }

    /// The texts of the lineage and the lines that warnings name.
    fn reopen(&self, id: Ulid) -> (Vec<String>, Vec<u64>) {
        let (session, warnings) = self.open(id).unwrap();
        (texts(&session), warnings.iter().map(|warning| warning.line).collect())
    }

    fn lines(&self, id: Ulid) -> Vec<String> {
        fs::read_to_string(self.file(id)).unwrap().split_inclusive('\n').map(str::to_owned).collect()
    }
}

fn start() -> SessionStart {
    SessionStart { root: "/w".into(), cwd: "/w/sub".into(), version: "0.1.0".into(), parent: None }
}

fn say(session: &mut Session, index: usize, text: &str) -> Arc<Node> {
    let message = if index.is_multiple_of(2) { Message::user } else { Message::assistant };
    append(session, message(vec![Block::text(text)]))
}

fn append(session: &mut Session, message: Message) -> Arc<Node> {
    session.append(NodeKind::Message(Arc::new(message)), Meta::default()).unwrap()
}

fn texts(session: &Session) -> Vec<String> {
    session.lineage().unwrap().iter().filter_map(|node| node.message()).map(|message| message.text()).collect()
}

/// Runs one test of this crate again, in a process that `setup`, a line of bash, has prepared. There it finds `dir` in
/// [`child_dir`].
fn rerun(test: &str, setup: &str, dir: &Path) {
    let status = Command::new("bash")
        .args(["-c", &format!(r#"{setup}; exec "$0" --exact "$1" --nocapture"#)])
        .arg(env::current_exe().unwrap())
        .arg(test)
        .env(CHILD_DIR, dir)
        .status()
        .unwrap();
    assert!(status.success());
}

/// The folder to work in, if this is a process that [`rerun`] started.
fn child_dir() -> Option<PathBuf> {
    env::var_os(CHILD_DIR).map(PathBuf::from)
}

const CHILD_DIR: &str = "CODEY_SESSION_TEST_DIR";

fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
