//! The HTTP client: addresses, headers, and what can go wrong before a response is there.

use std::error::Error as StdError;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use codey_llm::{ProviderError, ProviderErrorKind as Kind};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, Response, Url, redirect};
use secrecy::ExposeSecret as _;
use serde_json::Value;

use crate::decode::Decoder;
use crate::endpoint::{Api, EndpointOptions};
use crate::failure::{self, Failure, Head, Retry};
use crate::place::Place;
use crate::response::{self, read_whole};
use crate::retry::Attempt;

/// Version of the Messages API that is spoken. Source: platform.claude.com, "Versions".
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// How often a quiet HTTP/2 connection is asked whether it lives, so that a dead peer shows while a model thinks.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Most bytes of a model list. The largest in use is that of an aggregator, about a tenth of it.
const MAX_MODEL_LIST: usize = 16 << 20;
/// Longest id of a model. Those in use have less than a hundred bytes.
const LONGEST_ID: usize = 512;

/// What to do on a machine that trusts nobody, a bare container say.
const NO_CERTIFICATES: &str =
    "Install the package ca-certificates, or set SSL_CERT_FILE to a PEM file of trusted certificates.";

/// An endpoint with its client.
pub(crate) struct Connection {
    options: EndpointOptions,
    id: String,
    addresses: Result<Addresses, String>,
    client: OnceLock<Client>,
}

struct Addresses {
    messages: Url,
    models: Url,
}

struct Ready {
    place: Place,
    client: Client,
    headers: HeaderMap,
    url: Url,
}

impl Connection {
    pub(crate) fn new(options: EndpointOptions) -> Self {
        let addresses = addresses(options.api, &options.base_url);
        let base = shown_base_url(&options.base_url);
        let id = format!("{} {}", options.api.as_str(), base.trim_end_matches('/')).trim_end().to_owned();
        Self { options, id, addresses, client: OnceLock::new() }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn options(&self) -> &EndpointOptions {
        &self.options
    }

    /// One try of a request.
    pub(crate) fn attempt(self: Arc<Self>, body: Bytes, decoder: Decoder) -> Attempt {
        let opened = async move {
            match self.open(body).await {
                Ok((place, response)) => {
                    let head = head_of(&response);
                    if let Some(id) =
                        header_of(&response, "request-id").or_else(|| header_of(&response, "x-request-id"))
                    {
                        tracing::debug!(request_id = id, endpoint = self.options.name, "response");
                    }
                    let body = response.bytes_stream().map_err(|error| Box::new(error) as _).boxed();
                    let reader = response::Reader::new(place, head, body, decoder, self.options.idle_timeout);
                    reader.into_stream().boxed()
                }
                Err(failure) => stream::iter([Err(failure)]).boxed(),
            }
        };
        stream::once(opened).flatten().boxed()
    }

    async fn open(&self, body: Bytes) -> Result<(Place, Response), Failure> {
        let Ready { place, client, headers, url } = self.ready(|addresses| &addresses.messages)?;
        let sent = client.post(url).header(header::CONTENT_TYPE, "application/json").headers(headers).body(body).send();
        match sent.await {
            Ok(response) => Ok((place, response)),
            Err(error) => Err(no_response(&place, &error, &self.options)),
        }
    }

    /// What a request needs; the client is built by the first that comes here.
    fn ready(&self, address: impl Fn(&Addresses) -> &Url) -> Result<Ready, Failure> {
        let addresses = self.addresses.as_ref().map_err(|reason| self.unusable(reason))?;
        let url = address(addresses).clone();
        let headers = headers(&self.options).map_err(|reason| self.unusable(&reason))?;
        let place = Place::new(&self.options.name, shown(&url), secrets(&self.options, &url));
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let client = build_client(&self.options, &url).map_err(|problem| match problem {
                    ClientProblem::CaFile(reason) => self.unusable(&reason),
                    ClientProblem::Start(reason) => failure::with_hint(self.unusable(&reason), NO_CERTIFICATES),
                })?;
                self.client.get_or_init(|| client)
            }
        };
        Ok(Ready { place, client: client.clone(), headers, url })
    }

    /// The endpoint cannot be used as configured.
    fn unusable(&self, reason: &str) -> Failure {
        let place = Place::new(&self.options.name, String::new(), Vec::new());
        failure::fail(&place, Kind::Config, format!("endpoint `{}`: {reason}", self.options.name), Retry::Never)
    }
}

