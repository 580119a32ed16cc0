//! What can be configured, and what a repository may say of it before it is trusted.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use codey_config::{Access, Layer, ListRule, Loaded, Origin, load};
use codey_llm::Effort;
use codey_protocol::{Limits, PermissionMode, StartError};
use codey_providers::Api;
use serde::{Deserialize, Deserializer, de::Error as _};

/// Version of the configuration's keys. Source: contract section 2.
const VERSION: i64 = 1;

/// All settings, each optional: a layer may hold any part of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// Known here so that it may be written; its value is looked at before the rest.
    pub(crate) version: Option<i64>,
    pub(crate) model: ModelSettings,
    pub(crate) endpoint: Vec<EndpointSettings>,
    pub(crate) context: ContextSettings,
    pub(crate) permissions: PermissionSettings,
    pub(crate) limits: LimitSettings,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelSettings {
    pub(crate) default: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) effort: Option<Effort>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EndpointSettings {
    pub(crate) name: String,
    pub(crate) api: Option<Api>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<KeySource>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) headers: std::collections::BTreeMap<String, String>,
    #[serde(deserialize_with = "duration")]
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) quirks: QuirkSettings,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct QuirkSettings {
    pub(crate) context_window: Option<NonZeroU32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ContextSettings {
    pub(crate) files: Option<Vec<String>>,
    pub(crate) walk_up: Option<bool>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) compact_floor: Option<f32>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PermissionSettings {
    pub(crate) mode: Option<PermissionMode>,
    pub(crate) deny_paths: Vec<String>,
    pub(crate) deny_defaults: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitSettings {
    pub(crate) max_turns: Option<NonZeroU32>,
    pub(crate) max_tokens_total: Option<NonZeroU64>,
    #[serde(deserialize_with = "positive")]
    pub(crate) max_cost: Option<f64>,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// An environment variable.
    Env(String),
    /// The first line a program prints.
    Command(String),
    /// No key is needed.
    None,
}

impl<'de> Deserialize<'de> for KeySource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.split_once(':') {
            Some(("env", name)) if is_name(name) => Ok(Self::Env(name.to_owned())),
            Some(("cmd", program)) if !program.trim().is_empty() => Ok(Self::Command(program.to_owned())),
            _ if text == "none" => Ok(Self::None),
            // The text is not repeated: it may be the key itself.
            _ => Err(D::Error::custom("expected \"env:NAME\", \"cmd:PROGRAM\" or \"none\"")),
        }
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let parsed = text.parse::<jiff::SignedDuration>().ok().and_then(|signed| Duration::try_from(signed).ok());
    match parsed {
        Some(duration) if !duration.is_zero() => Ok(Some(duration)),
        _ => Err(D::Error::custom(format!("{text:?} is no duration; expected one such as \"90s\" or \"2m\""))),
    }
}

fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number > 0.0 && number.is_finite() {
        Ok(Some(number))
    } else {
        Err(D::Error::custom(format!("{number} is no amount; expected a positive number of US dollars")))
    }
}

/// How lists of later layers meet those of earlier ones.
const LIST_RULES: &[(&str, ListRule)] =
    &[("endpoint", ListRule::MergeBy("name")), ("permissions.deny_paths", ListRule::Append)];

/// The settings in force and what was left out.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) loaded: Loaded<Settings>,
    /// For the user, ready to be shown.
    pub(crate) warnings: Vec<String>,
}

impl Found {
    pub(crate) fn settings(&self) -> &Settings {
        &self.loaded.value
    }

    /// No configuration at all.
    pub(crate) fn nothing() -> Result<Self, StartError> {
        let loaded = load::<Settings>(Vec::new(), LIST_RULES).map_err(|error| config_error(&error))?;
        Ok(Self { loaded, warnings: Vec::new() })
    }

    /// The configured limits over the built-in ones.
    pub(crate) fn limits(&self) -> Limits {
        let (built_in, limits) = (Limits::default(), &self.settings().limits);
        Limits {
            turns: limits.max_turns.or(built_in.turns),
            tokens_total: limits.max_tokens_total,
            cost_usd: limits.max_cost,
        }
    }
}

/// Reads the user's file and the repository's.
///
/// # Errors
/// The first thing wrong in a file, as one line.
pub(crate) fn find(user_file: Option<&Path>, root: &Path) -> Result<Found, StartError> {
    let mut layers = Vec::new();
    let mut warnings = Vec::new();
    if let Some(path) = user_file {
        layers.extend(read(path)?);
    }
    if let Some(project) = read(&root.join(".codey/config.toml"))? {
        let name = project.origin().to_string();
        let own = load::<Settings>(layers.clone(), LIST_RULES).map_err(|error| config_error(&error))?.value;
        let (kept, ignored) = project.split(|path, value| may_narrow(&own, path, value));
        if !ignored.is_empty() {
            warnings.push(format!(
                "{name} sets {}, which a repository may not do before its content is trusted with codey trust; that \
                 part is ignored",
                ignored.join(", ")
            ));
        }
        layers.push(kept);
    }
    let loaded = load::<Settings>(layers, LIST_RULES).map_err(|error| config_error(&error))?;
    check(&loaded)?;
    Ok(Found { loaded, warnings })
}

