//! `codey -p`: one request, headless.

use codey_app::App;
use codey_llm::Effort;
use codey_print::{Mode, PrintOptions, print, start_failed, start_interrupted};
use codey_protocol::{
    Handle, Host as _, Limits, ModelRef, NodeId, PermissionMode, SandboxPolicy, SessionChoice, SpawnRequest, StartError,
};

use crate::args::{EffortFlag, OutputFlags, OutputMode, PromptArgs, RunFlags, SandboxFlag};
use crate::environment::ignored_variables;
use crate::{signals, stdin, system};

pub(super) async fn run(app: &App, args: PromptArgs) -> u8 {
    let mode = mode(args.output.mode);
    if !args.print {
        return no_terminal_interface(mode);
    }
    let session = match session_choice(&args) {
        Ok(session) => session,
        Err(error) => return start_failed(mode, &error),
    };
    headless(app, args.prompt, session, args.output, args.run).await
}

fn session_choice(args: &PromptArgs) -> Result<SessionChoice, StartError> {
    if args.no_session {
        return Ok(SessionChoice::None);
    }
    if args.continue_latest {
        return Ok(SessionChoice::Latest);
    }
    match &args.resume {
        Some(id) => Ok(SessionChoice::Id { id: id.clone(), branch: branch(args.branch.as_deref())? }),
        None => Ok(SessionChoice::New),
    }
}

/// Reads a node's name.
pub(super) fn branch(name: Option<&str>) -> Result<Option<NodeId>, StartError> {
    let parse = |name: &str| serde_json::from_value(serde_json::Value::from(name));
    name.map(parse).transpose().map_err(|_| {
        let name = name.unwrap_or_default();
        StartError::config(format!("{name:?} is no node id"), "Take one from the session's message events.")
    })
}

pub(super) fn no_terminal_interface(mode: Mode) -> u8 {
    let message = "this version has no terminal interface";
    start_failed(mode, &StartError::config(message, "Use codey -p \"PROMPT\", or see codey --help."))
}

pub(super) fn mode(mode: OutputMode) -> Mode {
    match mode {
        OutputMode::Text => Mode::Text,
        OutputMode::Json => Mode::Json,
    }
}

/// Runs one request (or those of `--input json`) and prints it.
pub(super) async fn headless(
    app: &App,
    prompt: Option<String>,
    session: SessionChoice,
    output: OutputFlags,
    run: RunFlags,
) -> u8 {
    let mode = mode(output.mode);
    let input_json = output.input.is_some();
    let stop = match signals::stop_token() {
        Ok(stop) => stop,
        Err(error) => return start_failed(mode, &error),
    };
    let started = tokio::select! {
        biased;
        () = stop.cancelled() => return start_interrupted(mode),
        started = start(app, prompt, input_json, session, &run) => started,
    };
    match started {
        Ok((handle, prompt)) => {
            print(handle, PrintOptions { mode, quiet: output.verbosity.quiet, prompt, input_json, stop }).await
        }
        Err(error) => start_failed(mode, &error),
    }
}

/// Reads the prompt and starts the agent. Cancelled by drop: what still waits for stdin is left behind.
async fn start(
    app: &App,
    prompt: Option<String>,
    input_json: bool,
    session: SessionChoice,
    run: &RunFlags,
) -> Result<(Handle, Option<String>), StartError> {
    let mut warnings: Vec<_> = ignored_variables().map(|message| ("variable_ignored".to_owned(), message)).collect();
    let prompt = if input_json {
        if prompt.as_deref() == Some("-") {
            return Err(StartError::config(
                "with --input json stdin holds lines of JSON",
                "Give the prompt as an argument.",
            ));
        }
        prompt
    } else {
        // A read cannot be cancelled, so it has a thread of its own.
        let read = tokio::task::spawn_blocking(move || stdin::prompt(prompt)).await;
        let read = read.unwrap_or_else(|_| Err("stdin cannot be read".to_owned()));
        let read = read.map_err(|message| StartError::config(message, "See codey --help."))?;
        warnings.extend(read.warnings.into_iter().map(|message| ("stdin".to_owned(), message)));
        Some(read.text)
    };
    let limits = Limits { turns: run.max_turns, tokens_total: run.max_tokens_total, cost_usd: run.max_cost };
    let system = match &run.system {
        Some(path) => Some(system::read(path.clone()).await?),
        None => None,
    };
    let request = SpawnRequest {
        cwd: run.place.cwd.clone(),
        session,
        mode: run.mode(),
        default_mode: PermissionMode::Auto,
        answers: input_json,
        sandbox: run.sandbox.map(|SandboxFlag::Off| SandboxPolicy::Off),
        model: Some(ModelRef { model: run.model.clone(), endpoint: run.endpoint.clone() }),
        effort: run.effort.map(|effort| match effort {
            EffortFlag::Low => Effort::Low,
            EffortFlag::Medium => Effort::Medium,
            EffortFlag::High => Effort::High,
        }),
        tools: run.tools.clone(),
        limits: Some(limits),
        system,
        append_system: run.append_system.clone(),
        compact_floor: run.compact_floor,
        notices: warnings,
        provider: None,
    };
    Ok((app.spawn(request).await?, prompt))
}
