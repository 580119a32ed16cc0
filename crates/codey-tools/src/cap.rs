//! How much of a text the model is shown.

use codey_protocol::ToolKind;

/// Characters of a command's output that are shown whole. Source: contract section 3.
pub(crate) const SHOWN: usize = 30_000;
/// Of a longer output, characters shown from its start.
const HEAD: usize = 5_000;
/// Of a longer output, characters shown from its end.
const TAIL: usize = SHOWN - HEAD;
/// Bytes of a character, or of what becomes one U+FFFD, at most.
const MAX_CHARACTER: usize = 4;
/// Bytes that hold the end that is shown, also where they begin inside a character.
const MAX_END: usize = MAX_CHARACTER * (TAIL + 1);
/// Bytes of output that are kept for the spill file.
pub(crate) const SPILL: usize = 5 * 1024 * 1024;
/// How far a cut moves to fall on a line end.
const SLACK: usize = 200;
/// The parts of the note in an output that is too long.
const NOTE_START: &str = "[… ";
const LEFT_OUT: &str = " bytes left out; ";
const FULL_OUTPUT: &str = "full output: ";
const START_OF_OUTPUT: &str = "the first 5 MiB of it: ";
const NOTE_END: &str = " …]";

/// Which part of a text that is too long is worth keeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapRule {
    /// The start: files and search results can be asked for again from further on.
    Start,
    /// A short start and a long end: commands say last what went wrong.
    Ends,
}

impl CapRule {
    /// The rule of a tool of this kind.
    pub fn of(kind: ToolKind) -> Self {
        match kind {
            ToolKind::Execute | ToolKind::Fetch | ToolKind::Other => Self::Ends,
            ToolKind::Read | ToolKind::Edit | ToolKind::Search | ToolKind::Think => Self::Start,
        }
    }
}

/// Cuts `text` to at most `max_chars` characters, the note about what was left out included.
///
/// Cuts fall between characters, and at a line end where one is near. A `max_chars` too small for the note gives the
/// note alone.
pub fn cap_text(text: &str, max_chars: usize, rule: CapRule) -> String {
    let count = text.chars().count();
    if count <= max_chars {
        return text.to_owned();
    }
    let file = if rule == CapRule::Ends { spill_of(text) } else { None };
    // The number in the note is at most this long.
    let room = max_chars.saturating_sub(note(count, file).chars().count());
    let (head_chars, tail_chars) = match rule {
        CapRule::Start => (room, 0),
        CapRule::Ends => (room / 6, room - room / 6),
    };
    let head = head_of(text, head_chars);
    let tail = if tail_chars == 0 { "" } else { tail_of(text, tail_chars) };
    let left_out = count - head.chars().count() - tail.chars().count();
    format!("{head}{}{tail}", note(left_out, file))
}

fn note(left_out: usize, file: Option<&str>) -> String {
    let advice = file.map_or_else(
        || "make this call again alone, or ask for less at once".to_owned(),
        |file| format!("{file}; ask for less at once"),
    );
    format!("\n[… {left_out} characters left out: the results of this turn are too long together; {advice} …]\n")
}

/// What a text that was cut before says of where it is whole; a second cut must not lose it.
fn spill_of(text: &str) -> Option<&str> {
    // Such a line before was printed by the command itself.
    let (start, _) = text.char_indices().nth(HEAD - SLACK)?;
    let notes = text[start..].lines().filter_map(|line| line.strip_prefix(NOTE_START)?.strip_suffix(NOTE_END));
    let places = notes.filter_map(|note| note.split_once(LEFT_OUT)).map(|(_, place)| place);
    places.into_iter().find(|place| place.starts_with(FULL_OUTPUT) || place.starts_with(START_OF_OUTPUT))
}

/// The first `chars` characters, up to the last line end if one is near the cut.
fn head_of(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let head = &text[..end];
    let near = head.char_indices().rev().take(SLACK).find(|(_, char)| *char == '\n');
    near.map_or(head, |(at, _)| &head[..at])
}

fn last_chars(text: &str, chars: usize) -> &str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    &text[start..]
}

/// The last `chars` characters, from the first line start if one is near the cut.
fn tail_of(text: &str, chars: usize) -> &str {
    let tail = last_chars(text, chars);
    let near = tail.char_indices().take(SLACK).find(|(_, char)| *char == '\n');
    near.map_or(tail, |(at, _)| &tail[at + 1..])
}

/// Makes text of bytes that come in pieces, without splitting characters.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// Start of a character whose rest has not come yet; at most three bytes.
    pending: Vec<u8>,
}

impl Decoder {
    /// Decodes what is complete; what can never be text becomes U+FFFD.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        if self.pending.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return text.to_owned();
        }
        let mut joined = std::mem::take(&mut self.pending);
        joined.extend_from_slice(bytes);
        let mut text = String::with_capacity(joined.len());
        let mut chunks = joined.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_start_of_character(invalid) {
                self.pending = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// What is left when no more bytes come.
    pub(crate) fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.pending).is_empty() { "" } else { "\u{FFFD}" }
    }
}

