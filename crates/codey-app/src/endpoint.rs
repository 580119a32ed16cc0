//! Which endpoint and model are asked, and with which key.

use std::process::Stdio;
use std::time::Duration;

use codey_config::{Access, Layer, load};
use codey_llm::{Effort, ModelInfo};
use codey_protocol::{ModelRef, StartError};
use codey_providers::{
    Api, BuiltinEndpoint, EndpointOptions, builtin_endpoints, check_base_url, check_key, connect, list_models,
    model_info,
};
use secrecy::SecretString;
use serde::Deserialize;

use crate::app::AppOptions;
use crate::place::plain;
use crate::settings::{EndpointSettings, Found, KeySource, config_error, is_name};

/// Ports of local model servers. Source: contract section 1.
const LOCAL_PORTS: [u16; 4] = [11434, 1234, 8080, 8000];
/// How long they may take to answer. Source: contract section 1.
const LOCAL_PATIENCE: Duration = Duration::from_millis(150);
/// How long a program that prints a key may take.
const KEY_PATIENCE: Duration = Duration::from_secs(10);
/// The name of an endpoint that only the environment describes.
const FROM_ENVIRONMENT: &str = "environment";

/// An endpoint that can be asked, and the model to ask for.
pub(crate) struct Choice {
    pub(crate) options: EndpointOptions,
    pub(crate) model: ModelInfo,
    pub(crate) effort: Option<Effort>,
    /// For the user: a choice that nobody asked for.
    pub(crate) notice: Option<String>,
}

/// An endpoint with all that is known of it, its key not yet fetched.
struct Candidate {
    options: EndpointOptions,
    key: Option<KeySource>,
    default_model: Option<String>,
    context_window: Option<u32>,
    notice: Option<String>,
}

/// An endpoint and perhaps a model, before anything was run or asked for it.
pub(crate) struct Selection {
    candidate: Candidate,
    /// `None`: the endpoint has to be asked which it has.
    model: Option<String>,
}

/// Selects: the flag, then the environment, then the configuration, then the first built-in endpoint whose key is set,
/// then a local server.
///
/// # Errors
/// Nothing can be asked, or what was asked for is unknown: one line with the ways to go on.
pub(crate) async fn select(options: &AppOptions, found: &Found, wanted: &ModelRef) -> Result<Selection, StartError> {
    let settings = found.settings();
    // With a flag the environment is not looked at: what is wrong with it does not matter then.
    let from_variables = if wanted.endpoint.is_none() { from_environment(options)? } else { None };
    let candidate = match (from_variables, wanted.endpoint.as_ref().or(settings.model.endpoint.as_ref())) {
        (Some(candidate), _) => candidate,
        (None, Some(name)) => named(options, &settings.endpoint, name)?,
        (None, None) => unnamed(options, &settings.endpoint).await?,
    };
    // Both are meant for the usual endpoint; another one that was named has its own.
    let is_usual = wanted.endpoint.is_none() || candidate.default_model.is_none();
    // As above: a variable that does not count may be wrong.
    let counts = wanted.model.is_none() && is_usual;
    let from_variable = if counts { options.variable("CODEY_MODEL")?.cloned() } else { None };
    if from_variable.as_ref().is_some_and(|model| !is_name(model)) {
        return Err(StartError::config("CODEY_MODEL is not the name of a model", "Set it to one, or unset it."));
    }
    let usual = from_variable.or_else(|| settings.model.default.clone()).filter(|_| is_usual);
    let model = wanted.model.clone().or(usual).or_else(|| candidate.default_model.clone());
    Ok(Selection { candidate, model })
}

impl Selection {
    /// The model's name, where it is known without asking.
    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The endpoint's name.
    pub(crate) fn endpoint(&self) -> &str {
        &self.candidate.options.name
    }