/// Asks an endpoint for its models, once and in no longer than `timeout`.
///
/// # Errors
/// Those of a request; also when the answer is no list of models.
pub async fn list_models(options: &EndpointOptions, timeout: Duration) -> Result<Vec<String>, ProviderError> {
    let idle_timeout = timeout.min(options.idle_timeout);
    let connect_timeout = timeout.min(options.connect_timeout);
    let connection = Connection::new(EndpointOptions { idle_timeout, connect_timeout, ..options.clone() });
    let listed = fetch_models(&connection, timeout).await;
    listed.map_err(|failure| failure.error)
}

async fn fetch_models(connection: &Connection, timeout: Duration) -> Result<Vec<String>, Failure> {
    let Ready { place, client, headers, url } = connection.ready(|addresses| &addresses.models)?;
    let sent = client.get(url).headers(headers).timeout(timeout).send().await;
    let response = sent.map_err(|error| no_response(&place, &error, &connection.options))?;
    let head = head_of(&response);
    let body = response.bytes_stream().map_err(|error| Box::new(error) as _).boxed();
    let body = read_whole(body, MAX_MODEL_LIST, timeout).await;
    if head.status != 200 {
        return Err(failure::refused(&place, &head, &body));
    }
    models_in(&body).ok_or_else(|| failure::garbage(&place, &String::from_utf8_lossy(&body)))
}

/// The ids in a model list, in the server's order.
fn models_in(body: &[u8]) -> Option<Vec<String>> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let entries = ["data", "models"].iter().find_map(|key| list.get(*key)).unwrap_or(&list).as_array()?;
    let id = |entry: &Value| ["id", "name"].iter().find_map(|key| entry.get(*key)?.as_str()).map(str::to_owned);
    Some(entries.iter().filter_map(id).filter(|id| is_name(id)).collect())
}

/// Whether a model can have this id: it is shown on a line of its own and sent back as it is.
fn is_name(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len()) && !id.trim().is_empty() && !id.chars().any(char::is_control)
}

/// Says whether requests can be sent to a base URL.
///
/// # Errors
/// What is wrong with it, as the rest of a sentence; nothing of the address is repeated, it may hold a password.
pub fn check_base_url(base_url: &str) -> Result<(), String> {
    parse_base_url(base_url).map(|_| ())
}

fn parse_base_url(base_url: &str) -> Result<Url, String> {
    const BEGINNING: &str = "must begin with http:// or https://, like https://host/v1";
    let text = base_url.trim();
    if text.chars().any(char::is_control) {
        return Err("holds a line break or another control character".to_owned());
    }
    let base = Url::parse(text).map_err(|error| match error.to_string().as_str() {
        "relative URL without a base" => BEGINNING.to_owned(),
        reason => format!("is no address ({reason}); it must be one like https://host/v1"),
    })?;
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
        return Err(BEGINNING.to_owned());
    }
    Ok(base)
}

/// Addresses below a base URL. Source: contract section 1, "Base URL".
fn addresses(api: Api, base_url: &str) -> Result<Addresses, String> {
    let base = parse_base_url(base_url).map_err(|reason| format!("base_url {reason}"))?;
    let path = base.path().trim_end_matches('/').to_owned();
    let at = |path: String| {
        let mut url = base.clone();
        url.set_path(&path);
        url.set_fragment(None);
        url
    };
    Ok(match api {
        Api::Anthropic => {
            let path = path.strip_suffix("/v1").unwrap_or(&path);
            Addresses { messages: at(format!("{path}/v1/messages")), models: at(format!("{path}/v1/models")) }
        }
        Api::OpenAi => {
            Addresses { messages: at(format!("{path}/chat/completions")), models: at(format!("{path}/models")) }
        }
    })
}

