//! Failed tries: what the user reads, and whether another try makes sense.

use std::time::Duration;

use codey_llm::{ProviderError, ProviderErrorKind as Kind};
use jiff::Timestamp;
use serde_json::Value;

use crate::endpoint::Api;
use crate::error::{ErrorObject, status_kind};
use crate::place::Place;

/// How many tries a failure is worth. Source: contract section 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// It would fail again.
    Never,
    /// The connection failed, or the server did.
    Transport,
    /// Nothing came.
    Stall,
    /// Too much is asked of the server.
    Crowded,
}

/// A failed try.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) error: ProviderError,
    pub(crate) retry: Retry,
}

/// The part of a response before its body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    /// Where a redirect leads.
    pub(crate) location: Option<String>,
    /// How long the server asks to wait.
    pub(crate) retry_after: Option<Duration>,
    /// Whether the server says that a retry is no use.
    pub(crate) retry_refused: bool,
}

/// What a body is, going by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    Empty,
    Html,
    Json,
    JsonLines,
    /// The beginning of an event.
    Events,
    Other,
}

/// A response with an error status.
pub(crate) fn refused(place: &Place, head: &Head, body: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(body);
    let object = serde_json::from_str(&text).ok().and_then(|value: Value| ErrorObject::parse(&value));
    let words = match (&object, looks_like(&text)) {
        (Some(object), _) => object.message.clone(),
        (None, Looks::Html) => html_words(&text),
        (None, Looks::Empty) => String::new(),
        (None, Looks::Json) if matches!(text.trim(), "{}" | "[]") => String::new(),
        (None, Looks::Json | Looks::JsonLines | Looks::Events | Looks::Other) => text.clone().into_owned(),
    };
    let object = object.unwrap_or_else(|| ErrorObject::from_text(words.clone()));
    let kind = status_kind(head.status, &object);
    let retry = match head.status {
        _ if head.retry_refused => Retry::Never,
        429 if kind == Kind::RateLimit => Retry::Crowded,
        529 => Retry::Crowded,
        408 | 409 | 425 | 500 | 502 | 503 | 504 if matches!(kind, Kind::ServerError | Kind::Overloaded) => {
            Retry::Transport
        }
        _ => Retry::Never,
    };
    let colon = if words.is_empty() { "" } else { ": " };
    let said = format!("{} answered {}{colon}{}", place.url, head.status, place.quote(&words));
    let mut failure = fail(place, kind, said, retry);
    if let Some(target) = head.location.as_ref().filter(|_| kind == Kind::Config) {
        failure.error.hint =
            format!("The server redirects to {}; set base_url to where it leads.", place.quote(target));
    }
    failure.error.retry_after = head.retry_after;
    failure
}

/// A response with status 200 that is no stream.
pub(crate) fn no_stream(place: &Place, body: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(body);
    let url = &place.url;
    match looks_like(&text) {
        Looks::Empty => empty(place),
        Looks::Html => {
            let said = format!("{url} answered with {} instead of a stream", place.quote(&html_words(&text)));
            with_hint(
                fail(place, Kind::BadRequest, said, Retry::Never),
                "Check base_url: it leads to a web page, not to an API.",
            )
        }
        Looks::JsonLines => {
            let said = format!("{url} answered with JSON lines instead of server-sent events");
            let hint = "Check base_url: this looks like Ollama's own API; the compatible one is below /v1.";
            with_hint(fail(place, Kind::BadRequest, said, Retry::Never), hint)
        }
        Looks::Json => {
            let object = serde_json::from_str(&text).ok().and_then(|value: Value| ErrorObject::parse(&value));
            match object {
                Some(object) => Failure { retry: Retry::Never, ..reported(place, &object) },
                None => {
                    let said =
                        format!("{url} answered with one JSON document instead of a stream: {}", place.quote(&text));
                    let hint = "The server does not stream, or base_url leads to another API.";
                    with_hint(fail(place, Kind::BadRequest, said, Retry::Never), hint)
                }
            }
        }
        Looks::Events => cut(place),
        Looks::Other => garbage(place, &text),
    }
}

