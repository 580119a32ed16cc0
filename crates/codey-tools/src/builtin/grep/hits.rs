//! Matches, in the order of their paths, and only as many as can be shown.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::super::search::{MAX_LINE_CHARS, printed};
use super::super::stop::Stop;
use super::MAX_LIMIT;
use crate::Workspace;

/// Matches beyond which only files that can still be shown are searched.
const MAX_COUNTED: u64 = 100_000;
/// Bytes of a result.
const MAX_BYTES: usize = 50 * 1024;
/// Characters of a cut line before its match.
const LEAD: usize = 100;

/// A line to show.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    number: u64,
    text: String,
    is_match: bool,
    /// Whether lines are left out before it.
    after_gap: bool,
}

/// The matches in one file.
#[derive(Debug)]
pub(super) struct FileHits {
    path: PathBuf,
    lines: Vec<Line>,
    /// Matching lines, also those that are not kept.
    count: u64,
}

/// Takes what the searcher finds in one file.
pub(super) struct Collector<'a> {
    matcher: &'a RegexMatcher,
    files_only: bool,
    stop: &'a Stop,
    lines: Vec<Line>,
    count: u64,
    after_gap: bool,
    is_binary: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, files_only: bool, stop: &'a Stop) -> Self {
        Self { matcher, files_only, stop, lines: Vec::new(), count: 0, after_gap: false, is_binary: false }
    }

    pub(super) fn is_binary(&self) -> bool {
        self.is_binary
    }

    pub(super) fn into_hits(self, path: &Path) -> Option<FileHits> {
        (self.count > 0).then(|| FileHits { path: path.to_owned(), lines: self.lines, count: self.count })
    }

    fn keep(&mut self, number: u64, bytes: &[u8], is_match: bool) {
        let found = if is_match { self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start()) } else { 0 };
        let text = shown_line(bytes, found);
        self.lines.push(Line { number, text, is_match, after_gap: std::mem::take(&mut self.after_gap) });
    }

    /// A file that is in memory as a whole is not read on, so its reader alone would not notice.
    fn check_stop(&self) -> io::Result<()> {
        self.stop.look().map_err(|_| io::Error::other("stopped"))
    }

    /// No file alone can fill more than a whole result.
    fn has_room(&self) -> bool {
        self.count <= MAX_LIMIT as u64
    }
}

impl Sink for &mut Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.check_stop()?;
        let first = found.line_number().unwrap_or_default();
        for (number, line) in (first..).zip(found.lines()) {
            self.count += 1;
            if !self.files_only && self.has_room() {
                self.keep(number, line, true);
            }
        }
        Ok(!self.files_only && self.count < MAX_COUNTED)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.check_stop()?;
        if self.has_room() {
            self.keep(context.line_number().unwrap_or_default(), context.bytes(), false);
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.after_gap = true;
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}

/// A line as it is shown; a long one around its match.
fn shown_line(bytes: &[u8], found: usize) -> String {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    let count = text.chars().count();
    if count <= MAX_LINE_CHARS {
        return text.into_owned();
    }
    let before = String::from_utf8_lossy(&line[..found.min(line.len())]).chars().count();
    let start = if before + LEAD < MAX_LINE_CHARS { 0 } else { before - LEAD };
    let part: String = text.chars().skip(start).take(MAX_LINE_CHARS).collect();
    let lead = if start > 0 { format!("[… {start} characters]") } else { String::new() };
    match count.saturating_sub(start + MAX_LINE_CHARS) {
        0 => format!("{lead}{part}"),
        more => format!("{lead}{part}[… {more} more characters]"),
    }
}

/// The first matches by path, and how many there are in all.
pub(super) struct Hits {
    limit: usize,
    files_only: bool,
    files: BTreeMap<PathBuf, FileHits>,
    /// What `files` would fill of the limit.
    kept: u64,
    total: u64,
}