/// A base URL as it may be shown: without user, password and query. One that is no address is not shown at all.
pub(crate) fn shown_base_url(base_url: &str) -> String {
    Url::parse(base_url.trim()).map_or_else(|_| String::new(), |url| shown(&url))
}

/// An address without user, password and query.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses without a host, which carry neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

fn secrets(options: &EndpointOptions, url: &Url) -> Vec<String> {
    let key = options.api_key.iter().map(|key| key.expose_secret().trim().to_owned());
    // A header may be a bare key or a scheme and a key.
    let headers = options.headers.iter().flat_map(|(_, value)| value.split_whitespace()).flat_map(|part| {
        // Of the scheme `Basic`, which a server may tell in plain text.
        let login = STANDARD.decode(part).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        let (user, password) = login.split_once(':').unwrap_or_default();
        [part.to_owned(), user.to_owned(), password.to_owned(), login]
    });
    let query = url.query().unwrap_or_default().split('&').flat_map(|pair| {
        let value = pair.split_once('=').map_or(pair, |(_, value)| value);
        // Servers differ in what a plus is.
        [value.to_owned(), percent_decoded(value), percent_decoded(&value.replace('+', " "))]
    });
    // The user may be a token that stands alone.
    let (user, password) = (url.username(), url.password().unwrap_or_default());
    let sent = format!("{}:{}", percent_decoded(user), percent_decoded(password));
    let login = [STANDARD.encode(&sent), sent, percent_decoded(user), percent_decoded(password)];
    let login = login.into_iter().chain([user.to_owned(), password.to_owned()]);
    key.chain(headers).chain(query).chain(login).collect()
}

/// The text without percent signs, as servers read a part of an address.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|digits| str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn headers(options: &EndpointOptions) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    if options.api == Api::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    if let Some(key) = &options.api_key {
        let key = key.expose_secret().trim();
        // Tokens of an Anthropic login are bearer tokens; its keys have a header of their own.
        let is_bearer = options.api == Api::OpenAi || key.starts_with("sk-ant-oat");
        let (name, value) = if is_bearer {
            (header::AUTHORIZATION, format!("Bearer {key}"))
        } else {
            (HeaderName::from_static("x-api-key"), key.to_owned())
        };
        headers.insert(name, secret_value(&value).ok_or_else(|| format!("the API key {NO_HEADER}"))?);
    }
    for (name, value) in &options.headers {
        let (name, value) = header(name, value)?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Says whether a header can be sent.
///
/// # Errors
/// What is wrong with it. The value, which may be secret, is not repeated.
pub fn check_header(name: &str, value: &str) -> Result<(), String> {
    header(name, value).map(|_| ())
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::try_from(name.trim()).map_err(|_| format!("{name:?} is no name of a header"))?;
    let value = secret_value(value.trim()).ok_or_else(|| format!("the value of the header {name} {NO_HEADER}"))?;
    Ok((parsed, value))
}

/// Says whether a key can be sent.
///
/// # Errors
/// What is wrong with it, as the rest of a sentence; nothing of the key is repeated.
pub fn check_key(key: &str) -> Result<(), String> {
    secret_value(key.trim()).map(|_| ()).ok_or_else(|| NO_HEADER.to_owned())
}

/// A value that can be sent: servers read what is not ASCII in different ways, so no key or token holds it.
fn secret_value(value: &str) -> Option<HeaderValue> {
    if !value.is_ascii() {
        return None;
    }
    let mut value = HeaderValue::try_from(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// What a value holds that cannot be sent in a header.
const NO_HEADER: &str = "holds a line break or another character that cannot be sent";

/// Why there is no client.
enum ClientProblem {
    CaFile(String),
    Start(String),
}

fn build_client(options: &EndpointOptions, url: &Url) -> Result<Client, ClientProblem> {
    let mut builder = Client::builder()
        .user_agent(concat!("codey/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(options.connect_timeout)
        .read_timeout(options.idle_timeout)
        // A redirected POST would arrive as a GET, and a key would follow it to another host.
        .redirect(redirect::Policy::none())
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_keep_alive_timeout(KEEP_ALIVE);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // Certificates play no part, so a machine without any can still reach a local server.
        builder = builder.tls_certs_only([]);
    } else if let Some(file) = &options.ca_file {
        builder = builder.tls_certs_merge(read_certificates(file).map_err(ClientProblem::CaFile)?);
    }
    builder
        .build()
        .map_err(|error| ClientProblem::Start(format!("the HTTPS client cannot start: {}", root_cause(&error))))
}

/// Says whether the file holds certificates.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check_certificates(file: &Path) -> Result<(), String> {
    read_certificates(file).map(|_| ())
}

/// Bytes of a bundle; the largest in use have a few hundred KiB.
const MAX_CERTIFICATES: u64 = 4 << 20;

fn read_certificates(file: &Path) -> Result<Vec<Certificate>, String> {
    let shown = file.display();
    let pem = read_regular(file).map_err(|error| format!("cannot read ca_file {shown}: {error}"))?;
    let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
    if certificates.is_empty() {
        return Err(format!("ca_file {shown} holds no PEM certificates"));
    }
    Ok(certificates)
}

/// Reads a file that is one: neither a FIFO on which everybody waits who opens it, nor a device without end.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_CERTIFICATES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_CERTIFICATES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 4 MiB"));
    }
    Ok(bytes)
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some(host) => host == "localhost" || host == "[::1]" || host.starts_with("127."),
        None => false,
    }
}

