//! What a session file costs as it grows, in time and memory: `cargo bench -p codey-session`.
//!
//! - `append`: one record. Must not depend on the size of the file.
//! - `open`: reading a stored session to go on with it. Time grows with the file, memory with the number of its records.
//! - `lineage`: reading the bodies from the beginning to the head, as a resume does after `open`.
//! - `list`: naming 200 sessions, as `codey sessions` does, and as many whose last run was killed.
//!
//! Files lie in a temporary folder (300 MB) that is removed at the end.
#![allow(clippy::unwrap_used)]

use std::env;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use codey_llm::{Block, Message, Usage, tool_use};
use codey_protocol::{Digest, Meta, Observed, RelPath, ToolDisplay};
use codey_session::{NodeKind, Session, SessionStart, list};
use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher, black_box};
use serde_json::json;
use ulid::Ulid;

/// Memory is half of the question.
#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

static FOLDER: OnceLock<PathBuf> = OnceLock::new();
static MEDIUM: LazyLock<Stored> = LazyLock::new(|| Stored::of(50));
static LARGE: LazyLock<Stored> = LazyLock::new(|| Stored::of(200));

/// Sessions in a listing.
const LISTED: usize = 200;
/// Turns of each of them.
const LISTED_TURNS: usize = 20;

fn main() {
    // Tests build this too, and are not to wait for it.
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    FOLDER.set(folder.path().to_owned()).unwrap();
    divan::main();
}

#[divan::bench(args = [50, 200])]
fn append(bencher: Bencher<'_, '_>, megabytes: u64) {
    let copy = stored(megabytes).copied();
    let mut session = copy.open();
    bencher.with_inputs(result).bench_local_values(|(kind, meta)| session.append(kind, meta).unwrap());
    drop(session);
    copy.remove();
}

#[divan::bench(args = [50, 200], sample_count = 10)]
fn open(bencher: Bencher<'_, '_>, megabytes: u64) {
    let stored = stored(megabytes);
    bencher.counter(BytesCount::new(stored.size())).bench_local(|| stored.open());
}

#[divan::bench(args = [50, 200], sample_count = 10)]
fn lineage(bencher: Bencher<'_, '_>, megabytes: u64) {
    let stored = stored(megabytes);
    let session = stored.open();
    bencher.counter(BytesCount::new(stored.size())).bench_local(|| session.lineage().unwrap());
}

#[divan::bench(args = ["ended", "killed"])]
fn list_sessions(bencher: Bencher<'_, '_>, how: &str) {
    let dir = folder().join(how);
    for _ in 0..LISTED {
        let mut session = Session::create(&dir, start());
        (0..LISTED_TURNS).for_each(|number| turn(&mut session, number));
        if how == "ended" {
            session.append_head("mend the parser", LISTED_TURNS as u32, Usage::default()).unwrap();
        }
    }
    bencher.bench_local(|| list(black_box(&dir)).unwrap());
    fs::remove_dir_all(&dir).unwrap();
}

fn folder() -> &'static Path {
    FOLDER.get().unwrap()
}

fn stored(megabytes: u64) -> &'static Stored {
    if megabytes == 50 { &MEDIUM } else { &LARGE }
}

/// A session on disk.
struct Stored {
    dir: PathBuf,
    id: Ulid,
}

impl Stored {
    fn of(megabytes: u64) -> Self {
        let dir = folder().join(megabytes.to_string());
        let mut session = Session::create(&dir, start());
        let stored = Self { dir, id: session.id() };
        let mut number = 0;
        while number == 0 || stored.size() < megabytes << 20 {
            turn(&mut session, number);
            number += 1;
        }
        session.append_head("mend the parser", number as u32, Usage::default()).unwrap();
        stored
    }

    /// Its own copy for who appends.
    fn copied(&self) -> Self {
        let copy = Self { dir: self.dir.join("copy"), id: self.id };
        fs::create_dir(&copy.dir).unwrap();
        fs::copy(self.file(), copy.file()).unwrap();
        // What of the copy is not on disk yet must not be written while an append is measured.
        OpenOptions::new().append(true).open(copy.file()).unwrap().sync_all().unwrap();
        copy
    }

    fn open(&self) -> Session {
        let (session, warnings) = Session::open(&self.dir, self.id, start()).unwrap();
        assert_eq!(warnings, []);
        session
    }

    fn remove(self) {
        fs::remove_dir_all(self.dir).unwrap();
    }

    fn size(&self) -> u64 {
        fs::metadata(self.file()).unwrap().len()
    }

    fn file(&self) -> PathBuf {
        self.dir.join(format!("{}.jsonl", self.id))
    }
}

fn start() -> SessionStart {
    SessionStart {
        root: "/home/me/project".into(),
        cwd: "/home/me/project".into(),
        version: "0.1.0".into(),
        parent: None,
    }
}

/// A call and its result of about 12 KB: a file that was read.
fn turn(session: &mut Session, number: usize) {
    let arguments = json!({"path": format!("src/module_{number}.rs"), "limit": 300});
    let content = vec![Block::text("I look at it next."), tool_use(&format!("call_{number}"), "read", arguments)];
    let usage = Usage { input: 900, output: 60, cache_read: 50_000, cache_write: 1_200, reasoning: 0 };
    let meta = Meta {
        model: Some("claude-sonnet-4-5".into()),
        endpoint: Some("anthropic".into()),
        usage: Some(usage),
        request_bytes: Some(190_000),
        prefix: Some("5f".repeat(32)),
        ..Meta::default()
    };
    session.append(NodeKind::Message(Arc::new(Message::assistant(content))), meta).unwrap();
    let (kind, meta) = result();
    session.append(kind, meta).unwrap();
}

fn result() -> (NodeKind, Meta) {
    let line =
        |number: usize| format!("{number:>6}\t    let width_{number} = measure(\"глиф {number}\\n\", &font)?;\n");
    let text: String = (1..=180).map(line).collect();
    let result = Block::ToolResult { call: "call_0".into(), content: vec![Block::text(text)], is_error: false };
    let meta = Meta {
        displays: [("call_0".into(), ToolDisplay::text("lines 1-180 of 180"))].into(),
        observed: vec![Observed { path: RelPath::new("src/module.rs"), digest: Digest::new("9c".repeat(32)) }],
        ..Meta::default()
    };
    (NodeKind::Message(Arc::new(Message::user(vec![result]))), meta)
}
