//! Which sessions there are.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use codey_protocol::{SessionSummary, SessionView};
use jiff::Timestamp;
use ulid::Ulid;

use crate::load::{self, Loaded};
use crate::log::{open_to_read, path_of};
use crate::record::{self, HeadRecord, Header, Record, Unreadable};
use crate::session::check_header;
use crate::{Node, SessionError};

/// How much of a file's end is searched for its head record. Source: contract section 2.
const TAIL: u64 = 64 * 1024;
/// Longest header that a listing reads; paths are far shorter.
const LONGEST_HEADER: u64 = 64 * 1024;
/// Shortest beginning of an id that is taken for one. Source: contract section 1.
const SHORTEST_PREFIX: usize = 8;
/// What ACP clients see before the id.
const ACP_PREFIX: &str = "codey-";

/// A session found on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedSession {
    /// Its name.
    pub id: Ulid,
    /// Where it was recorded; `None` if the file does not tell.
    pub root: Option<PathBuf>,
    /// The rest, as front ends see it.
    pub summary: SessionSummary,
}

/// Lists the sessions in `dir`, the one that changed last first. A damaged one is listed with its problem; a folder
/// that does not exist holds none.
///
/// # Errors
/// [`SessionError::Read`] if the folder cannot be read.
pub fn list(dir: &Path) -> Result<Vec<ListedSession>, SessionError> {
    let mut found: Vec<ListedSession> = ids(dir)?.into_iter().map(|id| listed(dir, id)).collect();
    found.sort_by(|a, b| (&b.summary.updated_at, b.id).cmp(&(&a.summary.updated_at, a.id)));
    Ok(found)
}

/// The session in `dir` that changed last, even if it cannot be opened: going on with an older one instead would be a
/// surprise.
///
/// # Errors
/// [`SessionError::Read`] if the folder cannot be read.
pub fn latest(dir: &Path) -> Result<Option<Ulid>, SessionError> {
    Ok(list(dir)?.into_iter().next().map(|session| session.id))
}

/// Finds a session in `dir` by its id, with or without `codey-`, or by the first 8 or more characters of it.
///
/// # Errors
/// [`SessionError::NotFound`], [`SessionError::Ambiguous`], or [`SessionError::Read`] if the folder cannot be read.
pub fn find(dir: &Path, id_or_prefix: &str) -> Result<Ulid, SessionError> {
    let wanted = id_or_prefix.strip_prefix(ACP_PREFIX).unwrap_or(id_or_prefix).to_ascii_uppercase();
    let mut matches = ids(dir)?;
    matches.retain(|id| wanted.len() >= SHORTEST_PREFIX && id.to_string().starts_with(&wanted));
    match matches[..] {
        [id] => Ok(id),
        [] => Err(SessionError::NotFound { id: id_or_prefix.to_owned(), dir: dir.to_owned() }),
        _ => Err(SessionError::Ambiguous { id: id_or_prefix.to_owned(), matches }),
    }
}

/// Reads a whole session, also while someone else writes it.
///
/// # Errors
/// [`SessionError::Newer`], [`SessionError::Damaged`] when there is no header, or [`SessionError::Read`].
pub fn view(dir: &Path, id: Ulid) -> Result<SessionView, SessionError> {
    let path = path_of(dir, id);
    let file = open_to_read(&path)?;
    let mut nodes = Vec::new();
    let loaded = load::load(&file, &path, |node: &Node| nodes.push(node.view()))?;
    let Loaded { header, tree, warnings, .. } = loaded;
    if let Some(header) = &header {
        check_header(header, id, &path)?;
    }
    let warnings = warnings.iter().map(ToString::to_string).collect();
    let root = header.map(|header| header.root).unwrap_or_default();
    Ok(SessionView { id: id.to_string(), root, nodes, head: tree.head(), warnings })
}

