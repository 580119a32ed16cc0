//! Text from outside (a server's words, file names, values of a configuration) on one line of a terminal.

/// Most of a message or hint that is shown, in characters.
const LONGEST: usize = 1_000;
/// What is kept of the end of a longer one, where the reason mostly stands.
const TAIL: usize = 300;

/// The text on one line, without anything a terminal would obey.
///
/// Control characters, and those that reorder or hide what stands beside them, are written as escapes (`\n`,
/// `\u{1b}`); a tab is a space.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => line.push(' '),
            _ if is_invisible(character) => line.extend(character.escape_default()),
            _ => line.push(character),
        }
    }
    line
}

/// A message or hint for people: [`one_line`], of bearable length, without the system's numbers for what it says in
/// words.
pub fn message_line(text: &str) -> String {
    let line = one_line(&without_numbers(text));
    let characters = line.chars().count();
    if characters <= LONGEST {
        return line;
    }
    let tail: String = line.chars().skip(characters - TAIL).collect();
    shortened(&line, LONGEST - TAIL) + &tail
}

/// The first `most` characters, with a sign that something is missing.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Control characters, and those that reorder or hide what stands beside them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

/// Leaves out ` (os error 2)`, which the standard library adds to what the system says.
fn without_numbers(text: &str) -> String {
    const BEGIN: &str = " (os error ";
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once(BEGIN) {
        kept.push_str(before);
        rest = match after.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(')') {
            Some(behind) => behind,
            None => {
                kept.push_str(BEGIN);
                after
            }
        };
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(message_line(text), expected, "{text:?}");
    }

    #[test]
    fn a_message_is_one_line_that_no_terminal_obeys() {
        check("a\u{1b}[2J\r\nb\tc\0", "a\\u{1b}[2J\\r\\nb c\\u{0}");
        check("user\u{202e}nimda", "user\\u{202e}nimda");
        check("größe — 日本", "größe — 日本");
    }

    #[test]
    fn the_systems_numbers_are_left_out_and_nothing_else() {
        check("cannot read a: No such file or directory (os error 2)", "cannot read a: No such file or directory");
        check("a (os error 2): b (os error 13)!", "a: b!");
        check("a (os error x) (os error 1", "a (os error x) (os error 1");
    }

    #[test]
    fn a_long_message_is_cut_in_the_middle() {
        check(&"é".repeat(LONGEST), &"é".repeat(LONGEST));
        let reason = "é".repeat(TAIL);
        check(&format!("{}{reason}", "x".repeat(9_000)), &format!("{}…{reason}", "x".repeat(LONGEST - TAIL)));
    }
}
