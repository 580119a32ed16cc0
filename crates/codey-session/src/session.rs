//! A session: its tree and the file behind it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codey_llm::{CallId, ToolSpec, Usage};
use codey_protocol::{Meta, NodeId, SnapshotId};
use jiff::Timestamp;
use serde::Serialize;
use ulid::Ulid;

use crate::load::{self, Loaded, title};
use crate::log::Log;
use crate::record::{self, Fork, HeadRecord, Header, MarkRecord, PrefixRecord, Record, SetRecord, SnapshotRecord};
use crate::tree::{Body, Tree};
use crate::{Entry, LoadWarning, Node, NodeKind, SessionError, Totals};

/// What is known of a session when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStart {
    /// Top of the workspace; the session can only be resumed there.
    pub root: PathBuf,
    /// Where relative paths start.
    pub cwd: PathBuf,
    /// Codey's version.
    pub version: String,
    /// What it was forked from.
    pub parent: Option<Fork>,
}

/// A tree of nodes that only grows, and the file that keeps it.
///
/// Memory holds a light entry for each node; bodies stay in the file and are read for the lineage only. Dropping it
/// lets others open the session.
#[derive(Debug)]
pub struct Session {
    header: Header,
    start: SessionStart,
    tree: Tree,
    totals: Totals,
    settings: SetRecord,
    prefixes: HashSet<String>,
    storage: Storage,
    newest: Ulid,
    stamp: Stamp,
}

#[derive(Debug)]
enum Storage {
    /// Kept in memory only.
    Memory,
    /// Nothing is on disk before the first node; records before it wait here.
    Planned { dir: PathBuf, waiting: Vec<Vec<u8>> },
    /// On disk.
    File(Log),
}

/// Gives a time and a name larger than the given one.
type Stamp = fn(Ulid) -> (Timestamp, Ulid);

/// The last time that a name can hold, in milliseconds; names of that time could run out.
const LAST_TIME: u64 = (1 << Ulid::TIME_BITS) - 1;

fn stamp(newest: Ulid) -> (Timestamp, Ulid) {
    let next = newest.increment().unwrap_or_else(|overflowed| overflowed);
    // A clock that was set back gives small names; children must still come after their parents.
    (Timestamp::now(), Ulid::generate().max(next))
}

impl Session {
    /// A session that leaves nothing on disk.
    pub fn in_memory(start: SessionStart) -> Self {
        Self::new(start, Storage::Memory, stamp)
    }

    /// A new session in `dir`. Nothing is written before the first node is appended.
    pub fn create(dir: &Path, start: SessionStart) -> Self {
        Self::new(start, Storage::Planned { dir: dir.to_owned(), waiting: Vec::new() }, stamp)
    }

    fn new(start: SessionStart, storage: Storage, stamp: Stamp) -> Self {
        let (now, id) = stamp(Ulid::nil());
        Self {
            header: header(id, now, &start),
            start,
            tree: Tree::default(),
            totals: Totals::default(),
            settings: SetRecord::default(),
            prefixes: HashSet::new(),
            storage,
            newest: id,
            stamp,
        }
    }

    /// Opens a stored session to go on with it, and says what of the file had to be left out.
    ///
    /// `start` says where it is opened. Its other parts count only if not even the header was stored whole; then the
    /// header is written anew.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], [`SessionError::InUse`], [`SessionError::OtherRoot`], [`SessionError::Newer`],
    /// [`SessionError::Damaged`] when there is no header, or what the disk said.
    pub fn open(dir: &Path, id: Ulid, start: SessionStart) -> Result<(Self, Vec<LoadWarning>), SessionError> {
        let mut log = Log::open(dir, id)?;
        let loaded = load::load(log.file(), log.path(), |_| {})?;
        let Loaded { header: found, tree, totals, settings, prefixes, mut warnings, newest, end, torn, .. } = loaded;
        log.set_end(end, torn);
        let newest = newest.map_or(id, |newest| newest.0.max(id));
        if newest.timestamp_ms() == LAST_TIME {
            let reason = format!("a record in it is named {newest}, which leaves no name for those that would follow");
            return Err(SessionError::Damaged { path: log.path().to_owned(), reason });
        }
        let (header, start) = match found {
            None => {
                let message = "nothing of this session could be read, so it begins anew".to_owned();
                warnings.push(LoadWarning { line: 1, message });
                let header = header(id, Timestamp::now(), &start);
                log.append(&record::line("session", &header))?;
                (header, start)
            }
            Some(found) => {
                check_header(&found, id, log.path())?;
                if found.root != start.root.to_string_lossy() {
                    return Err(SessionError::OtherRoot { id, recorded: found.root.into() });
                }
                let start = SessionStart {
                    root: found.root.clone().into(),
                    cwd: found.cwd.clone().into(),
                    version: found.version.clone(),
                    parent: found.parent.clone(),
                };
                (found, start)
            }
        };
        let storage = Storage::File(log);
        Ok((Self { header, start, tree, totals, settings, prefixes, storage, newest, stamp }, warnings))
    }

