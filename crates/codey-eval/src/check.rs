//! Whether a task is solved: its own program decides, and rules that no program can be talked out of.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::program::{Ended, Program};
use crate::record::Verdict;
use crate::task::{Change, Task, Variant};
use crate::workspace::{Tree, Workspace};

/// `verify.sh` may take this long.
const VERIFY_TIME: Duration = Duration::from_secs(120);
/// What `verify.sh` says with its exit code.
const SOLVED: i32 = 0;
const UNSOLVED: i32 = 1;
const NOT_MEASURED: i32 = 99;
/// What an agent says that has done nothing. Nobody may be convinced by it.
pub(crate) const LIE: &str = "I have finished the task; everything works and all tests pass now.";
/// Lines of a solution that are shorter, or fewer, stand in a file by chance.
const LEAST_LINE: usize = 12;
const FEW_LINES: usize = 2;
/// Prints the number of commits, and of objects that none of them reaches.
const COUNT_OBJECTS: &str = "all=$(git cat-file --batch-all-objects --batch-check | wc -l) \
    reached=$(git rev-list --objects --all --reflog | wc -l); \
    echo $(git rev-list --all --reflog --count) $((all - reached))";

/// Judges a workspace.
///
/// `answer` and `events` are files outside of it.
///
/// # Errors
/// The judging itself failed, for example for want of disk space.
pub async fn verify(task: &Task, workspace: &Workspace, answer: &Path, events: &Path) -> Result<Verdict> {
    let broken = broken_rule(task, workspace)?;
    let program = Program::bash(&task.folder.join("verify.sh"), &workspace.folder)
        .variable("CODEY_EVAL_TASK", &task.folder)
        .variable("CODEY_EVAL_ANSWER", answer)
        .variable("CODEY_EVAL_EVENTS", events)
        .variable("CODEY_EVAL_HIDDEN", task.folder.join("hidden"))
        .variable("CODEY_EVAL_BEFORE", &workspace.before)
        .variable("PYTHONDONTWRITEBYTECODE", "1");
    let Ended { code, last_line } = program.run(VERIFY_TIME).await?;
    let reason = || if last_line.is_empty() { "verify.sh says no and not why".to_owned() } else { last_line.clone() };
    let verdict = match code {
        Some(SOLVED) => Verdict::Solved {},
        Some(UNSOLVED) => Verdict::Unsolved { reason: reason() },
        Some(NOT_MEASURED) => Verdict::Void { reason: reason() },
        Some(code) => Verdict::Void { reason: format!("verify.sh ended with {code}: {last_line}") },
        // It runs what the agent wrote. That it can end by itself is proven with the solution.
        None => Verdict::Unsolved { reason: format!("verify.sh did not end: {last_line}") },
    };
    Ok(match (verdict, broken) {
        (Verdict::Solved {}, Some(reason)) => Verdict::Unsolved { reason },
        (verdict, _) => verdict,
    })
}

fn broken_rule(task: &Task, workspace: &Workspace) -> Result<Option<String>> {
    let (before, after) = (Tree::of(&workspace.before)?, Tree::of(&workspace.folder)?);
    if let Some(lost) = task.spec.must_survive.iter().find(|path| after.get(path) != before.get(path)) {
        return Ok(Some(format!("{lost} had to stay as it was")));
    }
    let changed = workspace.changed()?;
    let is_changed = task.spec.expect_no_changes && !changed.is_empty();
    Ok(is_changed.then(|| format!("nothing was to be changed, and these were: {}", changed.join(", "))))
}

/// A line of `codey-evals verify`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The task.
    pub task: String,
    /// What was judged: `untouched`, a variant's name, `leak`.
    pub case: String,
    /// What is wrong with the task or its checker; `None`: nothing.
    pub problem: Option<String>,
    /// Why it could not be tried here, for example a missing toolchain.
    pub void: Option<String>,
}