/// An error that the server reports inside a stream.
pub(crate) fn reported(place: &Place, object: &ErrorObject) -> Failure {
    let kind = object.kind();
    let retry = match kind {
        Kind::RateLimit | Kind::Overloaded => Retry::Crowded,
        Kind::ServerError => Retry::Transport,
        Kind::Auth
        | Kind::Quota
        | Kind::Network
        | Kind::Stalled
        | Kind::ContextOverflow
        | Kind::ModelNotFound
        | Kind::BadRequest
        | Kind::Refusal
        | Kind::Config => Retry::Never,
    };
    fail(place, kind, format!("{} reported an error: {}", place.url, place.quote(&object.message)), retry)
}

/// A stream with something in it that is not of this API.
pub(crate) fn garbage(place: &Place, piece: &str) -> Failure {
    let said = format!("{} sent what is not of this API: {}", place.url, place.quote(piece));
    let hint = "Check that base_url and api of the endpoint belong together.";
    with_hint(fail(place, Kind::BadRequest, said, Retry::Never), hint)
}

/// A stream of the API that was not asked for.
pub(crate) fn other_api(place: &Place, api: Api) -> Failure {
    let api = api.as_str();
    let said = format!("{} answered in the API `{api}`, which this endpoint is not set to", place.url);
    let hint = format!("Set api = \"{api}\" for endpoint `{}` (CODEY_API={api}).", place.endpoint);
    with_hint(fail(place, Kind::BadRequest, said, Retry::Never), &hint)
}

/// A stream with more in it than any answer holds.
pub(crate) fn endless(place: &Place, limit: usize) -> Failure {
    let said = format!("{} sent more than {} MiB in one answer, which was given up", place.url, limit >> 20);
    fail(place, Kind::ServerError, said, Retry::Never)
}

/// A stream with more in it than any event holds.
pub(crate) fn oversized(place: &Place, limit: usize) -> Failure {
    let said = format!("{} sent {} MiB without a complete event", place.url, limit >> 20);
    let hint = "Check base_url: this is no answer of a model.";
    with_hint(fail(place, Kind::BadRequest, said, Retry::Never), hint)
}

/// A stream that ended without its end mark.
pub(crate) fn cut(place: &Place) -> Failure {
    fail(
        place,
        Kind::Network,
        format!("{} closed the connection before the answer was complete", place.url),
        Retry::Transport,
    )
}

/// A successful response with nothing in it.
pub(crate) fn empty(place: &Place) -> Failure {
    let said = format!("{} answered 200 with an empty body", place.url);
    let hint = "Some local servers do this when the prompt is too long or a request member is not supported: see the server's log.";
    with_hint(fail(place, Kind::Network, said, Retry::Transport), hint)
}

/// Nothing came for too long.
pub(crate) fn stalled(place: &Place, idle: Duration) -> Failure {
    let said = format!("{} sent nothing for {}", place.url, spoken(idle));
    let hint = format!("Try again; if this model thinks longer, raise idle_timeout of endpoint `{}`.", place.endpoint);
    with_hint(fail(place, Kind::Stalled, said, Retry::Stall), &hint)
}

/// A failure with the usual advice for its kind.
pub(crate) fn fail(place: &Place, kind: Kind, message: String, retry: Retry) -> Failure {
    let name = &place.endpoint;
    let hint = match kind {
        Kind::Auth => format!("Check the API key of endpoint `{name}`."),
        Kind::RateLimit => "Wait a while, or choose another model or endpoint.".to_owned(),
        Kind::Quota => "Add credit or raise the limit at the provider, or choose another endpoint.".to_owned(),
        Kind::Overloaded => "Try again later, or choose another model or endpoint.".to_owned(),
        Kind::ServerError => {
            "Try again; if it stays, look at the provider's status page or the server's log.".to_owned()
        }
        Kind::Network => "Check the connection and base_url, then try again.".to_owned(),
        Kind::Stalled => "Try again.".to_owned(),
        Kind::ContextOverflow => {
            "Make the context smaller (`codey compact`), or choose a model with a larger window.".to_owned()
        }
        Kind::ModelNotFound => {
            format!("`codey models` lists what endpoint `{name}` offers; if that fails too, check base_url.")
        }
        Kind::BadRequest => format!("Check model and settings of endpoint `{name}`."),
        Kind::Refusal => "Say it in other words.".to_owned(),
        Kind::Config => format!("Check the settings of endpoint `{name}`."),
    };
    Failure { error: ProviderError::new(kind, message).hint(hint), retry }
}

/// The same failure with other advice.
pub(crate) fn with_hint(mut failure: Failure, hint: &str) -> Failure {
    hint.clone_into(&mut failure.error.hint);
    failure
}