fn read(path: &Path) -> Result<Option<Layer>, StartError> {
    let layer = Layer::read(path, Access::Shared).map_err(|error| config_error(&error))?;
    // Looked at first: what a newer version calls a key would be reported as a mistake.
    let newer = |layer: &Layer| layer.get("version").and_then(|v| v.as_integer()).filter(|v| *v != VERSION);
    if let Some((layer, version)) = layer.as_ref().and_then(|layer| Some((layer, newer(layer)?))) {
        let message = format!("this Codey knows version {VERSION} of the configuration only, and this is {version}");
        return Err(config_error(&layer.error_at("version", message, None)));
    }
    Ok(layer)
}

/// Whether a repository's own value needs no trust: it forbids, lowers a bound, or only informs. What is no valid value
/// is kept, so that it is reported.
fn may_narrow(own: &Settings, path: &[&str], value: &toml::Value) -> bool {
    let lowers = |bound: Option<f64>| match (value.as_float().or(value.as_integer().map(|v| v as f64)), bound) {
        (Some(value), Some(bound)) => value <= bound,
        (None, _) | (_, None) => true,
    };
    match path {
        ["version"] | ["model", "default" | "effort"] | ["context", ..] => true,
        ["permissions", "deny_paths"] => true,
        ["permissions", "mode"] => {
            let mode = PermissionMode::deserialize(value.clone()).ok();
            mode.is_none_or(|mode| rank(mode) <= rank(own.permissions.mode.unwrap_or_default()))
        }
        ["permissions", "deny_defaults"] => value.as_bool() != Some(false),
        ["limits", "max_turns"] => {
            lowers(own.limits.max_turns.or(Limits::default().turns).map(|bound| f64::from(bound.get())))
        }
        ["limits", "max_tokens_total"] => lowers(own.limits.max_tokens_total.map(|bound| bound.get() as f64)),
        ["limits", "max_cost"] => lowers(own.limits.max_cost),
        ["model", "endpoint"] | ["endpoint", ..] => false,
        // What no rule above allows needs trust; a key that does not exist is kept, so that the check names it.
        _ => {
            let alone = Layer::single(Origin::Defaults, &path.join("."), value.clone());
            load::<Settings>(vec![alone], LIST_RULES).is_err()
        }
    }
}

/// How much a mode lets happen without a question.
fn rank(mode: PermissionMode) -> u8 {
    match mode {
        PermissionMode::Plan => 0,
        PermissionMode::Default => 1,
        PermissionMode::AcceptEdits => 2,
        PermissionMode::Auto => 3,
        PermissionMode::AlwaysApprove => 4,
    }
}

/// Whether a text can name something: it is sent and shown as it is.
pub(crate) fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(char::is_control)
}

/// Rules that types cannot express.
fn check(loaded: &Loaded<Settings>) -> Result<(), StartError> {
    let settings = &loaded.value;
    let wrong = |path: &str, message: &str| Err(config_error(&loaded.error_at(path, message, None)));
    for (index, endpoint) in settings.endpoint.iter().enumerate() {
        let path = format!("endpoint[{index}]");
        if !is_name(&endpoint.name) {
            return wrong(&path, "an endpoint needs a name");
        }
        let built_in = codey_providers::builtin_endpoints().iter().any(|one| one.name == endpoint.name);
        if !built_in && endpoint.base_url.is_none() {
            return wrong(&path, "an endpoint that is not built in needs base_url");
        }
        if let Some(Err(reason)) = endpoint.base_url.as_deref().map(codey_providers::check_base_url) {
            return wrong(&format!("{path}.base_url"), &format!("it {reason}"));
        }
        for (name, value) in &endpoint.headers {
            if let Err(reason) = codey_providers::check_header(name, value) {
                return wrong(&format!("{path}.headers"), &reason);
            }
        }
    }
    if settings.model.default.as_deref().is_some_and(|model| !is_name(model)) {
        return wrong("model.default", "expected the name of a model");
    }
    if settings.context.compact_floor.is_some_and(|floor| !(floor > 0.0 && floor <= 1.0)) {
        return wrong("context.compact_floor", "expected a share between 0 and 1");
    }
    Ok(())
}

pub(crate) fn config_error(error: &codey_config::ConfigError) -> StartError {
    let hint = error.hint.as_deref().map_or_else(String::new, |hint| {
        let mut letters = hint.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        format!("{first}{}{}", letters.as_str(), if hint.ends_with(['.', '?']) { "" } else { "." })
    });
    StartError::config(error.to_string(), hint)
}
