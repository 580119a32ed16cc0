//! The host that front ends talk to.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use codey_llm::TokenEstimator;
use codey_protocol::{
    Check, CheckStatus, CommandInfo, ContextReport, Handle, Host, HostError, ModelEntry, ModelList, ModelRef,
    SessionFilter, SessionSummary, SessionView, SpawnRequest, StartError,
};
use codey_session::SessionError;

use crate::place::Location;
use crate::settings::{self, Found};
use crate::{endpoint, spawn};

/// What the process gives the app; the app looks at nothing else of it.
#[derive(Clone, Debug, Default)]
pub struct AppOptions {
    /// Environment variables.
    pub variables: HashMap<String, String>,
    /// Names of the variables whose value is no text. One that is needed is refused instead of taken for unset.
    pub undecodable: HashSet<String>,
    /// The user's `codey` configuration folder, if there is a home for one.
    pub config_folder: Option<PathBuf>,
}

impl AppOptions {
    /// The value of a variable; an empty one counts as unset.
    ///
    /// # Errors
    /// The value is no text.
    pub(crate) fn variable(&self, name: &str) -> Result<Option<&String>, StartError> {
        if self.undecodable.contains(name) {
            let message = format!("the value of {name} is not valid UTF-8");
            return Err(StartError::config(message, "Set it anew, or unset it."));
        }
        Ok(self.variables.get(name).filter(|value| !value.is_empty()))
    }

    /// Whether a variable has any value, even one that cannot be used.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.undecodable.contains(name) || self.variables.get(name).is_some_and(|value| !value.is_empty())
    }
}

/// The one implementation of [`Host`].
#[derive(Clone, Debug)]
pub struct App {
    pub(crate) options: AppOptions,
}

impl App {
    /// An app that sees `options` and the disk.
    pub fn new(options: AppOptions) -> Self {
        Self { options }
    }

    /// The settings in force at `root`.
    pub(crate) fn settings(&self, root: &Path) -> Result<Found, StartError> {
        let user_file = self.options.config_folder.as_ref().map(|folder| folder.join("config.toml"));
        settings::find(user_file.as_deref(), root)
    }
}

#[async_trait]
impl Host for App {
    async fn spawn(&self, request: SpawnRequest) -> Result<Handle, StartError> {
        spawn::spawn(self, request).await
    }

    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionSummary>, HostError> {
        let location = Location::find(&filter.cwd).map_err(host_error)?;
        let listed = codey_session::list(&location.sessions()).map_err(session_error)?;
        Ok(listed.into_iter().map(|session| session.summary).collect())
    }

    async fn session(&self, cwd: &Path, id: &str) -> Result<SessionView, HostError> {
        let sessions = Location::find(cwd).map_err(host_error)?.sessions();
        let id = codey_session::find(&sessions, id).map_err(session_error)?;
        codey_session::view(&sessions, id).map_err(session_error)
    }

    async fn context(&self, cwd: &Path) -> Result<ContextReport, HostError> {
        let location = Location::find(cwd).map_err(host_error)?;
        let found = self.settings(&location.root).map_err(host_error)?;
        let workspace = spawn::workspace(&location, &found).map_err(host_error)?;
        let tools = codey_tools::builtin_tools();
        let (system, _) = spawn::system_options(&location, &found, &workspace, &tools, None, None);
        let specs: Vec<_> = tools.iter().map(|tool| tool.info().spec.clone()).collect();
        let budget = spawn::context_budget(&found);
        Ok(codey_ctx::report(&system, &specs, &TokenEstimator::default(), budget))
    }

