//! `grep`: lines by content.

mod hits;

use std::borrow::Cow;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use cap_std::fs::{OpenOptions, OpenOptionsExt};
use codey_protocol::{ErrorCode, ToolDisplay, ToolKind};
use globset::GlobSet;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use nix::fcntl::OFlag;
use schemars::JsonSchema;
use serde::Deserialize;

use super::glob::pattern::{check_length, for_files};
use super::search::{LeftOut, Named, walk};
use super::stop::Stop;
use super::{plan_look, text};
use crate::quoted::{cut, quoted};
use crate::workspace::{Access, open_regular};
use crate::{Plan, ToolContext, ToolError, ToolOutput, TypedTool, Workspace};
use hits::{Collector, FileHits, Hits};

/// Source: contract section 3.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;
/// More lines around a match are what read is for.
const MAX_CONTEXT: usize = 20;
/// A longer line (or a longer match over several) is not searched.
const MAX_HEAP: usize = 8 << 20;

/// Searches contents.
pub(super) struct Grep;

/// The arguments of `grep`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GrepArgs {
    /// Regular expression, without look-around
    pattern: String,
    /// File or directory
    path: Option<String>,
    /// Only files that match this pattern
    glob: Option<String>,
    ignore_case: Option<bool>,
    /// Lines around each match
    context: Option<usize>,
    files_only: Option<bool>,
    limit: Option<NonZeroUsize>,
}

#[async_trait]
impl TypedTool for Grep {
    type Args = GrepArgs;
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Search file contents with a regular expression. Shows each file, then its \
        matching lines as LINE:text. Hidden and ignored files only where path or glob names them.";
    const KIND: ToolKind = ToolKind::Search;

    async fn plan(&self, args: &GrepArgs, workspace: &Workspace) -> Result<Plan, ToolError> {
        check_length("glob", args.glob.as_deref().unwrap_or_default())?;
        let place = args.path.as_deref().unwrap_or_default();
        let shown = if place.is_empty() { ".".into() } else { quoted(place) };
        plan_look(workspace, place, format!("grep {:?} in {shown}", cut(&args.pattern))).await
    }

    async fn run(&self, args: GrepArgs, _plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let stop = Stop::of(&context);
        context.workspace.blocking(move |workspace| grep(workspace, &args, &stop)).await
    }
}

fn grep(workspace: &Workspace, args: &GrepArgs, stop: &Stop) -> Result<ToolOutput, ToolError> {
    let path = args.path.as_deref().unwrap_or_default();
    let search = Search::new(args)?;
    let place = workspace.resolve(path, Access::Read)?;
    let shown = &*quoted(path);
    let metadata = place.metadata(shown)?;
    let hits =
        Mutex::new(Hits::new(args.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get).min(MAX_LIMIT), search.files_only));
    let add = |file: FileHits| hits.lock().unwrap_or_else(PoisonError::into_inner).add(file);
    let left_out = LeftOut::default();
    let is_folder = metadata.is_dir();
    if is_folder {
        let named = args.glob.as_deref().map(Named::by).unwrap_or_default();
        walk(workspace, &place.path, named, stop, &left_out, |entry, path| {
            if !entry.file_type().is_some_and(|kind| kind.is_file()) || !search.wants(path, place.path.as_str()) {
                return;
            }
            if !hits.lock().unwrap_or_else(PoisonError::into_inner).may_show(path) {
                return;
            }
            match open(workspace, path) {
                Ok(file) => search.file(path, file, stop, &left_out).into_iter().for_each(add),
                Err(_) => LeftOut::count(&left_out.unreadable),
            }
        })?;
    } else {
        let (file, _) = open_regular(&place, shown)?;
        search.file(Path::new(place.path.as_str()), file, stop, &left_out).into_iter().for_each(add);
    }
    let hits = hits.into_inner().unwrap_or_else(PoisonError::into_inner);
    let listing = hits.list(workspace);
    let mut lines = listing.lines;
    lines.extend(left_out.notes(listing.shown, is_folder).into_iter().map(|note| format!("[{note}]")));
    Ok(ToolOutput {
        for_model: text(lines.join("\n")),
        for_user: ToolDisplay::Matches { count: listing.shown as u64, suppressed: listing.suppressed },
        observed: Vec::new(),
    })
}

