//! Where a text that does not occur most likely was meant, and what differs there.
//!
//! Lines are compared in a squashed form: no blanks, one kind of quote and of dash, composed characters, lower case. That
//! form only finds places; what is shown and what is compared in words are the real lines. The search is linear in the
//! file, with bounds on what it looks at of `old_str` and of each line.

mod differences;

use std::collections::HashMap;
use std::fmt::Write as _;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::super::stop::{Stop, Stopped};
use super::matching::occurs;

/// Lines of a file that is searched; each costs some 50 bytes and a microsecond.
const MAX_LINES: usize = 1_000_000;
/// Places told.
const MAX_PLACES: usize = 3;
/// Lines shown of all places together.
const MAX_SHOWN: usize = 20;
/// Characters shown of a line.
const MAX_LINE_CHARS: usize = 200;
/// Lines of the wanted text that take part in the search.
const MAX_OLD_LINES: usize = 200;
/// Bytes of a line that take part.
const MAX_LINE_BYTES: usize = 4_096;
/// Squashed bytes from which on a line says something about its place; `}` does not.
const TELLING: usize = 4;
/// Squashed bytes of the line that similar ones are looked for.
const MAX_ANCHOR: usize = 400;
/// Candidates kept; a line that is everywhere in the file finds no place.
const MAX_STARTS: usize = 20_000;
/// Lines after which to look whether it is time to stop.
const CHECKED: usize = 1_000;
/// Share of the wanted line's letter triples that a line needs to count as similar, in percent.
const SIMILAR: usize = 50;

/// Says where `old` most likely was meant in `content` and how the text there differs.
///
/// # Errors
/// It was time to stop.
pub(super) fn describe(content: &[u8], old: &str, stop: &Stop) -> Result<String, Stopped> {
    let content = content.strip_prefix(super::super::content_kind::UTF8_BOM).unwrap_or(content);
    if content.is_empty() {
        return Ok("The file is empty; use write.".to_owned());
    }
    if let Some(bare) = without_numbers(old)
        && occurs(content, &bare, stop)?
    {
        let line = bare.lines().next().unwrap_or_default();
        return Ok(format!(
            "old_str holds the line numbers that read puts before each line. Send it without them, beginning with {line:?}."
        ));
    }
    if let Some(plain) = unescaped(old)
        && occurs(content, &plain, stop)?
    {
        let line = plain.lines().find(|line| !line.is_empty()).unwrap_or_default();
        return Ok(format!(
            "old_str is escaped once too often: the file has real line ends, tabs and quotes where it has backslashes. \
             Send them as they are, beginning with {line}"
        ));
    }
    if content.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES {
        return Ok(
            "The file has too many lines to look for what is similar: find the place with grep and copy it.".to_owned()
        );
    }
    let lines: Vec<&[u8]> = content.strip_suffix(b"\n").unwrap_or(content).split(|byte| *byte == b'\n').collect();
    let wanted: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    let places = places(&lines, &wanted, stop)?;
    if places.is_empty() {
        return Ok("Nothing in it is similar. Read the file again and copy old_str from it.".to_owned());
    }
    let lacks_end = old.ends_with('\n') && !content.ends_with(b"\n");
    let room = (MAX_SHOWN / places.len()).max(1);
    let mut text = String::new();
    for place in &places {
        let end = (place + wanted.len()).min(lines.len());
        let range = if end - place == 1 { format!("line {end}") } else { format!("lines {}-{end}", place + 1) };
        let mut words = differences::describe(&lines[*place..end], place + 1, &wanted, content, stop)?;
        if lacks_end && end == lines.len() {
            words.push("the file has no line end after its last line, old_str has one".to_owned());
        }
        let words = if words.is_empty() { "it goes on differently".to_owned() } else { words.join("; ") };
        let lead = if text.is_empty() { "The closest place is" } else { "Also close:" };
        let _ = writeln!(text, "{lead} {range}: {words}");
        for (index, line) in lines[*place..end].iter().enumerate().take(room) {
            let _ = writeln!(text, "{:>6}\t{}", place + index + 1, shortened(line));
        }
        if end - place > room {
            let _ = writeln!(text, "[… {} more lines]", end - place - room);
        }
    }
    text.push_str("Copy old_str exactly from the file.");
    Ok(text)
}

/// The text without the numbers that `read` puts before lines, if every line has one.
fn without_numbers(text: &str) -> Option<String> {
    let strip = |line: &str| {
        let (number, rest) = line.split_once('\t')?;
        let digits = number.trim_start_matches(' ');
        (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| rest.to_owned())
    };
    let lines: Option<Vec<String>> = text.trim_end_matches('\n').split('\n').map(strip).collect();
    lines.map(|lines| lines.join("\n"))
}

