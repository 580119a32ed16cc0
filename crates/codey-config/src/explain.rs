//! Turns serde's messages into words for people who never saw the Rust types, and finds the name that was meant.

use crate::error::shortened;

/// What to tell the user about a value that does not fit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    pub message: String,
    pub hint: Option<String>,
    /// Whether the key is at fault, not its value.
    pub at_key: bool,
}

/// Explains serde's `message`; with `quote` false no value is repeated.
///
/// serde hands errors of foreign types over as text only. A text that is not recognised is passed on as it is, so a
/// change of serde's wording costs polish and nothing else.
pub(crate) fn explain(message: &str, quote: bool) -> Explanation {
    let plain = |message: String| Explanation { message, hint: None, at_key: false };
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let (name, allowed) = names(rest);
        let message = match allowed.as_slice() {
            [] => "unknown key, none is allowed here".to_owned(),
            allowed => format!("unknown key, allowed here: {}", quoted(allowed)),
        };
        return Explanation { message, hint: suggestion(name, &allowed), at_key: true };
    }
    if let Some(rest) = message.strip_prefix("unknown variant `") {
        let (name, allowed) = names(rest);
        let shown = if quote { format!("unknown value `{}`", shortened(name)) } else { "unknown value".to_owned() };
        let message = format!("{shown}, allowed: {}", quoted(&allowed));
        return Explanation { message, hint: suggestion(name, &allowed), at_key: false };
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        return plain(format!("the key {rest} is missing"));
    }
    if let Some(rest) = message.strip_prefix("duplicate field ") {
        return plain(format!("{rest} is given twice, perhaps by another name"));
    }
    let mismatch = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, expected)) = mismatch.and_then(|rest| rest.rsplit_once(", expected ")) {
        let found = if quote {
            shortened(&words_for(found))
        } else {
            words_for(found.split([' ', '`', '"']).next().unwrap_or(found))
        };
        return plain(format!("expected {}, found {found}", words_for(expected)));
    }
    plain(message.to_owned())
}

/// Splits "`NAME`, expected one of `A`, `B`" (its first backtick taken off) into the name and what is allowed.
fn names(rest: &str) -> (&str, Vec<&str>) {
    match rest.rsplit_once("`, expected ") {
        Some((name, allowed)) => (name, allowed.split('`').skip(1).step_by(2).collect()),
        None => (rest.rsplit_once("`, ").map_or(rest, |(name, _)| name), Vec::new()),
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Says in words what serde calls by the names of Rust types.
fn words_for(serde: &str) -> String {
    let words = match serde {
        "map" | "a map" => "a table",
        "sequence" | "a sequence" => "a list",
        "string" => "a string",
        "integer" => "an integer",
        "boolean" => "a boolean",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "a nonzero u8" | "a nonzero u16" | "a nonzero u32" | "a nonzero u64" | "a nonzero usize" => {
            "a whole number, 1 or more"
        }
        "f32" | "f64" => "a number",
        named if named.starts_with("struct ") => "a table",
        other => other,
    };
    words.to_owned()
}

fn suggestion(name: &str, allowed: &[&str]) -> Option<String> {
    nearest(name, allowed).map(|meant| format!("did you mean `{meant}`?"))
}

/// Finds the allowed name that `name` was probably meant to be: at most a third of it differs.
pub(crate) fn nearest<'a>(name: &str, allowed: &[&'a str]) -> Option<&'a str> {
    // A key of many kilobytes is no slip of the finger, and comparing it would take long.
    if name.len() > 64 {
        return None;
    }
    let slips = (name.chars().count() / 3).max(1);
    let by_distance = allowed.iter().map(|candidate| (distance(name, candidate), *candidate));
    by_distance.filter(|(distance, _)| *distance <= slips).min_by_key(|(distance, _)| *distance).map(|(_, meant)| meant)
}

/// Counts the characters to insert, delete, replace or swap with their neighbour to get from `a` to `b`; case and
/// `-` for `_` cost nothing.
fn distance(a: &str, b: &str) -> usize {
    let fold =
        |text: &str| text.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect::<Vec<_>>();
    let (a, b) = (fold(a), fold(b));
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_message(serde: &str, message: &str, hint: Option<&str>) {
        let explanation = explain(serde, true);
        assert_eq!((explanation.message.as_str(), explanation.hint.as_deref()), (message, hint));
    }

    #[test]
    fn an_unknown_key_lists_the_allowed_ones_and_the_nearest() {
        check_message(
            "unknown field `modle`, expected one of `model`, `sandbox`, `limits`",
            "unknown key, allowed here: `model`, `sandbox`, `limits`",
            Some("did you mean `model`?"),
        );
        check_message("unknown field `x`, expected `model`", "unknown key, allowed here: `model`", None);
        check_message("unknown field `x`, there are no fields", "unknown key, none is allowed here", None);
    }

    #[test]
    fn an_unknown_value_lists_the_allowed_ones() {
        check_message(
            "unknown variant `hihg`, expected one of `low`, `medium`, `high`",
            "unknown value `hihg`, allowed: `low`, `medium`, `high`",
            Some("did you mean `high`?"),
        );
    }

    #[test]
    fn a_long_value_does_not_hide_what_is_allowed() {
        let (long, cut) = ("x".repeat(9_000), "x".repeat(100));
        let message = |serde: String| explain(&serde, true).message;
        assert_eq!(
            message(format!("unknown variant `{long}`, expected `low`")),
            format!("unknown value `{cut}…`, allowed: `low`")
        );
        let found = message(format!("invalid type: string \"{long}\", expected a map"));
        assert!(found.starts_with("expected a table, found string \"xx") && found.len() < 200, "{found}");
    }

    #[test]
    fn rust_types_are_not_named() {
        check_message("invalid type: map, expected a string", "expected a string, found a table", None);
        check_message(
            "invalid type: string \"x\", expected struct Model",
            "expected a table, found string \"x\"",
            None,
        );
        check_message(
            "invalid value: integer `-1`, expected u16",
            "expected a whole number from 0 to 65535, found integer `-1`",
            None,
        );
    }

    #[test]
    fn a_found_text_that_looks_like_the_message_does_not_confuse() {
        check_message(
            "invalid type: string \"a, expected b\", expected a boolean",
            "expected a boolean, found string \"a, expected b\"",
            None,
        );
    }

    #[test]
    fn without_quoting_no_value_is_repeated() {
        let message = |serde| explain(serde, false).message;
        assert_eq!(message("invalid type: string \"sk-1, x\", expected a map"), "expected a table, found a string");
        assert_eq!(
            message("invalid value: integer `12345`, expected u8"),
            "expected a whole number from 0 to 255, found an integer"
        );
        assert_eq!(message("unknown variant `sk-1`, expected `none`"), "unknown value, allowed: `none`");
    }

    fn check_nearest(name: &str, meant: Option<&str>) {
        assert_eq!(nearest(name, &["model", "endpoint", "permissions", "base_url", "mcp"]), meant, "{name}");
    }

    #[test]
    fn slips_of_the_finger_are_recognised() {
        check_nearest("modle", Some("model"));
        check_nearest("permision", Some("permissions"));
        check_nearest("base-url", Some("base_url"));
        check_nearest("BASE_URL", Some("base_url"));
        check_nearest("endpoints", Some("endpoint"));
    }

    #[test]
    fn another_word_is_not_a_slip() {
        check_nearest("colour", None);
        check_nearest("", None);
        check_nearest(&"model".repeat(1000), None);
    }
}
