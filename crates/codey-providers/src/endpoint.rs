//! Endpoints and how they are opened.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use codey_llm::{EventStream, Provider, Request};
use secrecy::SecretString;
use serde::Deserialize;

use crate::body::BodyWriter;
use crate::builtin::builtin_endpoints;
use crate::decode::{Decoder, Origin};
use crate::http::{Connection, check_base_url, check_certificates, check_header, shown_base_url};
use crate::random::Random;
use crate::{anthropic, openai, retry};

/// How long a server may be silent. Any byte counts, a keep-alive comment too. Source: contract section 6.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// How long opening a connection may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// What an endpoint speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAi,
}

impl Api {
    /// The name used in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// The API with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Anthropic, Self::OpenAi].into_iter().find(|api| api.as_str() == name)
    }
}

/// What an endpoint calls the output limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`, which every compatible server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which newer OpenAI models insist on.
    MaxCompletionTokens,
}

/// What an endpoint does differently from others with the same API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Name of the output limit; only Chat Completions differ.
    pub max_tokens_field: MaxTokensField,
    /// Whether usage in a stream may be asked for with `stream_options`.
    pub stream_options: bool,
}

impl Default for Quirks {
    fn default() -> Self {
        Self { max_tokens_field: MaxTokensField::default(), stream_options: true }
    }
}

/// Everything needed to open an endpoint.
#[derive(Clone)]
pub struct EndpointOptions {
    /// Its name in the configuration; for error texts.
    pub name: String,
    /// What it speaks.
    pub api: Api,
    /// Where it is. `/v1/messages` (Anthropic) or `/chat/completions` (OpenAI) is appended.
    pub base_url: String,
    /// The key; `None` sends none.
    pub api_key: Option<SecretString>,
    /// More headers; one of the same name replaces ours.
    pub headers: Vec<(String, String)>,
    /// PEM file with certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// How long the server may be silent.
    pub idle_timeout: Duration,
    /// How long opening a connection may take.
    pub connect_timeout: Duration,
    /// What it does differently.
    pub quirks: Quirks,
}

impl EndpointOptions {
    /// An endpoint without a key and with the usual times; quirks are those of the built-in endpoint at the same host.
    pub fn new(name: impl Into<String>, api: Api, base_url: impl Into<String>) -> Self {
        let base_url = base_url.into();
        let quirks = quirks_at(&base_url);
        Self {
            name: name.into(),
            api,
            base_url,
            api_key: None,
            headers: Vec::new(),
            ca_file: None,
            idle_timeout: IDLE_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            quirks,
        }
    }
}

impl EndpointOptions {
    /// The address as it may be shown: without user, password and query.
    pub fn shown_url(&self) -> String {
        shown_base_url(&self.base_url)
    }

    /// Looks for what would keep every request from being sent; nothing is sent.
    ///
    /// # Errors
    /// What is wrong with `base_url`, `headers` or `ca_file`, as one clause that repeats no secret.
    pub fn check(&self) -> Result<(), String> {
        check_base_url(&self.base_url).map_err(|reason| format!("base_url {reason}"))?;
        self.headers.iter().try_for_each(|(name, value)| check_header(name, value))?;
        self.ca_file.as_deref().map_or(Ok(()), check_certificates)
    }
}

impl fmt::Debug for EndpointOptions {
    /// Header values may be secret and are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("EndpointOptions")
            .field("name", &self.name)
            .field("api", &self.api)
            .field("has_key", &self.api_key.is_some())
            .field("headers", &headers)
            .field("ca_file", &self.ca_file)
            .field("idle_timeout", &self.idle_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("quirks", &self.quirks)
            .finish_non_exhaustive()
    }
}

fn quirks_at(base_url: &str) -> Quirks {
    let host = |url: &str| reqwest::Url::parse(url).ok()?.host_str().map(str::to_owned);
    let Some(wanted) = host(base_url) else { return Quirks::default() };
    // Local servers share a host and have no quirks, so they match harmlessly.
    let found = builtin_endpoints().iter().find(|endpoint| host(&endpoint.base_url).as_deref() == Some(&wanted));
    found.map_or_else(Quirks::default, |endpoint| endpoint.quirks)
}

/// Opens an endpoint.
///
/// Nothing happens before the first stream is polled: not even the HTTP client is built, which can fail where no
/// certificates are installed. Connections are kept and used again. A wrong `base_url`, `ca_file` or header is a
/// [`codey_llm::ProviderErrorKind::Config`] error of the first stream.
pub fn connect(options: EndpointOptions) -> Arc<dyn Provider> {
    let connection = Connection::new(options);
    Arc::new(HttpProvider { connection: Arc::new(connection), writer: Arc::default() })
}

struct HttpProvider {
    connection: Arc<Connection>,
    writer: Arc<BodyWriter>,
}

impl Provider for HttpProvider {
    fn id(&self) -> &str {
        self.connection.id()
    }

    fn stream(&self, request: Request) -> EventStream {
        let (connection, writer) = (Arc::clone(&self.connection), Arc::clone(&self.writer));
        let mut body = None;
        let request = Arc::new(request);
        let open = move || {
            let origin = Origin { provider: connection.id().to_owned(), model: request.model.id.clone() };
            let options = connection.options();
            // Written once, on the first try, and shared by all.
            let body = body.get_or_insert_with(|| match options.api {
                Api::Anthropic => anthropic::body(&writer, &request, &origin),
                Api::OpenAi => openai::body(&writer, &request, &origin, &options.quirks),
            });
            let random = Random::unseeded();
            let decoder = match options.api {
                Api::Anthropic => Decoder::Anthropic(anthropic::Decoder::new(origin, &request, random)),
                Api::OpenAi => Decoder::OpenAi(openai::Decoder::new(origin, &request, random)),
            };
            Arc::clone(&connection).attempt(body.clone(), decoder)
        };
        retry::with_retries(open, Random::unseeded())
    }
}
