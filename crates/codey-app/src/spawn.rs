//! Puts one agent together.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use codey_agent::{AgentBuilder, ModelBinding, Place, SetModel};
use codey_ctx::{Environment, FileOptions, FoldPolicy, SystemOptions, context_files, system_prompt};
use codey_llm::{Capabilities, Effort, ModelInfo, Provider};
use codey_protocol::{
    Handle, Limits, ModelRef, RelPath, RunError, SandboxPolicy, SandboxStatus, SessionChoice, SpawnRequest, StartError,
};
use codey_session::{Session, SessionError, SessionStart};
use codey_tools::{ToolSet, Workspace, WorkspaceError, WorkspaceOptions, builtin_tools, default_deny_paths};
use nix::unistd::{AccessFlags, access};

use crate::app::App;
use crate::endpoint::{choose, key_variables, open};
use crate::place::{Location, plain};
use crate::recorder::Recorder;
use crate::settings::{Found, config_error};

/// Context files that are looked for. Source: contract section 2.
const CONTEXT_FILES: [&str; 2] = ["AGENTS.md", "REPOMAP.md"];
/// Tokens that context files may take. Source: contract section 7.
const CONTEXT_TOKENS: u64 = 20_000;
/// Most that is read of a context file; the budget cuts long before.
const CONTEXT_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Window of a model that is handed in and not asked anywhere: what plays a script has no window of its own.
const SCRIPTED_WINDOW: u32 = 200_000;

/// Starts the agent that `request` describes.
pub(crate) async fn spawn(app: &App, request: SpawnRequest) -> Result<Handle, StartError> {
    let location = Location::find(&request.cwd)?;
    // What plays a script (demo, replay) must not depend on the person's own settings.
    let found = if request.provider.is_some() { Found::nothing()? } else { app.settings(&location.root)? };
    refuse_what_is_not_there(&request)?;
    let workspace = workspace(&location, &found)?;
    let limits = limits(&found, request.limits);
    let chosen = request.model.clone().unwrap_or_default();
    let (binding, notice) = bind(app, &found, &chosen, request.effort, request.provider.clone()).await?;
    if limits.cost_usd.is_some() && binding.model.price.is_none() {
        return Err(StartError::config(
            format!("the cost limit cannot be held: the price of {} is unknown", binding.model.id),
            "Use --max-tokens-total (max_tokens_total) in place of --max-cost (max_cost), or a model of known price.",
        ));
    }
    let effort_lost = request.provider.is_none() && binding.effort.is_some() && !binding.model.capabilities.effort;
    let effort_lost = effort_lost.then(|| {
        ("effort_ignored", format!("{} is not known to take an effort setting, so none is sent", binding.model.id))
    });
    let stored = request.session != SessionChoice::None;
    if stored {
        writable(&location)?;
    }
    let tools = chosen_tools(request.tools.as_deref())?;
    let (system, context_warnings) =
        system_options(&location, &found, &workspace, &tools, request.system.clone(), request.append_system.clone());
    let (session, resumed, load_warnings) = session(&location, &request.session)?;
    let place = Place {
        root: location.root.display().to_string(),
        cwd: location.cwd.display().to_string(),
        sandbox: SandboxStatus::off(),
    };
    let settings = found.settings();
    let floor = request.compact_floor.or(settings.context.compact_floor);
    let mut builder = AgentBuilder::new(binding, workspace, session, place)
        .system(system_prompt(&system))
        .tools(tools)
        .mode(request.mode.or(settings.permissions.mode).unwrap_or(request.default_mode))
        .answers(request.answers)
        .limits(limits)
        .policy(floor.map_or_else(FoldPolicy::default, |floor| FoldPolicy { floor }))
        .resumed(resumed);
    if request.provider.is_none() {
        builder = builder.resolver(resolver(app, &location));
    }
    if stored {
        let recorder = Recorder::new(location.root.clone());
        builder = builder.observer(Arc::new(move |event| recorder.record(event)));
    }
    let notices = notice.map(|message| ("local_server", message)).into_iter();
    let notices = notices
        .chain(effort_lost)
        .chain(found.warnings.iter().map(|message| ("config_ignored", message.clone())))
        .chain(context_warnings.into_iter().map(|message| ("context_cut", message)))
        .chain(load_warnings.into_iter().map(|message| ("session_damaged", message)));
    for (code, message) in notices {
        builder = builder.notice(code, message);
    }
    for (code, message) in request.notices {
        builder = builder.notice(code, message);
    }
    builder.spawn().map_err(session_error)
}

