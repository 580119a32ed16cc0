//! What an edit or a write changes, for people and for the model.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use codey_protocol::{Diff, RelPath};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Lines of a unified diff that people are shown.
const MAX_LINES: usize = 1_000;
/// Lines of a unified diff that the model is shown; it knows what it sent.
const MAX_LINES_FOR_MODEL: usize = 60;
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
    let from = if old.is_some() { path.as_str() } else { "/dev/null" };
    let mut unified = format!("--- {from}\n+++ {path}\n");
    for group in group_diff_ops(ops, CONTEXT) {
        hunk(&mut unified, &group, &old_lines, &new_lines, region.first_line);
    }
    Diff {
        path: path.clone(),
        old: old.map(|_| String::from_utf8_lossy(&before[region.old]).into_owned()),
        new: String::from_utf8_lossy(&new[region.new]).into_owned(),
        unified: first_lines(&unified, MAX_LINES),
        added,
        removed,
    }
}

/// The hunks of a diff, as far as the model needs them.
pub(super) fn for_model(diff: &Diff) -> String {
    let hunks = diff.unified.find("@@").map_or("", |at| &diff.unified[at..]);
    first_lines(hunks, MAX_LINES_FOR_MODEL)
}

fn first_lines(text: &str, max: usize) -> String {
    let total = text.lines().count();
    if total <= max {
        return text.to_owned();
    }
    let mut shown: String = text.split_inclusive('\n').take(max).collect();
    let _ = writeln!(shown, "[… {} more lines]", total - max);
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
            first_line: old[..start].iter().filter(|byte| **byte == b'\n').count(),
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

fn hunk(unified: &mut String, ops: &[DiffOp], old: &[&[u8]], new: &[&[u8]], first_line: usize) {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
    let old_range = first.old_range().start..last.old_range().end;
    let new_range = first.new_range().start..last.new_range().end;
    let _ = writeln!(unified, "@@ -{} +{} @@", span(&old_range, first_line), span(&new_range, first_line));
    for op in ops {
        match op.tag() {
            DiffTag::Equal => lines(unified, ' ', &old[op.old_range()]),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                lines(unified, '-', &old[op.old_range()]);
                lines(unified, '+', &new[op.new_range()]);
            }
        }
    }
}

/// A range of lines as unified diffs write it: an empty one names the line before it.
fn span(range: &Range<usize>, first_line: usize) -> String {
    let start = first_line + range.start + usize::from(!range.is_empty());
    if range.len() == 1 { start.to_string() } else { format!("{start},{}", range.len()) }
}

fn lines(unified: &mut String, sign: char, lines: &[&[u8]]) {
    for line in lines {
        unified.push(sign);
        unified.push_str(&String::from_utf8_lossy(line));
        if !line.ends_with(b"\n") {
            unified.push_str("\n\\ No newline at end of file\n");
        }
    }
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
    fn the_model_is_shown_a_bounded_part() {
        let new: String = (0..200).map(|line| format!("{line}\n")).collect();
        let text = for_model(&diff(&RelPath::new("f"), None, new.as_bytes()));
        assert!(text.starts_with("@@ -0,0 +1,200 @@\n+0\n") && text.ends_with("\n[… 141 more lines]\n"), "{text}");
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
