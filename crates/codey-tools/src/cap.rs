//! How much of a text the model is shown.

use codey_protocol::ToolKind;

/// Characters of a command's output that are shown whole. Source: contract section 3.
pub(crate) const SHOWN: usize = 30_000;
/// Of a longer output, characters shown from its start.
const HEAD: usize = 5_000;
/// Of a longer output, characters shown from its end.
const TAIL: usize = SHOWN - HEAD;
/// Bytes of output that are kept for the spill file.
pub(crate) const SPILL: usize = 5 * 1024 * 1024;
/// How far a cut moves to fall on a line end.
const SLACK: usize = 200;

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
    // The number in the note is at most this long.
    let room = max_chars.saturating_sub(note(count).chars().count());
    let (head_chars, tail_chars) = match rule {
        CapRule::Start => (room, 0),
        CapRule::Ends => (room / 6, room - room / 6),
    };
    let head = head_of(text, head_chars);
    let tail = if tail_chars == 0 { "" } else { tail_of(text, tail_chars) };
    let left_out = count - head.chars().count() - tail.chars().count();
    format!("{head}{}{tail}", note(left_out))
}

fn note(left_out: usize) -> String {
    format!(
        "\n[… {left_out} characters left out: the results of this turn are too long together; ask for less at once …]\n"
    )
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
#[derive(Debug, Default)]
pub(crate) struct Capture {
    decoder: Decoder,
    /// The first bytes as they came, for the spill file.
    raw: Vec<u8>,
    raw_total: u64,
    /// All the text while it is short enough to be shown whole; its start afterwards.
    start: String,
    start_chars: usize,
    /// The newest text, once `start` is full: at least what is shown of it, at most eight bytes for each character.
    end: String,
    text_bytes: u64,
    is_long: bool,
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
        let room = SPILL.saturating_sub(self.raw.len()).min(bytes.len());
        self.raw.extend_from_slice(&bytes[..room]);
        self.raw_total += bytes.len() as u64;
        let text = self.decoder.push(bytes);
        self.keep(&text);
        text
    }

    /// Says that no more output comes.
    pub(crate) fn close(&mut self) {
        let rest = self.decoder.finish();
        self.keep(rest);
    }

    /// Whether only a part can be shown.
    pub(crate) fn is_long(&self) -> bool {
        self.is_long
    }

    /// The first bytes of the output, all of it unless there were more than [`SPILL`].
    pub(crate) fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// What is shown; `spill` counts only if [`Capture::is_long`].
    pub(crate) fn shown(&self, spill: Spill<'_>) -> String {
        if !self.is_long {
            return self.start.clone();
        }
        let head = head_of(&self.start, HEAD);
        let tail = tail_of(&self.end, TAIL);
        let left_out = self.text_bytes - head.len() as u64 - tail.len() as u64;
        let place = match spill {
            Spill::File(path) if self.raw_total > SPILL as u64 => format!("the first 5 MiB of it: {path}"),
            Spill::File(path) => format!("full output: {path}"),
            Spill::Failed(reason) => format!("the rest was not kept: {reason}"),
        };
        let gap = if head.ends_with('\n') { "" } else { "\n" };
        format!("{head}{gap}[… {left_out} bytes left out; {place} …]\n{tail}")
    }

    fn keep(&mut self, text: &str) {
        self.text_bytes += text.len() as u64;
        if !self.is_long {
            self.start.push_str(text);
            self.start_chars += text.chars().count();
            if self.start_chars <= SHOWN {
                return;
            }
            self.is_long = true;
            let whole = std::mem::take(&mut self.start);
            self.end = last_chars(&whole, TAIL).to_owned();
            self.start = whole.chars().take(HEAD).collect();
            return;
        }
        self.end.push_str(last_chars(text, TAIL));
        // Not each time: trimming costs as much as what it keeps.
        if self.end.len() > 8 * TAIL {
            self.end = last_chars(&self.end, TAIL).to_owned();
        }
    }
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
        assert!(capture.end.len() <= 8 * TAIL);
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
            assert!(capped.chars().count() <= max.max(note(text.chars().count()).chars().count()));
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