fn is_start_of_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// A command's output as it comes: bounded, however long it gets.
///
/// Kept are its own bytes, and they are what is counted: its text may have more of them, since what does not decode
/// becomes U+FFFD.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    decoder: Decoder,
    /// Characters of the text so far.
    chars: usize,
    /// The first bytes, for the spill file and for the start that is shown.
    start: Vec<u8>,
    /// The newest bytes, once there are enough not to be shown whole: at least those of the end that is shown.
    end: Vec<u8>,
    total: u64,
}

/// Where the whole output went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spill<'a> {
    /// To this file.
    File(&'a str),
    /// Nowhere, for this reason.
    Failed(&'a str),
}

impl Capture {
    /// Takes more output and gives it back as text.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let room = SPILL.saturating_sub(self.start.len()).min(bytes.len());
        self.start.extend_from_slice(&bytes[..room]);
        self.end.extend_from_slice(&bytes[bytes.len().saturating_sub(MAX_END)..]);
        // Not each time: trimming costs as much as what it keeps.
        if self.end.len() > 4 * MAX_END {
            self.end.drain(..self.end.len() - MAX_END);
        }
        self.total += bytes.len() as u64;
        let text = self.decoder.push(bytes);
        self.chars += text.chars().count();
        text
    }

    /// Says that no more output comes.
    pub(crate) fn close(&mut self) {
        self.chars += self.decoder.finish().chars().count();
    }

    /// Whether only a part can be shown.
    pub(crate) fn is_long(&self) -> bool {
        self.chars > SHOWN
    }

    /// The first bytes of the output, all of it unless there were more than [`SPILL`].
    pub(crate) fn raw(&self) -> &[u8] {
        &self.start
    }

    /// What is shown; `spill` counts only if [`Capture::is_long`].
    pub(crate) fn shown(&self, spill: Spill<'_>) -> String {
        if !self.is_long() {
            return String::from_utf8_lossy(&self.start).into_owned();
        }
        let start = &self.start[..self.start.len().min(MAX_CHARACTER * (HEAD + 1))];
        let text = String::from_utf8_lossy(start);
        let head = head_of(&text, HEAD);
        let head_bytes = bytes_of(start, head.chars().count());
        let text = String::from_utf8_lossy(&self.end);
        let tail = tail_of(&text, TAIL);
        let before_tail = bytes_of(&self.end, text.chars().count() - tail.chars().count());
        let tail_bytes = self.end.len() - before_tail;
        let left_out = self.total - head_bytes as u64 - tail_bytes as u64;
        let place = match spill {
            Spill::File(path) if self.total > SPILL as u64 => format!("{START_OF_OUTPUT}{path}"),
            Spill::File(path) => format!("{FULL_OUTPUT}{path}"),
            Spill::Failed(reason) => format!("the rest was not kept: {reason}"),
        };
        let gap = if head.ends_with('\n') { "" } else { "\n" };
        format!("{head}{gap}{NOTE_START}{left_out}{LEFT_OUT}{place}{NOTE_END}\n{tail}")
    }
}