fn head_of(response: &Response) -> Head {
    let header = |name: &str| header_of(response, name);
    Head {
        status: response.status().as_u16(),
        content_type: header("content-type").unwrap_or_default().to_ascii_lowercase(),
        // Whole, so that its secrets are known for what they are; one that is no address leads nowhere.
        location: header("location").and_then(|target| Some(shown(&response.url().join(target).ok()?))),
        retry_after: failure::retry_after(header("retry-after-ms"), header("retry-after"), Timestamp::now()),
        retry_refused: header("x-should-retry") == Some("false"),
    }
}

fn header_of<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// A request that got no response.
fn no_response(place: &Place, error: &reqwest::Error, options: &EndpointOptions) -> Failure {
    if error.is_timeout() && error.is_connect() {
        let said = format!("cannot connect to {} within {}", place.url, failure::spoken(options.connect_timeout));
        return network(place, said, "Check base_url, the connection and the proxy settings.");
    }
    broken(place, error, options.idle_timeout)
}

/// A connection that failed, while it was made or later.
pub(crate) fn broken(place: &Place, error: &(dyn StdError + 'static), idle_timeout: Duration) -> Failure {
    let url = &place.url;
    let http = error.downcast_ref::<reqwest::Error>();
    if http.is_some_and(reqwest::Error::is_timeout) {
        return failure::stalled(place, idle_timeout);
    }
    let reason = root_cause(error);
    let lower = chain_text(error).to_ascii_lowercase();
    if lower.contains("certificate") {
        let said = format!("the certificate of {url} is not accepted: {reason}");
        let hint = "If a company proxy or a private CA signs it, name its PEM file in ca_file of the endpoint or in SSL_CERT_FILE.";
        return network(place, said, hint);
    }
    if lower.contains("too many open files") {
        let said = format!("cannot connect to {url}: {reason}");
        return network(place, said, "Raise the limit on open files (ulimit -n), or end what holds them.");
    }
    if lower.contains("dns error") || lower.contains("failed to lookup") {
        return network(
            place,
            format!("cannot find the host of {url}: {reason}"),
            "Check base_url and the connection.",
        );
    }
    if lower.contains("corrupt message") {
        let said = format!("{url} does not speak TLS");
        return network(place, said, "If the server has no encryption, use http:// in base_url.");
    }
    if [" parsed", "message head is too large"].iter().any(|end| reason.ends_with(end)) {
        let said = format!("{url} does not answer as a web server does: {reason}");
        return network(place, said, "Check base_url (http or https, host, port).");
    }
    match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => {
            let hint = "Check that the server runs and that base_url has its port.";
            network(place, format!("{url} refused the connection"), hint)
        }
        _ if http.is_some_and(reqwest::Error::is_connect) => {
            let hint = "Check base_url (http or https, host, port), the connection and the proxy settings.";
            network(place, format!("cannot connect to {url}: {reason}"), hint)
        }
        _ => network(place, format!("the connection to {url} broke: {reason}"), "Check the connection and try again."),
    }
}