/// A result, line by line.
pub(super) struct Listing {
    pub(super) lines: Vec<String>,
    pub(super) shown: usize,
    pub(super) suppressed: u64,
}

impl Hits {
    pub(super) fn new(limit: usize, files_only: bool) -> Self {
        Self { limit, files_only, files: BTreeMap::new(), kept: 0, total: 0 }
    }

    /// Whether a file with this path can still add to the result. The threads of a walk come in any order; which matches
    /// are shown must not depend on it.
    pub(super) fn may_show(&self, path: &Path) -> bool {
        self.total < MAX_COUNTED || self.files.last_key_value().is_none_or(|(last, _)| path < last.as_path())
    }

    pub(super) fn add(&mut self, file: FileHits) {
        self.total += self.weight(&file);
        self.kept += self.weight(&file);
        self.files.insert(file.path.clone(), file);
        // Files that all shown matches come before only take memory.
        while let Some(last) = self.files.last_entry() {
            let weight = if self.files_only { 1 } else { last.get().count };
            if self.kept - weight < self.limit as u64 {
                break;
            }
            self.kept -= weight;
            last.remove();
        }
    }

    fn weight(&self, file: &FileHits) -> u64 {
        if self.files_only { 1 } else { file.count }
    }

    pub(super) fn list(&self, workspace: &Workspace) -> Listing {
        let mut lines: Vec<String> = Vec::new();
        let mut shown = 0;
        let mut bytes = 0;
        'files: for file in self.files.values() {
            let name = printed(workspace, &file.path);
            if self.files_only {
                if shown == self.limit {
                    break;
                }
                shown += 1;
                lines.push(name);
                continue;
            }
            let mut is_first = true;
            for line in file.lines.iter() {
                let is_over = bytes + line.text.len() > MAX_BYTES && shown > 0;
                if is_over || shown == self.limit && (line.is_match || line.after_gap || is_first) {
                    break 'files;
                }
                if std::mem::take(&mut is_first) {
                    if !lines.is_empty() {
                        lines.push(String::new());
                    }
                    lines.push(name.clone());
                } else if line.after_gap {
                    lines.push("--".to_owned());
                }
                shown += usize::from(line.is_match);
                bytes += line.text.len() + 8;
                let mark = if line.is_match { ':' } else { '-' };
                lines.push(format!("{}{mark}{}", line.number, line.text));
            }
        }
        let suppressed = self.total - shown as u64;
        let what = if self.files_only { "files with matches" } else { "matches" };
        if shown == 0 {
            lines.push("[no matches]".to_owned());
        } else if suppressed > 0 {
            let at_least = if self.total >= MAX_COUNTED { "at least " } else { "" };
            let total = self.total;
            lines.push(format!("[{shown} of {at_least}{total} {what} shown; narrow the pattern or the path]"));
        }
        Listing { lines, shown, suppressed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_shown_around_their_match() {
        let line = format!("{}needle{}", "a".repeat(1_000), "b".repeat(1_000));
        let shown = shown_line(line.as_bytes(), 1_000);
        let expected = format!("[… 900 characters]{}needle{}[… 606 more characters]", "a".repeat(100), "b".repeat(394));
        assert_eq!(shown, expected);
        assert_eq!(shown_line("é".repeat(501).as_bytes(), 0), format!("{}[… 1 more characters]", "é".repeat(500)));
        assert_eq!(shown_line(b"a\r\n", 0), "a");
    }

    #[test]
    fn files_beyond_the_limit_are_dropped_whatever_order_they_come_in() {
        let hits = |order: &[&str]| {
            let mut hits = Hits::new(2, true);
            order.iter().for_each(|path| hits.add(FileHits { path: path.into(), lines: Vec::new(), count: 1 }));
            hits
        };
        for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
            let hits = hits(&order);
            assert_eq!(hits.files.keys().map(|path| path.to_str().unwrap()).collect::<Vec<_>>(), ["a", "b"]);
            assert_eq!(hits.total, 3);
        }
    }
}
