//! Runs one call to its end.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use codey_llm::Block;
use codey_protocol::{Effect, ErrorCode, Observed, ToolDisplay, ToolKind};
use codey_tools::{ToolContext, ToolError, ToolOutput};
use futures::FutureExt as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::dispatch::Ready;

/// Time of any tool but bash, which has its own. Source: contract section 3.
const TOOL_TIME: Duration = Duration::from_secs(120);
/// The longest bash may ask for. Source: contract section 3.
const COMMAND_TIME: Duration = Duration::from_secs(600);
/// How long a tool may take to end by itself after its deadline before it is cancelled.
const DEADLINE_GRACE: Duration = Duration::from_secs(10);
/// How long a cancelled tool may take to end before its call is answered without it: more than `bash` needs for SIGTERM,
/// its grace and SIGKILL.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);
/// The same once Codey itself is told to end; a front end waits 2 s for the rest of the run's events.
const ENDING_PATIENCE: Duration = Duration::from_millis(1_500);

/// The result of one call.
pub(crate) struct Outcome {
    pub(crate) content: Vec<Block>,
    pub(crate) code: Option<ErrorCode>,
    pub(crate) display: ToolDisplay,
    pub(crate) observed: Vec<Observed>,
    /// A guard or the mode forbade it.
    pub(crate) denied: bool,
    /// It may have changed something.
    pub(crate) changed: bool,
}

impl Outcome {
    pub(crate) fn error(code: ErrorCode, message: impl AsRef<str>) -> Self {
        let text = format!("Error: {}", message.as_ref());
        Self {
            content: vec![Block::text(text.clone())],
            code: Some(code),
            display: ToolDisplay::Text { text },
            observed: Vec::new(),
            denied: false,
            changed: false,
        }
    }

    pub(crate) fn text(&self) -> String {
        self.content.iter().filter_map(Block::as_text).collect()
    }
}

/// Runs one call to its end: a panic is caught, a late tool cancelled and awaited. Only when the run itself was
/// cancelled is a tool that does not end, as on a disk that does not answer, left to itself.
pub(crate) async fn execute(
    ready: &Ready,
    workspace: &codey_tools::Workspace,
    run: CancellationToken,
    ending: CancellationToken,
    output: &(dyn Fn(&str) + Send + Sync),
) -> Outcome {
    let effect = ready.plan.effect;
    tokio::select! {
        biased;
        result = run_tool(ready, workspace, run.child_token(), ending.clone(), output) => into_outcome(result, effect),
        () = out_of_patience(&run, &ending) => into_outcome(Err(left_to_itself(effect)), effect),
    }
}

/// Ends when a tool has had its time to end after the run was cancelled.
async fn out_of_patience(run: &CancellationToken, ending: &CancellationToken) {
    run.cancelled().await;
    tokio::select! {
        () = tokio::time::sleep(CANCEL_PATIENCE) => {}
        () = async {
            ending.cancelled().await;
            tokio::time::sleep(ENDING_PATIENCE).await;
        } => {}
    }
}

fn left_to_itself(effect: Effect) -> ToolError {
    let text = match effect {
        Effect::Observe => {
            "cancelled by the user; it did not end in time, so there is no result. Try it again if you need it."
        }
        Effect::Edit | Effect::Execute => {
            "cancelled by the user; it did not end in time, and what it did or may still do is unknown. Look at what it \
             was to change before you go on."
        }
    };
    ToolError::new(ErrorCode::Cancelled, text)
}

async fn run_tool(
    ready: &Ready,
    workspace: &codey_tools::Workspace,
    cancel: CancellationToken,
    ending: CancellationToken,
    output: &(dyn Fn(&str) + Send + Sync),
) -> Result<ToolOutput, ToolError> {
    let is_command = ready.tool.info().kind == ToolKind::Execute;
    let deadline = Instant::now() + if is_command { COMMAND_TIME } else { TOOL_TIME };
    let context = ToolContext { workspace, cancel: cancel.clone(), ending, deadline, output };
    let run = caught(ready.tool.run(ready.call.input.clone(), ready.plan.clone(), context));
    tokio::pin!(run);
    match tokio::time::timeout_at(deadline + DEADLINE_GRACE, &mut run).await {
        Ok(result) => result,
        Err(_) => {
            cancel.cancel();
            // Awaited: what it still does must not meet the next call. What it still got done counts.
            run.await.map_err(|_| {
                let text = "timed out (it did not fail, it did not finish). Try a smaller step.";
                ToolError::new(ErrorCode::Timeout, text)
            })
        }
    }
}

fn into_outcome(result: Result<ToolOutput, ToolError>, effect: Effect) -> Outcome {
    match result {
        Ok(ToolOutput { for_model, for_user, observed }) => Outcome {
            content: for_model,
            code: None,
            display: for_user,
            observed,
            denied: false,
            changed: effect != Effect::Observe,
        },
        // A command that timed out or was cancelled did run.
        Err(ToolError { code, message }) => {
            let ran = matches!(code, ErrorCode::Timeout | ErrorCode::Cancelled | ErrorCode::ToolPanic);
            Outcome { changed: effect == Effect::Execute && ran, ..Outcome::error(code, message) }
        }
    }
}

/// Awaits a step of a tool; a panic becomes an error for the model and a bug for the log.
pub(crate) async fn caught<T>(step: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
    match AssertUnwindSafe(step).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => {
            tracing::error!(panic = panic_text(&*panic), "a tool panicked");
            let text = "the tool failed because of a bug in it; what it did until then is unknown. Check, and use \
                        another tool.";
            Err(ToolError::new(ErrorCode::ToolPanic, text))
        }
    }
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
