//! `bash`: a command, from a fresh shell each time.

use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

use async_trait::async_trait;
use cap_std::fs::{OpenOptions, OpenOptionsExt};
use codey_protocol::{Effect, ErrorCode, RelPath, ToolDisplay, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use ulid::Ulid;

use super::text;
use crate::cap::{Capture, Spill};
use crate::process::{self, Background, End, Shell, Stops};
use crate::quoted::quoted;
use crate::workspace::{Access, AtRootPath, file_error, plain, prepare_codey_dir, private_folder};
use crate::{Plan, ToolContext, ToolError, ToolOutput, TypedTool, Workspace};

/// Source: contract section 3.
const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;
/// What the kernel takes as one argument, less what it needs itself.
const MAX_COMMAND: usize = 128 * 1024 - 1;

/// Runs commands.
pub(super) struct Bash;

/// The arguments of `bash`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BashArgs {
    command: String,
    workdir: Option<String>,
    /// Default 120000, at most 600000
    #[serde(alias = "timeout")]
    timeout_ms: Option<NonZeroU64>,
    #[schemars(skip)]
    timeout_seconds: Option<NonZeroU64>,
}

#[async_trait]
impl TypedTool for Bash {
    type Args = BashArgs;
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Run a command with bash -c. Every call is a new shell: cd and variables do not \
        last. There is no input, no terminal, no pager and no editor. stdout and stderr come back together; a long \
        output is cut in the middle and saved to a file. Use read, glob, grep and edit instead of cat, find, grep and sed.";
    const KIND: ToolKind = ToolKind::Execute;

    async fn plan(&self, args: &BashArgs, workspace: &Workspace) -> Result<Plan, ToolError> {
        args.check()?;
        if let Some(folder) = &args.workdir {
            work_folder(workspace, folder.clone()).await?;
        }
        let mut lines = args.command.trim().lines();
        let first = lines.next().unwrap_or_default();
        let more = if lines.next().is_some() { " …" } else { "" };
        Ok(Plan {
            effect: Effect::Execute,
            rememberable: true,
            summary: format!("bash {first}{more}"),
            preview: ToolDisplay::text(&args.command),
            expects: Vec::new(),
        })
    }

    /// Ends by its own timeout; the context's deadline is for tools that have none.
    async fn run(&self, args: BashArgs, _plan: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let workspace = context.workspace;
        let timeout = args.timeout();
        let folder = work_folder(workspace, args.workdir.clone().unwrap_or_default()).await?;
        let mut capture = Capture::default();
        let shell = Shell {
            command: &args.command,
            folder: workspace.root_path().join(folder.as_str()),
            hidden_env: workspace.hidden_env(),
            timeout,
        };
        let stops = Stops { cancel: &context.cancel, ending: &context.ending };
        let end = process::run(shell, stops, workspace.leftovers(), |bytes| {
            let text = capture.push(bytes);
            if !text.is_empty() {
                (context.output)(&text);
            }
        })
        .await
        .map_err(|error| not_started(&error))?;
        capture.close();
        let (output, spill) = shown(workspace, capture).await;
        match end {
            End::Exited { code, signal, background } => Ok(finished(output, spill, code, signal, background)),
            End::TimedOut => Err(timed_out(timeout, &output.text)),
            End::Cancelled => Err(cancelled(&output.text)),
        }
    }
}

impl BashArgs {
    fn check(&self) -> Result<(), ToolError> {
        let problem = if self.command.trim().is_empty() {
            "command is empty. Send the command to run."
        } else if self.command.contains('\0') {
            "command holds a NUL character, which no command can."
        } else if self.command.len() > MAX_COMMAND {
            "command is longer than 128 KiB. Write it to a file and run that."
        } else if self.timeout_ms.is_some() && self.timeout_seconds.is_some() {
            "timeout_ms and timeout_seconds say the same. Send only timeout_ms."
        } else if self.timeout() > Duration::from_millis(MAX_TIMEOUT_MS) {
            "timeout_ms is at most 600000. For longer work start it in the background and look at it later."
        } else {
            return Ok(());
        };
        Err(ToolError::new(ErrorCode::InvalidArguments, problem))
    }

    fn timeout(&self) -> Duration {
        let seconds = self.timeout_seconds.map(|seconds| seconds.get().saturating_mul(1_000));
        let millis = self.timeout_ms.map(NonZeroU64::get).or(seconds).unwrap_or(DEFAULT_TIMEOUT_MS);
        Duration::from_millis(millis)
    }
}