    /// Fetches the key, and asks for the model if none is named.
    ///
    /// # Errors
    /// There is no key or no model: one line that names what to set.
    pub(crate) async fn complete(self, options: &AppOptions, effort: Option<Effort>) -> Result<Choice, StartError> {
        let Candidate { options: mut endpoint, key, context_window, notice, .. } = self.candidate;
        // Now rather than at the first request: by then there would be a session without an answer.
        endpoint.check().map_err(|reason| {
            let hint = "Correct it in the configuration, or choose another endpoint with --endpoint.";
            StartError::config(format!("endpoint `{}`: {reason}", endpoint.name), hint)
        })?;
        endpoint.api_key = match key {
            Some(source) => fetch_key(options, &endpoint.name, &source).await?,
            None => None,
        };
        let model = match self.model {
            Some(model) => model,
            None => only_model(&endpoint).await?,
        };
        let mut model = model_info(&model);
        model.window = context_window.or(model.window);
        Ok(Choice { options: endpoint, model, effort, notice })
    }
}

/// Selects and completes.
///
/// # Errors
/// Those of [`select`] and [`Selection::complete`].
pub(crate) async fn choose(
    options: &AppOptions,
    found: &Found,
    wanted: &ModelRef,
    effort: Option<Effort>,
) -> Result<Choice, StartError> {
    let effort = effort.or(found.settings().model.effort);
    select(options, found, wanted).await?.complete(options, effort).await
}

/// What `CODEY_BASE_URL` and its companions describe.
fn from_environment(options: &AppOptions) -> Result<Option<Candidate>, StartError> {
    let variable = |name: &str| options.variable(name);
    let api = variable("CODEY_API")?.map(|name| {
        Api::from_name(name).ok_or_else(|| {
            StartError::config(format!("CODEY_API is {name:?}"), "Set it to anthropic or openai, or unset it.")
        })
    });
    let api = api.transpose()?;
    let built_in = |api: Api| builtin_endpoints().iter().find(|endpoint| endpoint.name == api.as_str());
    let elsewhere = variable("CODEY_BASE_URL")?;
    if let Some(Err(reason)) = elsewhere.map(|url| check_base_url(url)) {
        let hint = "Set it to the address of a model server, or unset it.";
        return Err(StartError::config(format!("CODEY_BASE_URL {reason}"), hint));
    }
    let Some(base_url) = elsewhere.cloned().or_else(|| Some(built_in(api?)?.base_url.clone())) else {
        return Ok(None);
    };
    let api = api.unwrap_or(Api::OpenAi);
    let key = options.is_set("CODEY_API_KEY").then(|| KeySource::Env("CODEY_API_KEY".to_owned()));
    let at_home = elsewhere.is_none();
    let key = key.or_else(|| {
        let names = &built_in(api).filter(|_| at_home)?.key_vars;
        Some(KeySource::Env(names.iter().find(|name| options.is_set(name)).or(names.first())?.clone()))
    });
    let default_model = built_in(api).filter(|_| at_home).and_then(|endpoint| endpoint.default_model.clone());
    let options = EndpointOptions::new(FROM_ENVIRONMENT, api, base_url);
    Ok(Some(Candidate { options, key, default_model, context_window: None, notice: None }))
}

fn named(options: &AppOptions, configured: &[EndpointSettings], name: &str) -> Result<Candidate, StartError> {
    let built_in = builtin_endpoints().iter().find(|endpoint| endpoint.name == name);
    let configured = configured.iter().find(|endpoint| endpoint.name == name);
    candidate(options, built_in, configured).ok_or_else(|| {
        let known: Vec<&str> = builtin_endpoints().iter().map(|endpoint| endpoint.name.as_str()).collect();
        StartError::config(
            format!("there is no endpoint named {name:?}"),
            format!("Built in are {}; add others as [[endpoint]] to the configuration.", known.join(", ")),
        )
    })
}