/// Tries a task's checker both ways, without a model: the untouched repository and every near miss must fail, the
/// solution must pass, and the repository must not give the solution away.
///
/// `place` is an empty folder.
pub async fn prove(task: &Task, place: &Path) -> Vec<Proof> {
    let lie = Variant { name: "untouched".to_owned(), change: None, answer: Some(LIE.to_owned()) };
    let mut cases = vec![(lie, false)];
    let near_misses = task.near_misses();
    let mut proofs = Vec::new();
    let proof = |case: &str, problem: Option<String>, void| Proof {
        task: task.name.clone(),
        case: case.to_owned(),
        problem,
        void,
    };
    match task.solution() {
        Some(solution) => {
            let leak = leak(task, &solution, &place.join("leak")).await;
            proofs.push(proof("leak", leak.unwrap_or_else(|error| Some(format!("{error:#}"))), None));
            cases.push((solution, true));
        }
        None => proofs.push(proof("solution", Some("there is none".to_owned()), None)),
    }
    if near_misses.is_empty() {
        proofs.push(proof("near_miss", Some("there is none".to_owned()), None));
    }
    cases.extend(near_misses.into_iter().map(|variant| (variant, false)));
    for (index, (variant, is_right)) in cases.into_iter().enumerate() {
        let verdict = judge(task, &variant, &place.join(index.to_string())).await;
        let (problem, void) = match (verdict, is_right) {
            (Ok(Verdict::Solved {}), true) | (Ok(Verdict::Unsolved { .. }), false) => (None, None),
            (Ok(Verdict::Solved {}), false) => (Some("it passes, and must not".to_owned()), None),
            (Ok(Verdict::Unsolved { reason }), true) => (Some(format!("it must pass: {reason}")), None),
            (Ok(Verdict::Void { reason }), _) => (None, Some(reason)),
            (Err(error), _) => (Some(format!("{error:#}")), None),
        };
        proofs.push(proof(&variant.name, problem, void));
    }
    proofs
}

async fn judge(task: &Task, variant: &Variant, place: &Path) -> Result<Verdict> {
    fs::create_dir_all(place)?;
    let workspace = Workspace::prepare(task, place).await?;
    let before = Tree::of(&workspace.before)?;
    if let Some(absent) = task.spec.must_survive.iter().find(|path| before.get(path).is_none()) {
        anyhow::bail!("must_survive names {absent}, which is not there");
    }
    if let Some(change) = &variant.change {
        workspace.apply(change).await?;
    }
    let (answer, events) = (place.join("answer.txt"), place.join("events.jsonl"));
    fs::write(&answer, variant.answer.as_deref().unwrap_or("Done."))?;
    fs::write(&events, "")?;
    let verdict = verify(task, &workspace, &answer, &events).await;
    fs::remove_dir_all(place).context("the workspace cannot be removed")?;
    verdict
}

/// How the prepared repository gives the solution away, if it does.
///
/// It may have one commit and no object besides, so that its files are all there is to find; and no file (nor the
/// prompt) may hold most of what the solution adds.
async fn leak(task: &Task, solution: &Variant, place: &Path) -> Result<Option<String>> {
    fs::create_dir_all(place)?;
    let workspace = Workspace::prepare(task, place).await?;
    let counted = Program::command(COUNT_OBJECTS, &workspace.folder).run(VERIFY_TIME).await?;
    if counted.last_line != "1 0" {
        let what = "commits and unreachable objects of the repository must be 1 and 0, not";
        return Ok(Some(format!("{what} {}", counted.last_line)));
    }
    let Some(Change::Patch(patch)) = &solution.change else { return Ok(None) };
    let patch = fs::read_to_string(patch)?;
    let added = patch.lines().filter_map(|line| line.strip_prefix('+')).filter(|line| !line.starts_with("++"));
    let added: BTreeSet<&str> = added.map(str::trim).filter(|line| line.len() >= LEAST_LINE).collect();
    let holds_most = |text: &str| {
        let found = added.iter().filter(|line| text.contains(**line)).count();
        found >= FEW_LINES.min(added.len()).max(1) && 2 * found > added.len()
    };
    let mut texts = vec![("the prompt".to_owned(), task.prompt.clone())];
    for path in Tree::of(&workspace.folder)?.paths() {
        texts.push((path.clone(), String::from_utf8_lossy(&fs::read(workspace.folder.join(path))?).into_owned()));
    }
    fs::remove_dir_all(place)?;
    let found = texts.into_iter().find(|(_, text)| holds_most(text));
    Ok(found.map(|(name, _)| format!("{name} holds most lines of the solution")))
}
