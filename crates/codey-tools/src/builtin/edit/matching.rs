//! Finding a text byte for byte, and putting another in its place.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use regex::bytes::Regex;

use super::super::content_kind::UTF8_BOM;
use super::super::line_ending::{LineEnding, LineEnds, count_line_ends};
use super::super::stop::{Stop, Stopped};
use super::super::target::MAX_FILE;

/// Line numbers listed of many matches. Source: contract section 3.
const MAX_LINES_LISTED: usize = 20;
/// The byte order mark as a character.
const MARK: char = '\u{FEFF}';

/// A file with the replacement made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) bytes: Vec<u8>,
    /// Replacements.
    pub(super) count: usize,
    /// Where they were made in the old version.
    pub(super) lines: Lines,
}

/// Why nothing is replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// The text is not there.
    Nowhere,
    /// It is there more than once.
    Ambiguous {
        /// How often, overlapping places included.
        count: usize,
        /// Where.
        lines: Lines,
    },
    /// The text is nothing but the byte order mark that the file keeps.
    OnlyMark,
    /// The replacement is what is there already; the texts differ in no more than this, and the file keeps its own.
    NoChange(&'static str),
    /// The file would become larger than any that is changed.
    TooLarge,
    /// It was time to stop.
    Stopped(Stopped),
}

impl From<Stopped> for Miss {
    fn from(why: Stopped) -> Self {
        Self::Stopped(why)
    }
}

/// Lines from 1, in order; only the first ones are kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    listed: Vec<usize>,
    last: usize,
    more: usize,
}

impl Lines {
    /// Adds a line; one with several matches is named once.
    fn push(&mut self, line: usize) {
        if std::mem::replace(&mut self.last, line) == line {
            return;
        }
        if self.listed.len() < MAX_LINES_LISTED {
            self.listed.push(line);
        } else {
            self.more += 1;
        }
    }
}

/// `lines 3, 7, 9`.
impl fmt::Display for Lines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed: Vec<String> = self.listed.iter().map(usize::to_string).collect();
        let word = if listed.len() == 1 { "line" } else { "lines" };
        write!(formatter, "{word} {}", listed.join(", "))?;
        match self.more {
            0 => Ok(()),
            more => write!(formatter, ", and {more} more"),
        }
    }
}

/// Replaces `old` by `new`: the only occurrence, or all of them.
///
/// Matching is exact but for line ends: LF in `old` also stands for the file's CRLF, and `new` gets the ends of the place
/// it is put in. A byte order mark at the start of the file stays, whether the texts have it or not. All else in the file
/// keeps its bytes, also those that are no UTF-8. The time it takes grows with the file and the two texts, and with
/// nothing else.
pub(super) fn replace(content: &[u8], old: &str, new: &str, all: bool, stop: &Stop) -> Result<Edited, Miss> {
    let mark = if content.starts_with(UTF8_BOM) { UTF8_BOM.len() } else { 0 };
    if mark > 0 && without_mark(old).is_empty() {
        return Err(Miss::OnlyMark);
    }
    let haystack = Haystack::new(content, old);
    let finder = Finder::new(old);
    let mut first = None;
    let mut count = 0;
    let mut lines = Lines::default();
    let (mut line, mut counted) = (1, 0);
    // Of places that overlap only every other one can be replaced; without `all` each of them may be the one meant.
    finder.each(&haystack.bytes, !all, stop, |start| {
        line += count_line_ends(&haystack.bytes[counted..start]);
        counted = start;
        first.get_or_insert(start);
        count += 1;
        lines.push(line);
        Ok(())
    })?;
    let Some(first) = first else { return Err(Miss::Nowhere) };
    if count > 1 && !all {
        return Err(Miss::Ambiguous { count, lines });
    }
    let mut bytes = Vec::with_capacity(content.len());
    let mut end = 0;
    let mut fitting = Fitting::new(content, new);
    let mut put = |start: usize| {
        let place = haystack.original(start..start + old.len());
        // The mark is no part of what is replaced, and nothing put behind it brings another one.
        bytes.extend_from_slice(&content[end..place.start.max(mark)]);
        let fitted = fitting.at(place.start);
        let is_start = mark > 0 && place.start <= mark;
        bytes.extend_from_slice(if is_start { without_mark(fitted) } else { fitted }.as_bytes());
        end = place.end;
        if bytes.len() as u64 > MAX_FILE { Err(Miss::TooLarge) } else { Ok(()) }
    };
    if all {
        finder.each(&haystack.bytes, false, stop, put)?;
    } else {
        put(first)?;
    }
    bytes.extend_from_slice(&content[end..]);
    if bytes.len() as u64 > MAX_FILE {
        return Err(Miss::TooLarge);
    }
    if bytes == content {
        return Err(Miss::NoChange(kept_difference(old, new)));
    }
    Ok(Edited { bytes, count, lines })
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// In what two texts differ that come out the same in a file.
fn kept_difference(old: &str, new: &str) -> &'static str {
    match (old.starts_with(MARK) != new.starts_with(MARK), without_mark(old) != without_mark(new)) {
        (true, false) => "the byte order mark",
        (true, true) => "the byte order mark and the line ends",
        (false, _) => "the line ends",
    }
}

