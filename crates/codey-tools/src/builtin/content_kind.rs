//! What a file holds, judged by its bytes and never by its name.

use content_inspector::ContentType;
use infer::MatcherType;

/// Bytes from the start of a file that are enough to judge it.
pub(super) const SAMPLE: usize = 8 * 1024;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentKind {
    /// Text, in UTF-8 as far as it decodes.
    Utf8 {
        /// Whether it begins with a byte order mark.
        has_bom: bool,
    },
    /// Text in UTF-16 with a byte order mark.
    Utf16 {
        /// The encoding's name.
        name: &'static str,
    },
    /// A picture, by its media type.
    Image(&'static str),
    /// Anything else; the media type if it is known.
    Binary(Option<&'static str>),
}

pub(super) const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";

impl ContentKind {
    /// Judges a file by its first [`SAMPLE`] bytes (fewer only if it is shorter).
    pub(super) fn of(sample: &[u8]) -> Self {
        match content_inspector::inspect(sample) {
            ContentType::UTF_16LE => return Self::Utf16 { name: "UTF-16LE" },
            ContentType::UTF_16BE => return Self::Utf16 { name: "UTF-16BE" },
            ContentType::UTF_32LE | ContentType::UTF_32BE => return Self::Binary(Some("text in UTF-32")),
            ContentType::UTF_8 | ContentType::UTF_8_BOM | ContentType::BINARY => {}
        }
        let has_nul = sample.contains(&0);
        // Some signatures are two letters long; what reads as text is text. The sample may end inside a character.
        let is_utf8 = match std::str::from_utf8(sample) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        };
        if is_utf8 && !has_nul {
            return Self::Utf8 { has_bom: sample.starts_with(UTF8_BOM) };
        }
        match infer::get(sample) {
            Some(kind) if kind.matcher_type() == MatcherType::Image => Self::Image(kind.mime_type()),
            Some(kind) if kind.matcher_type() != MatcherType::Text => Self::Binary(Some(kind.mime_type())),
            Some(_) | None if has_nul => Self::Binary(None),
            Some(_) | None => Self::Utf8 { has_bom: sample.starts_with(UTF8_BOM) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: ContentKind) {
        assert_eq!(ContentKind::of(bytes), expected, "{:?}", bytes.escape_ascii().to_string());
    }

    #[test]
    fn content_is_judged_by_its_bytes() {
        let text = ContentKind::Utf8 { has_bom: false };
        check(b"", text);
        check(b"BM is how a bitmap begins, and a sentence", text);
        check(b"GIF89a", text);
        check(b"caf\xE9 in Latin-1", text);
        check("中".repeat(3).as_bytes().split_at(8).0, text);
        check(b"\xEF\xBB\xBFa", ContentKind::Utf8 { has_bom: true });
        check(b"\xFF\xFEa\0", ContentKind::Utf16 { name: "UTF-16LE" });
        check(b"\xFE\xFF\0a", ContentKind::Utf16 { name: "UTF-16BE" });
        check(b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR", ContentKind::Image("image/png"));
        check(b"\xFF\xD8\xFF\xE0\0\x10JFIF", ContentKind::Image("image/jpeg"));
        check(
            &[b"\x7FELF\x02\x01\x01".as_slice(), &[0; 60]].concat(),
            ContentKind::Binary(Some("application/x-executable")),
        );
        check(b"a\0b", ContentKind::Binary(None));
    }
}
