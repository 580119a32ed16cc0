//! What an edit or a write changes, for people and for the model.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use codey_protocol::{Diff, RelPath};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

use super::line_ending::count_line_ends;
use crate::quoted::on_one_line;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Lines of a unified diff that people are shown.
const MAX_LINES: usize = 1_000;
/// Lines of a unified diff that the model is shown; it knows what it sent.
const MAX_LINES_FOR_MODEL: usize = 60;
/// Bytes of these lines; a few long ones are as much to read as many short ones.
const MAX_BYTES_FOR_MODEL: usize = 16 * 1024;
/// Characters shown of a line.
const MAX_LINE_CHARS: usize = 2_000;
/// Beyond this a diff is given up as one large replacement.
const PATIENCE: Duration = Duration::from_millis(500);

/// Compares two versions of a file; `old` is `None` for a new one.
///
/// Bytes that are no UTF-8 are shown as U+FFFD.
pub(super) fn diff(path: &RelPath, old: Option<&[u8]>, new: &[u8]) -> Diff {
    let before = old.unwrap_or_default();
    let region = Region::of(before, new);
    let old_lines: Vec<&[u8]> = before[region.old.clone()].split_inclusive(|byte| *byte == b'\n').collect();
    let new_lines: Vec<&[u8]> = new[region.new.clone()].split_inclusive(|byte| *byte == b'\n').collect();
    let deadline = Some(Instant::now() + PATIENCE);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, deadline);
    let changed = |range: fn(&DiffOp) -> Range<usize>| {
        let lines = ops.iter().filter(|op| op.tag() != DiffTag::Equal).map(|op| range(op).len()).sum::<usize>();
        u32::try_from(lines).unwrap_or(u32::MAX)
    };
    let (added, removed) = (changed(DiffOp::new_range), changed(DiffOp::old_range));
    let to = on_one_line(path.as_str());
    let from = if old.is_some() { &*to } else { "/dev/null" };
    let mut unified = Unified::default();
    unified.push(format!("--- {from}\n").as_bytes());
    unified.push(format!("+++ {to}\n").as_bytes());
    // What lies between two changes is no part of them, and may be nearly all of a large file.
    let (mut old_shown, mut new_shown) = (Vec::new(), Vec::new());
    for group in group_diff_ops(ops, CONTEXT) {
        unified.hunk(&group, &old_lines, &new_lines, region.first_line);
        old_shown.extend(group.iter().flat_map(|op| &old_lines[op.old_range()]).copied());
        new_shown.extend(group.iter().flat_map(|op| &new_lines[op.new_range()]).copied());
    }
    let text = |lines: &[&[u8]]| String::from_utf8_lossy(&lines.concat()).into_owned();
    Diff {
        path: path.clone(),
        old: old.map(|_| text(&old_shown)),
        new: text(&new_shown),
        unified: unified.finish(),
        added,
        removed,
    }
}

/// The hunks of a diff, as far as the model needs them.
pub(super) fn for_model(diff: &Diff) -> String {
    let hunks = diff.unified.find("\n@@ ").map_or("", |at| &diff.unified[at + 1..]);
    let mut bytes = 0;
    let is_shown = |(index, line): &(usize, &str)| {
        bytes += line.len();
        *index < MAX_LINES_FOR_MODEL && bytes <= MAX_BYTES_FOR_MODEL
    };
    let mut shown: String =
        hunks.split_inclusive('\n').enumerate().take_while(is_shown).map(|(_, line)| line).collect();
    let more = hunks.lines().count() - shown.lines().count();
    if more > 0 {
        let _ = writeln!(shown, "[… {more} more lines]");
    }
    shown
}

/// The part of two versions that holds all changes, in whole lines, with some unchanged ones around.
struct Region {
    old: Range<usize>,
    new: Range<usize>,
    /// Number of the first line in it, from 0.
    first_line: usize,
}

