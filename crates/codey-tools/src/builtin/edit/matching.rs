//! Finding a text byte for byte, and putting another in its place.

use std::borrow::Cow;
use std::ops::Range;

use super::super::content_kind::UTF8_BOM;
use super::super::line_ending::LineEnding;

/// A file with the replacement made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) bytes: Vec<u8>,
    /// Replacements.
    pub(super) count: usize,
    /// The line of each in the old version, from 1.
    pub(super) lines: Vec<usize>,
}

/// Why nothing is replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// The text is not there.
    Nowhere,
    /// It is there more than once.
    Ambiguous {
        /// How often.
        count: usize,
        /// The line of each, from 1.
        lines: Vec<usize>,
    },
    /// The replacement is what is there already.
    NoChange,
}

/// Replaces `old` by `new`: the only occurrence, or all of them.
///
/// Matching is exact but for line ends: LF in `old` also stands for the file's CRLF, and `new` gets the ends of the place
/// it is put in. All else in the file keeps its bytes, also those that are no UTF-8.
pub(super) fn replace(content: &[u8], old: &str, new: &str, all: bool) -> Result<Edited, Miss> {
    let (mark, body) = match content.strip_prefix(UTF8_BOM) {
        Some(body) => (UTF8_BOM, body),
        None => (&[][..], content),
    };
    let (old, new) = if mark.is_empty() { (old, new) } else { (without_mark(old), without_mark(new)) };
    let haystack = Haystack::new(body, old);
    let found = haystack.find(old);
    let places: Vec<Range<usize>> = found.iter().map(|place| haystack.original(place)).collect();
    let lines = lines_of(body, &places);
    match places.len() {
        0 => return Err(Miss::Nowhere),
        1 if !all && haystack.has_overlapping(old, &found[0]) => {
            let again = lines.iter().chain(&lines).copied().collect();
            return Err(Miss::Ambiguous { count: 2, lines: again });
        }
        count if count > 1 && !all => return Err(Miss::Ambiguous { count, lines }),
        _ => {}
    }
    let mut bytes = mark.to_vec();
    let mut end = 0;
    for place in &places {
        bytes.extend_from_slice(&body[end..place.start]);
        bytes.extend_from_slice(fitted(new, body, place).as_bytes());
        end = place.end;
    }
    bytes.extend_from_slice(&body[end..]);
    if bytes == content { Err(Miss::NoChange) } else { Ok(Edited { bytes, count: places.len(), lines }) }
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

/// `new` with the line ends of the place it is put in.
fn fitted<'a>(new: &'a str, body: &[u8], place: &Range<usize>) -> Cow<'a, str> {
    let ending = LineEnding::near(&body[..place.end], place.start).filter(|_| body[place.clone()].contains(&b'\n'));
    match ending.or_else(|| LineEnding::near(body, place.end)) {
        Some(LineEnding::CrLf) => LineEnding::CrLf.apply(new),
        Some(LineEnding::Lf) | None => Cow::Borrowed(new),
    }
}

/// Whether `old` is anywhere in `body`.
pub(super) fn occurs(body: &[u8], old: &str) -> bool {
    !Haystack::new(body, old).find(old).is_empty()
}

/// Lines, from 1, in which the places begin.
fn lines_of(body: &[u8], places: &[Range<usize>]) -> Vec<usize> {
    let mut line = 1;
    let mut counted = 0;
    let line_at = |place: &Range<usize>| {
        line += body[counted..place.start].iter().filter(|byte| **byte == b'\n').count();
        counted = place.start;
        line
    };
    places.iter().map(line_at).collect()
}

/// A text to find `old` in: with LF for CRLF where that helps, and the way back.
struct Haystack<'a> {
    bytes: Cow<'a, [u8]>,
    /// Where, in `bytes`, the LFs are that had a CR before them.
    ends: Vec<usize>,
}