/// Resolves the working directory and makes sure that it is one, at the path where the command will find it.
async fn work_folder(workspace: &Workspace, path: String) -> Result<RelPath, ToolError> {
    workspace
        .blocking(move |workspace| {
            let root = workspace.root_path().display();
            let at_root = workspace
                .look_at_root_path()
                .map_err(|error| file_error(&workspace.root_path().to_string_lossy(), "look at", &error))?;
            let problem = match at_root {
                AtRootPath::Root => None,
                AtRootPath::Other => Some(format!("{root} is no longer the folder this session works in")),
                AtRootPath::Nothing => Some(format!("the folder {root} that this session works in is gone")),
            };
            if let Some(problem) = problem {
                let advice = "It was moved, replaced or deleted: tell the user.";
                return Err(ToolError::new(ErrorCode::NotFound, format!("{problem}; nothing was run. {advice}")));
            }
            let place = workspace.resolve(&path, Access::Read)?;
            let metadata = place.metadata(&path);
            if metadata.as_ref().is_ok_and(|metadata| metadata.is_dir()) {
                // A rule like `secrets/**` denies what is in the folder and not the folder.
                let inside = workspace.resolve(&format!("{path}/any file"), Access::Read).err();
                return match inside.filter(|error| !path.is_empty() && error.code == ErrorCode::Denied) {
                    Some(error) => Err(error),
                    None => Ok(place.path),
                };
            }
            let shown = quoted(&path);
            let leave_out = "Leave workdir out, or name an existing one.";
            let (code, problem, advice) = match path.as_str() {
                "" => (
                    ErrorCode::NotFound,
                    format!("the working directory {root}/{} is gone", place.path),
                    "Name an existing one as workdir, by its absolute path.",
                ),
                _ if metadata.is_ok() => (ErrorCode::InvalidArguments, format!("{shown} is no directory"), leave_out),
                _ => (ErrorCode::NotFound, format!("directory {shown} does not exist"), leave_out),
            };
            Err(ToolError::new(code, format!("{problem}; nothing was run. {advice}")))
        })
        .await
}

/// What of the output is shown.
struct Shown {
    text: String,
    is_cut: bool,
}

/// The output as it is shown, and where all of it is if that is not everything.
async fn shown(workspace: &Workspace, capture: Capture) -> (Shown, Option<RelPath>) {
    if !capture.is_long() {
        return (Shown { text: capture.shown(Spill::Failed("")), is_cut: false }, None);
    }
    let saved = workspace
        .blocking(move |workspace| {
            let saved = save(workspace, capture.raw());
            Ok((capture, saved))
        })
        .await;
    match saved {
        Ok((capture, Ok(path))) => {
            (Shown { text: capture.shown(Spill::File(&workspace.shown(&path))), is_cut: true }, Some(path))
        }
        Ok((capture, Err(error))) => (Shown { text: capture.shown(Spill::Failed(&plain(&error))), is_cut: true }, None),
        Err(error) => (Shown { text: error.message, is_cut: true }, None),
    }
}

/// Writes the spill file.
fn save(workspace: &Workspace, bytes: &[u8]) -> io::Result<RelPath> {
    prepare_codey_dir(workspace.root_path())?;
    let codey = private_folder(workspace.root(), ".codey")?;
    let folder = private_folder(&codey, "output")?;
    let name = format!("bash-{}.txt", Ulid::generate().to_string().to_lowercase());
    let mut file = folder.open_with(&name, OpenOptions::new().write(true).create_new(true).mode(0o600))?;
    codey_faults::write(&mut file, bytes, "spill")?;
    Ok(RelPath::new(format!(".codey/output/{name}")))
}

fn finished(
    output: Shown,
    spill: Option<RelPath>,
    exit: Option<i32>,
    signal: Option<i32>,
    background: Background,
) -> ToolOutput {
    let mut lines = printed(&output.text).to_owned();
    let status = match (signal, exit) {
        (Some(signal), _) => format!("killed by signal {signal}"),
        (None, code) => format!("exit {}", code.unwrap_or_default()),
    };
    let running = match background {
        Background::Nothing => String::new(),
        Background::Processes(Some(1)) => ", still running in background: 1 process".to_owned(),
        Background::Processes(Some(count)) => format!(", still running in background: {count} processes"),
        Background::Processes(None) => ", still running in background".to_owned(),
    };
    if exit != Some(0) || !running.is_empty() {
        lines.push_str(&format!("\n[{status}{running}]"));
    }
    ToolOutput {
        for_model: text(lines),
        for_user: ToolDisplay::Command { output: output.text, exit, signal, truncated: output.is_cut, spill },
        observed: Vec::new(),
    }
}

/// The output without its last line end; never blank, which some models refuse.
fn printed(text: &str) -> &str {
    if text.trim().is_empty() { "(no output)" } else { text.strip_suffix('\n').unwrap_or(text) }
}

fn timed_out(timeout: Duration, output: &str) -> ToolError {
    let seconds = timeout.as_secs_f64();
    let output = printed(output);
    let advice = "All it started was ended. Give it more time with timeout_ms (at most 600000), or do less at once.";
    ToolError::new(
        ErrorCode::Timeout,
        format!("timed out after {seconds} s (it did not fail, it did not finish)\n{output}\n[{advice}]"),
    )
}

fn cancelled(output: &str) -> ToolError {
    let output = printed(output);
    let note = "All it started was ended; what it did before stays.";
    ToolError::new(ErrorCode::Cancelled, format!("cancelled by the user before it finished\n{output}\n[{note}]"))
}

fn not_started(error: &io::Error) -> ToolError {
    ToolError::new(
        ErrorCode::Io,
        format!("the command could not be started: {}. Nothing was run; tell the user.", plain(error)),
    )
}
