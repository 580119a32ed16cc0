//! How messages repeat what a model sent.

use std::borrow::Cow;

/// Characters that are repeated from each end of an argument: enough to know it again.
const MAX_CHARS_PER_END: usize = 100;

/// An argument as messages name it: cut in the middle if it is long, and on one line.
pub(crate) fn quoted(argument: &str) -> Cow<'_, str> {
    match cut(argument) {
        Cow::Borrowed(whole) => on_one_line(whole),
        Cow::Owned(ends) => on_one_line(&ends).into_owned().into(),
    }
}

/// The two ends of a text, if it is long.
pub(crate) fn cut(text: &str) -> Cow<'_, str> {
    let end = text.char_indices().nth(MAX_CHARS_PER_END);
    let start = text.char_indices().rev().nth(MAX_CHARS_PER_END - 1);
    match (end, start) {
        (Some((end, _)), Some((start, _))) if end < start => format!("{}…{}", &text[..end], &text[start..]).into(),
        _ => text.into(),
    }
}

/// A text with control characters as a JSON string, any other as it is.
pub(crate) fn on_one_line(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) { serde_json::Value::from(text).to_string().into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_repeated_on_one_line_and_as_far_as_needed() {
        let check = |argument: &str, expected: &str| assert_eq!(quoted(argument), expected);
        check("", "");
        check("src/a \"b\".rs", "src/a \"b\".rs");
        check("a\nb", r#""a\nb""#);
        let (half, other) = ("é".repeat(100), "ü".repeat(100));
        check(&format!("{half}{other}"), &format!("{half}{other}"));
        check(&format!("{half}.{other}"), &format!("{half}…{other}"));
        check(&"\n".repeat(300_000), &format!("\"{0}…{0}\"", r"\n".repeat(100)));
    }
}