    async fn models(&self, cwd: &Path, refresh: bool) -> ModelList {
        let settings = async {
            let location = Location::find(cwd)?;
            self.settings(&location.root)
        };
        let found = match settings.await {
            Ok(found) => found,
            Err(error) => return without_choice(None, &error),
        };
        let selection = match endpoint::select(&self.options, &found, &ModelRef::default()).await {
            Ok(selection) => selection,
            Err(error) => return without_choice(found.settings().model.default.clone(), &error),
        };
        let (name, model) = (selection.endpoint().to_owned(), selection.model().map(str::to_owned));
        let entry = |id: String, default| ModelEntry { id, endpoint: name.clone(), default };
        let choice = match selection.complete(&self.options, None).await {
            Ok(choice) => choice,
            Err(error) => return without_choice(model, &error),
        };
        let mut list = ModelList {
            models: vec![entry(choice.model.id.clone(), true)],
            authenticated: true,
            notes: choice.notice.into_iter().collect(),
        };
        if refresh {
            match endpoint::listed(&choice.options).await {
                Ok(models) => {
                    let others = models.into_iter().filter(|id| *id != choice.model.id);
                    list.models.extend(others.map(|id| entry(id, false)));
                }
                Err(error) => list.notes.push(format!("the endpoint does not list its models: {error}")),
            }
        }
        list
    }

    async fn commands(&self, _cwd: &Path) -> Vec<CommandInfo> {
        // Skills are the only source of commands, and this version has none.
        Vec::new()
    }

    async fn doctor(&self, cwd: &Path) -> Vec<Check> {
        let location = match Location::find(cwd) {
            Ok(location) => location,
            Err(error) => return vec![failed("folder", &error)],
        };
        let mut checks = vec![ok("folder", format!("works in {}", location.root.display()))];
        if !location.is_git {
            let message = "not under git: changes cannot be looked at or taken back with it".to_owned();
            checks.push(Check { name: "git".to_owned(), status: CheckStatus::Warning, message });
        }
        match spawn::writable(&location) {
            Ok(()) => checks.push(ok("sessions", format!("kept in {}", location.sessions().display()))),
            Err(error) => checks.push(failed("sessions", &error)),
        }
        let found = match self.settings(&location.root) {
            Ok(found) => found,
            Err(error) => {
                checks.push(failed("config", &error));
                return checks;
            }
        };
        checks.push(ok("config", "no mistakes".to_owned()));
        let warnings = found.warnings.iter().map(|message| Check {
            name: "config".to_owned(),
            status: CheckStatus::Warning,
            message: message.clone(),
        });
        checks.extend(warnings);
        checks.push(match endpoint::choose(&self.options, &found, &ModelRef::default(), None).await {
            Ok(choice) => ok("model", format!("{} at {}", choice.model.id, choice.options.shown_url())),
            Err(error) => failed("model", &error),
        });
        let message = "bash is not confined: this version has no sandbox".to_owned();
        checks.push(Check { name: "sandbox".to_owned(), status: CheckStatus::Warning, message });
        checks
    }
}

/// The list when nothing can be asked: the configured model, or the one that a key would bring.
fn without_choice(configured: Option<String>, error: &StartError) -> ModelList {
    let usual = codey_providers::builtin_endpoints()
        .iter()
        .find_map(|endpoint| Some((endpoint.default_model.clone()?, endpoint.name.clone())));
    let first = configured.map(|id| (id, String::new())).or(usual);
    let models = first.map(|(id, endpoint)| ModelEntry { id, endpoint, default: true });
    let note = format!("{error}. {}", error.hint);
    ModelList { models: models.into_iter().collect(), authenticated: false, notes: vec![note.trim_end().to_owned()] }
}

fn ok(name: &str, message: String) -> Check {
    Check { name: name.to_owned(), status: CheckStatus::Ok, message }
}

fn failed(name: &str, error: &StartError) -> Check {
    let message = format!("{}. {}", error.message, error.hint).trim_end().to_owned();
    Check { name: name.to_owned(), status: CheckStatus::Error, message }
}

fn host_error(error: StartError) -> HostError {
    HostError { message: error.message, hint: error.hint }
}

fn session_error(error: SessionError) -> HostError {
    let error = spawn::session_error(error);
    HostError { message: error.message, hint: error.hint }
}
