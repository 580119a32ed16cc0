//! Tasks and runs for other engines: `export`, `import`, `predictions`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use codey_eval::{Campaign, Task, harbor, predictions};

use crate::{print, say};

/// Writes each task as a Harbor folder below `to`.
pub(crate) async fn export(tasks: &[Task], to: &Path) -> Result<u8> {
    for task in tasks {
        harbor::export(task, &to.join(&task.name)).await.with_context(|| task.name.clone())?;
    }
    say(&format!("{} tasks for Harbor in {}", tasks.len(), to.display()));
    Ok(0)
}

/// Writes Harbor folders as tasks to `tasks`. Those that cannot be are named with the reason, and the rest is done.
pub(crate) fn import(folders: &[PathBuf], tasks: &Path) -> u8 {
    let mut code = 0;
    for folder in folders {
        match harbor::import(folder, tasks) {
            Ok(task) => print(&format!("{}\n", task.display())),
            Err(error) => {
                say(&format!("codey-evals: {}: {error:#}", folder.display()));
                code = crate::FAILED;
            }
        }
    }
    say("Prove what was imported: codey-evals verify");
    code
}

/// Prints a campaign's patches as SWE-bench predictions.
pub(crate) fn write_predictions(campaign: &Path, number: u32) -> Result<u8> {
    print(&predictions(&Campaign::open(campaign)?, number)?);
    Ok(0)
}