/// How many bytes the first `chars` characters of the text of `bytes` come from.
fn bytes_of(bytes: &[u8], mut chars: usize) -> usize {
    let mut count = 0;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        if let Some((at, _)) = valid.char_indices().nth(chars) {
            return count + at;
        }
        chars -= valid.chars().count();
        count += valid.len();
        if chars == 0 {
            return count;
        }
        // One mark stands for all of them; there are none only at the very end.
        chars -= usize::from(!chunk.invalid().is_empty());
        count += chunk.invalid().len();
    }
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn capture(pieces: &[&[u8]]) -> Capture {
        let mut capture = Capture::default();
        pieces.iter().for_each(|piece| drop(capture.push(piece)));
        capture.close();
        capture
    }

    #[test]
    fn up_to_the_limit_all_is_shown() {
        let text = "é".repeat(SHOWN);
        assert_eq!(capture(&[text.as_bytes()]).shown(Spill::File("x")), text);
    }

    #[test]
    fn longer_output_keeps_a_short_start_and_a_long_end() {
        let text = "a".repeat(SHOWN) + "b";
        let shown = capture(&[text.as_bytes()]).shown(Spill::File(".codey/output/x"));
        let expected = format!(
            "{}\n[… 1 bytes left out; full output: .codey/output/x …]\n{}b",
            "a".repeat(HEAD),
            "a".repeat(TAIL - 1)
        );
        assert_eq!(shown, expected);
    }

    /// Checks the number in the note against the bytes that are shown, which are told from each other by `shown_bytes`.
    fn check_left_out(bytes: &[u8], pieces: usize, shown_bytes: impl Fn(&str) -> usize) {
        let shown = capture(&bytes.chunks(pieces).collect::<Vec<_>>()).shown(Spill::File("f"));
        let (head, rest) = shown.split_once("\n[… ").unwrap();
        let (note, tail) = rest.split_once(" …]\n").unwrap();
        let left_out: usize = note.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(shown_bytes(head) + left_out + shown_bytes(tail), bytes.len());
    }

    #[test]
    fn bash_13_what_is_left_out_is_counted_in_the_bytes_of_the_command() {
        // Each U+FFFD is one byte, or the three of a cut-off character.
        check_left_out(&[0xFF; 100_000], 1_000, |text| text.chars().count());
        check_left_out(&b"\xF0\x9F\x98.".repeat(50_000), 777, |text| {
            text.chars().map(|char| if char == char::REPLACEMENT_CHARACTER { 3 } else { 1 }).sum()
        });
        check_left_out("中😀".repeat(50_000).as_bytes(), 1_001, str::len);
    }

    #[test]
    fn cuts_fall_on_line_ends_that_are_near() {
        let text = format!("{}\n", "x".repeat(79)).repeat(1_000);
        let shown = capture(&[text.as_bytes()]).shown(Spill::File("f"));
        assert!(shown.lines().all(|line| line == "x".repeat(79) || line.starts_with("[… ")), "{shown}");
    }

    #[test]
    fn memory_and_spill_stay_bounded_and_the_text_says_so() {
        let mut capture = Capture::default();
        let piece = "y\n".repeat(32 * 1024);
        (0..200).for_each(|_| drop(capture.push(piece.as_bytes())));
        capture.close();
        assert_eq!(capture.raw().len(), SPILL);
        assert!(capture.end.len() <= 4 * MAX_END);
        let shown = capture.shown(Spill::File("f"));
        assert!(shown.contains(" bytes left out; the first 5 MiB of it: f …]\n"), "{shown}");
        assert!(capture.shown(Spill::Failed("no space")).contains("; the rest was not kept: no space …]"));
    }

    #[test]
    fn prov_17_a_cut_never_falls_inside_a_character() {
        let text = "😀".repeat(40_000);
        let mut capture = Capture::default();
        // Three bytes at a time, so that every piece ends inside a character.
        text.as_bytes().chunks(3).for_each(|piece| drop(capture.push(piece)));
        capture.close();
        let shown = capture.shown(Spill::File("f"));
        assert!(!shown.contains(char::REPLACEMENT_CHARACTER));
        assert_eq!(shown.matches('😀').count(), SHOWN);
        for max in [0, 100, 101, 200, 201, 1_000, 39_999] {
            let capped = cap_text(&text, max, CapRule::Ends);
            assert!(capped.chars().count() <= max.max(note(text.chars().count(), None).chars().count()));
        }
    }

    #[test]
    fn undecodable_bytes_become_one_mark_each() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"a\xFFb\xE4\xB8"), "a\u{FFFD}b");
        assert_eq!(decoder.push(b"\xAD"), "中");
        assert_eq!(decoder.push(b"\xF0\x9F"), "");
        assert_eq!(decoder.finish(), "\u{FFFD}");
        assert_eq!(decoder.finish(), "");
    }

    #[test]
    fn cap_text_keeps_what_the_rule_says() {
        let text: String = (0..1_000).map(|line| format!("line {line}\n")).collect();
        assert_eq!(cap_text(&text, text.len(), CapRule::Start), text);
        let start = cap_text(&text, 600, CapRule::Start);
        assert!(start.starts_with("line 0\n") && start.ends_with("…]\n") && start.chars().count() <= 600);
        let ends = cap_text(&text, 600, CapRule::Ends);
        assert!(ends.starts_with("line 0\n") && ends.ends_with("line 999\n") && ends.chars().count() <= 600);
    }

    #[test]
    fn a_second_cut_still_names_the_file_of_the_whole_output() {
        let printed = "[… 7 bytes left out; full output: another …]\n".to_owned() + &"a line\n".repeat(10_000);
        let once = capture(&[printed.as_bytes()]).shown(Spill::File(".codey/output/x"));
        for max in [0, 300, 10_000] {
            let twice = cap_text(&once, max, CapRule::Ends);
            assert!(twice.contains("together; full output: .codey/output/x; ask for less at once …]"), "{twice}");
        }
        let read = cap_text(&once, 300, CapRule::Start);
        assert!(read.contains("together; make this call again alone"), "a file that holds such a note: {read}");
    }

    proptest! {
        #[test]
        fn decoding_in_pieces_equals_decoding_at_once(bytes in prop::collection::vec(any::<u8>(), 0..40), cut in 0usize..40) {
            let cut = cut.min(bytes.len());
            let mut decoder = Decoder::default();
            let text = decoder.push(&bytes[..cut]) + &decoder.push(&bytes[cut..]) + decoder.finish();
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes).into_owned());
        }

        #[test]
        fn a_cap_is_never_exceeded(text in "(?s).{0,400}", max in 150usize..300) {
            for rule in [CapRule::Start, CapRule::Ends] {
                prop_assert!(cap_text(&text, max, rule).chars().count() <= max);
            }
        }
    }
}