/// A text in the line ends of the places it is put in.
struct Fitting<'a> {
    ends: LineEnds<'a>,
    new: &'a str,
    with_crlf: Cow<'a, str>,
}

impl<'a> Fitting<'a> {
    fn new(content: &'a [u8], new: &'a str) -> Self {
        Self { ends: LineEnds::of(content), new, with_crlf: LineEnding::CrLf.apply(new) }
    }

    /// For a place that begins at `start`, which is not before that of the last call.
    fn at(&mut self, start: usize) -> &str {
        match self.ends.near(start) {
            Some(LineEnding::CrLf) => &self.with_crlf,
            Some(LineEnding::Lf) | None => self.new,
        }
    }
}

/// Whether `old` is anywhere in `body`; an empty text is nowhere.
pub(super) fn occurs(body: &[u8], old: &str, stop: &Stop) -> Result<bool, Stopped> {
    if old.is_empty() {
        return Ok(false);
    }
    let mut is_there = false;
    let end = Finder::new(old).each(&Haystack::new(body, old).bytes, false, stop, |_| {
        is_there = true;
        // One place is enough.
        Err(Miss::Nowhere)
    });
    match end {
        Err(Miss::Stopped(why)) => Err(why),
        Ok(()) | Err(_) => Ok(is_there),
    }
}

/// A text to find `old` in: with LF for CRLF where that helps, and the way back.
struct Haystack<'a> {
    bytes: Cow<'a, [u8]>,
    /// Where, in `bytes`, the LFs are that had a CR before them.
    ends: Vec<usize>,
}

impl<'a> Haystack<'a> {
    fn new(body: &'a [u8], old: &str) -> Self {
        let may_be_crlf = old.contains('\n') && !old.contains('\r') && has_crlf(body);
        if !may_be_crlf {
            return Self { bytes: Cow::Borrowed(body), ends: Vec::new() };
        }
        let mut bytes = Vec::with_capacity(body.len());
        let mut ends = Vec::new();
        for piece in body.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\r\n") {
                Some(line) => {
                    bytes.extend_from_slice(line);
                    ends.push(bytes.len());
                    bytes.push(b'\n');
                }
                None => bytes.extend_from_slice(piece),
            }
        }
        Self { bytes: Cow::Owned(bytes), ends }
    }

    fn original(&self, place: Range<usize>) -> Range<usize> {
        // A CR goes with its LF: before a position lie the CRs of all line ends before it.
        let removed = |at: usize| self.ends.partition_point(|end| *end < at);
        place.start + removed(place.start)..place.end + removed(place.end)
    }
}

fn has_crlf(body: &[u8]) -> bool {
    // Looked for apart at first, which is far faster: most files have none.
    body.contains(&b'\r') && body.windows(2).any(|pair| pair == b"\r\n")
}

/// Finds a text, after Knuth, Morris and Pratt: also of a text that repeats itself all places are found in one pass.
///
/// Bytes are compared. A text in UTF-8 can only lie inside what is valid UTF-8: no part of it can begin or end a broken
/// sequence.
struct Finder<'a> {
    old: &'a [u8],
    /// For each start of `old`, how long the longest shorter start is that it ends with.
    borders: Vec<usize>,
    /// Finds where `old` may begin, many bytes at a time.
    beginning: Regex,
}

impl<'a> Finder<'a> {
    /// `old` is not empty.
    fn new(old: &'a str) -> Self {
        const BEGINNING: usize = 32;
        let beginning = Regex::new(&regex::escape(&old[..old.floor_char_boundary(BEGINNING)]));
        let beginning = beginning.expect("a short text that is escaped is a pattern");
        let old = old.as_bytes();
        let mut borders = vec![0; old.len()];
        let mut length = 0;
        for at in 1..old.len() {
            while length > 0 && old[at] != old[length] {
                length = borders[length - 1];
            }
            length += usize::from(old[at] == old[length]);
            borders[at] = length;
        }
        Self { old, borders, beginning }
    }

