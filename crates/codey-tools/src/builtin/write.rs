//! `write`: a whole file.

use std::borrow::Cow;

use async_trait::async_trait;
use codey_protocol::{Diff, Effect, ToolDisplay, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;

use super::content_kind::UTF8_BOM;
use super::diff::{diff, for_model};
use super::line_ending::LineEnding;
use super::stop::Stop;
use super::target::Target;
use super::text;
use crate::{Plan, ToolContext, ToolError, ToolOutput, TypedTool, Workspace};

/// Writes files.
pub(super) struct Write;

/// The arguments of `write`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteArgs {
    #[serde(alias = "file_path")]
    path: String,
    content: String,
}

#[async_trait]
impl TypedTool for Write {
    type Args = WriteArgs;
    const NAME: &'static str = "write";
    const DESCRIPTION: &'static str = "Create a file, with the folders it needs, or replace all of one that was read \
        before. To change a part of a file use edit.";
    const KIND: ToolKind = ToolKind::Edit;

    async fn plan(&self, args: &WriteArgs, workspace: &Workspace) -> Result<Plan, ToolError> {
        let args = args.clone();
        workspace
            .blocking(move |workspace| {
                let target = Target::open(workspace, &args.path)?;
                target.check_new_name()?;
                Ok(Plan {
                    effect: Effect::Edit,
                    rememberable: true,
                    summary: format!("write {}", target.shown()),
                    expects: vec![(target.path().clone(), target.expect())],
                    preview: ToolDisplay::Diff(change(&target, &args.content).1),
                })
            })
            .await
    }

    async fn run(&self, args: WriteArgs, plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let stop = Stop::of(&context);
        let in_order = context.workspace.lock_writes().await;
        context
            .workspace
            .blocking(move |workspace| {
                let _in_order = in_order;
                stop.check()?;
                let target = Target::reopen(workspace, &args.path, &plan)?;
                let (bytes, diff) = change(&target, &args.content);
                let result = describe(&args.content, &target, &bytes, &diff) + &target.note_on_links();
                let observed = target.put(&bytes)?;
                Ok(ToolOutput { for_model: text(result), for_user: ToolDisplay::Diff(diff), observed: vec![observed] })
            })
            .await
    }
}

/// What will be in the file, and how that differs from what is.
fn change(target: &Target, content: &str) -> (Vec<u8>, Diff) {
    let bytes = match target.bytes() {
        // A new file gets exactly what was sent.
        None => content.as_bytes().to_vec(),
        Some(old) => {
            let content = match LineEnding::dominant(old) {
                Some(ending) => ending.apply(content),
                None => Cow::Borrowed(content),
            };
            let lost_mark = old.starts_with(UTF8_BOM) && !content.as_bytes().starts_with(UTF8_BOM);
            let mark = if lost_mark { UTF8_BOM } else { &[] };
            [mark, content.as_bytes()].concat()
        }
    };
    let diff = diff(target.path(), target.bytes(), &bytes);
    (bytes, diff)
}

fn describe(content: &str, target: &Target, bytes: &[u8], diff: &Diff) -> String {
    let path = target.shown();
    let Some(old) = target.bytes() else {
        let lines = if diff.added == 1 { "1 line".to_owned() } else { format!("{} lines", diff.added) };
        return format!("created {path} ({lines})");
    };
    if old == bytes {
        return format!("{path} already had this content");
    }
    let kept = match LineEnding::dominant(old) {
        Some(LineEnding::CrLf) if content.contains('\n') => "; its CRLF line ends were kept",
        Some(LineEnding::Lf) if content.contains("\r\n") => "; its LF line ends were kept",
        Some(_) | None => "",
    };
    format!("wrote {path} (+{} -{}{kept})\n{}", diff.added, diff.removed, for_model(diff).trim_end_matches('\n'))
}