/// An endpoint as the built-in table and the configuration describe it together.
fn candidate(
    options: &AppOptions,
    built_in: Option<&BuiltinEndpoint>,
    configured: Option<&EndpointSettings>,
) -> Option<Candidate> {
    let name = built_in.map(|endpoint| &endpoint.name).or(configured.map(|endpoint| &endpoint.name))?;
    let own_url = configured.and_then(|endpoint| endpoint.base_url.clone());
    let base_url = own_url.clone().or_else(|| built_in.map(|endpoint| endpoint.base_url.clone()))?;
    let api = configured.and_then(|endpoint| endpoint.api).or(built_in.map(|endpoint| endpoint.api));
    let mut endpoint = EndpointOptions::new(name.clone(), api.unwrap_or(Api::OpenAi), base_url);
    if let Some(built_in) = built_in {
        endpoint.quirks = built_in.quirks;
    }
    let mut key = built_in.and_then(|endpoint| key_variable(options, endpoint)).map(KeySource::Env);
    let mut context_window = None;
    if let Some(configured) = configured {
        endpoint.ca_file.clone_from(&configured.ca_file);
        endpoint.headers = configured.headers.clone().into_iter().collect();
        endpoint.idle_timeout = configured.idle_timeout.unwrap_or(endpoint.idle_timeout);
        context_window = configured.quirks.context_window.map(std::num::NonZeroU32::get);
        key = configured.api_key.clone().or(key);
    }
    let default_model = built_in.and_then(|endpoint| endpoint.default_model.clone());
    Some(Candidate { options: endpoint, key, default_model, context_window, notice: None })
}

/// The variable that holds an endpoint's key, or the one that should.
fn key_variable(options: &AppOptions, endpoint: &BuiltinEndpoint) -> Option<String> {
    endpoint.key_vars.iter().find(|name| options.is_set(name)).or(endpoint.key_vars.first()).cloned()
}

/// Without any name: the first configured endpoint, the first built-in one whose key is there, or a local server.
async fn unnamed(options: &AppOptions, configured: &[EndpointSettings]) -> Result<Candidate, StartError> {
    if let Some(first) = configured.first() {
        return named(options, configured, &first.name);
    }
    let keys = stored_keys(options)?;
    let has_key = |endpoint: &&BuiltinEndpoint| {
        endpoint.key_vars.iter().any(|name| options.is_set(name))
            || (!endpoint.key_vars.is_empty() && keys.contains_key(&endpoint.name))
    };
    if let Some(endpoint) = builtin_endpoints().iter().find(has_key) {
        return named(options, configured, &endpoint.name);
    }
    local_server().await.ok_or_else(|| {
        StartError::config(
            "there is no model to ask: no key is set, nothing is configured and no local server answers",
            "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a model server (CODEY_BASE_URL names one elsewhere), or \
             try codey demo, which needs neither.",
        )
    })
}

/// The first local server that lists a model; all ports are asked at once.
async fn local_server() -> Option<Candidate> {
    let probes = LOCAL_PORTS.map(|port| async move {
        let options = EndpointOptions::new("local", Api::OpenAi, format!("http://127.0.0.1:{port}/v1"));
        let models = list_models(&options, LOCAL_PATIENCE).await.ok()?;
        Some((options, models.into_iter().next()?))
    });
    let (options, model) = futures::future::join_all(probes).await.into_iter().flatten().next()?;
    let notice = Some(format!("using the local server at {} with the model {model}", options.base_url));
    Some(Candidate { options, key: None, default_model: Some(model), context_window: None, notice })
}

async fn only_model(endpoint: &EndpointOptions) -> Result<String, StartError> {
    let hint = "Name a model with --model, CODEY_MODEL or [model] default.";
    let models = list_models(endpoint, Duration::from_secs(5)).await.map_err(|error| {
        StartError::config(format!("no model is named, and the endpoint does not list any: {error}"), hint)
    })?;
    models
        .into_iter()
        .next()
        .ok_or_else(|| StartError::config(format!("no model is named, and {} lists none", endpoint.shown_url()), hint))
}