impl<'a> Haystack<'a> {
    fn new(body: &'a [u8], old: &str) -> Self {
        let may_be_crlf = old.contains('\n') && !old.contains('\r') && body.windows(2).any(|pair| pair == b"\r\n");
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

    /// All places of `old`, none overlapping another.
    fn find(&self, old: &str) -> Vec<Range<usize>> {
        find(&self.bytes, old)
    }

    /// Whether `old` also lies across the end of its one place (`aa` in `aaa`): then which one is meant is not clear.
    fn has_overlapping(&self, old: &str, place: &Range<usize>) -> bool {
        let first = old.chars().next().map_or(0, char::len_utf8);
        let end = self.bytes.len().min(place.end + old.len() - first);
        !find(&self.bytes[place.start + first..end], old).is_empty()
    }

    fn original(&self, place: &Range<usize>) -> Range<usize> {
        // A CR goes with its LF: before a position lie the CRs of all line ends before it.
        let removed = |at: usize| self.ends.partition_point(|end| *end < at);
        place.start + removed(place.start)..place.end + removed(place.end)
    }
}

fn find(bytes: &[u8], old: &str) -> Vec<Range<usize>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.match_indices(old).map(|(at, _)| at..at + old.len()).collect();
    }
    let mut places = Vec::new();
    let mut start = 0;
    // A text in UTF-8 can only lie inside what is valid UTF-8: no part of it can begin or end a broken sequence.
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        places.extend(valid.match_indices(old).map(|(at, _)| start + at..start + at + old.len()));
        start += valid.len() + chunk.invalid().len();
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(content: &[u8], old: &str, new: &str, expected: &[u8]) {
        let edited = replace(content, old, new, false).unwrap();
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
    fn matches_in_one_style_of_line_end_count_with_those_in_the_other() {
        let miss = replace(b"a\nb\nx\r\na\r\nb\r\n", "a\nb", "c", false).unwrap_err();
        assert_eq!(miss, Miss::Ambiguous { count: 2, lines: vec![1, 4] });
    }

    #[test]
    fn overlapping_places_are_ambiguous() {
        assert_eq!(replace(b"xaaax", "aa", "b", false).unwrap_err(), Miss::Ambiguous { count: 2, lines: vec![1, 1] });
        check(b"xaax", "aa", "b", b"xbx");
        assert_eq!(replace(b"aaaa", "aa", "b", true).unwrap().bytes, b"bb");
    }

    #[test]
    fn an_edit_that_changes_nothing_is_none() {
        assert_eq!(replace(b"a\r\nb", "a\nb", "a\r\nb", false).unwrap_err(), Miss::NoChange);
    }

    proptest! {
        #[test]
        fn replacing_all_is_what_bytes_say(content in "[abé]{0,30}", old in "[abé]{1,3}", new in "[xy]{0,3}") {
            let expected = content.replace(&old, &new);
            match replace(content.as_bytes(), &old, &new, true) {
                Ok(edited) => prop_assert_eq!(edited.bytes, expected.into_bytes()),
                Err(miss) => {
                    prop_assert_eq!(miss, Miss::Nowhere);
                    prop_assert!(!content.contains(&old));
                }
            }
        }

        #[test]
        fn a_crlf_file_is_edited_like_its_lf_twin(content in "[ab\n]{0,30}", old in "[ab\n]{1,4}", new in "[xy\n]{0,3}") {
            let lf = replace(content.as_bytes(), &old, &new, true).map(|edited| edited.bytes);
            let crlf = replace(content.replace('\n', "\r\n").as_bytes(), &old, &new, true).map(|edited| edited.bytes);
            // A file without any line end has no style to keep.
            prop_assume!(content.contains('\n'));
            let twin = lf.map(|bytes| String::from_utf8(bytes).unwrap().replace('\n', "\r\n").into_bytes());
            prop_assert_eq!(crlf, twin);
        }
    }
}
