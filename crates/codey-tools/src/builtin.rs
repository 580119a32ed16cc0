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

use crate::{ToolSet, Typed};

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

/// A result of one text.
fn text(text: impl Into<String>) -> Vec<Block> {
    vec![Block::Text { text: text.into() }]
}
