//! The tools that need nothing but a workspace.

mod bash;
mod content_kind;
mod diff;
mod edit;
mod glob;
mod grep;
mod line_ending;
mod read;
mod search;
mod stop;
mod target;
mod write;

use std::sync::Arc;

use codey_llm::Block;
use codey_protocol::{Effect, ToolDisplay};

use crate::quoted::quoted;
use crate::workspace::Access;
use crate::{Plan, ToolError, ToolSet, Typed, Workspace};

/// The built-in tools, in the order the model is told of them.
pub fn builtin_tools() -> ToolSet {
    vec![
        Arc::new(Typed::new(read::Read)),
        Arc::new(Typed::new(glob::Glob)),
        Arc::new(Typed::new(grep::Grep)),
        Arc::new(Typed::new(edit::Edit)),
        Arc::new(Typed::new(write::Write)),
        Arc::new(Typed::new(bash::Bash)),
    ]
}

/// The plan of a call that looks at `path` and what is below it, and changes nothing.
///
/// # Errors
/// Nothing is there, or no tool may see it.
async fn plan_look(workspace: &Workspace, path: &str, summary: String) -> Result<Plan, ToolError> {
    let path = path.to_owned();
    workspace
        .blocking(move |workspace| workspace.resolve(&path, Access::Read)?.metadata(&quoted(&path)).map(drop))
        .await?;
    Ok(Plan {
        effect: Effect::Observe,
        rememberable: true,
        preview: ToolDisplay::text(&summary),
        summary,
        expects: Vec::new(),
    })
}

/// A result of one text.
fn text(text: impl Into<String>) -> Vec<Block> {
    vec![Block::Text { text: text.into() }]
}
