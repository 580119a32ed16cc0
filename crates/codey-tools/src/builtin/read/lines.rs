//! Lines with their numbers, cut to what a model is shown.

use codey_protocol::ErrorCode;

use super::super::line_ending::count_line_ends;
use crate::ToolError;

/// Lines shown at once.
pub(super) const MAX_LINES: usize = 2_000;
/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 2_000;
/// Bytes of lines shown at once.
const MAX_BYTES: usize = 50 * 1024;

/// Takes a text in pieces and keeps the wanted lines; memory stays bounded however long text and lines are.
#[derive(Debug)]
pub(super) struct NumberedLines {
    first: usize,
    limit: usize,
    /// Number of the line that is being read.
    number: usize,
    /// Its start, as far as it can be shown.
    line: Vec<u8>,
    line_chars: usize,
    line_bytes: usize,
    text: String,
    /// Bytes of the lines in `text`, without the numbers.
    shown_bytes: usize,
    last_shown: Option<usize>,
    is_full: bool,
    has_cut_lines: bool,
    undecodable: bool,
}

/// The lines to show.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) text: String,
    /// One line for people.
    pub(super) summary: String,
    /// Whether bytes in it are no UTF-8.
    pub(super) undecodable: bool,
}

impl NumberedLines {
    /// Wants `limit` lines from line `first`.
    pub(super) fn new(first: usize, limit: usize) -> Self {
        Self {
            first,
            limit: limit.min(MAX_LINES),
            number: 1,
            line: Vec::new(),
            line_chars: 0,
            line_bytes: 0,
            text: String::new(),
            shown_bytes: 0,
            last_shown: None,
            is_full: false,
            has_cut_lines: false,
            undecodable: false,
        }
    }

