//! In words, what differs between the text that was sent and the lines that are there.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use super::super::super::stop::{Stop, Stopped};
use super::{plain_dash, plain_quote};

/// Bytes of the longest line that is compared: comparing takes many passes, and nobody reads such a line.
const MAX_COMPARED: usize = 64 * 1024;

/// One way in which two lines differ, with all others left aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Indentation,
    TrailingBlanks,
    InnerBlanks,
    Quotes,
    Dashes,
    Normalisation,
    Case,
}

/// Ways that concern single characters, to be undone one by one.
const CHARACTERS: [Kind; 5] = [Kind::InnerBlanks, Kind::Quotes, Kind::Dashes, Kind::Normalisation, Kind::Case];

/// A way in which lines differ, and where first.
struct Difference {
    kind: Kind,
    line: usize,
    words: String,
    /// Lines that differ in this way.
    count: usize,
}

/// Which part of a line a line of the wanted text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Whole,
    /// The first of several lines.
    End,
    /// The last of several lines.
    Start,
    /// The only line.
    Any,
}

impl Extent {
    fn of(index: usize, count: usize) -> Self {
        match (index, index + 1 == count) {
            (0, true) => Self::Any,
            (0, false) => Self::End,
            (_, true) => Self::Start,
            (_, false) => Self::Whole,
        }
    }

    fn covers(self, line: &str, part: &str) -> bool {
        match self {
            Self::Whole => line == part,
            Self::End => line.ends_with(part),
            Self::Start => line.starts_with(part),
            Self::Any => line.contains(part),
        }
    }
}

/// Says how `wanted` differs from `found`, whose first line has the number `first`.
///
/// # Errors
/// It was time to stop.
pub(super) fn describe(
    found: &[&[u8]],
    first: usize,
    wanted: &[&str],
    content: &[u8],
    stop: &Stop,
) -> Result<Vec<String>, Stopped> {
    let mut differences: Vec<Difference> = Vec::new();
    let mut sentences: Vec<String> = line_ends(wanted, content).into_iter().collect();
    if !sentences.is_empty() && !content.contains(&b'\n') {
        // To us all of the file is one line; comparing lines would only confuse.
        return Ok(sentences);
    }
    for (index, sent) in wanted.iter().enumerate() {
        let line = first + index;
        let Some(real) = found.get(index) else {
            sentences.push(format!("the file ends before line {line} of it"));
            break;
        };
        stop.look()?;
        if real.len().max(sent.len()) > MAX_COMPARED {
            sentences.push(format!("line {line} is too long to compare it in words"));
            break;
        }
        let real = String::from_utf8_lossy(real.strip_suffix(b"\r").unwrap_or(real));
        let sent = sent.strip_suffix('\r').unwrap_or(sent);
        match compare(&real, sent, line, Extent::of(index, wanted.len())) {
            Some(kinds) => kinds.into_iter().for_each(|(kind, words)| add(&mut differences, kind, line, words)),
            None => {
                sentences.push(other_text(&real, sent, line));
                break;
            }
        }
    }
    let counted = differences.into_iter().map(|difference| match difference.count {
        1 => difference.words,
        count => format!("{} ({count} lines differ so, the first is {})", difference.words, difference.line),
    });
    Ok(counted.chain(sentences).collect())
}

fn add(differences: &mut Vec<Difference>, kind: Kind, line: usize, words: String) {
    match differences.iter_mut().find(|difference| difference.kind == kind) {
        Some(known) => known.count += 1,
        None => differences.push(Difference { kind, line, words, count: 1 }),
    }
}

fn line_ends(wanted: &[&str], content: &[u8]) -> Option<String> {
    let sent_crlf = wanted.iter().any(|line| line.ends_with('\r'));
    if !sent_crlf {
        let only_cr = content.contains(&b'\r') && !content.contains(&b'\n') && wanted.len() > 1;
        return only_cr.then(|| "lines in the file end with CR alone, those in old_str with LF".to_owned());
    }
    let has_crlf = content.windows(2).any(|pair| pair == b"\r\n");
    Some(match has_crlf {
        true => "line ends differ: old_str mixes CRLF and LF, or the file does".to_owned(),
        false => "line ends differ: old_str has CRLF, the file LF".to_owned(),
    })
}

/// What differs between two lines; `None` if it is the text itself.
fn compare(real: &str, sent: &str, line: usize, extent: Extent) -> Option<Vec<(Kind, String)>> {
    if extent.covers(real, sent) {
        return Some(Vec::new());
    }
    let (real_core, sent_core) = (real.trim(), sent.trim());
    if let Some(mut kinds) = characters(real_core, sent_core, line) {
        kinds.splice(..0, around(real, sent, line));
        return Some(kinds);
    }
    let part = same_part(real_core, sent_core).filter(|part| extent.covers(real_core, part))?;
    let mut kinds = characters(part, sent_core, line)?;
    if real_core.starts_with(part) {
        let (file, yours) = (indentation(real), indentation(sent));
        if !yours.is_empty() && file != yours {
            kinds.insert(0, (Kind::Indentation, indentation_words(file, yours, line)));
        }
    }
    Some(kinds)
}