/// A protection is never reported that was not set up.
fn refuse_what_is_not_there(request: &SpawnRequest) -> Result<(), StartError> {
    match request.sandbox {
        None | Some(SandboxPolicy::Off) => Ok(()),
        Some(SandboxPolicy::ReadOnly | SandboxPolicy::Workspace) => Err(StartError::config(
            "this version has no sandbox",
            "Leave --sandbox out, or say --sandbox off; commands are then asked about.",
        )),
    }
}

/// What the request says, over what is configured.
fn limits(found: &Found, wanted: Option<Limits>) -> Limits {
    let configured = found.limits();
    let Some(wanted) = wanted else { return configured };
    Limits {
        turns: wanted.turns.or(configured.turns),
        tokens_total: wanted.tokens_total.or(configured.tokens_total),
        cost_usd: wanted.cost_usd.or(configured.cost_usd),
    }
}

async fn bind(
    app: &App,
    found: &Found,
    wanted: &ModelRef,
    effort: Option<Effort>,
    provider: Option<Arc<dyn Provider>>,
) -> Result<(ModelBinding, Option<String>), StartError> {
    if let Some(provider) = provider {
        let model = ModelInfo {
            id: wanted.model.clone().unwrap_or_else(|| "recorded".to_owned()),
            window: Some(SCRIPTED_WINDOW),
            max_output: codey_providers::DEFAULT_MAX_OUTPUT,
            price: None,
            capabilities: Capabilities::default(),
        };
        let endpoint = provider.id().to_owned();
        return Ok((ModelBinding { provider, model, endpoint, effort }, None));
    }
    let choice = choose(&app.options, found, wanted, effort).await?;
    let endpoint = choice.options.name.clone();
    let binding = ModelBinding { provider: open(choice.options), model: choice.model, endpoint, effort: choice.effort };
    Ok((binding, choice.notice))
}

/// Finds models for [`codey_protocol::Input::SetModel`].
fn resolver(app: &App, location: &Location) -> codey_agent::ModelResolver {
    let (app, root) = (app.clone(), location.root.clone());
    Arc::new(move |SetModel { model, endpoint, effort }, current| {
        let (app, root) = (app.clone(), root.clone());
        Box::pin(async move {
            if endpoint.as_ref().is_none_or(|endpoint| *endpoint == current.endpoint) {
                return Ok(ModelBinding { model: codey_providers::model_info(&model), effort, ..current });
            }
            let found = app.settings(&root).map_err(run_error)?;
            let wanted = ModelRef { model: Some(model), endpoint };
            let (binding, _) = bind(&app, &found, &wanted, effort, None).await.map_err(run_error)?;
            Ok(ModelBinding { effort, ..binding })
        })
    })
}

fn run_error(error: StartError) -> RunError {
    RunError::new(error.code, error.message, error.hint)
}

pub(crate) fn workspace(location: &Location, found: &Found) -> Result<Workspace, StartError> {
    let permissions = &found.settings().permissions;
    let mut deny_paths = if permissions.deny_defaults == Some(false) { Vec::new() } else { default_deny_paths() };
    let built_in = deny_paths.len();
    deny_paths.extend(permissions.deny_paths.iter().cloned());
    if let Some(index) = permissions.deny_paths.iter().position(|glob| glob.trim_matches('/').is_empty()) {
        let path = format!("permissions.deny_paths[{index}]");
        let message = "an empty pattern would deny everything".to_owned();
        return Err(config_error(&found.loaded.error_at(&path, message, None)));
    }
    let options = WorkspaceOptions {
        root: location.named_root.clone(),
        cwd: location.relative.clone(),
        deny_paths,
        hidden_env: key_variables(found),
    };
    Workspace::open(options).map_err(|error| match &error {
        WorkspaceError::Root { path, source } => StartError::config(
            format!("cannot work in {}: {}", path.display(), plain(source)),
            "Change its permissions, or name another folder with --cwd.",
        ),
        WorkspaceError::DenyGlob { index, source } => {
            // The built-in globs are sound and stand first, so it is one that somebody wrote.
            let path = format!("permissions.deny_paths[{}]", index.saturating_sub(built_in));
            config_error(&found.loaded.error_at(&path, format!("this glob cannot be read: {}", source.kind()), None))
        }
    })
}

/// The built-in tools, or those of them that were asked for, in their fixed order.
fn chosen_tools(wanted: Option<&[String]>) -> Result<ToolSet, StartError> {
    let mut tools = builtin_tools();
    let Some(wanted) = wanted else { return Ok(tools) };
    let names: Vec<String> = tools.iter().map(|tool| tool.info().spec.name.clone()).collect();
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(name)) {
        let hint = format!("The tools are {}.", names.join(", "));
        return Err(StartError::config(format!("there is no tool named {unknown:?}"), hint));
    }
    tools.retain(|tool| wanted.contains(&tool.info().spec.name));
    Ok(tools)
}