    /// Its name.
    pub fn id(&self) -> Ulid {
        self.header.id
    }

    /// Whether it is kept on disk, or will be from the first node on.
    pub fn is_stored(&self) -> bool {
        match self.storage {
            Storage::Memory => false,
            Storage::Planned { .. } | Storage::File(_) => true,
        }
    }

    /// Where the file was written anew since this was last asked, because it had been deleted or moved.
    pub fn take_restored(&mut self) -> Option<PathBuf> {
        match &mut self.storage {
            Storage::Memory | Storage::Planned { .. } => None,
            Storage::File(log) => log.take_restored().then(|| log.path().to_owned()),
        }
    }

    /// How it began.
    pub fn start(&self) -> &SessionStart {
        &self.start
    }

    /// The current node; `None` at the beginning.
    pub fn head(&self) -> Option<NodeId> {
        self.tree.head()
    }

    /// Moves the head; the next node is appended there. Only [`Session::append_head`] makes it last.
    ///
    /// # Errors
    /// [`SessionError::UnknownNode`].
    pub fn set_head(&mut self, to: Option<NodeId>) -> Result<(), SessionError> {
        match to {
            _ if self.tree.set_head(to) => Ok(()),
            Some(node) => Err(SessionError::UnknownNode { node }),
            None => Ok(()),
        }
    }

    /// All nodes in the order they were appended, without their bodies.
    pub fn nodes(&self) -> &[Entry] {
        self.tree.entries()
    }

    /// The newest settings.
    pub fn settings(&self) -> &SetRecord {
        &self.settings
    }

    /// What the session adds up to: as last told to [`Session::append_head`], and the nodes since.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The nodes from the beginning to the head. Bodies come from the file.
    ///
    /// # Errors
    /// What the disk said, or [`SessionError::Damaged`] if the file changed while it was open.
    pub fn lineage(&self) -> Result<Vec<Arc<Node>>, SessionError> {
        self.tree.lineage().into_iter().map(|entry| self.read(entry)).collect()
    }

    fn read(&self, entry: &Entry) -> Result<Arc<Node>, SessionError> {
        let (log, offset, len) = match (&entry.body, &self.storage) {
            (Body::Memory(node), _) => return Ok(node.clone()),
            (Body::File { offset, len }, Storage::File(log)) => (log, *offset, *len),
            (Body::File { .. }, Storage::Memory | Storage::Planned { .. }) => {
                unreachable!("only an open file gives places in a file")
            }
        };
        match record::parse(&log.read(offset, len)?) {
            Ok(Record::Node(node)) if node.id == entry.id => Ok(Arc::new(Node { parent: entry.parent, ..node })),
            _ => {
                let reason = format!("node {} changed while the session was open", entry.id);
                Err(SessionError::Damaged { path: log.path().to_owned(), reason })
            }
        }
    }

    /// Appends a node to the head and makes it the head. The time is set here unless `meta` has one.
    ///
    /// # Errors
    /// What the disk said; the session is then as before.
    pub fn append(&mut self, kind: NodeKind, mut meta: Meta) -> Result<Arc<Node>, SessionError> {
        let (now, id) = (self.stamp)(self.newest);
        meta.created_at = Some(in_millis(meta.created_at.unwrap_or(now)));
        let node = Arc::new(Node { id: NodeId(id), parent: self.head(), kind, meta });
        let body = match &mut self.storage {
            Storage::Memory => Body::Memory(node.clone()),
            Storage::Planned { dir, waiting } => {
                let line = record::node_line(&node);
                let (log, offset) = begin(dir, &self.header, waiting, &line)?;
                self.storage = Storage::File(log);
                Body::File { offset, len: line.len() }
            }
            Storage::File(log) => {
                let line = record::node_line(&node);
                Body::File { offset: log.append(&line)?, len: line.len() }
            }
        };
        self.newest = id;
        self.totals.add(&node);
        self.tree.push(&node, body);
        Ok(node)
    }

