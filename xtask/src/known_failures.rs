//! Checks that every known failure of coding agents listed in `docs/known-failures.md` has a test that exists.
//!
//! A row is `| EDIT-01 | codey-tools: edit_01_lf_old_str_matches_crlf_file | note |`. Several tests are separated by
//! commas or `<br>`; one without a crate is in the crate of the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use regex::Regex;

use crate::sources::rust_files;

const TABLE: &str = "docs/known-failures.md";

/// Fails with every row that is wrong, one a line.
pub fn check(root: &Path) -> Result<()> {
    let path = root.join(TABLE);
    let text = fs::read_to_string(&path)
        .with_context(|| format!("{TABLE} cannot be read; it lists each known failure with the tests that cover it"))?;
    let mut crates = Crates { root, tests: BTreeMap::new() };
    let count = check_table(&text, &mut |name| crates.tests_of(name))?;
    println!("{count} known failures, each with its tests");
    Ok(())
}

/// Checks the rows of `text`; `tests_of` gives a crate's test functions, or `None` if there is no such crate.
fn check_table(text: &str, tests_of: &mut dyn FnMut(&str) -> Option<BTreeSet<String>>) -> Result<usize> {
    let id = Regex::new(r"^[A-Z][A-Z0-9]*-[0-9]+[a-z]?$").expect("the pattern is valid");
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for (line, row) in (1..).zip(text.lines()) {
        let mut complain = |what: String| wrong.push(format!("{TABLE}:{line}: {what}"));
        let Some(row) = row.trim().strip_prefix('|') else { continue };
        let cells = row.trim_end_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
        let is_rule = cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| c == '-' || c == ':'));
        if is_rule || cells[0].eq_ignore_ascii_case("id") {
            continue;
        }
        if !id.is_match(cells[0]) {
            complain(format!("{:?} is no id such as EDIT-01", cells[0]));
            continue;
        }
        if !seen.insert(cells[0].to_owned()) {
            complain(format!("{} stands in the table twice", cells[0]));
        }
        for problem in row_problems(cells.get(1).copied().unwrap_or_default(), tests_of) {
            complain(format!("{}: {problem}", cells[0]));
        }
    }
    if seen.is_empty() && wrong.is_empty() {
        bail!("{TABLE} has no row; a row is `| EDIT-01 | codey-tools: name_of_the_test | note |`");
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(seen.len())
}

/// Lists what is wrong with the tests named in one cell.
fn row_problems(cell: &str, tests_of: &mut dyn FnMut(&str) -> Option<BTreeSet<String>>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut krate = None;
    let cell = cell.replace("<br>", ",").replace('`', "");
    let named = cell.split(',').map(str::trim).filter(|test| !test.is_empty()).collect::<Vec<_>>();
    if named.is_empty() {
        problems.push("no test is named".to_owned());
    }
    for test in named {
        let test = match test.split_once(':') {
            Some((name, test)) => {
                krate = Some(name.trim().to_owned());
                test.trim()
            }
            None => test,
        };
        let Some(krate) = &krate else {
            problems.push(format!("{test} needs its crate, as in `codey-tools: {test}`"));
            continue;
        };
        match tests_of(krate) {
            None => problems.push(format!("there is no crate {krate}")),
            Some(tests) if !tests.contains(test) => {
                problems.push(format!("{krate} has no test function {test} that runs"));
            }
            Some(_) => {}
        }
    }
    problems
}

/// The crates of the workspace, read when first asked for.
struct Crates<'a> {
    root: &'a Path,
    tests: BTreeMap<String, Option<BTreeSet<String>>>,
}

impl Crates<'_> {
    fn tests_of(&mut self, name: &str) -> Option<BTreeSet<String>> {
        let root = self.root;
        let read = || {
            // A package at the top lies in a folder without the project's name.
            let at_top = root.join(name.strip_prefix("codey-").unwrap_or(name));
            let folders = [root.join("crates").join(name), root.join("bins").join(name), at_top];
            let folder = folders.into_iter().find(|folder| folder.join("Cargo.toml").is_file())?;
            let sources = rust_files(&folder).into_iter().filter_map(|path| fs::read_to_string(path).ok());
            Some(sources.flat_map(|source| test_functions(&source)).collect())
        };
        self.tests.entry(name.to_owned()).or_insert_with(read).clone()
    }
}