/// Opens a file that a walk found, if it still is one.
fn open(workspace: &Workspace, path: &Path) -> io::Result<cap_std::fs::File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = workspace.root().open_with(path, OpenOptions::new().read(true).custom_flags(flags.bits()))?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// What is searched for, and where.
struct Search {
    matcher: RegexMatcher,
    multi_line: bool,
    /// Files to search or, if negated, to leave out.
    files: Option<(GlobSet, bool)>,
    context: usize,
    files_only: bool,
}

/// Bytes a compiled pattern may take. More takes seconds to make, in which nothing could be cancelled.
const MAX_COMPILED: usize = 4 << 20;

impl Search {
    fn new(args: &GrepArgs) -> Result<Self, ToolError> {
        if args.pattern.is_empty() {
            return Err(ToolError::new(ErrorCode::InvalidArguments, "pattern is empty. Send a regular expression."));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).case_insensitive(args.ignore_case.unwrap_or(false)).size_limit(MAX_COMPILED);
        // Line by line unless the pattern itself holds a line end.
        let by_line = builder.clone().line_terminator(Some(b'\n')).crlf(true).build(&args.pattern);
        let (matcher, multi_line) = match by_line {
            Ok(matcher) => (matcher, false),
            Err(_) => (builder.build(&args.pattern).map_err(|error| broken(&args.pattern, &error))?, true),
        };
        let files = match args.glob.as_deref() {
            None | Some("") => None,
            Some(glob) => {
                let (negated, glob) = glob.strip_prefix('!').map_or((false, glob), |rest| (true, rest));
                Some((for_files(glob)?, negated))
            }
        };
        Ok(Self {
            matcher,
            multi_line,
            files,
            context: args.context.unwrap_or_default().min(MAX_CONTEXT),
            files_only: args.files_only.unwrap_or(false),
        })
    }

    fn wants(&self, path: &Path, folder: &str) -> bool {
        let below = path.strip_prefix(folder).unwrap_or(path);
        self.files.as_ref().is_none_or(|(globs, negated)| globs.is_match(below) != *negated)
    }

    /// Searches one file; `None` if nothing in it matches, or it could not be searched.
    fn file(&self, path: &Path, file: cap_std::fs::File, stop: &Stop, left_out: &LeftOut) -> Option<FileHits> {
        let mut collector = Collector::new(&self.matcher, self.files_only, stop);
        let reader = Stoppable { file, stop };
        match self.searcher().search_reader(&self.matcher, reader, &mut collector) {
            Ok(()) if collector.is_binary() => {
                LeftOut::count(&left_out.binary);
                None
            }
            Ok(()) => collector.into_hits(path),
            Err(_) if let Some(why) = stop.now() => {
                left_out.stop(why);
                collector.into_hits(path)
            }
            Err(error) => {
                // The searcher says nothing but this in words when a line outgrows its buffer.
                let is_heap = error.to_string().contains("allocation limit");
                LeftOut::count(if is_heap { &left_out.too_large } else { &left_out.unreadable });
                None
            }
        }
    }

    fn searcher(&self) -> Searcher {
        let terminator = if self.multi_line { LineTerminator::byte(b'\n') } else { LineTerminator::crlf() };
        SearcherBuilder::new()
            .line_terminator(terminator)
            .line_number(true)
            .multi_line(self.multi_line)
            .before_context(if self.files_only { 0 } else { self.context })
            .after_context(if self.files_only { 0 } else { self.context })
            .heap_limit(Some(MAX_HEAP))
            .binary_detection(BinaryDetection::quit(0))
            .build()
    }
}

/// A file that cannot be read on once it is time to stop.
struct Stoppable<'a> {
    file: cap_std::fs::File,
    stop: &'a Stop,
}

impl io::Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // An error and no early end: what is buffered, up to one huge line, must not be searched first.
        self.stop.look().map_err(|_| io::Error::other("stopped"))?;
        self.file.read(buffer)
    }
}

fn broken(pattern: &str, error: &grep_regex::Error) -> ToolError {
    // The reason, and the pattern in front of it.
    let (mut reason, mut literal) = (error.to_string(), regex::escape(pattern));
    if let Cow::Owned(_) = cut(pattern) {
        (reason, literal) = (cut(&reason).into_owned(), cut(&literal).into_owned());
    }
    ToolError::new(
        ErrorCode::InvalidArguments,
        format!(
            "the pattern is no valid regular expression: {reason}\nMend it; to find it by the letter send {literal}"
        ),
    )
}
