//! JSON text whose escapes are sound.
//!
//! A `\ud83d` without its other half is no character, and a JSON parser refuses the whole text for it. It becomes
//! `\ufffd` here, before anything parses the text.

use std::borrow::Cow;

/// Writes lone halves of surrogate pairs as `\ufffd` in JSON text that arrives in pieces.
///
/// An escape may be cut between two pieces, so the tail of a piece is held back until it is decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct SoundEscapes {
    held: String,
}

/// Knows of JSON text that arrives in pieces whether it is whole, an object or a list that was closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extent {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    has_closed: bool,
}

impl Extent {
    pub(crate) fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.in_text,
                b'"' => self.in_text = !self.in_text,
                b'{' | b'[' if !self.in_text => self.depth += 1,
                b'}' | b']' if !self.in_text => {
                    self.depth = self.depth.saturating_sub(1);
                    self.has_closed = true;
                }
                _ => {}
            }
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.has_closed && self.depth == 0
    }
}

const REPLACEMENT: &str = "\\ufffd";

impl SoundEscapes {
    /// Takes a piece and returns what is decided by now.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let text = if self.held.is_empty() {
            Cow::Borrowed(piece)
        } else {
            Cow::Owned(std::mem::take(&mut self.held) + piece)
        };
        let (sound, rest) = settle(&text);
        self.held = rest.to_owned();
        sound
    }

    /// What is left when no more comes.
    pub(crate) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        match read_escape(&rest) {
            Escape::High(end) => format!("{REPLACEMENT}{}", &rest[end..]),
            Escape::Low(_) | Escape::Other(_) | Escape::Unfinished => rest,
        }
    }
}

/// Whole JSON text with sound escapes; borrowed when nothing was wrong.
pub(crate) fn sound(text: &str) -> Cow<'_, str> {
    if !has_surrogate_escape(text) {
        return Cow::Borrowed(text);
    }
    let mut escapes = SoundEscapes::default();
    let start = escapes.push(text);
    Cow::Owned(start + &escapes.finish())
}

fn has_surrogate_escape(text: &str) -> bool {
    text.contains("\\u") && (text.contains("\\ud") || text.contains("\\uD"))
}

/// Splits `text` into its sound form and a tail that needs more text.
fn settle(text: &str) -> (String, &str) {
    let mut sound = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\\') {
        sound.push_str(&rest[..start]);
        rest = &rest[start..];
        match read_escape(rest) {
            Escape::Unfinished => return (sound, rest),
            Escape::Other(end) => {
                sound.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            Escape::Low(end) => {
                sound.push_str(REPLACEMENT);
                rest = &rest[end..];
            }
            Escape::High(end) => match read_escape(&rest[end..]) {
                Escape::Unfinished => return (sound, rest),
                Escape::Low(low) => {
                    sound.push_str(&rest[..end + low]);
                    rest = &rest[end + low..];
                }
                Escape::High(_) | Escape::Other(_) => {
                    sound.push_str(REPLACEMENT);
                    rest = &rest[end..];
                }
            },
        }
    }
    sound.push_str(rest);
    (sound, "")
}

/// What the text begins with, and where that ends.
enum Escape {
    /// The first half of a pair.
    High(usize),
    /// The second half of a pair.
    Low(usize),
    /// Anything else, a plain character too.
    Other(usize),
    /// An escape may follow, but the text ends.
    Unfinished,
}

fn read_escape(text: &str) -> Escape {
    let bytes = text.as_bytes();
    match bytes {
        [] | [b'\\'] => Escape::Unfinished,
        [b'\\', b'u', digits @ ..] => {
            let hex = digits.iter().take(4).take_while(|digit| digit.is_ascii_hexdigit()).count();
            match hex {
                4 => match u32::from_str_radix(&text[2..6], 16) {
                    Ok(0xD800..=0xDBFF) => Escape::High(6),
                    Ok(0xDC00..=0xDFFF) => Escape::Low(6),
                    Ok(_) | Err(_) => Escape::Other(6),
                },
                short if short == digits.len() => Escape::Unfinished,
                short => Escape::Other(2 + short),
            }
        }
        // Two bytes for `\n` and the like; the second byte may begin a wide character, which must not be split.
        [b'\\', ..] => Escape::Other(1 + text[1..].chars().next().map_or(0, char::len_utf8)),
        _ => Escape::Other(text.chars().next().map_or(0, char::len_utf8)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(sound(text), expected);
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let mut escapes = SoundEscapes::default();
            let pieces = escapes.push(&text[..cut]) + &escapes.push(&text[cut..]) + &escapes.finish();
            assert_eq!(pieces, expected, "cut at {cut}");
        }
    }

    #[test]
    fn prov_17_a_lone_half_of_a_pair_becomes_the_replacement_character() {
        check(r#"{"a":"\ud83d"}"#, r#"{"a":"\ufffd"}"#);
        check(r#"{"a":"\uDE00x"}"#, r#"{"a":"\ufffdx"}"#);
        check(r#"{"a":"\ud83d\ud83d\ude00"}"#, r#"{"a":"\ufffd\ud83d\ude00"}"#);
        check(r#""\ud83d\n""#, r#""\ufffd\n""#);
        check(r#""\ud83d"#, r#""\ufffd"#);
    }

    #[test]
    fn sound_text_is_left_alone() {
        for text in [
            r#"{"a":"\ud83d\ude00 \u00e9 \\ud83d \\\\ud83d"}"#,
            "plain 那😀",
            r"broken \ud8 escape",
            r"\",
            r"\é",
            r"\u",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn an_object_is_whole_with_its_last_brace() {
        let text = r#"{"a}\"":["{",{}],"b":"\\"}"#;
        let whole = |piece: &str| {
            let mut extent = Extent::default();
            piece.split_inclusive(':').for_each(|piece| extent.push(piece));
            extent.is_whole()
        };
        let ends: Vec<usize> = (0..=text.len()).filter(|end| whole(&text[..*end])).collect();
        assert_eq!(ends, [text.len()]);
    }

    proptest! {
        #[test]
        fn any_text_of_escapes_parses_afterwards(parts in prop::collection::vec("\\\\u[dD][89a-fA-F][0-9a-f]{2}|[a-z那😀]|\\\\\\\\|\\\\n", 0..12)) {
            let text = format!("\"{}\"", parts.concat());
            prop_assert!(serde_json::from_str::<String>(&sound(&text)).is_ok(), "{}", text);
        }
    }
}
