//! The one error of this crate: something a user wrote is wrong, and where.

use std::fmt;

use crate::source::Origin;

/// Most of a name or value that a message repeats, in characters.
const LONGEST_QUOTE: usize = 100;

/// Says what is wrong with a setting, where it was written, and what to do about it.
///
/// `Display` is one line without the hint, `FILE:LINE:COLUMN: KEY: MESSAGE`; parts that are not known are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Where the wrong value comes from.
    pub origin: Origin,
    /// The place in the file; `None` if the file as a whole is the trouble or the origin is no text.
    pub position: Option<Position>,
    /// The dotted path of the key, as in `endpoint[1].headers.accept`; empty if no key is concerned.
    pub key: String,
    /// What is wrong and what is allowed, without a full stop.
    pub message: String,
    /// What to do next, if there is more to say than the message does.
    pub hint: Option<String>,
}

/// Locates a character of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// Finds the position of the byte `offset` in `text`; past the end, the position after the last character.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let count = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
        Self { line: count(before.matches('\n').count()), column: count(before[line_start..].chars().count()) }
    }
}

impl ConfigError {
    /// Makes an error without position or key: about an origin as a whole.
    pub(crate) fn whole(origin: Origin, message: impl AsRef<str>, hint: Option<String>) -> Self {
        Self { origin, position: None, key: String::new(), message: one_line(message.as_ref()), hint }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.origin.to_string()))?;
        if let Some(Position { line, column }) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        // Whoever sets a variable or a flag did not write the key it stands for.
        let wrote_key = match self.origin {
            Origin::Defaults | Origin::File(_) => !self.key.is_empty(),
            Origin::Env(_) | Origin::Flag(_) => false,
        };
        if wrote_key {
            write!(f, ": {}", shortened(&self.key))?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

/// Escapes line ends and control characters: text from a file must neither break the line nor reach the terminal as
/// a command.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// The beginning of a name or value: what is allowed instead must stay in sight.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_position(text: &str, offset: usize, line: u32, column: u32) {
        assert_eq!(Position::of(text, offset), Position { line, column }, "byte {offset} of {text:?}");
    }

    #[test]
    fn a_position_counts_lines_and_characters_from_one() {
        check_position("", 0, 1, 1);
        check_position("ab", 1, 1, 2);
        check_position("a\nb", 2, 2, 1);
        check_position("a\r\nb", 3, 2, 1);
    }

    #[test]
    fn a_column_counts_characters_not_bytes() {
        check_position("é = 1", "é = ".len(), 1, 5);
    }

    #[test]
    fn an_offset_past_the_end_is_the_end() {
        check_position("a\nb", 99, 2, 2);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(one_line("a\u{1b}[31m\r\nb"), "a\\u{1b}[31m\\r\\nb");
    }
}
