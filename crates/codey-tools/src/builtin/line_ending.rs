//! Which line ends a text has, and giving a text those of another.

use std::borrow::Cow;

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    /// The one most lines have; `None` if there is no line end.
    pub(super) fn dominant(bytes: &[u8]) -> Option<Self> {
        let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
        let with_cr = bytes.windows(2).filter(|pair| pair == b"\r\n").count();
        match ends {
            0 => None,
            _ if with_cr * 2 > ends => Some(Self::CrLf),
            _ => Some(Self::Lf),
        }
    }

    /// The one nearest to `at`: of the line that holds it, else of the line before.
    pub(super) fn near(bytes: &[u8], at: usize) -> Option<Self> {
        let after = bytes[at..].iter().position(|byte| *byte == b'\n').map(|offset| at + offset);
        let end = after.or_else(|| bytes[..at].iter().rposition(|byte| *byte == b'\n'))?;
        Some(if end > 0 && bytes[end - 1] == b'\r' { Self::CrLf } else { Self::Lf })
    }

    /// Gives every line of `text` this end.
    pub(super) fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Lf if text.contains("\r\n") => Cow::Owned(text.replace("\r\n", "\n")),
            Self::CrLf if text.contains('\n') => Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")),
            Self::Lf | Self::CrLf => Cow::Borrowed(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dominant_end_is_that_of_most_lines() {
        assert_eq!(LineEnding::dominant(b"a"), None);
        assert_eq!(LineEnding::dominant(b"a\nb\r\n"), Some(LineEnding::Lf));
        assert_eq!(LineEnding::dominant(b"a\r\nb\r\nc\n"), Some(LineEnding::CrLf));
    }

    #[test]
    fn the_nearest_end_is_that_of_the_line_itself() {
        assert_eq!(LineEnding::near(b"a\nb\r\nc", 2), Some(LineEnding::CrLf));
        assert_eq!(LineEnding::near(b"a\nb\r\nc", 5), Some(LineEnding::CrLf));
        assert_eq!(LineEnding::near(b"a\nb\r\nc", 0), Some(LineEnding::Lf));
        assert_eq!(LineEnding::near(b"a", 1), None);
    }
}
