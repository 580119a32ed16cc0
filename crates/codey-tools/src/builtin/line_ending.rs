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
        let ends = count_line_ends(bytes);
        let with_cr = bytes.windows(2).filter(|pair| pair == b"\r\n").count();
        match ends {
            0 => None,
            _ if with_cr * 2 > ends => Some(Self::CrLf),
            _ => Some(Self::Lf),
        }
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

/// How many line ends there are.
pub(super) fn count_line_ends(bytes: &[u8]) -> usize {
    // Bytes are added up as bytes, as many as cannot overflow one: sixteen and more in one step of the processor.
    let in_piece = |piece: &[u8]| piece.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    bytes.chunks(usize::from(u8::MAX)).map(|piece| usize::from(in_piece(piece))).sum()
}

/// The line ends of a text, looked at from places that come in order: all looks together cost one pass over the text at
/// most.
pub(super) struct LineEnds<'a> {
    bytes: &'a [u8],
    /// Of the last line end before the place of the last look.
    before: Option<LineEnding>,
    /// Where the first line end from there on is; `None` if there is no more.
    next: Option<usize>,
}

impl<'a> LineEnds<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, before: None, next: position(bytes, 0) }
    }

    /// The one nearest to `at`: of the line that holds it, else of the line before. Never called with an `at` before
    /// that of the last call.
    pub(super) fn near(&mut self, at: usize) -> Option<LineEnding> {
        if let Some(next) = self.next.filter(|next| *next < at) {
            // The one just before the place counts; it is found from there, past all the lines in between.
            let last =
                self.bytes[next..at].iter().rposition(|byte| *byte == b'\n').map_or(next, |offset| next + offset);
            self.before = Some(self.at(last));
            self.next = position(self.bytes, at);
        }
        self.next.map(|next| self.at(next)).or(self.before)
    }

    fn at(&self, end: usize) -> LineEnding {
        if self.bytes[..end].ends_with(b"\r") { LineEnding::CrLf } else { LineEnding::Lf }
    }
}

fn position(bytes: &[u8], from: usize) -> Option<usize> {
    bytes[from..].iter().position(|byte| *byte == b'\n').map(|offset| from + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_counted_also_where_there_is_nothing_else() {
        for count in [0, 1, 254, 255, 256, 1_000] {
            assert_eq!(count_line_ends(&b"\n".repeat(count)), count);
            assert_eq!(count_line_ends(&b"a\r\nb".repeat(count)), count);
        }
    }

    #[test]
    fn the_dominant_end_is_that_of_most_lines() {
        assert_eq!(LineEnding::dominant(b"a"), None);
        assert_eq!(LineEnding::dominant(b"a\nb\r\n"), Some(LineEnding::Lf));
        assert_eq!(LineEnding::dominant(b"a\r\nb\r\nc\n"), Some(LineEnding::CrLf));
    }

    #[test]
    fn the_nearest_end_is_that_of_the_line_itself() {
        let mut ends = LineEnds::of(b"a\nb\r\nc");
        assert_eq!(ends.near(0), Some(LineEnding::Lf));
        assert_eq!(ends.near(2), Some(LineEnding::CrLf));
        assert_eq!(ends.near(5), Some(LineEnding::CrLf));
        assert_eq!(LineEnds::of(b"a\nb\r\nc").near(5), Some(LineEnding::CrLf));
        assert_eq!(LineEnds::of(b"a").near(1), None);
    }

    #[test]
    fn lines_between_two_places_are_skipped() {
        let mut ends = LineEnds::of(b"a\nb\r\nc\nd\r\ne");
        let near: Vec<_> = [0, 8, 11].map(|at| ends.near(at).unwrap()).into();
        assert_eq!(near, [LineEnding::Lf, LineEnding::CrLf, LineEnding::CrLf]);
        let mut ends = LineEnds::of(b"a\r\nb\nc");
        assert_eq!(ends.near(5), Some(LineEnding::Lf), "the last one before the place");
    }
}