/// Differences before and after the text of a line.
fn around(real: &str, sent: &str, line: usize) -> Vec<(Kind, String)> {
    let mut kinds = Vec::new();
    if real.trim().is_empty() {
        if real != sent {
            let words = format!("line {line} holds {}, old_str has {}", blanks(real), blanks(sent));
            kinds.push((Kind::TrailingBlanks, words));
        }
        return kinds;
    }
    let (file, yours) = (indentation(real), indentation(sent));
    if file != yours {
        kinds.push((Kind::Indentation, indentation_words(file, yours, line)));
    }
    let (file, yours) = (&real[real.trim_end().len()..], &sent[sent.trim_end().len()..]);
    if file != yours {
        let words = format!("line {line} ends with {}, old_str has {} there", blanks(file), blanks(yours));
        kinds.push((Kind::TrailingBlanks, words));
    }
    kinds
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn indentation_words(file: &str, yours: &str, line: usize) -> String {
    format!("line {line} begins with {}, old_str has {} there", blanks(file), blanks(yours))
}

/// `2 tabs`, `8 spaces`, `1 tab and 2 spaces`.
fn blanks(text: &str) -> String {
    let mut runs: Vec<(char, usize)> = Vec::new();
    for char in text.chars() {
        match runs.last_mut() {
            Some((last, count)) if *last == char => *count += 1,
            Some(_) | None => runs.push((char, 1)),
        }
    }
    let words = runs.iter().map(|(char, count)| {
        let name = match char {
            '\t' => "tab".to_owned(),
            ' ' => "space".to_owned(),
            other => format!("U+{:04X}", u32::from(*other)),
        };
        let plural = if *count == 1 || name.starts_with('U') { "" } else { "s" };
        format!("{count} {name}{plural}")
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "no blanks".to_owned() } else { words.join(" and ") }
}

/// What differs between two texts in single characters; `None` if it is more than that.
fn characters(real: &str, sent: &str, line: usize) -> Option<Vec<(Kind, String)>> {
    if real == sent {
        return Some(Vec::new());
    }
    if undone(real, None) != undone(sent, None) {
        return None;
    }
    let kinds = CHARACTERS.into_iter().filter(|kind| undone(real, Some(*kind)) != undone(sent, Some(*kind)));
    Some(kinds.map(|kind| (kind, character_words(kind, real, sent, line))).collect())
}

/// The text with all differences in single characters undone, except one kind.
fn undone(text: &str, except: Option<Kind>) -> String {
    let undo = |kind| except != Some(kind);
    let composed: String = if undo(Kind::Normalisation) { text.nfc().collect() } else { text.to_owned() };
    let chars = composed.chars().filter(|char| !(undo(Kind::InnerBlanks) && char.is_whitespace()));
    let chars = chars.map(|char| if undo(Kind::Quotes) { plain_quote(char) } else { char });
    let chars = chars.map(|char| if undo(Kind::Quotes) && char == '\'' { '"' } else { char });
    let chars = chars.map(|char| if undo(Kind::Dashes) { plain_dash(char) } else { char });
    if undo(Kind::Case) { chars.flat_map(char::to_lowercase).collect() } else { chars.collect() }
}

fn character_words(kind: Kind, real: &str, sent: &str, line: usize) -> String {
    match kind {
        Kind::InnerBlanks => {
            format!("the blanks inside line {line} differ: it has {}, old_str has {}", quoted(real), quoted(sent))
        }
        Kind::Quotes | Kind::Dashes => {
            let word = if kind == Kind::Quotes { "quotes" } else { "dashes" };
            let is_one = |char: &char| match kind {
                Kind::Quotes => matches!(plain_quote(*char), '\'' | '"'),
                _ => plain_dash(*char) == '-',
            };
            let pair = real.chars().filter(is_one).zip(sent.chars().filter(is_one)).find(|(file, yours)| file != yours);
            match pair {
                Some((file, yours)) => {
                    format!("the {word} in line {line} differ: it has {}, old_str has {}", named(file), named(yours))
                }
                None => format!("the {word} in line {line} differ"),
            }
        }
        Kind::Normalisation => {
            let form = |text: &str| if text.nfc().eq(text.chars()) { "composed" } else { "decomposed" };
            format!(
                "Unicode normalisation differs in line {line}: {} characters in the file, {} ones in old_str",
                form(real),
                form(sent)
            )
        }
        Kind::Case => format!("upper and lower case differ in line {line}: it has {}", quoted(real)),
        Kind::Indentation | Kind::TrailingBlanks => format!("the blanks around line {line} differ"),
    }
}

fn named(char: char) -> String {
    format!("{char} (U+{:04X})", u32::from(char))
}

/// The part of `real` that equals `sent` once single characters are undone.
fn same_part<'a>(real: &'a str, sent: &str) -> Option<&'a str> {
    let wanted = undone(sent, None);
    if wanted.is_empty() {
        return None;
    }
    // Where each character with its accents begins, in the line and in its undone form.
    let mut starts = Vec::new();
    let mut joined = String::new();
    let mut characters = real.char_indices().filter(|(_, char)| canonical_combining_class(*char) == 0).peekable();
    while let Some((start, _)) = characters.next() {
        let end = characters.peek().map_or(real.len(), |(next, _)| *next);
        starts.push((start, joined.len()));
        joined.push_str(&undone(&real[start..end], None));
    }
    starts.push((real.len(), joined.len()));
    let from = joined.find(&wanted)?;
    let to = from + wanted.len();
    let start = starts.iter().rfind(|(_, at)| *at == from)?.0;
    let end = starts.iter().find(|(_, at)| *at == to)?.0;
    real.get(start..end).map(str::trim)
}

