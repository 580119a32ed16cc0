//! Our tasks as Harbor's.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use toml::{Table, Value};

use super::dockerfile::{self, CONTEXT, WORKDIR};
use super::{ANSWER, OWN_TABLE, SCHEMA};
use crate::task::{Change, Task};
use crate::workspace::{Tree, Workspace, copy};

/// Judges a workspace and writes the reward.
const TEST: &str = include_str!("test.sh");
/// Seconds for `tests/test.sh`: Harbor counts more than the program itself, and its machines may be slower.
const VERIFIER_SECONDS: f64 = 300.0;
/// What a task's program may read of an agent, by variable; Codey's agent for Harbor leaves both in `/logs/agent`.
const LEFT_BY_AGENT: [(&str, &str); 2] = [("CODEY_EVAL_ANSWER", "answer.txt"), ("CODEY_EVAL_EVENTS", "codey.jsonl")];

/// Writes `task` as the Harbor task folder `to`.
///
/// The workspace is set up here and copied, so that what `setup.sh` reads stays out of the image. The checker, what it
/// compares with and the solution go to folders that the container gets only when they are run; near misses to one
/// that it never gets.
///
/// # Errors
/// `to` is there already, or the task cannot be set up.
pub async fn export(task: &Task, to: &Path) -> Result<()> {
    ensure!(!to.exists(), "{} is there already; remove it, or name another folder", to.display());
    let place = tempfile::tempdir()?;
    let workspace = Workspace::prepare(task, place.path()).await?;
    // The image has a repository of its own, and the checker looks at files only.
    fs::remove_dir_all(workspace.before.join(".git"))?;
    let context = to.join("environment");
    copy_folder(&workspace.before, &context.join(CONTEXT))?;
    fs::write(context.join("Dockerfile"), dockerfile::write(&scripts(task, &workspace.before)?))?;
    fs::write(to.join("instruction.md"), format!("{}\n", task.prompt))?;
    fs::write(to.join("task.toml"), settings(task)?)?;
    tests(task, &workspace, &to.join("tests"))?;
    solution(task, &to.join("solution"))?;
    let near_misses = task.folder.join("near_miss");
    if near_misses.is_dir() {
        copy_folder(&near_misses, &to.join("near_miss"))?;
    }
    Ok(())
}

fn settings(task: &Task) -> Result<String> {
    let file = task.folder.join("task.toml");
    let mut own: Table = if file.exists() { toml::from_str(&fs::read_to_string(file)?)? } else { Table::new() };
    // Both have a place in Harbor's schema.
    own.remove("category");
    own.remove("timeout");
    let table = |entries: Vec<(&str, Value)>| {
        Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    };
    let metadata = vec![("category", task.spec.category.clone().into()), (OWN_TABLE, Value::Table(own))];
    let settings = vec![
        ("schema_version", SCHEMA.into()),
        ("metadata", table(metadata)),
        ("agent", table(vec![("timeout_sec", task.spec.timeout.as_secs_f64().into())])),
        ("verifier", table(vec![("timeout_sec", VERIFIER_SECONDS.into())])),
        // The model is asked from inside.
        ("environment", table(vec![("network_mode", "public".into())])),
    ];
    Ok(toml::to_string(&table(settings))?)
}

fn tests(task: &Task, workspace: &Workspace, tests: &Path) -> Result<()> {
    let own = tests.join("task");
    copy_folder(&workspace.before, &tests.join("before"))?;
    fs::create_dir(&own)?;
    fs::write(tests.join("test.sh"), TEST)?;
    let program = fs::read_to_string(task.folder.join("verify.sh"))?;
    fs::write(own.join("verify.sh"), &program)?;
    let hidden = task.folder.join("hidden");
    if hidden.is_dir() {
        copy_folder(&hidden, &own.join("hidden"))?;
    }
    let mut rules = String::new();
    for (_, file) in LEFT_BY_AGENT.iter().filter(|(variable, _)| program.contains(variable)) {
        rules += &format!("needs {file}\n");
    }
    for path in &task.spec.must_survive {
        rules += &format!("survive {path}\n");
    }
    if task.spec.expect_no_changes {
        rules += "unchanged\n";
    }
    Ok(fs::write(own.join("rules"), rules)?)
}

fn solution(task: &Task, folder: &Path) -> Result<()> {
    let Some(solution) = task.solution() else { return Ok(()) };
    let files = folder.join("files");
    fs::create_dir_all(&files)?;
    let mut script =
        format!("#!/usr/bin/env bash\nset -eu\nsolution=$(cd \"$(dirname \"$0\")\" && pwd)\ncd {WORKDIR}\n");
    match &solution.change {
        Some(Change::Patch(patch)) => {
            fs::copy(patch, files.join("solution.patch"))?;
            script += "git apply --whitespace=nowarn \"$solution/files/solution.patch\"\n";
        }
        Some(Change::Script(program)) => {
            fs::copy(program, files.join("solution.sh"))?;
            script += "bash \"$solution/files/solution.sh\"\n";
        }
        None => {}
    }
    if let Some(answer) = &solution.answer {
        fs::write(folder.join(ANSWER), format!("{answer}\n"))?;
        script += &format!("cp \"$solution/{ANSWER}\" /logs/agent/answer.txt\n");
    }
    Ok(fs::write(folder.join("solve.sh"), script)?)
}

/// What may call a toolchain: the checker, the repository's own tests and what they run.
fn scripts(task: &Task, workspace: &Path) -> Result<Vec<String>> {
    let mut scripts: Vec<String> = task.spec.test.iter().cloned().collect();
    scripts.push(fs::read_to_string(task.folder.join("verify.sh"))?);
    for folder in [workspace, &task.folder.join("hidden")] {
        if !folder.is_dir() {
            continue;
        }
        let is_script = |path: &&String| path.ends_with(".sh") || path.ends_with("Makefile");
        for path in Tree::of(folder)?.paths().filter(is_script) {
            scripts.push(String::from_utf8_lossy(&fs::read(folder.join(path))?).into_owned());
        }
    }
    Ok(scripts)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))
}
