//! `codey demo`: the main job without any account. The model is a recording; loop, tools and tests are real.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use codey_app::App;
use codey_llm::{Block, EventStream, Provider, Request, ScriptedProvider, ScriptedTurn, StopReason, tool_use, turn};
use codey_print::{Mode, PrintOptions, print, start_failed};
use codey_protocol::{Host as _, PermissionMode, SpawnRequest, StartError};
use serde_json::json;
use tempfile::TempDir;

use super::print::mode;
use crate::args::DemoArgs;
use crate::signals;

/// What the visitor asks.
const PROMPT: &str = "Make the failing test pass.";
/// `session_start.endpoint`. Source: contract section 1.
const ENDPOINT: &str = "recording";
const CODE: &str = include_str!("../../demo/src/duration.sh");
const TESTS: &str = include_str!("../../demo/tests/run.sh");

pub(super) async fn run(app: &App, args: DemoArgs) -> u8 {
    let mode = mode(args.mode);
    match prepare(args.keep.as_deref()) {
        Ok(folder) => demonstrate(app, &folder, mode, args.verbosity.quiet).await,
        Err(error) => start_failed(mode, &error),
    }
}

/// Where the demo happens.
enum Folder {
    /// Deleted at the end.
    Temporary(TempDir),
    Kept(PathBuf),
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(path) => path,
        }
    }
}

async fn demonstrate(app: &App, folder: &Folder, mode: Mode, quiet: bool) -> u8 {
    let stop = match signals::stop_token() {
        Ok(stop) => stop,
        Err(error) => return start_failed(mode, &error),
    };
    let request = SpawnRequest {
        cwd: folder.path().to_path_buf(),
        // In its own folder only, which holds nothing of the visitor's.
        mode: Some(PermissionMode::AlwaysApprove),
        notices: kept_notice(folder),
        provider: Some(Arc::new(Recording::new())),
        ..SpawnRequest::default()
    };
    match app.spawn(request).await {
        Ok(handle) => {
            let prompt = Some(PROMPT.to_owned());
            print(handle, PrintOptions { mode, quiet, prompt, input_json: false, stop }).await
        }
        Err(error) => start_failed(mode, &error),
    }
}

fn kept_notice(folder: &Folder) -> Vec<(String, String)> {
    match folder {
        Folder::Temporary(_) => Vec::new(),
        Folder::Kept(path) => vec![("demo_kept".to_owned(), format!("the demo is kept in {}", path.display()))],
    }
}

/// Makes the repository with the failing test.
fn prepare(keep: Option<&Path>) -> Result<Folder, StartError> {
    let folder = match keep {
        Some(path) => Folder::Kept(empty_folder(path)?),
        None => Folder::Temporary(tempfile::tempdir().map_err(|error| {
            StartError::config(format!("cannot make a temporary folder: {error}"), "Name one with --keep.")
        })?),
    };
    let root = folder.path();
    let written = write(root, "src/duration.sh", CODE).and_then(|()| write(root, "tests/run.sh", TESTS));
    written.map_err(|error| {
        StartError::config(format!("cannot write the demo to {}: {error}", root.display()), "Free some space.")
    })?;
    git(root, &["init", "--quiet"])?;
    git(root, &["add", "."])?;
    git(root, &["commit", "--quiet", "--message", "Format durations"])?;
    Ok(folder)
}

fn empty_folder(path: &Path) -> Result<PathBuf, StartError> {
    let failed = |why: &str| {
        StartError::config(
            format!("cannot keep the demo in {}: {why}", path.display()),
            "Name a folder that does not exist or is empty.",
        )
    };
    std::fs::create_dir_all(path).map_err(|error| failed(&error.to_string()))?;
    let mut entries = std::fs::read_dir(path).map_err(|error| failed(&error.to_string()))?;
    if entries.next().is_some() {
        return Err(failed("it is not empty"));
    }
    path.canonicalize().map_err(|error| failed(&error.to_string()))
}