/// How long a server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date. A number that no span
/// can hold is the longest one.
pub(crate) fn retry_after(ms: Option<&str>, header: Option<&str>, now: Timestamp) -> Option<Duration> {
    let ms = ms.and_then(|text| text.trim().parse::<f64>().ok()).map(|ms| ms / 1e3);
    let seconds = ms.or_else(|| header?.trim().parse::<f64>().ok());
    if let Some(seconds) = seconds {
        return (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    }
    let date = jiff::fmt::rfc2822::parse(header?.trim()).ok()?;
    Some(Duration::try_from(date.timestamp().duration_since(now)).unwrap_or_default())
}

/// Longest span that is told as it is. A longer one is a server's mistake, and no calendar may have its end.
pub(crate) const LONGEST_TOLD: Duration = Duration::from_secs(365 * 86_400);

/// A time span as people say it.
pub(crate) fn spoken(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 60, seconds % 60) {
        _ if span > LONGEST_TOLD => "more than a year".to_owned(),
        (2_880.., _) => format!("{} days", seconds / 86_400),
        (0, _) if span.subsec_millis() > 0 => format!("{:.1} s", span.as_secs_f64()),
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

fn looks_like(text: &str) -> Looks {
    let text = text.trim_start_matches('\u{feff}').trim();
    // A comment alone is a server's way to keep the line open.
    if text.lines().all(|line| line.is_empty() || line.starts_with(':')) {
        return Looks::Empty;
    }
    match text.as_bytes() {
        [b'<', ..] => Looks::Html,
        [b'{' | b'[', ..] => {
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            match (values.next(), values.next()) {
                (Some(Ok(_)), Some(_)) => Looks::JsonLines,
                _ => Looks::Json,
            }
        }
        _ if begins_event(text) => Looks::Events,
        _ => Looks::Other,
    }
}

/// Whether the text begins with a field of a server-sent event, or with the beginning of one.
fn begins_event(text: &str) -> bool {
    let (field, is_cut) = text.split_once(':').map_or((text, true), |(field, _)| (field, false));
    ["data", "event", "id", "retry"].iter().any(|known| *known == field || (is_cut && known.starts_with(field)))
}

/// The title of a page, since the rest of it is for browsers.
fn html_words(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|start| {
        let from = start + lower[start..].find('>')? + 1;
        let until = from + lower[from..].find("</title")?;
        Some(text[from..until].trim())
    });
    match title {
        Some(title) if !title.is_empty() => format!("a web page (\"{title}\")"),
        Some(_) | None => "a web page".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        let secrets = vec!["sk-secret-key".to_owned()];
        Place::new("test", "http://host/v1/chat/completions".to_owned(), secrets)
    }

    fn check(status: u16, body: &str, kind: Kind, retry: Retry, message: &str) {
        let failure = refused(&place(), &Head { status, ..Head::default() }, body.as_bytes());
        let expected = format!("http://host/v1/chat/completions answered {message}");
        assert_eq!((failure.error.kind, failure.retry, failure.error.message), (kind, retry, expected));
        assert!(!failure.error.hint.is_empty());
    }

    #[test]
    fn statuses_are_tried_again_as_often_as_the_contract_says() {
        for status in [408, 409, 425, 500, 502, 504] {
            check(status, "", Kind::ServerError, Retry::Transport, &status.to_string());
        }
        check(503, "", Kind::Overloaded, Retry::Transport, "503");
        check(529, "", Kind::Overloaded, Retry::Crowded, "529");
        check(429, "", Kind::RateLimit, Retry::Crowded, "429");
        for (status, kind) in [
            (400, Kind::BadRequest),
            (401, Kind::Auth),
            (402, Kind::Quota),
            (403, Kind::Auth),
            (404, Kind::ModelNotFound),
            (413, Kind::ContextOverflow),
            (418, Kind::BadRequest),
            (422, Kind::BadRequest),
            (501, Kind::ServerError),
        ] {
            check(status, "", kind, Retry::Never, &status.to_string());
        }
    }

    #[test]
    fn an_allowance_and_an_overflow_are_not_tried_again() {
        let spent = r#"{"error":{"code":"insufficient_quota","message":"m"}}"#;
        check(429, spent, Kind::Quota, Retry::Never, "429: m");
        let long = r#"{"error":{"message":"prompt is too long"}}"#;
        check(500, long, Kind::ContextOverflow, Retry::Never, "500: prompt is too long");
    }

    #[test]
    fn a_server_may_say_that_a_retry_is_no_use() {
        let head = Head { status: 500, retry_refused: true, ..Head::default() };
        assert_eq!(refused(&place(), &head, b"").retry, Retry::Never);
    }

    #[test]
    fn error_texts_are_one_line_without_secrets() {
        check(
            502,
            "<html><head><TITLE>502 Bad\nGateway</TITLE></head></html>",
            Kind::ServerError,
            Retry::Transport,
            "502: a web page (\"502 Bad Gateway\")",
        );
        check(401, "wrong key sk-secret-key\n", Kind::Auth, Retry::Never, "401: wrong key [redacted]");
        check(400, "a\u{1b}[2J\r\n\0b", Kind::BadRequest, Retry::Never, "400: a\\u{1b}[2J \\u{0}b");
        check(400, "{}", Kind::BadRequest, Retry::Never, "400");
        let long = "x".repeat(9_000);
        check(400, &long, Kind::BadRequest, Retry::Never, &format!("400: {}…", "x".repeat(400)));
    }

    #[test]
    fn a_redirect_names_its_target() {
        let head = Head { status: 308, location: Some("https://new/".to_owned()), ..Head::default() };
        let failure = refused(&place(), &head, b"");
        assert_eq!(failure.error.kind, Kind::Config);
        assert!(failure.error.hint.contains("https://new/"), "{}", failure.error.hint);
    }

    fn check_200(body: &str, kind: Kind, retry: Retry, part: &str) {
        let failure = no_stream(&place(), body.as_bytes());
        assert_eq!((failure.error.kind, failure.retry), (kind, retry), "{body}");
        let text = format!("{} {}", failure.error.message, failure.error.hint);
        assert!(text.contains(part), "{text}");
    }

    #[test]
    fn a_200_that_is_no_stream_says_what_it_is() {
        check_200("", Kind::Network, Retry::Transport, "empty body");
        check_200(": keep-alive\n\n", Kind::Network, Retry::Transport, "empty body");
        check_200("<!doctype html><html>", Kind::BadRequest, Retry::Never, "Check base_url");
        check_200("{\"done\":false}\n{\"done\":true}\n", Kind::BadRequest, Retry::Never, "/v1");
        check_200(
            r#"{"error":{"message":"upstream timed out"}}"#,
            Kind::ServerError,
            Retry::Never,
            "upstream timed out",
        );
        check_200(r#"{"choices":[{"index":0}]}"#, Kind::BadRequest, Retry::Never, "does not stream");
        for cut in ["d", "event", "event: message_st", "id: 1"] {
            check_200(cut, Kind::Network, Retry::Transport, "before the answer was complete");
        }
        check_200("hello", Kind::BadRequest, Retry::Never, "hello");
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        let check = |ms, header, expected| assert_eq!(retry_after(ms, header, now), expected, "{ms:?} {header:?}");
        check(None, None, None);
        check(Some("1500"), Some("9"), Some(Duration::from_millis(1_500)));
        check(None, Some("2"), Some(Duration::from_secs(2)));
        check(None, Some("0.5"), Some(Duration::from_millis(500)));
        check(None, Some("Mon, 30 Nov 2026 12:00:03 GMT"), Some(Duration::from_secs(3)));
        check(None, Some("Mon, 30 Nov 2026 11:59:00 GMT"), Some(Duration::ZERO));
        check(None, Some("soon"), None);
        check(None, Some("-1"), None);
        check(None, Some("nan"), None);
        check(None, Some("99999999999999999999999"), Some(Duration::MAX));
        check(None, Some("Fri, 31 Dec 9999 23:59:59 GMT"), None);
        check(None, Some("Fri, 31 Dec 9999 23:59:59 -2359"), None);
        check(None, Some("Thu, 30 Dec 9999 21:00:00 GMT"), Some(Duration::from_secs(251_606_163_600)));
    }

    #[test]
    fn spans_are_spoken() {
        let spoken: Vec<String> =
            [500, 2_000, 60_000, 330_000, 172_800_000].map(|ms| spoken(Duration::from_millis(ms))).into();
        assert_eq!(spoken, ["0.5 s", "2 s", "1 min", "5 min 30 s", "2 days"]);
        assert_eq!(super::spoken(Duration::MAX), "more than a year");
    }
}
