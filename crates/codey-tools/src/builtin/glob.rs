//! `glob`: files by name.

pub(super) mod pattern;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use cap_std::time::SystemTime;
use codey_protocol::{RelPath, ToolDisplay, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;

use super::search::{LeftOut, Named, printed, walk};
use super::stop::Stop;
use super::{plan_look, text};
use crate::quoted::quoted;
use crate::workspace::Access;
use crate::{Plan, ToolContext, ToolError, ToolOutput, TypedTool, Workspace};
use pattern::{Pattern, check_length};

/// Source: contract section 3.
const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 1_000;
/// Folders named in the note on those that match.
const MAX_FOLDERS: usize = 20;

/// Finds files.
pub(super) struct Glob;

/// The arguments of `glob`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GlobArgs {
    pattern: String,
    /// Directory to search
    path: Option<String>,
    limit: Option<NonZeroUsize>,
}

#[async_trait]
impl TypedTool for Glob {
    type Args = GlobArgs;
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "List files whose path matches a pattern with *, **, ? and {a,b}, newest first. \
        Hidden and ignored files only where the pattern names them.";
    const KIND: ToolKind = ToolKind::Search;

    async fn plan(&self, args: &GlobArgs, workspace: &Workspace) -> Result<Plan, ToolError> {
        check_length("pattern", &args.pattern)?;
        let folder = args.path.as_deref().unwrap_or_default();
        let summary = match folder {
            "" => format!("glob {}", quoted(&args.pattern)),
            _ => format!("glob {} in {}", quoted(&args.pattern), quoted(folder)),
        };
        plan_look(workspace, folder, summary).await
    }

    async fn run(&self, args: GlobArgs, _plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let stop = Stop::of(&context);
        context.workspace.blocking(move |workspace| glob(workspace, &args, &stop)).await
    }
}

fn glob(workspace: &Workspace, args: &GlobArgs, stop: &Stop) -> Result<ToolOutput, ToolError> {
    let limit = args.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get).min(MAX_LIMIT);
    let pattern = Pattern::new(workspace, args.path.as_deref().unwrap_or_default(), &args.pattern)?;
    let found = Mutex::new(Found::new(limit));
    let left_out = LeftOut::default();
    let add = |path: &Path, kind: Kind| {
        found.lock().unwrap_or_else(PoisonError::into_inner).add(path, kind);
    };
    let mut walked = false;
    match &pattern {
        Pattern::File(path) => match kind_of(workspace, Path::new(path.as_str())) {
            Some(kind) => add(Path::new(path.as_str()), kind),
            None => LeftOut::count(&left_out.unreadable),
        },
        Pattern::Folder(path) => add(Path::new(path.as_str()), Kind::Folder),
        Pattern::Nothing { .. } => {}
        Pattern::Below { folder, globs, rest } => {
            walked = true;
            walk(workspace, folder, Named::by(rest), stop, &left_out, |entry, path| {
                let Ok(below) = path.strip_prefix(folder.as_str()) else { return };
                if entry.depth() == 0 || !globs.is_match(below) {
                    return;
                }
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                let kind = if is_folder { Some(Kind::Folder) } else { kind_of(workspace, path) };
                // Without one it vanished meanwhile, or is a link to nothing or to where no tool may look.
                if let Some(kind) = kind {
                    add(path, kind);
                }
            })?;
        }
    }
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(found.output(workspace, args, &pattern, left_out.notes(found.shown.len(), walked)))
}

/// What an entry that is listed is.
enum Kind {
    File { changed: Option<SystemTime> },
    Folder,
}

/// Looks at an entry through the workspace; `None` if it is nothing a tool may see. A link counts as what it leads to.
fn kind_of(workspace: &Workspace, path: &Path) -> Option<Kind> {
    let metadata = workspace.root().symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        let place = workspace.resolve_again(&RelPath::new(path.to_str()?), Access::Read).ok()?;
        let target = place.metadata("").ok()?;
        return target.is_file().then(|| Kind::File { changed: target.modified().ok() });
    }
    Some(if metadata.is_dir() { Kind::Folder } else { Kind::File { changed: metadata.modified().ok() } })
}

/// The newest files so far; memory is bounded by the limit.
struct Found {
    limit: usize,
    /// Newest first, then by path: the order in which they are shown.
    shown: BTreeSet<(std::cmp::Reverse<Option<SystemTime>>, PathBuf)>,
    total: usize,
    folders: BTreeSet<PathBuf>,
}

impl Found {
    fn new(limit: usize) -> Self {
        Self { limit, shown: BTreeSet::new(), total: 0, folders: BTreeSet::new() }
    }

    fn add(&mut self, path: &Path, kind: Kind) {
        match kind {
            Kind::Folder => {
                self.folders.insert(path.to_owned());
                if self.folders.len() > MAX_FOLDERS + 1 {
                    self.folders.pop_last();
                }
            }
            Kind::File { changed } => {
                self.total += 1;
                self.shown.insert((std::cmp::Reverse(changed), path.to_owned()));
                if self.shown.len() > self.limit {
                    self.shown.pop_last();
                }
            }
        }
    }

    fn output(&self, workspace: &Workspace, args: &GlobArgs, pattern: &Pattern, notes: Vec<String>) -> ToolOutput {
        let mut lines: Vec<String> = self.shown.iter().map(|(_, path)| printed(workspace, path)).collect();
        let suppressed = self.total - lines.len();
        if suppressed > 0 {
            let (shown, total) = (lines.len(), self.total);
            lines.push(format!("[{shown} of {total} files shown, the newest; narrow the pattern or the path]"));
        }
        if let Some(note) = self.note_on_folders(workspace, args) {
            lines.push(format!("[{note}]"));
        }
        if self.shown.is_empty() {
            lines.push(format!("[no files found{}]", pattern.hint(&args.pattern)));
        }
        lines.extend(notes.into_iter().map(|note| format!("[{note}]")));
        ToolOutput {
            for_model: text(lines.join("\n")),
            for_user: ToolDisplay::Matches { count: self.shown.len() as u64, suppressed: suppressed as u64 },
            observed: Vec::new(),
        }
    }

    /// Only files are listed; what else matched is worth a line unless the pattern says that all folders match.
    fn note_on_folders(&self, workspace: &Workspace, args: &GlobArgs) -> Option<String> {
        if self.folders.is_empty() || args.pattern.ends_with("**") || args.pattern.ends_with("**/*") {
            return None;
        }
        let names = self.folders.iter().take(MAX_FOLDERS).map(|path| printed(workspace, path) + "/");
        let more = if self.folders.len() > MAX_FOLDERS { ", …" } else { "" };
        let names = names.collect::<Vec<_>>().join(", ");
        Some(format!("folders that match: {names}{more}; add /** for the files in one"))
    }
}