impl Region {
    fn of(old: &[u8], new: &[u8]) -> Self {
        let shared = common_prefix(old, new);
        let line_start = after_last_line_end(&old[..shared], 1);
        let start = after_last_line_end(&old[..line_start], CONTEXT + 1);
        let most = old.len().min(new.len()) - shared;
        let alike = common_suffix(&old[old.len() - most..], &new[new.len() - most..]);
        // Both versions end with this text. It may begin inside a line, so the first line end is not counted.
        let rest = &old[old.len() - alike..];
        let shown = rest.split_inclusive(|byte| *byte == b'\n').take(CONTEXT + 1).map(<[u8]>::len).sum::<usize>();
        let hidden = rest.len() - shown;
        Self {
            old: start..old.len() - hidden,
            new: start..new.len() - hidden,
            first_line: count_line_ends(&old[..start]),
        }
    }
}

/// Where the text after the `count`th last line end begins; 0 if there are fewer.
fn after_last_line_end(bytes: &[u8], count: usize) -> usize {
    let ends = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(at, _)| at + 1).nth(count - 1).unwrap_or(0)
}

fn common_prefix(old: &[u8], new: &[u8]) -> usize {
    // Whole blocks first: comparing byte by byte would dominate an edit of a large file.
    const BLOCK: usize = 4096;
    let blocks = old.chunks_exact(BLOCK).zip(new.chunks_exact(BLOCK)).take_while(|(one, other)| one == other).count();
    let start = blocks * BLOCK;
    start + old[start..].iter().zip(&new[start..]).take_while(|(one, other)| one == other).count()
}

fn common_suffix(old: &[u8], new: &[u8]) -> usize {
    const BLOCK: usize = 4096;
    let blocks = old.rchunks_exact(BLOCK).zip(new.rchunks_exact(BLOCK)).take_while(|(one, other)| one == other).count();
    let end = blocks * BLOCK;
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    end + old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count()
}

/// The text of a unified diff. Its size is bounded, however many and however long the lines are.
#[derive(Default)]
struct Unified {
    text: String,
    lines: usize,
}

impl Unified {
    fn hunk(&mut self, ops: &[DiffOp], old: &[&[u8]], new: &[&[u8]], first_line: usize) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        self.push(format!("@@ -{} +{} @@\n", span(&old_range, first_line), span(&new_range, first_line)).as_bytes());
        for op in ops {
            match op.tag() {
                DiffTag::Equal => self.add(b' ', &old[op.old_range()]),
                DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                    self.add(b'-', &old[op.old_range()]);
                    self.add(b'+', &new[op.new_range()]);
                }
            }
        }
    }

    fn add(&mut self, sign: u8, lines: &[&[u8]]) {
        for line in lines {
            // Beyond what is shown lines are only counted.
            if self.lines >= MAX_LINES {
                self.lines += 1;
            } else {
                self.push(&[&[sign], *line].concat());
            }
            if !line.ends_with(b"\n") {
                self.push(b"\n\\ No newline at end of file\n");
            }
        }
    }

    /// Takes a line, or the end of one that lacks its line end and a line behind it.
    fn push(&mut self, line: &[u8]) {
        if self.lines < MAX_LINES {
            let end = line.len() - usize::from(line.ends_with(b"\n"));
            // Cut before it is decoded, with room for the longest characters.
            let text = String::from_utf8_lossy(&line[..end.min(4 * (MAX_LINE_CHARS + 1))]);
            match text.char_indices().nth(MAX_LINE_CHARS) {
                Some((at, _)) => {
                    let more = end - at;
                    let _ = write!(self.text, "{}[… {more} more bytes]", &text[..at]);
                }
                None => self.text.push_str(&text),
            }
            self.text.push_str(&String::from_utf8_lossy(&line[end..]));
        }
        self.lines += 1;
    }

    fn finish(mut self) -> String {
        if self.lines > MAX_LINES {
            if !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            let _ = writeln!(self.text, "[… {} more lines]", self.lines - MAX_LINES);
        }
        self.text
    }
}

