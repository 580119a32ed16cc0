//! Predictions for SWE-bench: what a campaign's runs changed, as patches.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;

use crate::campaign::Campaign;
use crate::program::{Ended, Program};
use crate::workspace::Workspace;

/// git may take this long.
const GIT_TIME: Duration = Duration::from_secs(120);
/// Bytes are compared as they are, whatever the repository's own attributes say.
const AS_THEY_ARE: &str = "* -text -filter -ident -working-tree-encoding\n";
/// The same with every file called binary: git then writes letters only.
const AS_LETTERS: &str = "* -text -filter -ident -working-tree-encoding -diff\n";

/// What a prediction file says of one task.
#[derive(Serialize)]
struct Prediction<'a> {
    instance_id: &'a str,
    model_name_or_path: String,
    model_patch: String,
}

/// One JSON line for each task whose run `number` was measured, from the patches beside the records.
///
/// # Errors
/// A record or a patch cannot be read.
pub fn predictions(campaign: &Campaign, number: u32) -> Result<String> {
    let mut lines = String::new();
    for record in campaign.records().iter().filter(|record| record.number == number && record.solved().is_some()) {
        let file = campaign.folder.join(&record.task).join(format!("{number}.patch"));
        let prediction = Prediction {
            instance_id: &record.task,
            model_name_or_path: format!("codey-{}-{}", record.version, record.model),
            model_patch: fs::read_to_string(&file).with_context(|| format!("{} is part of a run", file.display()))?,
        };
        lines += &serde_json::to_string(&prediction)?;
        lines.push('\n');
    }
    Ok(lines)
}

/// What turns the workspace as it was into what it is now, for `git apply`: new files included, except those that
/// `.gitignore` names. Empty: nothing.
///
/// # Errors
/// git cannot read the workspace.
pub async fn patch(workspace: &Workspace) -> Result<String> {
    // A repository of its own: the agent may have committed, or done worse, in the workspace's.
    let place = tempfile::tempdir()?;
    let repository = place.path().join("repository");
    let git = Git { repository: repository.to_str().context("a path that is no text")? };
    git.run(&["init", "--quiet", "--bare", "--template=", git.repository], place.path()).await?;
    fs::create_dir_all(repository.join("info"))?;
    let attributes = repository.join("info/attributes");
    fs::write(&attributes, AS_THEY_ARE)?;
    // What is ignored and was there counts; what is ignored and new is what builds leave behind.
    git.on(&["add", "--all", "--force"], &workspace.before).await?;
    git.on(&["commit", "--quiet", "--allow-empty", "--message=Before"], &workspace.before).await?;
    git.on(&["add", "--all", "--", ".", ":(exclude).codey"], &workspace.folder).await?;
    let file = place.path().join("patch");
    let output = format!("--output={}", file.display());
    for lines in [AS_THEY_ARE, AS_LETTERS] {
        fs::write(&attributes, lines)?;
        let diff = ["diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-renames", &output];
        git.on(&diff, &workspace.folder).await?;
        if let Ok(text) = String::from_utf8(fs::read(&file)?) {
            return Ok(text);
        }
    }
    anyhow::bail!("git writes a patch that is no text");
}

struct Git<'a> {
    repository: &'a str,
}

impl Git<'_> {
    /// Runs git with `folder` as its work tree.
    async fn on(&self, arguments: &[&str], folder: &Path) -> Result<()> {
        let repository = format!("--git-dir={}", self.repository);
        // What this user ignores everywhere is not the repository's.
        let own = [&repository, "--work-tree=.", "-c", "core.excludesFile="];
        self.run(&[&own, arguments].concat(), folder).await
    }

    async fn run(&self, arguments: &[&str], folder: &Path) -> Result<()> {
        let Ended { code, last_line } = Program::git(arguments, folder).run(GIT_TIME).await?;
        ensure!(code == Some(0), "git {} failed: {last_line}", arguments.join(" "));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Plan;
    use crate::record::{Agent, Via};
    use crate::samples::{solved, void};

    #[test]
    fn a_prediction_is_a_line_for_each_measured_run() {
        let place = tempfile::tempdir().unwrap();
        let plan = Plan {
            repeats: 1,
            seed: 0,
            agent: Agent::Model,
            via: Via::Lib,
            tasks: ["a", "b"].map(str::to_owned).into(),
            label: None,
            model: None,
            endpoint: None,
            base_url: None,
            max_turns: None,
            timeout: None,
            version: "0.1.0".to_owned(),
            commit: None,
        };
        let campaign = Campaign::begin(place.path(), plan).unwrap();
        for record in [solved("a", 1), solved("a", 2), void("b", 1, "no model")] {
            let folder = campaign.folder.join(&record.task);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{}.json", record.number)), serde_json::to_vec(&record).unwrap()).unwrap();
            fs::write(folder.join(format!("{}.patch", record.number)), format!("{}\n", record.number)).unwrap();
        }
        assert_eq!(
            predictions(&campaign, 1).unwrap(),
            "{\"instance_id\":\"a\",\"model_name_or_path\":\"codey-0.1.0-m\",\"model_patch\":\"1\\n\"}\n"
        );
    }
}