    /// Gives every place to `found` by its start, until that fails.
    fn each(
        &self,
        bytes: &[u8],
        overlapping: bool,
        stop: &Stop,
        mut found: impl FnMut(usize) -> Result<(), Miss>,
    ) -> Result<(), Miss> {
        const CHECKED: usize = 1 << 16;
        /// Beginnings lie close where there is one; searching for each of them anew costs more than these bytes.
        const NEAR: usize = 256;
        let (mut at, mut matched) = (0, 0);
        let (mut check_at, mut search_at) = (0, 0);
        while at < bytes.len() {
            if at >= check_at {
                stop.look()?;
                check_at = at + CHECKED;
            }
            if matched == 0 && at >= search_at {
                let Some(beginning) = self.beginning.find_at(bytes, at) else { break };
                at = beginning.start();
                search_at = at + NEAR;
            }
            while matched > 0 && self.old[matched] != bytes[at] {
                matched = self.borders[matched - 1];
            }
            matched += usize::from(self.old[matched] == bytes[at]);
            at += 1;
            if matched == self.old.len() {
                found(at - matched)?;
                matched = if overlapping { self.borders[matched - 1] } else { 0 };
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn miss(content: &[u8], old: &str, new: &str, all: bool) -> Miss {
        replace(content, old, new, all, &Stop::never()).unwrap_err()
    }

    fn all(content: &[u8], old: &str, new: &str) -> Result<Vec<u8>, Miss> {
        replace(content, old, new, true, &Stop::never()).map(|edited| edited.bytes)
    }

    /// Checks that a text is refused as ambiguous, and which places are named.
    fn check_ambiguous(content: &str, old: &str, count: usize, lines: &str) {
        let Miss::Ambiguous { count: counted, lines: named } = miss(content.as_bytes(), old, "x", false) else {
            panic!("{content:?} {old:?}")
        };
        assert_eq!((counted, named.to_string().as_str()), (count, lines), "{content:?} {old:?}");
    }

    fn check(content: &[u8], old: &str, new: &str, expected: &[u8]) {
        let edited = replace(content, old, new, false, &Stop::never()).unwrap();
        assert_eq!(edited.bytes.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    #[test]
    fn line_ends_are_those_of_the_place() {
        check(b"a\r\nb\r\nc\r\n", "a\nb", "a\nB", b"a\r\nB\r\nc\r\n");
        check(b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n");
        check(b"a\r\nb", "b", "b\nc", b"a\r\nb\r\nc");
        check(b"a\r\nb\nc\nd\r\n", "b\nc", "b\nx\nc", b"a\r\nb\nx\nc\nd\r\n");
        check(b"a\r\nb\nc", "a\nb", "A\nB", b"A\r\nB\nc");
        check(b"a\r\nb\r\n", "\nb", "\nB", b"a\r\nB\r\n");
        check(b"a\r\nb\r\n", "a\n", "", b"b\r\n");
        check(b"a\r\nb\r\n", "a\r\nb", "a\r\nB", b"a\r\nB\r\n");
        check(b"a\nb\n", "a\nb", "a\nB", b"a\nB\n");
    }

    #[test]
    fn marks_and_broken_bytes_stay() {
        check(b"\xEF\xBB\xBFhello\n", "hello", "hello2", b"\xEF\xBB\xBFhello2\n");
        check(b"\xEF\xBB\xBFhello\n", "\u{FEFF}hello", "hi", b"\xEF\xBB\xBFhi\n");
        check(b"\x99a\xF0\x9F\nb\xE2\x82c", "b", "\u{20AC}", b"\x99a\xF0\x9F\n\xE2\x82\xAC\xE2\x82c");
    }

    #[test]
    fn a_mark_stands_for_the_start_of_the_file_alone() {
        check(b"\xEF\xBB\xBFa b a\n", "\u{FEFF}a", "c", b"\xEF\xBB\xBFc b a\n");
        check(b"\xEF\xBB\xBFa\n", "a", "\u{FEFF}b", b"\xEF\xBB\xBFb\n");
        check(b"\xEF\xBB\xBFa\xEF\xBB\xBFb", "a\u{FEFF}", "c\u{FEFF}", b"\xEF\xBB\xBFc\xEF\xBB\xBFb");
        assert_eq!(all(b"\xEF\xBB\xBFaa", "\u{FEFF}a", "").unwrap(), b"\xEF\xBB\xBFa");
        assert_eq!(miss(b"\xEF\xBB\xBFba", "\u{FEFF}a", "c", true), Miss::Nowhere);
    }

    #[test]
    fn edit_21_a_text_that_is_nothing_without_its_mark_is_refused() {
        for (content, all) in [("\u{FEFF}hello\n", true), ("\u{FEFF}hello\n", false), ("\u{FEFF}", true)] {
            assert_eq!(miss(content.as_bytes(), "\u{FEFF}", "x", all), Miss::OnlyMark);
        }
        // Without a mark at its start the character is one as any other.
        check("a\u{FEFF}b".as_bytes(), "\u{FEFF}", "", b"ab");
    }

    #[test]
    fn matches_in_one_style_of_line_end_count_with_those_in_the_other() {
        check_ambiguous("a\nb\nx\r\na\r\nb\r\n", "a\nb", 2, "lines 1, 4");
    }

    #[test]
    fn overlapping_places_are_ambiguous() {
        check_ambiguous("xaaax", "aa", 2, "line 1");
        check_ambiguous("foo(1)\nfoo(1)\nfoo(1)\n", "foo(1)\nfoo(1)\n", 2, "lines 1, 2");
        check_ambiguous("x\r\nx\r\nx\r\nx\r\n", "x\nx\n", 3, "lines 1, 2, 3");
        check_ambiguous(
            &"y\n".repeat(30),
            "y\ny",
            29,
            &format!("lines {}, and 9 more", { (1..=20).map(|line| line.to_string()).collect::<Vec<_>>().join(", ") }),
        );
        check(b"xaax", "aa", "b", b"xbx");
        assert_eq!(all(b"aaaa", "aa", "b").unwrap(), b"bb");
    }

    #[test]
    fn edit_21_an_edit_that_changes_nothing_is_none() {
        let mark = b"\xEF\xBB\xBFa\r\nb";
        for all in [false, true] {
            assert_eq!(miss(b"a\r\nb", "a\nb", "a\r\nb", all), Miss::NoChange("the line ends"));
            assert_eq!(miss(mark, "\u{FEFF}a", "a", all), Miss::NoChange("the byte order mark"));
            assert_eq!(miss(mark, "a", "\u{FEFF}a", all), Miss::NoChange("the byte order mark"));
            let both = Miss::NoChange("the byte order mark and the line ends");
            assert_eq!(miss(mark, "\u{FEFF}a\nb", "a\r\nb", all), both);
        }
    }

    #[test]
    fn a_result_that_is_too_large_is_never_built() {
        assert_eq!(miss(&[b'a'; 1 << 16], "a", &"b".repeat(1 << 16), true), Miss::TooLarge);
    }

    #[test]
    fn a_search_that_is_stopped_changes_nothing() {
        let cancel = tokio_util::sync::CancellationToken::new();
        cancel.cancel();
        let stop = Stop::until(cancel, tokio::time::Instant::now() + std::time::Duration::from_secs(60));
        assert_eq!(replace(b"a", "a", "b", true, &stop).unwrap_err(), Miss::Stopped(Stopped::Cancelled));
    }

    proptest! {
        #[test]
        fn replacing_all_is_what_bytes_say(content in "[abé]{0,30}", old in "[abé]{1,3}", new in "[xy]{0,3}") {
            let expected = content.replace(&old, &new);
            match all(content.as_bytes(), &old, &new) {
                Ok(bytes) => prop_assert_eq!(bytes, expected.into_bytes()),
                Err(miss) => {
                    prop_assert_eq!(miss, Miss::Nowhere);
                    prop_assert!(!content.contains(&old));
                }
            }
        }

        #[test]
        fn every_place_is_counted(content in "[ab]{0,30}", old in "[ab]{1,3}") {
            let count = (0..content.len()).filter(|at| content[*at..].starts_with(&old)).count();
            match replace(content.as_bytes(), &old, "x", false, &Stop::never()) {
                Ok(edited) => prop_assert_eq!((edited.count, count), (1, 1)),
                Err(Miss::Ambiguous { count: counted, .. }) => prop_assert_eq!(counted, count),
                Err(miss) => prop_assert_eq!((miss, count), (Miss::Nowhere, 0)),
            }
        }

        /// Places far apart and close together, for what is searched and what is stepped through.
        #[test]
        fn every_place_in_a_long_text_is_counted(gaps in prop::collection::vec(0..600_usize, 0..8), old in "(ab|a){20,40}") {
            let content = gaps.iter().map(|gap| "-".repeat(*gap) + &old).collect::<String>() + &old[1..];
            let count = (0..content.len()).filter(|at| content[*at..].starts_with(&old)).count();
            let found = match replace(content.as_bytes(), &old, "x", false, &Stop::never()) {
                Ok(edited) => edited.count,
                Err(Miss::Ambiguous { count, .. }) => count,
                Err(miss) => { prop_assert_eq!(miss, Miss::Nowhere); 0 }
            };
            prop_assert_eq!(found, count);
        }

        #[test]
        fn a_crlf_file_is_edited_like_its_lf_twin(content in "[ab\n]{0,30}", old in "[ab\n]{1,4}", new in "[xy\n]{0,3}") {
            let lf = all(content.as_bytes(), &old, &new);
            let crlf = all(content.replace('\n', "\r\n").as_bytes(), &old, &new);
            // A file without any line end has no style to keep.
            prop_assume!(content.contains('\n'));
            let twin = lf.map(|bytes| String::from_utf8(bytes).unwrap().replace('\n', "\r\n").into_bytes());
            prop_assert_eq!(crlf, twin);
        }
    }
}