fn network(place: &Place, said: String, hint: &str) -> Failure {
    failure::with_hint(failure::fail(place, Kind::Network, said, Retry::Transport), hint)
}

fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| StdError::source(*error))
}

fn chain_text(error: &(dyn StdError + 'static)) -> String {
    chain(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The innermost error says what happened, the outer ones only where.
fn root_cause(error: &(dyn StdError + 'static)) -> String {
    let text = chain(error).last().map(ToString::to_string).unwrap_or_default();
    // The system's number for what it says in words.
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    chain(error).find_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error with a cause, as a client wraps them.
    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    fn check(cause: &'static str, message: &str, hint: &str) {
        let place = Place::new("test", "https://host/v1".to_owned(), Vec::new());
        let inner = Layer { text: cause, source: None };
        let error = Layer { text: "error sending request for url (https://host/v1)", source: Some(Box::new(inner)) };
        let failure = broken(&place, &error, Duration::from_secs(1));
        assert_eq!((failure.error.kind, failure.retry), (Kind::Network, Retry::Transport), "{cause}");
        assert_eq!(failure.error.message, message);
        assert!(failure.error.hint.contains(hint), "{}", failure.error.hint);
    }

    #[test]
    fn a_broken_connection_is_told_in_words_and_not_in_those_of_the_client() {
        let untrusted = "the certificate of https://host/v1 is not accepted: invalid peer certificate: UnknownIssuer";
        check("invalid peer certificate: UnknownIssuer", untrusted, "ca_file");
        check("received corrupt message of type InvalidContentType", "https://host/v1 does not speak TLS", "http://");
        for reason in ["invalid HTTP version parsed", "message head is too large"] {
            check(reason, &format!("https://host/v1 does not answer as a web server does: {reason}"), "base_url");
        }
        let full = "Too many open files (os error 24)";
        check(full, "cannot connect to https://host/v1: Too many open files", "ulimit -n");
        let unknown = "failed to lookup address information: Name or service not known";
        check(unknown, &format!("cannot find the host of https://host/v1: {unknown}"), "base_url");
        let reset = "Connection reset by peer (os error 104)";
        check(reset, "the connection to https://host/v1 broke: Connection reset by peer", "try again");
    }

    #[test]
    fn every_form_in_which_a_server_may_tell_a_login_is_secret() {
        let check = |base_url: &str, header: Option<&str>, forms: &[&str]| {
            let mut options = EndpointOptions::new("test", Api::OpenAi, base_url);
            options.headers = header.into_iter().map(|value| ("authorization".to_owned(), value.to_owned())).collect();
            let place = Place::new("test", String::new(), secrets(&options, &Url::parse(base_url).unwrap()));
            for form in forms {
                assert_eq!(place.quote(&format!("no {form} here")), "no [redacted] here", "{base_url}");
            }
        };
        let login = ["us%2Fername", "us/ername", "pass%40word", "pass@word", "us/ername:pass@word"];
        check("http://us%2Fername:pass%40word@host/v1", None, &login);
        check("http://us%2Fername:pass%40word@host/v1", None, &["dXMvZXJuYW1lOnBhc3NAd29yZA=="]);
        check("http://token+token@host/v1", None, &["token+token", "dG9rZW4rdG9rZW46"]);
        check("http://host/v1?key=a%2Fb+cdef", None, &["a%2Fb+cdef", "a/b+cdef", "a/b cdef"]);
        check("http://host/v1?sesame", None, &["sesame"]);
        check("http://host/v1", Some("Basic dXMvZXJuYW1lOnBhc3NAd29yZA=="), &["us/ername", "pass@word"]);
    }
}
