//! Agents without a model: they prove that checkers can tell right from wrong.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use codey_llm::{
    Block, Provider, ScriptedProvider, ScriptedTurn, Step, StopReason, StreamEvent, Usage, tool_use, turn,
};
use serde_json::{Value, json};
use similar::{DiffOp, TextDiff};

use crate::check::LIE;
use crate::record::Agent;
use crate::task::{Change, Task};
use crate::workspace::{Tree, Workspace, copy, difference};

/// Lines read at a time around the place of an edit; `read` shows 2,000 at most.
const READ_LINES: usize = 200;
/// Lines of a file from which on the oracle reads the place of an edit only.
const LONG_FILE: usize = 400;
/// Unchanged lines around a change that an edit names at least.
const CONTEXT_LINES: usize = 1;
/// What the nop says, and the oracle where the task has no answer of its own.
const DONE: &str = "Done.";

/// The model of a scripted agent for one run; `None` for [`Agent::Model`].
///
/// # Errors
/// The task has no solution that the oracle could play.
pub async fn scripted(
    agent: Agent,
    task: &Task,
    workspace: &Workspace,
    place: &Path,
) -> Result<Option<Arc<dyn Provider>>> {
    let turns = match agent {
        Agent::Model => return Ok(None),
        Agent::Nop => vec![said(DONE)],
        Agent::Liar => vec![said(LIE)],
        Agent::Oracle => oracle(task, workspace, place).await?,
    };
    Ok(Some(ScriptedProvider::new("scripted", turns)))
}

/// A call: the tool and its arguments.
type Call = (&'static str, Value);

/// Reads a file in one turn and edits it in the next, file by file; then tests and answers.
async fn oracle(task: &Task, workspace: &Workspace, place: &Path) -> Result<Vec<ScriptedTurn>> {
    let solution = task.solution().context("the task has no solution")?;
    let mut turns: Vec<Vec<Call>> = match &solution.change {
        None => vec![vec![look(task, workspace)?]],
        Some(Change::Script(script)) => vec![vec![("bash", json!({"command": fs::read_to_string(script)?}))]],
        Some(change @ Change::Patch(_)) => {
            fs::create_dir_all(place)?;
            let solved = workspace.elsewhere(place);
            copy(&workspace.before, place)?;
            solved.apply(change).await?;
            let turns = edits(&workspace.before, place)?;
            fs::remove_dir_all(place)?;
            turns
        }
    };
    if let Some(test) = task.spec.test.as_ref().filter(|_| solution.change.is_some()) {
        turns.push(vec![("bash", json!({"command": test}))]);
    }
    let allowed = |name: &str| task.spec.tools.as_ref().is_none_or(|tools| tools.iter().any(|tool| tool == name));
    if let Some((name, _)) = turns.iter().flatten().find(|(name, _)| !allowed(name)) {
        bail!("the solution needs {name}, which the task does not give");
    }
    let mut ids = 0..;
    let mut spoken_turns: Vec<ScriptedTurn> = Vec::new();
    for calls in turns {
        let named = calls.into_iter().zip(&mut ids);
        let blocks = named.map(|((name, input), id)| tool_use(&format!("call_{id}"), name, input)).collect();
        spoken_turns.push(spoken(blocks, StopReason::ToolUse));
    }
    spoken_turns.push(said(solution.answer.as_deref().unwrap_or(DONE)));
    Ok(spoken_turns)
}

/// A solution that changes nothing has still looked around.
fn look(task: &Task, workspace: &Workspace) -> Result<Call> {
    let tree = Tree::of(&workspace.before)?;
    let is_named = |path: &&String| task.prompt.contains(path.as_str());
    let path = tree.paths().find(is_named).or_else(|| tree.paths().next()).context("the repository is empty")?;
    Ok(("read", json!({"path": path})))
}

fn edits(before: &Path, after: &Path) -> Result<Vec<Vec<Call>>> {
    let mut turns = Vec::new();
    for path in difference(&Tree::of(before)?, &Tree::of(after)?) {
        let text = |folder: &Path| {
            let file = folder.join(&path);
            if !file.exists() {
                return Ok(None);
            }
            fs::read_to_string(&file).map(Some).with_context(|| format!("{path} is no text"))
        };
        let write = |text: String| ("write", json!({"path": path, "content": text}));
        match (text(before)?, text(after)?) {
            (Some(old), Some(new)) if old.is_empty() => {
                turns.extend([vec![("read", json!({"path": path}))], vec![write(new)]]);
            }
            (Some(old), Some(new)) => turns.extend(edits_of(&path, &old, &new)),
            (None, Some(new)) => turns.push(vec![write(new)]),
            (_, None) => turns.push(vec![("bash", json!({"command": format!("rm -- '{path}'")}))]),
        }
    }
    Ok(turns)
}

/// A turn that reads the changed places, and one that edits them.
fn edits_of(path: &str, old: &str, new: &str) -> [Vec<Call>; 2] {
    let diff = TextDiff::from_lines(old, new);
    let (old_lines, new_lines) = (lines(old), lines(new));
    let mut current: Vec<&str> = old_lines.clone();
    let (mut reads, mut edits) = (Vec::new(), Vec::new());
    if old_lines.len() <= LONG_FILE {
        reads.push(("read", json!({"path": path})));
    }
    // From the end on, so that the places before keep their line numbers.
    for group in diff.grouped_ops(CONTEXT_LINES).iter().rev() {
        let changed: Vec<&DiffOp> = group.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })).collect();
        let (Some(first), Some(last)) = (changed.first(), changed.last()) else { continue };
        let (mut from, mut to) = (first.old_range().start, last.old_range().end);
        let (new_from, new_to) = (first.new_range().start, last.new_range().end);
        // As much around it as makes it the only place.
        let whole = current.concat();
        let mut grow_front = true;
        while from == to || whole.matches(&current[from..to].concat()).count() != 1 {
            if from == 0 && to == current.len() {
                break;
            }
            if (grow_front && from > 0) || to == current.len() {
                from -= 1;
            } else {
                to += 1;
            }
            grow_front = !grow_front;
        }
        let (front, back) = (first.old_range().start - from, to - last.old_range().end);
        let old_text = current[from..to].concat();
        let mut replaced: Vec<&str> = current[from..from + front].to_vec();
        replaced.extend(&new_lines[new_from..new_to]);
        replaced.extend(&current[to - back..to]);
        let new_text = replaced.concat();
        if old_lines.len() > LONG_FILE {
            let offset = (from + 1).saturating_sub(READ_LINES / 2).max(1);
            reads.push(("read", json!({"path": path, "offset": offset, "limit": READ_LINES})));
        }
        edits.push(("edit", json!({"path": path, "old_str": old_text, "new_str": new_text})));
        current.splice(from..to, replaced);
    }
    [reads, edits]
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn said(text: &str) -> ScriptedTurn {
    spoken(vec![Block::text(text)], StopReason::EndTurn)
}

/// A response without usage: a script has none, and what it has not measured is not reported.
fn spoken(blocks: Vec<Block>, stop: StopReason) -> ScriptedTurn {
    let mut spoken = turn(blocks, stop);
    for step in &mut spoken.0 {
        if let Step::Event(StreamEvent::Done { usage, .. }) = step {
            *usage = Usage::default();
        }
    }
    spoken
}
