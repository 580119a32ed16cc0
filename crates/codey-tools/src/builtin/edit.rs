//! `edit`: one exact text for another.

mod matching;
mod nearest;

use async_trait::async_trait;
use codey_protocol::{Diff, Effect, ErrorCode, ToolDisplay, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;

use super::diff::{diff, for_model};
use super::stop::Stop;
use super::target::{MAX_FILE, Target};
use super::text;
use crate::{Plan, ToolContext, ToolError, ToolOutput, TypedTool, Workspace};
use matching::{Edited, Miss};

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
        let (stop, _awaited) = Stop::while_awaited();
        workspace
            .blocking(move |workspace| {
                args.check()?;
                let target = Target::open(workspace, &args.path)?;
                let (_, diff) = change(workspace, &target, &args, &stop)?;
                Ok(Plan {
                    effect: Effect::Edit,
                    rememberable: true,
                    summary: format!("edit {}", target.shown()),
                    preview: ToolDisplay::Diff(diff),
                    expects: vec![(target.path().clone(), target.expect())],
                })
            })
            .await
    }

    async fn run(&self, args: EditArgs, plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let stop = Stop::of(&context);
        let in_order = context.workspace.lock_writes().await;
        context
            .workspace
            .blocking(move |workspace| {
                let _in_order = in_order;
                stop.check()?;
                let target = Target::reopen(workspace, &args.path, &plan)?;
                let (edited, diff) = change(workspace, &target, &args, &stop)?;
                stop.check()?;
                let result = describe(&target, &args, &edited, &diff) + &target.note_on_links();
                let observed = target.put(&edited.bytes)?;
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

fn change(workspace: &Workspace, target: &Target, args: &EditArgs, stop: &Stop) -> Result<(Edited, Diff), ToolError> {
    let old = target.bytes().ok_or_else(|| target.missing(workspace))?;
    stop.check()?;
    let edited = matching::replace(old, &args.old_str, &args.new_str, args.replace_all.unwrap_or(false), stop)
        .map_err(|miss| refuse(target.shown(), &args.old_str, old, &miss, stop))?;
    stop.check()?;
    let diff = diff(target.path(), Some(old), &edited.bytes);
    Ok((edited, diff))
}

fn refuse(path: &str, old_str: &str, content: &[u8], miss: &Miss, stop: &Stop) -> ToolError {
    match miss {
        Miss::Nowhere => match nearest::describe(content, old_str, stop) {
            Ok(nearest) => ToolError::new(
                ErrorCode::NoMatch,
                format!("old_str does not occur in {path}; nothing was changed. {nearest}"),
            ),
            Err(why) => why.error(),
        },
        Miss::Ambiguous { count, lines } => ToolError::new(
            ErrorCode::AmbiguousMatch,
            format!(
                "old_str occurs {count} times in {path} ({lines}); nothing was changed. Add surrounding lines until it is \
                 unique, or set replace_all."
            ),
        ),
        Miss::OnlyMark => ToolError::new(
            ErrorCode::InvalidArguments,
            format!(
                "old_str is nothing but the byte order mark, which {path} keeps; nothing was changed. Send the text behind \
                 it as old_str."
            ),
        ),
        Miss::NoChange(difference) => ToolError::new(
            ErrorCode::InvalidArguments,
            format!(
                "this edit would leave {path} as it is; nothing was changed. The two texts differ only in {difference}, and \
                 the file keeps its own. To change that use bash."
            ),
        ),
        Miss::TooLarge => ToolError::new(
            ErrorCode::TooLarge,
            format!(
                "{path} would become larger than {} MiB, too large for this tool; nothing was changed. Use bash.",
                MAX_FILE >> 20
            ),
        ),
        Miss::Stopped(why) => why.error(),
    }
}

fn describe(target: &Target, args: &EditArgs, edited: &Edited, diff: &Diff) -> String {
    let path = target.shown();
    let hunks = for_model(diff);
    let hunks = hunks.trim_end_matches('\n');
    if args.replace_all.unwrap_or(false) {
        let count = edited.count;
        let occurrences = if count == 1 { "occurrence" } else { "occurrences" };
        return format!("edited {path}: {count} {occurrences} replaced ({})\n{hunks}", edited.lines);
    }
    format!("edited {path}\n{hunks}")
}