    /// Keeps what requests begin with, once for each hash.
    ///
    /// # Errors
    /// What the disk said.
    pub fn append_prefix(&mut self, hash: &str, system: &[String], tools: &[ToolSpec]) -> Result<(), SessionError> {
        if self.prefixes.contains(hash) {
            return Ok(());
        }
        self.record("prefix", &PrefixRecord { hash, system, tools })?;
        self.prefixes.insert(hash.to_owned());
        Ok(())
    }

    /// Keeps the settings that changed; those left `None` stay as they are.
    ///
    /// # Errors
    /// What the disk said.
    pub fn append_set(&mut self, changed: SetRecord) -> Result<(), SessionError> {
        if changed.is_empty() {
            return Ok(());
        }
        self.record("set", &changed)?;
        self.settings.update(changed);
        Ok(())
    }

    /// Keeps the name of the undo snapshot that was taken before a call.
    ///
    /// # Errors
    /// What the disk said.
    pub fn append_snapshot(&mut self, call: &CallId, node: NodeId, id: &SnapshotId) -> Result<(), SessionError> {
        self.record("snapshot", &SnapshotRecord { call, node, id })
    }

    /// Keeps what the user says of a node; the last one of each node wins.
    ///
    /// # Errors
    /// [`SessionError::UnknownNode`], or what the disk said.
    pub fn append_mark(
        &mut self,
        node: NodeId,
        label: Option<&str>,
        bookmark: Option<bool>,
    ) -> Result<(), SessionError> {
        if !self.tree.contains(node) {
            return Err(SessionError::UnknownNode { node });
        }
        self.record("mark", &MarkRecord { node, label, bookmark })
    }

    /// Keeps where the session stands, after each run and rewind. The title becomes one short line.
    ///
    /// # Errors
    /// What the disk said.
    pub fn append_head(&mut self, text: &str, turns: u32, usage: Usage) -> Result<(), SessionError> {
        let head = HeadRecord { node: self.head(), title: title(text), turns, usage, branches: self.tree.branches() };
        self.record("head", &head)?;
        self.totals = Totals { title: head.title, turns, usage };
        Ok(())
    }

    fn record(&mut self, kind: &'static str, body: &impl Serialize) -> Result<(), SessionError> {
        match &mut self.storage {
            Storage::Memory => Ok(()),
            Storage::Planned { waiting, .. } => {
                waiting.push(record::line(kind, body));
                Ok(())
            }
            Storage::File(log) => log.append(&record::line(kind, body)).map(drop),
        }
    }
}

/// Makes the file of a session: its header, what waited, and its first node. Says where the node begins.
fn begin(dir: &Path, header: &Header, waiting: &[Vec<u8>], node: &[u8]) -> Result<(Log, u64), SessionError> {
    let mut log = Log::create(dir, header.id)?;
    let first = record::line("session", header);
    let before = std::iter::once(&first[..]).chain(waiting.iter().map(Vec::as_slice));
    match before.chain([node]).try_fold(0, |_, line| log.append(line)) {
        Ok(offset) => Ok((log, offset)),
        Err(error) => {
            log.discard();
            Err(error)
        }
    }
}

fn header(id: Ulid, now: Timestamp, start: &SessionStart) -> Header {
    Header {
        id,
        cwd: start.cwd.to_string_lossy().into_owned(),
        root: start.root.to_string_lossy().into_owned(),
        created_at: format!("{:.3}", in_millis(now)),
        version: start.version.clone(),
        parent: start.parent.clone(),
    }
}

/// Files keep milliseconds; a node must not change by being read back.
fn in_millis(time: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(time.as_millisecond()).expect("the milliseconds of a time are within its range")
}