/// The text with the escapes of a string literal resolved, if it holds any.
fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let escaped = match (char, chars.peek()) {
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some(quote @ ('"' | '\'' | '\\'))) => *quote,
            _ => {
                plain.push(char);
                continue;
            }
        };
        chars.next();
        plain.push(escaped);
    }
    (plain != text).then_some(plain)
}

fn shortened(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * MAX_LINE_CHARS + 4)]);
    match text.char_indices().nth(MAX_LINE_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

/// Where `wanted` would begin, best first, as indices into `lines`.
fn places(lines: &[&[u8]], wanted: &[&str], stop: &Stop) -> Result<Vec<usize>, Stopped> {
    let squashed: Vec<Vec<u8>> = wanted.iter().take(MAX_OLD_LINES).map(|line| squash(line.as_bytes())).collect();
    let lines = Squashed::of(lines, stop)?;
    let by_lines = by_equal_lines(&lines, &squashed);
    stop.look()?;
    Ok(if by_lines.is_empty() { by_similar_line(&lines, &squashed, stop)? } else { by_lines })
}

/// All lines of a file, squashed, one behind the other.
struct Squashed {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Squashed {
    fn of(lines: &[&[u8]], stop: &Stop) -> Result<Self, Stopped> {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(lines.len());
        for some in lines.chunks(CHECKED) {
            stop.look()?;
            for line in some {
                squash_onto(line, &mut bytes);
                ends.push(bytes.len());
            }
        }
        Ok(Self { bytes, ends })
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// Places where most of the lines are the same but for their squashing.
fn by_equal_lines(lines: &Squashed, wanted: &[Vec<u8>]) -> Vec<usize> {
    let mut positions: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (index, line) in wanted.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let at = positions.entry(line).or_default();
        // A line that comes again and again tells nothing more, and each place of it costs one vote per line.
        if at.len() < 4 {
            at.push(index);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (number, line) in lines.lines().enumerate() {
        let Some(at) = positions.get(line) else { continue };
        let is_telling = line.len() >= TELLING;
        for start in at.iter().filter_map(|index| number.checked_sub(*index)) {
            if is_telling && votes.len() < MAX_STARTS {
                *votes.entry(start).or_default() += line.len().min(40);
            } else if let Some(votes) = votes.get_mut(&start) {
                // What tells nothing may only add to what was told.
                *votes += 1;
            }
        }
    }
    best(votes.into_iter().collect(), wanted.len())
}

/// Places of the lines that share most with the longest wanted one.
fn by_similar_line(lines: &Squashed, wanted: &[Vec<u8>], stop: &Stop) -> Result<Vec<usize>, Stopped> {
    let longest = wanted.iter().enumerate().max_by_key(|(index, line)| (line.len(), usize::MAX - index));
    let Some((index, anchor)) = longest else { return Ok(Vec::new()) };
    // For each triple of letters the line that had it last, from 1. Triples share a slot now and then; a place that is
    // found too much by that is still one where most is the same.
    let mut last_line = vec![None; 1 << 16];
    let mut triples = 0;
    for triple in anchor[..anchor.len().min(MAX_ANCHOR)].windows(3) {
        triples += usize::from(last_line[slot(triple)].replace(0).is_none());
    }
    if triples == 0 {
        return Ok(Vec::new());
    }
    let mut scores = Vec::new();
    let mut top = 0;
    for (line, number) in lines.lines().zip(1_usize..) {
        if number % CHECKED == 0 {
            stop.look()?;
        }
        let mut shared = 0;
        for triple in line.windows(3) {
            match &mut last_line[slot(triple)] {
                Some(last) if *last != number => {
                    *last = number;
                    shared += 1;
                }
                Some(_) | None => {}
            }
        }
        if shared * 100 >= triples * SIMILAR && (scores.len() < MAX_STARTS || shared > top) {
            scores.push(((number - 1).saturating_sub(index), shared));
            top = top.max(shared);
        }
    }
    Ok(best(scores, wanted.len()))
}

fn slot(triple: &[u8]) -> usize {
    (usize::from(triple[0]) << 8 | usize::from(triple[1])) ^ (usize::from(triple[2]) << 5)
}

/// The best starts, each at least `span` lines from the others.
fn best(mut scores: Vec<(usize, usize)>, span: usize) -> Vec<usize> {
    scores.sort_unstable_by_key(|(start, score)| (usize::MAX - score, *start));
    let mut starts: Vec<usize> = Vec::new();
    let top = scores.first().map_or(0, |(_, score)| *score);
    // Much worse places are noise. The bound on how many are looked at keeps many overlapping ones cheap.
    for (start, _) in scores.into_iter().take(1_000).take_while(|(_, score)| score * 2 >= top) {
        if starts.iter().all(|other| other.abs_diff(start) >= span) {
            starts.push(start);
        }
        if starts.len() == MAX_PLACES {
            break;
        }
    }
    starts
}

fn squash(line: &[u8]) -> Vec<u8> {
    let mut squashed = Vec::new();
    squash_onto(line, &mut squashed);
    squashed
}

fn squash_onto(line: &[u8], squashed: &mut Vec<u8>) {
    let line = &line[..line.len().min(MAX_LINE_BYTES)];
    if line.is_ascii() {
        squashed.extend(line.iter().copied().filter(|byte| !is_blank(*byte)).map(squash_ascii));
        return;
    }
    let text = String::from_utf8_lossy(line);
    if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.chars().for_each(|char| squash_char(char, squashed));
    } else {
        text.nfc().for_each(|char| squash_char(char, squashed));
    }
}

fn squash_char(char: char, squashed: &mut Vec<u8>) {
    match u8::try_from(char) {
        Ok(byte) if byte.is_ascii() => {
            squashed.extend([byte].into_iter().filter(|byte| !is_blank(*byte)).map(squash_ascii))
        }
        Ok(_) | Err(_) if char.is_whitespace() => {}
        Ok(_) | Err(_) => {
            let mut utf8 = [0; 4];
            for char in plain_dash(plain_quote(char)).to_lowercase() {
                let plain = if char == '\'' { '"' } else { char };
                squashed.extend_from_slice(plain.encode_utf8(&mut utf8).as_bytes());
            }
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn squash_ascii(byte: u8) -> u8 {
    if byte == b'\'' { b'"' } else { byte.to_ascii_lowercase() }
}

/// The straight quote for a typographic one.
fn plain_quote(char: char) -> char {
    match char {
        '‘' | '’' | '‚' | '‛' | '′' | '´' => '\'',
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
        other => other,
    }
}

/// The hyphen for a longer or special dash.
fn plain_dash(char: char) -> char {
    match char {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str, old: &str, expected: &str) {
        assert_eq!(describe(content.as_bytes(), old, &Stop::never()).unwrap(), expected);
    }

    #[test]
    fn the_closest_lines_are_shown() {
        check(
            "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n",
            "fn b() {\n    invented();\n    more();\n}",
            "The closest place is lines 5-7: line 6 is \"    two();\", old_str has \"    invented();\"\n     5\tfn b() {\n     \
             6\t    two();\n     7\t}\nCopy old_str exactly from the file.",
        );
    }

    #[test]
    fn an_inserted_line_does_not_hide_the_place() {
        let lines = [&b"alpha()"[..], b"", b"beta()", b"gamma()"];
        assert_eq!(places(&lines, &["alpha()", "beta()", "gamma()"], &Stop::never()).unwrap(), [1]);
    }

    #[test]
    fn part_of_a_line_is_found() {
        check(
            "let x = compute( first, second );\nother\n",
            "compute(first, second)",
            "The closest place is line 1: the blanks inside line 1 differ: it has \"compute( first, second )\", old_str has \
             \"compute(first, second)\"\n     1\tlet x = compute( first, second );\nCopy old_str exactly from the file.",
        );
    }

    #[test]
    fn line_numbers_of_read_are_recognised() {
        check(
            "one\ntwo\n",
            "     1\tone\n     2\ttwo",
            "old_str holds the line numbers that read puts before each line. Send it without them, beginning with \"one\".",
        );
    }

    #[test]
    fn escapes_are_recognised() {
        check(
            "\tsay(\"x\");\nend\n",
            "\\tsay(\\\"x\\\");\\nend",
            "old_str is escaped once too often: the file has real line ends, tabs and quotes where it has backslashes. Send \
             them as they are, beginning with \tsay(\"x\");",
        );
    }

    #[test]
    fn a_missing_line_end_at_the_end_of_the_file_is_told() {
        check(
            "a\nlast",
            "last\n",
            "The closest place is line 2: the file has no line end after its last line, old_str has one\n     2\tlast\nCopy \
             old_str exactly from the file.",
        );
        check(
            "alpha\n",
            "alpha\n\n",
            "The closest place is line 1: the file ends before line 2 of it\n     1\talpha\nCopy old_str exactly from the \
             file.",
        );
    }

    #[test]
    fn nothing_similar_is_said_so() {
        check("abc\n", "zzzzzz", "Nothing in it is similar. Read the file again and copy old_str from it.");
        check("", "a", "The file is empty; use write.");
        // The number of an empty line and nothing else: without it nothing is left to look for.
        check("abc\n", "     7\t", "Nothing in it is similar. Read the file again and copy old_str from it.");
    }

    #[test]
    fn lines_shown_are_bounded() {
        let content: String = (0..100).map(|line| format!("line number {line}\n")).collect();
        let old: String = content.replace("line number 50\n", "something else\n");
        let text = describe(content.as_bytes(), &old, &Stop::never()).unwrap();
        assert_eq!(text.lines().filter(|line| line.contains('\t')).count(), MAX_SHOWN);
        assert!(text.contains("\n[… 80 more lines]\n"), "{text}");
    }
}