/// The ids of all session files, oldest first. Other files are none of our business.
fn ids(dir: &Path) -> Result<Vec<Ulid>, SessionError> {
    let failed = |source| SessionError::Read { path: dir.to_owned(), source };
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        // Ids can be written in several ways; a file has one name.
        ids.extend(id.and_then(|id| Ulid::from_string(id).ok().filter(|ulid| ulid.to_string() == id)));
    }
    ids.sort_unstable();
    Ok(ids)
}

fn listed(dir: &Path, id: Ulid) -> ListedSession {
    let path = path_of(dir, id);
    let created = Timestamp::try_from(id.datetime()).unwrap_or_default();
    let mut summary = SessionSummary {
        id: id.to_string(),
        title: String::new(),
        created_at: format!("{created:.3}"),
        updated_at: format!("{created:.3}"),
        turns: 0,
        usage: codey_llm::Usage::default(),
        branches: 0,
        problem: None,
    };
    let root = match describe(&path, id, &mut summary) {
        Ok(root) => Some(root),
        Err(error) => {
            summary.problem = Some(error.to_string());
            None
        }
    };
    ListedSession { id, root, summary }
}

fn describe(path: &Path, id: Ulid, summary: &mut SessionSummary) -> Result<PathBuf, SessionError> {
    let failed = |source| SessionError::Read { path: path.to_owned(), source };
    let file = open_to_read(path)?;
    let changed = file.metadata().and_then(|found| found.modified()).map_err(failed)?;
    if let Ok(changed) = Timestamp::try_from(changed) {
        summary.updated_at = format!("{changed:.3}");
    }
    let header = read_header(&file, path)?;
    check_header(&header, id, path)?;
    summary.created_at = header.created_at;
    let head = match read_head(&file, path)? {
        Some(head) => head,
        // A run that was killed left no head record near the end; the nodes tell the same.
        None => tally(path)?,
    };
    summary.title = head.title;
    summary.turns = head.turns;
    summary.usage = head.usage;
    summary.branches = head.branches;
    Ok(header.root.into())
}

fn read_header(file: &File, path: &Path) -> Result<Header, SessionError> {
    let mut line = Vec::new();
    let read = BufReader::new(file.take(LONGEST_HEADER)).read_until(b'\n', &mut line);
    read.map_err(|source| SessionError::Read { path: path.to_owned(), source })?;
    match record::parse(&line) {
        Ok(Record::Header(header)) if line.ends_with(b"\n") => Ok(header),
        Err(Unreadable::Newer(v)) => Err(SessionError::Newer { path: path.to_owned(), v }),
        Ok(_) | Err(Unreadable::Damaged) => {
            let reason = "its first line is no session header".to_owned();
            Err(SessionError::Damaged { path: path.to_owned(), reason })
        }
    }
}

/// The last head record, if it is near the end of the file.
fn read_head(file: &File, path: &Path) -> Result<Option<HeadRecord>, SessionError> {
    let failed = |source| SessionError::Read { path: path.to_owned(), source };
    let len = file.metadata().map_err(failed)?.len();
    let start = len.saturating_sub(TAIL);
    let mut tail = vec![0; (len - start) as usize];
    file.read_exact_at(&mut tail, start).map_err(failed)?;
    let mut lines = tail.split_inclusive(|byte| *byte == b'\n');
    if start > 0 {
        // The first piece is the rest of a line.
        lines.next();
    }
    for line in lines.rev().filter(|line| line.ends_with(b"\n")) {
        match record::parse(line) {
            Ok(Record::Head(head)) => return Ok(Some(head)),
            Err(Unreadable::Newer(v)) => return Err(SessionError::Newer { path: path.to_owned(), v }),
            Ok(_) | Err(Unreadable::Damaged) => {}
        }
    }
    Ok(None)
}

fn tally(path: &Path) -> Result<HeadRecord, SessionError> {
    let Loaded { tree, totals, .. } = load::load(&open_to_read(path)?, path, |_| {})?;
    let branches = tree.branches();
    Ok(HeadRecord { node: tree.head(), title: totals.title, turns: totals.turns, usage: totals.usage, branches })
}