/// One id in file name and header.
pub(crate) fn check_header(header: &Header, id: Ulid, path: &Path) -> Result<(), SessionError> {
    if header.id == id {
        return Ok(());
    }
    let reason = format!("its first line says that it is session {}", header.id);
    Err(SessionError::Damaged { path: path.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use codey_llm::{Block, Effort, Message, tool_use};
    use codey_protocol::{Digest, Observed, PermissionMode, RelPath, TodoItem, TodoStatus, ToolDisplay};
    use serde_json::json;

    use super::*;

    /// One time, and names that count up.
    fn counted(newest: Ulid) -> (Timestamp, Ulid) {
        let now = Timestamp::from_millisecond(1_764_500_000_007).unwrap();
        (now, Ulid::from_parts(1_764_500_000_000, newest.random() + 1))
    }

    fn text(message: fn(Vec<Block>) -> Message, text: &str) -> NodeKind {
        NodeKind::Message(Arc::new(message(vec![Block::text(text)])))
    }

    /// Appends one record of each kind.
    fn record_everything(session: &mut Session) -> Result<(), SessionError> {
        session.append_set(SetRecord {
            permission_mode: Some(PermissionMode::AcceptEdits),
            model: Some("m".into()),
            effort: Some(Effort::High),
        })?;
        let prompt = session.append(text(Message::user, "fix the test\nplease"), Meta::default())?;
        let read = codey_llm::ToolSpec {
            name: "read".into(),
            description: "Shows a file.".into(),
            schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        };
        session.append_prefix("5ca1e", &["You are Codey.".into()], &[read])?;
        let call = NodeKind::Message(Arc::new(Message::assistant(vec![
            Block::text("I look."),
            tool_use("c1", "read", json!({"path": "a.rs"})),
        ])));
        let usage = Usage { input: 10, output: 5, cache_read: 3, cache_write: 2, reasoning: 1 };
        let meta = Meta {
            model: Some("m".into()),
            endpoint: Some("anthropic".into()),
            usage: Some(usage),
            request_bytes: Some(99),
            prefix: Some("5ca1e".into()),
            ..Meta::default()
        };
        let asked = session.append(call, meta)?;
        session.append_snapshot(&"c1".into(), asked.id, &SnapshotId("s1".into()))?;
        let result =
            Block::ToolResult { call: "c1".into(), content: vec![Block::text("     1\tfn a() {}")], is_error: false };
        let meta = Meta {
            displays: [("c1".into(), ToolDisplay::Matches { count: 1, suppressed: 0 })].into(),
            observed: vec![Observed { path: RelPath::new("a.rs"), digest: Digest::new("d1") }],
            todo: Some(vec![TodoItem { content: "fix".into(), status: TodoStatus::Pending }]),
            ..Meta::default()
        };
        session.append(NodeKind::Message(Arc::new(Message::user(vec![result]))), meta)?;
        session.append_mark(prompt.id, Some("start"), Some(true))?;
        session.append(NodeKind::Prune { before: asked.id }, Meta::default())?;
        let summary = Arc::new(Message::user(vec![Block::text("a.rs was read")]));
        session.append(NodeKind::Summary { message: summary, replaces: vec![prompt.id, asked.id] }, Meta::default())?;
        let cut = Meta { interrupted: true, ..Meta::default() };
        session.append(text(Message::assistant, "Done: «ж»"), cut)?;
        session.append_head("fix the test\nplease", 2, usage)
    }

    #[test]
    fn every_kind_of_record_has_its_exact_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let fork = Fork { session: "01KB9W2E00000000000000ZZZZ".into(), node: NodeId(Ulid::from_parts(7, 7)) };
        let start = SessionStart {
            root: "/home/ada/work".into(),
            cwd: "/home/ada/work/crates".into(),
            version: "0.1.0".into(),
            parent: Some(fork),
        };
        let storage = Storage::Planned { dir: dir.path().to_owned(), waiting: Vec::new() };
        let mut session = Session::new(start.clone(), storage, counted);
        record_everything(&mut session).unwrap();
        let written = session.lineage().unwrap();
        let id = session.id();
        drop(session);
        let file = fs::read_to_string(dir.path().join(format!("{id}.jsonl"))).unwrap();
        assert_eq!(file, include_str!("../tests/golden/session.jsonl"));

        let (session, warnings) = Session::open(dir.path(), id, start).unwrap();
        assert_eq!(warnings, []);
        assert_eq!(session.lineage().unwrap(), written);
    }

    #[test]
    fn names_grow_though_the_clock_stands_or_runs_back() {
        let mut newest = stamp(Ulid::nil()).1;
        for _ in 0..1_000 {
            let (_, next) = stamp(newest);
            assert!(next > newest);
            newest = next;
        }
        let future = Ulid::from_parts(newest.timestamp_ms() + 1_000_000, u128::MAX);
        assert!(stamp(future).1 > future);
    }
}