/// Keys that stand in `auth.toml`, by endpoint.
fn stored_keys(options: &AppOptions) -> Result<std::collections::BTreeMap<String, SecretString>, StartError> {
    #[derive(Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Auth {
        keys: std::collections::BTreeMap<String, String>,
    }
    let Some(folder) = &options.config_folder else { return Ok(Default::default()) };
    let layer = Layer::read(&folder.join("auth.toml"), Access::OwnerOnly).map_err(|error| config_error(&error))?;
    let loaded = load::<Auth>(layer.into_iter().collect(), &[]).map_err(|error| config_error(&error))?;
    Ok(loaded.value.keys.into_iter().map(|(name, key)| (name, SecretString::from(key))).collect())
}

/// # Errors
/// The source has no key: names it, never its content.
async fn fetch_key(
    options: &AppOptions,
    endpoint: &str,
    source: &KeySource,
) -> Result<Option<SecretString>, StartError> {
    let key = match source {
        KeySource::None => return Ok(None),
        KeySource::Env(name) => match options.variable(name)?.map(|value| value.trim()).filter(|key| !key.is_empty()) {
            Some(key) => sound_key(key, name)?,
            None => stored_keys(options)?.remove(endpoint).ok_or_else(|| {
                StartError::config(
                    format!("the endpoint {endpoint} needs a key, and {name} is not set or is blank"),
                    format!(
                        "Set {name}, choose another endpoint with --endpoint, or try codey demo, which needs none."
                    ),
                )
            })?,
        },
        KeySource::Command(command) => {
            sound_key(&key_from(command).await?, &format!("what the key program {command:?} printed"))?
        }
    };
    Ok(Some(key))
}

/// A key that can be sent; `origin` says where it is from.
fn sound_key(key: &str, origin: &str) -> Result<SecretString, StartError> {
    match check_key(key) {
        Ok(()) => Ok(SecretString::from(key)),
        Err(reason) => Err(StartError::config(format!("{origin} {reason}"), "Copy the key again, on one line.")),
    }
}

/// The first line that a program prints. No shell reads the command, so quotes mean nothing: what needs them goes into a
/// script.
async fn key_from(command: &str) -> Result<String, StartError> {
    let failed = |why: String| {
        StartError::config(
            format!("the key program {command:?} {why}"),
            "Run it by hand; its first line of output is the key. Its words are split at blanks, without quotes.",
        )
    };
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let output = tokio::process::Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(KEY_PATIENCE, output).await;
    let output = output.map_err(|_| failed(format!("did not end within {} s", KEY_PATIENCE.as_secs())))?;
    let output = output.map_err(|error| failed(format!("cannot be started: {}", plain(&error))))?;
    if !output.status.success() {
        return Err(failed(format!("failed ({})", output.status)));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| failed("printed no text".to_owned()))?;
    match text.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
        Some(key) => Ok(key.to_owned()),
        None => Err(failed("printed nothing".to_owned())),
    }
}

/// Names of all variables that may hold a key, or an address with a password; commands do not get them.
pub(crate) fn key_variables(found: &Found) -> Vec<String> {
    let built_in = builtin_endpoints().iter().flat_map(|endpoint| endpoint.key_vars.iter().cloned());
    let configured = found.settings().endpoint.iter().filter_map(|endpoint| match &endpoint.api_key {
        Some(KeySource::Env(name)) => Some(name.clone()),
        Some(KeySource::Command(_) | KeySource::None) | None => None,
    });
    built_in.chain(configured).chain(["CODEY_API_KEY", "CODEY_BASE_URL"].map(str::to_owned)).collect()
}

/// The models of the chosen endpoint, as it lists them.
pub(crate) async fn listed(options: &EndpointOptions) -> Result<Vec<String>, String> {
    list_models(options, Duration::from_secs(5)).await.map_err(|error| error.to_string())
}

