//! `edit`: one exact text for another.

mod matching;
mod nearest;

use async_trait::async_trait;
use codey_protocol::{Diff, Effect, ErrorCode, ToolDisplay, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;

use super::diff::{diff, for_model};
use super::stop::Stop;
use super::target::Target;
use super::text;
use crate::{Plan, ToolContext, ToolError, ToolOutput, TypedTool, Workspace};
use matching::{Edited, Miss};

/// Line numbers listed of an ambiguous match.
const MAX_LINES_LISTED: usize = 20;

/// Changes a part of a file.
pub(super) struct Edit;

/// The arguments of `edit`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditArgs {
    #[serde(alias = "file_path")]
    path: String,
    /// Exact text in the file, without line numbers
    #[serde(alias = "old_string")]
    old_str: String,
    #[serde(alias = "new_string")]
    new_str: String,
    replace_all: Option<bool>,
}

#[async_trait]
impl TypedTool for Edit {
    type Args = EditArgs;
    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = "Replace old_str by new_str in a file that was read before. old_str has to be \
        exactly as in the file, blanks included, and to occur once: add lines around it until it does, or set \
        replace_all.";
    const KIND: ToolKind = ToolKind::Edit;

    async fn plan(&self, args: &EditArgs, workspace: &Workspace) -> Result<Plan, ToolError> {
        let args = args.clone();
        workspace
            .blocking(move |workspace| {
                args.check()?;
                let target = Target::open(workspace, &args.path)?;
                let (_, diff) = change(workspace, &target, &args)?;
                Ok(Plan {
                    effect: Effect::Edit,
                    rememberable: true,
                    summary: format!("edit {}", args.path),
                    preview: ToolDisplay::Diff(diff),
                    expects: vec![(target.path().clone(), target.expect())],
                })
            })
            .await
    }

    async fn run(&self, args: EditArgs, plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let stop = Stop::of(&context);
        let _in_order = context.workspace.lock_writes().await;
        context
            .workspace
            .blocking(move |workspace| {
                stop.check()?;
                let target = Target::reopen(workspace, &args.path, &plan)?;
                let (edited, diff) = change(workspace, &target, &args)?;
                let observed = target.put(&edited.bytes)?;
                let result = describe(&args, &edited, &diff);
                Ok(ToolOutput { for_model: text(result), for_user: ToolDisplay::Diff(diff), observed: vec![observed] })
            })
            .await
    }
}

impl EditArgs {
    fn check(&self) -> Result<(), ToolError> {
        let problem = if self.old_str.is_empty() {
            "old_str is empty; nothing was changed. For a new file use write; to append, give the last line as old_str and \
             that line with the new ones as new_str."
        } else if self.old_str == self.new_str {
            "old_str and new_str are the same; nothing was changed. Send what the text is to become as new_str."
        } else {
            return Ok(());
        };
        Err(ToolError::new(ErrorCode::InvalidArguments, problem))
    }
}

fn change(workspace: &Workspace, target: &Target, args: &EditArgs) -> Result<(Edited, Diff), ToolError> {
    let old = target.bytes().ok_or_else(|| target.missing(workspace))?;
    let edited = matching::replace(old, &args.old_str, &args.new_str, args.replace_all.unwrap_or(false))
        .map_err(|miss| refuse(&args.path, &args.old_str, old, &miss))?;
    let diff = diff(target.path(), Some(old), &edited.bytes);
    Ok((edited, diff))
}

fn refuse(path: &str, old_str: &str, content: &[u8], miss: &Miss) -> ToolError {
    match miss {
        Miss::Nowhere => ToolError::new(
            ErrorCode::NoMatch,
            format!("old_str does not occur in {path}; nothing was changed. {}", nearest::describe(content, old_str)),
        ),
        Miss::Ambiguous { count, lines } => ToolError::new(
            ErrorCode::AmbiguousMatch,
            format!(
                "old_str occurs {count} times in {path} ({}); nothing was changed. Add surrounding lines until it is \
                 unique, or set replace_all.",
                listed(lines)
            ),
        ),
        Miss::NoChange => ToolError::new(
            ErrorCode::InvalidArguments,
            format!(
                "this edit would leave {path} as it is; nothing was changed. Only the line ends of the two texts differ."
            ),
        ),
    }
}

fn describe(args: &EditArgs, edited: &Edited, diff: &Diff) -> String {
    let path = &args.path;
    let hunks = for_model(diff);
    let hunks = hunks.trim_end_matches('\n');
    if args.replace_all.unwrap_or(false) {
        let count = edited.count;
        let occurrences = if count == 1 { "occurrence" } else { "occurrences" };
        return format!("edited {path}: {count} {occurrences} replaced ({})\n{hunks}", listed(&edited.lines));
    }
    format!("edited {path}\n{hunks}")
}

/// `lines 3, 7, 9`; a line with several matches is named once.
fn listed(lines: &[usize]) -> String {
    let mut lines = lines.to_vec();
    lines.dedup();
    let shown: Vec<String> = lines.iter().take(MAX_LINES_LISTED).map(usize::to_string).collect();
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let more = match lines.len().saturating_sub(MAX_LINES_LISTED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{word} {}{more}", shown.join(", "))
}