fn write(root: &Path, path: &str, text: &str) -> std::io::Result<()> {
    let path = root.join(path);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

/// Runs git with nothing of the visitor's own configuration.
fn git(root: &Path, args: &[&str]) -> Result<(), StartError> {
    let identity = [("AUTHOR", "Codey demo"), ("COMMITTER", "Codey demo")];
    let mut command = Command::new("git");
    // Each of them leads git somewhere else, or gives it a setting.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    command.args(args).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for (role, name) in identity {
        command.env(format!("GIT_{role}_NAME"), name).env(format!("GIT_{role}_EMAIL"), "demo@codey.invalid");
    }
    let failed =
        |why: String| StartError::config(format!("git {} failed: {why}", args[0]), "The demo needs git and sh.");
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(failed(why.lines().next().unwrap_or("it did not say why").to_owned()))
}

/// Plays a recorded model. Its last words depend on what the test run really printed.
struct Recording {
    script: Arc<ScriptedProvider>,
    played: AtomicUsize,
}

impl Recording {
    fn new() -> Self {
        Self { script: ScriptedProvider::new(ENDPOINT, script()), played: AtomicUsize::new(0) }
    }
}

impl Provider for Recording {
    fn id(&self) -> &str {
        ENDPOINT
    }

    fn stream(&self, request: Request) -> EventStream {
        if self.played.fetch_add(1, Ordering::Relaxed) < script().len() {
            return self.script.stream(request);
        }
        let passed = request.messages.last().is_some_and(|message| message.content.iter().any(shows_green_run));
        let text = if passed { PASSED } else { NOT_PASSED };
        ScriptedProvider::new(ENDPOINT, vec![turn(vec![Block::text(text)], StopReason::EndTurn)]).stream(request)
    }
}

fn shows_green_run(block: &Block) -> bool {
    match block {
        Block::ToolResult { content, .. } => {
            content.iter().filter_map(Block::as_text).any(|text| text.contains("all 5 tests passed"))
        }
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::ToolUse { .. }
        | Block::Image { .. }
        | Block::Foreign { .. } => false,
    }
}

const PASSED: &str = "\
Done: all 5 tests pass now. format_duration counted the minutes of whole hours again, so 3723 s gave 62 minutes; it \
takes the rest of the hour now (src/duration.sh:5).

That was the recorded model. Everything else was real: the repository, the searches, the edit that failed and was \
corrected, and the test run. With a key or a local model server, codey -p does the same in your own repository.";

const NOT_PASSED: &str = "\
The test run did not end as it did when this was recorded, so the task is not done: look at the output above.";

fn script() -> Vec<ScriptedTurn> {
    let wrong_indent = "    minutes=$((seconds / 60))";
    let right = "\tminutes=$((seconds / 60))";
    let fixed = "\tminutes=$((seconds % 3600 / 60))";
    let intro = "This is a recorded model in a throwaway repository; the tools it calls are real.\n\n\
                 I'll run the tests first.";
    vec![
        calls(intro, vec![tool_use("demo_1", "bash", json!({"command": "sh tests/run.sh"}))]),
        calls(
            "Whole hours end up in the minutes. I'll look at the code and the test.",
            vec![
                tool_use("demo_2", "read", json!({"path": "src/duration.sh"})),
                tool_use("demo_3", "read", json!({"path": "tests/run.sh"})),
                tool_use("demo_4", "grep", json!({"pattern": "minutes"})),
            ],
        ),
        calls(
            "The minutes must come from the rest of the hour.",
            vec![edit("demo_5", wrong_indent, &fixed.replace('\t', "    "))],
        ),
        calls("The file indents with a tab where I sent spaces.", vec![edit("demo_6", right, fixed)]),
        calls("Now the tests again.", vec![tool_use("demo_7", "bash", json!({"command": "sh tests/run.sh"}))]),
    ]
}

fn edit(id: &str, old: &str, new: &str) -> Block {
    tool_use(id, "edit", json!({"path": "src/duration.sh", "old_str": old, "new_str": new}))
}

fn calls(text: &str, calls: Vec<Block>) -> ScriptedTurn {
    let mut blocks = vec![Block::text(text)];
    blocks.extend(calls);
    turn(blocks, StopReason::ToolUse)
}