/// Names the functions marked as tests, but for those marked `#[ignore]`.
fn test_functions(source: &str) -> Vec<String> {
    let function = Regex::new(r"^\s*(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)").expect("the pattern is valid");
    let (mut found, mut marked, mut ignored) = (Vec::new(), false, false);
    for line in source.lines() {
        let code = line.trim_start();
        marked |= ["#[test]", "#[tokio::test]", "#[tokio::test("].iter().any(|mark| code.starts_with(mark));
        ignored |= code.starts_with("#[ignore");
        if let Some(name) = function.captures(line) {
            if marked && !ignored {
                found.push(name[1].to_owned());
            }
            (marked, ignored) = (false, false);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table with `rows` is refused with `problems`, or accepted if there are none. Crate `a` has the tests `one`
    /// and `two`, crate `b` has `three`.
    fn check(rows: &str, problems: &[&str]) {
        let text = format!("# Known failures\n\n| id | test | note |\n| --- | :--- | --- |\n{rows}\n");
        let mut tests_of = |name: &str| match name {
            "a" => Some(BTreeSet::from(["one".to_owned(), "two".to_owned()])),
            "b" => Some(BTreeSet::from(["three".to_owned()])),
            _ => None,
        };
        let found = match check_table(&text, &mut tests_of) {
            Ok(_) => Vec::new(),
            Err(error) => error.to_string().lines().map(str::to_owned).collect(),
        };
        assert_eq!(found, problems, "{rows}");
    }

    #[test]
    fn rows_whose_tests_exist_pass() {
        check("| EDIT-01 | a: one | note |\n| EDIT-02 | a: one, two<br>b: three | |\n| X-3a | `b: three` |", &[]);
    }

    #[test]
    fn a_test_that_does_not_exist_is_named() {
        check(
            "| EDIT-01 | a: one, three | note |",
            &["docs/known-failures.md:5: EDIT-01: a has no test function three that runs"],
        );
    }

    #[test]
    fn an_unknown_crate_is_named() {
        check("| EDIT-01 | c: one |", &["docs/known-failures.md:5: EDIT-01: there is no crate c"]);
    }

    #[test]
    fn a_row_without_a_test_is_wrong() {
        let problems = ["docs/known-failures.md:5: EDIT-01: no test is named"];
        check("| EDIT-01 | | documented |", &problems);
        check("| EDIT-01 |", &problems);
    }

    #[test]
    fn a_test_without_a_crate_is_wrong() {
        check(
            "| EDIT-01 | one |",
            &["docs/known-failures.md:5: EDIT-01: one needs its crate, as in `codey-tools: one`"],
        );
    }

    #[test]
    fn a_misspelt_or_repeated_id_is_wrong() {
        check(
            "| EDIT_01 | a: one |\n| EDIT-02 | a: one |\n| EDIT-02 | a: two |",
            &[
                "docs/known-failures.md:5: \"EDIT_01\" is no id such as EDIT-01",
                "docs/known-failures.md:7: EDIT-02 stands in the table twice",
            ],
        );
    }

    #[test]
    fn a_table_without_rows_is_wrong() {
        check(
            "",
            &["docs/known-failures.md has no row; a row is `| EDIT-01 | codey-tools: name_of_the_test | note |`"],
        );
    }

    #[test]
    fn only_functions_that_run_as_tests_count() {
        let source = "
            fn helper() {}
            #[test]
            fn plain() {}
            #[tokio::test(start_paused = true)]
            // a comment about fn comment
            async fn paused() {}
            #[test]
            #[should_panic(expected = \"x\")]
            fn panics() {}
            #[test]
            #[ignore = \"slow\"]
            fn ignored() {}
            fn after_ignored() {}
        ";
        assert_eq!(test_functions(source), ["plain", "paused", "panics"]);
    }

    #[test]
    fn a_missing_table_says_what_it_is_for() {
        let error = super::check(Path::new("/nonexistent")).unwrap_err();
        assert!(error.to_string().starts_with("docs/known-failures.md cannot be read; it lists each known failure"));
    }

    #[test]
    fn tests_of_this_crate_are_found() {
        let root = crate::workspace_root();
        let mut crates = Crates { root: &root, tests: BTreeMap::new() };
        assert!(crates.tests_of("xtask").unwrap().contains("tests_of_this_crate_are_found"));
        assert_eq!(crates.tests_of("codey-absent"), None);
    }
}