/// Opens an endpoint. Nothing is sent yet.
pub(crate) fn open(options: EndpointOptions) -> std::sync::Arc<dyn codey_llm::Provider> {
    connect(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
[model]
default = 'mine-1'
[[endpoint]]
name = 'mine'
base_url = 'http://127.0.0.1:9/v1'
api_key = 'none'
";

    /// Endpoint, URL and model that are selected.
    async fn selected(variables: &[(&str, &str)], config: &str, wanted: ModelRef) -> (String, String, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, config).unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config_folder = Some(folder.path().to_path_buf());
        let options = AppOptions { variables, config_folder, ..AppOptions::default() };
        let found = crate::settings::find(Some(&file), folder.path()).unwrap();
        let selection = select(&options, &found, &wanted).await.unwrap();
        let model = selection.model().map(str::to_owned);
        (selection.endpoint().to_owned(), selection.candidate.options.base_url, model)
    }

    async fn check(variables: &[(&str, &str)], config: &str, wanted: ModelRef, expected: (&str, &str, Option<&str>)) {
        let (name, url, model) = selected(variables, config, wanted).await;
        assert_eq!((name.as_str(), url.as_str(), model.as_deref()), expected);
    }

    fn flag(endpoint: Option<&str>, model: Option<&str>) -> ModelRef {
        ModelRef { endpoint: endpoint.map(str::to_owned), model: model.map(str::to_owned) }
    }

    #[tokio::test]
    async fn flags_win_over_the_environment_and_that_over_the_configuration() {
        let own = [("CODEY_BASE_URL", "http://127.0.0.1:1/v1"), ("CODEY_MODEL", "env-1"), ("OPENAI_API_KEY", "k")];
        let anthropic = "https://api.anthropic.com";
        check(&own, CONFIG, flag(Some("anthropic"), Some("m")), ("anthropic", anthropic, Some("m"))).await;
        check(&own, CONFIG, flag(None, None), (FROM_ENVIRONMENT, "http://127.0.0.1:1/v1", Some("env-1"))).await;
        check(&own[2..], CONFIG, flag(None, None), ("mine", "http://127.0.0.1:9/v1", Some("mine-1"))).await;
        let openai = builtin_endpoints().iter().find(|endpoint| endpoint.name == "openai").unwrap();
        let usual = openai.default_model.as_deref();
        check(&own[2..], "", flag(None, None), ("openai", &openai.base_url, usual)).await;
        check(&own[2..], CONFIG, flag(Some("openai"), None), ("openai", &openai.base_url, usual)).await;
        let wrong = [("CODEY_MODEL", "x\ny")];
        check(&wrong, CONFIG, flag(None, Some("m")), ("mine", "http://127.0.0.1:9/v1", Some("m"))).await;
    }

    #[tokio::test]
    async fn an_api_alone_means_its_makers_endpoint_and_key() {
        let variables = [("CODEY_API", "anthropic"), ("ANTHROPIC_API_KEY", "k")];
        let anthropic = builtin_endpoints().iter().find(|endpoint| endpoint.name == "anthropic").unwrap();
        let expected = (FROM_ENVIRONMENT, anthropic.base_url.as_str(), anthropic.default_model.as_deref());
        check(&variables, CONFIG, flag(None, Some("mine-1")), (expected.0, expected.1, Some("mine-1"))).await;
        check(&variables, "", flag(None, None), expected).await;
    }

    #[tokio::test]
    async fn a_key_program_gives_its_first_line_or_says_why_not() {
        assert_eq!(key_from("echo sesame").await.unwrap(), "sesame");
        for command in ["false", "true", "no-such-program-here"] {
            let error = key_from(command).await.unwrap_err();
            assert!(error.message.contains(command), "{error:?}");
        }
    }

    #[tokio::test]
    async fn stored_keys_are_read_only_if_nobody_else_can() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("auth.toml");
        std::fs::write(&file, "[keys]\nanthropic = 'sesame'\n").unwrap();
        let options = AppOptions { config_folder: Some(folder.path().to_path_buf()), ..AppOptions::default() };
        let source = KeySource::Env("ANTHROPIC_API_KEY".into());
        for (mode, readable) in [(0o600, true), (0o644, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let key = fetch_key(&options, "anthropic", &source).await;
            assert_eq!(key.is_ok(), readable, "{mode:o}");
            assert!(!format!("{key:?}").contains("sesame"));
        }
    }
}