pub(crate) fn context_budget(found: &Found) -> u64 {
    found.settings().context.max_tokens.unwrap_or(CONTEXT_TOKENS)
}

/// What the system prompt is made of, and what had to be left out of it.
pub(crate) fn system_options(
    location: &Location,
    found: &Found,
    workspace: &Workspace,
    tools: &ToolSet,
    system_override: Option<String>,
    append: Option<String>,
) -> (SystemOptions, Vec<String>) {
    let settings = &found.settings().context;
    let names = settings.files.clone().unwrap_or_else(|| CONTEXT_FILES.map(str::to_owned).to_vec());
    let options = FileOptions {
        names,
        cwd: location.relative.clone(),
        walk_up: settings.walk_up.unwrap_or(true),
        budget_tokens: context_budget(found),
    };
    let (context_files, warnings) = context_files(|path| context_file(&location.root, workspace, path), &options);
    let tools: Vec<String> = tools.iter().map(|tool| tool.info().spec.name.clone()).collect();
    let environment = Environment {
        os: std::env::consts::OS.to_owned(),
        shell: tools.iter().any(|name| name == "bash").then(|| "bash".to_owned()),
        cwd: location.cwd.display().to_string(),
        root: location.root.display().to_string(),
        is_git: location.is_git,
    };
    (SystemOptions { environment, context_files, system_override, append, tools }, warnings)
}

/// Reads a context file below `root`. One that a link leads outside, or that no tool may show, is not shown here either.
fn context_file(root: &Path, workspace: &Workspace, path: &str) -> io::Result<Option<Vec<u8>>> {
    let resolved = match root.join(path).canonicalize() {
        Ok(resolved) => resolved,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let Ok(below) = resolved.strip_prefix(root) else {
        return Err(io::Error::other("it is a link to a place outside the root"));
    };
    if [path, &below.to_string_lossy()].into_iter().any(|path| workspace.denies(&RelPath::new(path))) {
        return Err(io::Error::other("deny_paths forbids to show it"));
    }
    if !resolved.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut content = Vec::new();
    File::open(resolved)?.take(CONTEXT_FILE_BYTES).read_to_end(&mut content)?;
    Ok(Some(content))
}

/// Opens the session; whether it is an older one, and what of it was damaged.
fn session(location: &Location, choice: &SessionChoice) -> Result<(Session, bool, Vec<String>), StartError> {
    let start = SessionStart {
        root: location.root.clone(),
        cwd: location.cwd.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        parent: None,
    };
    let folder = location.sessions();
    let (id, branch) = match choice {
        SessionChoice::New => return Ok((Session::create(&folder, start), false, Vec::new())),
        SessionChoice::None => return Ok((Session::in_memory(start), false, Vec::new())),
        SessionChoice::Latest => {
            (codey_session::latest(&folder).map_err(session_error)?.ok_or_else(nothing_to_continue)?, None)
        }
        SessionChoice::Id { id, branch } => (codey_session::find(&folder, id).map_err(session_error)?, *branch),
    };
    let (mut session, warnings) = Session::open(&folder, id, start).map_err(session_error)?;
    if branch.is_some() {
        session.set_head(branch).map_err(session_error)?;
    }
    Ok((session, true, warnings.into_iter().map(|warning| warning.to_string()).collect()))
}

fn nothing_to_continue() -> StartError {
    StartError::config("there is no session here to go on with", "Start one with codey -p \"PROMPT\".")
}

/// Whether a session can be kept.
///
/// # Errors
/// The folder cannot be written to.
pub(crate) fn writable(location: &Location) -> Result<(), StartError> {
    let folders = [location.sessions(), location.root.join(".codey"), location.root.clone()];
    if let Some(link) = folders[..2].iter().find(|folder| folder.is_symlink()) {
        return Err(not_writable(link, "it is a link, which may lead out of the project"));
    }
    // Asked of the system and not tried: nothing is written before the first prompt.
    match folders.iter().find(|folder| folder.exists()) {
        Some(folder) if !folder.is_dir() => Err(not_writable(folder, "it is no folder")),
        Some(folder) => {
            access(folder, AccessFlags::W_OK | AccessFlags::X_OK).map_err(|error| not_writable(folder, error.desc()))
        }
        None => Err(not_writable(&location.root, "it is gone")),
    }
}

fn not_writable(folder: &Path, why: &str) -> StartError {
    StartError::config(
        format!("cannot keep a session in {}: {why}", folder.display()),
        "Use --no-session to work without a session file.",
    )
}

/// A session that does not open. Each reason is a matter of what was asked for.
pub(crate) fn session_error(error: SessionError) -> StartError {
    StartError::config(error.to_string(), error.hint())
}