fn other_text(real: &str, sent: &str, line: usize) -> String {
    if real.trim().is_empty() {
        return format!("line {line} is blank, old_str has {}", quoted(sent));
    }
    if sent.contains(char::REPLACEMENT_CHARACTER) {
        return format!(
            "old_str has U+FFFD where line {line} holds bytes that are no UTF-8; choose an old_str without them"
        );
    }
    format!("line {line} is {}, old_str has {}", quoted(real), quoted(sent))
}

fn quoted(text: &str) -> String {
    const MAX: usize = 120;
    match text.char_indices().nth(MAX) {
        Some((at, _)) => format!("\"{}…\"", &text[..at]),
        None => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: &str, wanted: &str, expected: &str) {
        let lines: Vec<&[u8]> = found.split('\n').map(str::as_bytes).collect();
        let wanted: Vec<&str> = wanted.split('\n').collect();
        let words = describe(&lines, 7, &wanted, found.as_bytes(), &Stop::never()).unwrap();
        assert_eq!(words.join("; "), expected);
    }

    #[test]
    fn blanks_are_counted() {
        check("\t\tx := 1", "        x := 1", "line 7 begins with 2 tabs, old_str has 8 spaces there");
        check(
            "\ta\n\tb",
            " a\n b",
            "line 7 begins with 1 tab, old_str has 1 space there (2 lines differ so, the first is 7)",
        );
        check("a  ", "a\u{A0}", "line 7 ends with 2 spaces, old_str has 1 U+00A0 there");
        check("x\n  \ny", "x\n\ny", "line 8 holds 2 spaces, old_str has no blanks");
        check("a = b", "a=b", "the blanks inside line 7 differ: it has \"a = b\", old_str has \"a=b\"");
    }

    #[test]
    fn characters_are_named() {
        check("say ‘x’", "say 'x'", "the quotes in line 7 differ: it has ‘ (U+2018), old_str has ' (U+0027)");
        check("a — b", "a - b", "the dashes in line 7 differ: it has — (U+2014), old_str has - (U+002D)");
        check("Foo", "foo", "upper and lower case differ in line 7: it has \"Foo\"");
        check(
            "cafe\u{301}",
            "caf\u{E9}",
            "Unicode normalisation differs in line 7: decomposed characters in the file, composed ones in old_str",
        );
    }

    #[test]
    fn line_ends_are_told() {
        check("a\nb", "a\r\nb", "line ends differ: old_str has CRLF, the file LF");
        check("a\rb", "a\nb", "lines in the file end with CR alone, those in old_str with LF");
    }

    #[test]
    fn huge_lines_are_not_compared() {
        check(&"x".repeat(MAX_COMPARED + 1), "xy", "line 7 is too long to compare it in words");
    }

    #[test]
    fn several_kinds_are_told_apart() {
        check(
            "\tSay \"x\"",
            "  say “x”",
            "line 7 begins with 1 tab, old_str has 2 spaces there; the quotes in line 7 differ: it has \" (U+0022), old_str \
             has “ (U+201C); upper and lower case differ in line 7: it has \"Say \"x\"\"",
        );
    }

    #[test]
    fn the_first_line_of_other_text_is_told() {
        check("a\nb\nc", "a\nx\ny", "line 8 is \"b\", old_str has \"x\"");
        check("a\n\nc", "a\nx", "line 8 is blank, old_str has \"x\"");
        check(
            "a\u{FFFD}b",
            "xa\u{FFFD}b",
            "old_str has U+FFFD where line 7 holds bytes that are no UTF-8; choose an old_str without them",
        );
    }
}
