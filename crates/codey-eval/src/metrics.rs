//! The generated parts of METRICS.md.

use std::ops::Range;

/// The markers of a generated part are not as they must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{marker} {found}; nothing was changed. Both it and its counterpart must stand once, on lines of their own, the beginning first"
)]
pub struct MarkerError {
    /// The marker.
    pub marker: String,
    /// What is wrong with it.
    pub found: &'static str,
}

/// The text with `table` in the place of what stands between `<!-- eval:begin NAME -->` and `<!-- eval:end NAME -->`.
///
/// A marker is a line of its own. All other bytes stay.
///
/// # Errors
/// If a marker is missing or there twice, or the end comes before the beginning.
pub fn update_metrics(markdown: &str, name: &str, table: &str) -> Result<String, MarkerError> {
    let begin = line_of(markdown, format!("<!-- eval:begin {name} -->"))?;
    let marker = format!("<!-- eval:end {name} -->");
    let end = line_of(markdown, marker.clone())?;
    if end.start < begin.end {
        return Err(MarkerError { marker, found: "comes before the beginning" });
    }
    if markdown[begin.end..end.start].lines().any(|line| line.trim().starts_with("<!-- eval:")) {
        return Err(MarkerError { marker, found: "comes after a marker of another part" });
    }
    Ok(format!("{}\n{}\n\n{}", &markdown[..begin.end], table.trim_end(), &markdown[end.start..]))
}

/// Where the one line is that holds this marker and nothing else.
fn line_of(markdown: &str, marker: String) -> Result<Range<usize>, MarkerError> {
    let mut start = 0;
    let mut lines = markdown.split_inclusive('\n').filter_map(|line| {
        let place = start..start + line.len();
        start = place.end;
        (line.trim() == marker).then_some(place)
    });
    match (lines.next(), lines.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => Err(MarkerError { marker, found: "is there twice" }),
        (None, _) => Err(MarkerError { marker, found: "is missing" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# Metrics\n\n<!-- eval:begin tasks -->\nold\n<!-- eval:end tasks -->\n\nby hand \n<!-- eval:begin b -->\r\n<!-- eval:end b -->";

    fn check(markdown: &str, expected: Result<&str, &str>) {
        let found = update_metrics(markdown, "tasks", "| new |\n").map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(|error| error.split(';').next().unwrap()), expected);
    }

    #[test]
    fn only_what_stands_between_the_markers_changes() {
        let expected = FILE.replace("old\n", "\n| new |\n\n");
        check(FILE, Ok(&expected));
        check(&expected, Ok(&expected));
    }

    #[test]
    fn parts_that_overlap_are_left_alone() {
        let text = FILE.replace("old\n", "<!-- eval:begin c -->\nby hand\n");
        check(&text, Err("<!-- eval:end tasks --> comes after a marker of another part"));
    }

    #[test]
    fn a_missing_marker_is_named() {
        check("", Err("<!-- eval:begin tasks --> is missing"));
        check(&FILE.replace("eval:end tasks", "eval:end task"), Err("<!-- eval:end tasks --> is missing"));
    }

    #[test]
    fn markers_in_a_sentence_are_none() {
        check("between <!-- eval:begin tasks --> and\n", Err("<!-- eval:begin tasks --> is missing"));
    }

    #[test]
    fn markers_that_leave_the_place_open_are_refused() {
        check(&FILE.repeat(2).replace("b -->#", "b -->\n#"), Err("<!-- eval:begin tasks --> is there twice"));
        let turned = "<!-- eval:end tasks -->\n<!-- eval:begin tasks -->\n";
        check(turned, Err("<!-- eval:end tasks --> comes before the beginning"));
    }
}
