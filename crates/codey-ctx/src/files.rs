//! Context files: what a project tells every agent that works in it.

use std::cmp::Reverse;
use std::io;

use codey_llm::TokenEstimator;
use codey_protocol::RelPath;

use crate::prefix::weight;

/// The file looked for, and the one taken where it is missing.
const FALLBACK: (&str, &str) = ("AGENTS.md", "CLAUDE.md");

/// Which context files there are and how much they may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// Names looked for in each folder, the most important first.
    pub names: Vec<String>,
    /// Where the agent works, relative to the root.
    pub cwd: RelPath,
    /// Whether the folders between `cwd` and the root count too.
    pub walk_up: bool,
    /// Tokens that all files together may take.
    pub budget_tokens: u64,
}

/// A context file as it goes into the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    /// Its path relative to the root.
    pub path: String,
    /// Its text, cut to the budget.
    pub text: String,
    /// Its size on disk.
    pub bytes: u64,
    /// Whether `text` is not all of it.
    pub cut: bool,
}

/// Reads the context files of a project, those of the root first, and says what had to be left out.
///
/// `read` gets paths relative to the root and answers `None` where there is no such file. Over the budget, the files
/// nearest to the root are cut first, the least important of a folder before the others; the nearest file of all is
/// cut only if it is over the budget by itself.
pub fn context_files(
    mut read: impl FnMut(&str) -> io::Result<Option<Vec<u8>>>,
    options: &FileOptions,
) -> (Vec<ContextFile>, Vec<String>) {
    let mut warnings = Vec::new();
    let mut found: Vec<Found> = Vec::new();
    let folders = folders(options);
    for (depth, folder) in folders.iter().enumerate() {
        for (rank, name) in options.names.iter().enumerate() {
            let names = std::iter::once(name.as_str()).chain((name == FALLBACK.0).then_some(FALLBACK.1));
            let file = names.into_iter().find_map(|name| {
                let path = folder.join(name);
                let file = load(path.as_str(), &mut read).unwrap_or_else(|error| {
                    warnings.push(format!("{path} is left out: {error}"));
                    None
                })?;
                let from_cwd = "../".repeat(folders.len() - 1 - depth) + name;
                Some(Found { file, from_cwd, depth, rank })
            });
            // A fallback may also be named itself.
            found.extend(file.filter(|new| found.iter().all(|old| old.file.path != new.file.path)));
        }
    }
    warnings.extend(cut_to_budget(&mut found, options.budget_tokens));
    (found.into_iter().map(|found| found.file).filter(|file| !file.text.is_empty()).collect(), warnings)
}

struct Found {
    file: ContextFile,
    /// Its path as tools of the agent take it.
    from_cwd: String,
    depth: usize,
    rank: usize,
}

/// The file at `path`; `None` if there is none or it says nothing.
fn load(path: &str, read: &mut impl FnMut(&str) -> io::Result<Option<Vec<u8>>>) -> io::Result<Option<ContextFile>> {
    let Some(content) = read(path)? else { return Ok(None) };
    let text = decode(&content);
    let file = ContextFile { path: path.to_owned(), text, bytes: content.len() as u64, cut: false };
    Ok(Some(file).filter(|file| !file.text.trim().is_empty()))
}

/// The folders to look in, the root first.
fn folders(options: &FileOptions) -> Vec<RelPath> {
    if !options.walk_up {
        return vec![options.cwd.clone()];
    }
    let mut folders = vec![RelPath::root()];
    let names = options.cwd.as_str().split('/').filter(|name| !name.is_empty());
    for name in names {
        let above = folders.last().expect("it begins with the root");
        folders.push(above.join(name));
    }
    folders
}

/// UTF-8, or UTF-16 with its mark; what is neither becomes U+FFFD. NUL, which some providers refuse, too.
fn decode(content: &[u8]) -> String {
    let units = |pair: fn([u8; 2]) -> u16| -> Vec<u16> {
        content[2..].chunks_exact(2).map(|bytes| pair([bytes[0], bytes[1]])).collect()
    };
    let text = match content {
        [0xEF, 0xBB, 0xBF, text @ ..] => String::from_utf8_lossy(text).into_owned(),
        [0xFF, 0xFE, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes)),
        [0xFE, 0xFF, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes)),
        text => String::from_utf8_lossy(text).into_owned(),
    };
    text.replace('\0', "\u{FFFD}")
}

/// Cuts files until all fit. A file of which nothing is left has an empty text.
fn cut_to_budget(found: &mut [Found], budget: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut total: u64 = found.iter().map(|found| tokens(&found.file.text)).sum();
    let mut order: Vec<&mut Found> = found.iter_mut().collect();
    order.sort_by_key(|found| (found.depth, Reverse(found.rank)));
    for Found { file, from_cwd, .. } in order {
        if total <= budget {
            break;
        }
        let others = total - tokens(&file.text);
        file.text = head(&file.text, from_cwd, budget.saturating_sub(others));
        file.cut = true;
        total = others + tokens(&file.text);
        let kept = match file.text.len() {
            0 => "is left out".to_owned(),
            bytes => format!("is cut to {bytes} bytes"),
        };
        let why = format!("context files may take {budget} tokens (context.max_tokens)");
        warnings.push(format!("{} ({} bytes) {kept}: {why}", file.path, file.bytes));
    }
    warnings
}

fn tokens(text: &str) -> u64 {
    if text.is_empty() { 0 } else { TokenEstimator::default().tokens(weight(text)) }
}

/// As many whole lines from the beginning as `budget` tokens hold, and a line that says so; nothing if not even one
/// fits. A line is cut only if it is the first and too long by itself.
fn head(text: &str, path: &str, budget: u64) -> String {
    let with_marker = |end: usize| {
        let kept = &text[..end];
        let newline = if kept.ends_with('\n') { "" } else { "\n" };
        format!("{kept}{newline}[cut: {end} of {} bytes shown; read {path} for the rest]\n", text.len())
    };
    // The more is kept, the more tokens it takes, so the last end that fits can be searched for.
    let last_fit = |ends: Vec<usize>| {
        let fitting = ends.partition_point(|end| tokens(&with_marker(*end)) <= budget);
        fitting.checked_sub(1).map(|last| ends[last])
    };
    // No token has so many bytes: there is no need to look at the rest of a huge file.
    let limit = text.floor_char_boundary(usize::try_from(budget.saturating_mul(8)).unwrap_or(usize::MAX));
    let line_ends = text[..limit].match_indices('\n').map(|(index, _)| index + 1).collect();
    let char_ends = || text[..limit].char_indices().map(|(index, _)| index).skip(1).collect();
    last_fit(line_ends).or_else(|| last_fit(char_ends())).map(with_marker).unwrap_or_default()
}