/// A range of lines as unified diffs write it: an empty one names the line before it.
fn span(range: &Range<usize>, first_line: usize) -> String {
    let start = first_line + range.start + usize::from(!range.is_empty());
    if range.len() == 1 { start.to_string() } else { format!("{start},{}", range.len()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(old: Option<&str>, new: &str, unified: &str) {
        let diff = diff(&RelPath::new("f"), old.map(str::as_bytes), new.as_bytes());
        let from = if old.is_some() { "f" } else { "/dev/null" };
        assert_eq!(diff.unified, format!("--- {from}\n+++ f\n{unified}"));
    }

    #[test]
    fn hunks_have_the_line_numbers_of_the_whole_file() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("10\n", "ten\n");
        check(Some(&old), &new, "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n");
        let both = new.replace("20\n", "");
        check(
            Some(&old),
            &both,
            "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n@@ -17,4 +17,3 @@\n 17\n 18\n 19\n-20\n",
        );
    }

    #[test]
    fn new_and_emptied_files_and_missing_line_ends_are_told() {
        check(None, "a\nb", "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
        check(Some("a\n"), "", "@@ -1 +0,0 @@\n-a\n");
        check(Some("a"), "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        check(Some("a\n"), "a\n", "");
    }

    #[test]
    fn old_and_new_are_whole_lines_around_the_change() {
        let diff = diff(
            &RelPath::new("f"),
            Some(b"1\n2\n3\n4\n5x6\n7\n8\n9\n10\n11\n"),
            b"1\n2\n3\n4\n5y6\n7\n8\n9\n10\n11\n",
        );
        assert_eq!(diff.old.as_deref(), Some("2\n3\n4\n5x6\n7\n8\n9\n"));
        assert_eq!(diff.new, "2\n3\n4\n5y6\n7\n8\n9\n");
        assert_eq!((diff.added, diff.removed), (1, 1));
    }

    #[test]
    fn of_changes_far_apart_only_the_lines_around_each_are_held() {
        let old: String = (1..=100_000).map(|line| format!("{line}\n")).collect();
        let new = old.replacen("5\n", "five\n", 1) + "end\n";
        let diff = diff(&RelPath::new("f"), Some(old.as_bytes()), new.as_bytes());
        let held = |five: &str, end: &str| format!("2\n3\n4\n{five}\n6\n7\n8\n99998\n99999\n100000\n{end}");
        assert_eq!((diff.old, diff.new), (Some(held("5", "")), held("five", "end\n")));
    }

    #[test]
    fn the_model_is_shown_a_bounded_part() {
        let new: String = (0..200).map(|line| format!("{line}\n")).collect();
        let text = for_model(&diff(&RelPath::new("f"), None, new.as_bytes()));
        assert!(text.starts_with("@@ -0,0 +1,200 @@\n+0\n") && text.ends_with("\n[… 141 more lines]\n"), "{text}");
    }

    #[test]
    fn a_unified_diff_is_bounded_in_lines_and_in_their_length() {
        let old = "same\na\n".repeat(100_000);
        let start = Instant::now();
        let hunks = diff(&RelPath::new("f"), Some(old.as_bytes()), old.replace('a', "b").as_bytes());
        // Generous: unoptimised, and beside other tests.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let last = hunks.unified.lines().last().unwrap();
        assert_eq!(hunks.unified.lines().count(), MAX_LINES + 1);
        assert!(last.starts_with("[… ") && last.ends_with(" more lines]"), "{last}");
        let long = "x".repeat(1 << 20);
        let line = diff(&RelPath::new("f"), None, long.as_bytes());
        let expected = format!(
            "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+{}[… 1046577 more bytes]\n\\ No newline at end of file\n",
            "x".repeat(1_999)
        );
        assert_eq!(line.unified, expected);
    }

    proptest! {
        #[test]
        fn a_region_holds_every_change(old in "[ab\n]{0,40}", new in "[ab\n]{0,40}") {
            let region = Region::of(old.as_bytes(), new.as_bytes());
            let mut rebuilt = old.clone();
            rebuilt.replace_range(region.old.clone(), &new[region.new.clone()]);
            prop_assert_eq!(rebuilt, new);
            prop_assert!(region.old.start == 0 || old.as_bytes()[region.old.start - 1] == b'\n');
            prop_assert!(region.old.end == old.len() || old.as_bytes()[region.old.end - 1] == b'\n');
        }
    }
}
