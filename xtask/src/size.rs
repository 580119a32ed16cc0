//! `cargo xtask size`: the largest files and functions, to look at. No number here fails anything.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;

use crate::sources::rust_files;

/// How many of each are listed.
const LISTED: usize = 15;

/// Prints the largest files and functions of all crates, tests left out.
pub fn print(root: &Path) -> Result<()> {
    let (mut files, mut functions) = (Vec::new(), Vec::new());
    for folder in ["crates", "bins", "xtask"] {
        for path in rust_files(&root.join(folder)) {
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            if !shown.contains("/src/") {
                continue;
            }
            let source = fs::read_to_string(&path).with_context(|| format!("{shown} cannot be read"))?;
            let lines = without_tests(&source);
            files.push((lines.len(), shown.clone()));
            let located = |function: Function| (function.lines, format!("{shown}:{} {}", function.line, function.name));
            functions.extend(functions_of(&lines).into_iter().map(located));
        }
    }
    for (title, mut found) in [("files", files), ("functions", functions)] {
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        println!("largest {title} (lines without tests)");
        for (lines, name) in found.into_iter().take(LISTED) {
            println!("{lines:>6}  {name}");
        }
    }
    Ok(())
}

/// The lines of a file but for a test module at its end, where the house style puts it.
fn without_tests(source: &str) -> Vec<&str> {
    let lines = source.lines().collect::<Vec<_>>();
    let tests = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{'));
    lines[..tests.unwrap_or(lines.len())].to_vec()
}

#[derive(Debug, PartialEq)]
struct Function {
    name: String,
    /// The line it begins on, from 1.
    line: usize,
    lines: usize,
}

/// Finds functions by indentation, which rustfmt makes reliable: one ends at the first `}` as far in as its `fn`.
fn functions_of(lines: &[&str]) -> Vec<Function> {
    let start = Regex::new(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?(?:unsafe )?fn (\w+)")
        .expect("the pattern is valid");
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(captures) = start.captures(line) else { continue };
        let end = format!("{}}}", &captures[1]);
        let is_whole = line.ends_with('}') || line.ends_with(';');
        let length = if is_whole { Some(0) } else { lines[index..].iter().position(|line| *line == end) };
        if let Some(length) = length {
            found.push(Function { name: captures[2].to_owned(), line: index + 1, lines: length + 1 });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
struct S;
impl S {
    pub(crate) async fn long(
        &self,
    ) -> u8 {
        if true {
            1
        }
    }

    fn short(&self) {}
}

#[cfg(test)]
mod tests {
    fn not_counted() {
    }
}
";

    #[test]
    fn functions_are_measured_to_their_closing_brace() {
        let function = |name: &str, line, lines| Function { name: name.into(), line, lines };
        assert_eq!(functions_of(&without_tests(SOURCE)), [function("long", 3, 7), function("short", 11, 1)]);
    }

    #[test]
    fn a_module_of_tests_does_not_count() {
        assert_eq!(without_tests(SOURCE).len(), 13);
        assert_eq!(without_tests("#[cfg(test)]\nmod layers;\nfn main() {}").len(), 3);
    }
}