    /// Takes more of the text. Only LF ends a line.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let ends = count_line_ends(bytes);
        let is_past = self.is_full || self.number >= self.first.saturating_add(self.limit);
        if is_past || self.number + ends < self.first {
            // No line in it is shown, and to count them is far faster than to look at each: large files are read to
            // their end for their digest.
            let rest = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| bytes.len() - at - 1);
            self.line_bytes = rest.unwrap_or(self.line_bytes + bytes.len());
            self.number += ends;
            return;
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.split_last() {
                Some((b'\n', start)) => {
                    self.extend_line(start);
                    self.end_line();
                }
                Some(_) => self.extend_line(piece),
                None => {}
            }
        }
    }

    fn is_wanted(&self) -> bool {
        !self.is_full && self.number >= self.first && self.number - self.first < self.limit
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        self.line_bytes += bytes.len();
        if self.is_wanted() {
            self.line_chars += bytes.iter().filter(|byte| !is_continuation(**byte)).count();
            // Enough for all characters that are shown and one more.
            let room = (4 * (MAX_LINE_CHARS + 1)).saturating_sub(self.line.len()).min(bytes.len());
            self.line.extend_from_slice(&bytes[..room]);
        }
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            self.show_line();
        }
        self.number += 1;
        self.line.clear();
        self.line_chars = 0;
        self.line_bytes = 0;
    }

    fn show_line(&mut self) {
        let decoded = String::from_utf8_lossy(&self.line);
        let cut = decoded.char_indices().nth(MAX_LINE_CHARS).map(|(at, _)| at);
        let shown = cut.map_or(&*decoded, |at| &decoded[..at]);
        if self.shown_bytes + shown.len() > MAX_BYTES && self.last_shown.is_some() {
            self.is_full = true;
            return;
        }
        self.shown_bytes += shown.len() + 1;
        // The start of a long line may end inside a character.
        let is_whole = self.line.len() == self.line_bytes;
        self.undecodable |= std::str::from_utf8(&self.line).is_err_and(|error| is_whole || error.error_len().is_some());
        self.text.push_str(&format!("{:>6}\t{shown}", self.number));
        if cut.is_some() {
            self.has_cut_lines = true;
            let more = self.line_chars.saturating_sub(MAX_LINE_CHARS);
            self.text.push_str(&format!("[… {more} more characters]"));
        }
        self.text.push('\n');
        self.last_shown = Some(self.number);
    }

    /// What is shown once all of the text was pushed.
    ///
    /// # Errors
    /// The first wanted line lies past the end.
    pub(super) fn finish(mut self, shown: &str) -> Result<Numbered, ToolError> {
        if self.line_bytes > 0 {
            self.end_line();
        }
        let total = self.number - 1;
        if self.first > total.max(1) {
            let lines = if total == 1 { "1 line".to_owned() } else { format!("{total} lines") };
            return Err(ToolError::new(
                ErrorCode::InvalidArguments,
                format!("offset {} is past the end: {shown} has {lines}. Use a smaller offset.", self.first),
            ));
        }
        let Some(last) = self.last_shown else {
            let text = "[empty file]".to_owned();
            return Ok(Numbered { summary: text.clone(), text, undecodable: false });
        };
        let range = format!("lines {}-{last} of {total}", self.first);
        if self.has_cut_lines {
            let note = "[lines are cut at 2000 characters; to see more of one use bash, for example sed -n 7p FILE | cut -c2001-4000]\n";
            self.text.push_str(note);
        }
        if last < total {
            self.text.push_str(&format!("[{range}; continue with offset={}]\n", last + 1));
        } else if self.first > 1 {
            self.text.push_str(&format!("[{range}]\n"));
        }
        Ok(Numbered { text: self.text, summary: range, undecodable: self.undecodable })
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(text: &[u8], first: usize, limit: usize) -> String {
        let mut lines = NumberedLines::new(first, limit);
        // In small pieces, so that lines and characters are cut everywhere.
        text.chunks(3).for_each(|piece| lines.push(piece));
        lines.finish("f").unwrap().text
    }

    #[test]
    fn lines_are_numbered_and_kept_byte_for_byte() {
        let text = b"one\n\ttwo\r\nth\x0Cree\rx\n\n12\xE2\x86\x92 five";
        let expected = "     1\tone\n     2\t\ttwo\r\n     3\tth\x0Cree\rx\n     4\t\n     5\t12→ five\n";
        assert_eq!(numbered(text, 1, 10), expected);
    }

    #[test]
    fn a_range_says_where_it_lies() {
        assert_eq!(numbered(b"a\nb\nc\n", 2, 1), "     2\tb\n[lines 2-2 of 3; continue with offset=3]\n");
        assert_eq!(numbered(b"a\nb\nc", 3, 5), "     3\tc\n[lines 3-3 of 3]\n");
        assert_eq!(numbered(b"", 1, 5), "[empty file]");
    }

    #[test]
    fn a_range_is_the_same_whatever_pieces_the_text_comes_in() {
        let text = (1..=40).map(|line| "x".repeat(line % 7) + "\n").collect::<String>() + "end";
        for (first, limit) in [(1, 1), (1, 50), (7, 2), (20, 3), (40, 1), (41, 1)] {
            let expected = numbered(text.as_bytes(), first, limit);
            for size in [1, 2, 10, 50, 1_000] {
                let mut lines = NumberedLines::new(first, limit);
                text.as_bytes().chunks(size).for_each(|piece| lines.push(piece));
                assert_eq!(lines.finish("f").unwrap().text, expected, "{first} {limit} {size}");
            }
        }
        assert!(numbered(text.as_bytes(), 7, 2).ends_with("[lines 7-8 of 41; continue with offset=9]\n"));
        assert!(numbered(text.as_bytes(), 41, 1).starts_with("    41\tend\n"));
    }

    #[test]
    fn bytes_are_capped_at_a_line_end() {
        let text = format!("{}\n", "x".repeat(1023)).repeat(60);
        assert!(numbered(text.as_bytes(), 1, 60).ends_with("[lines 1-50 of 60; continue with offset=51]\n"));
    }

    #[test]
    fn an_offset_past_the_end_says_how_many_lines_there_are() {
        let error = NumberedLines::new(2, 1).finish("f").unwrap_err();
        assert_eq!(error.message, "offset 2 is past the end: f has 0 lines. Use a smaller offset.");
    }
}
