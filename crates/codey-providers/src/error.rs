//! What servers say when something is wrong, in all the shapes they use.

use std::sync::LazyLock;

use codey_llm::ProviderErrorKind as Kind;
use regex::RegexSet;
use serde_json::Value;

use crate::json::Json;

/// An error as a server describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorObject {
    /// The server's words; may be empty.
    pub(crate) message: String,
    /// Machine-readable words: type, code, status.
    words: Vec<String>,
    /// An HTTP status given as code.
    status: Option<u16>,
}

/// Words that servers use for a kind of error. Matched whole.
const WORDS: &[(Kind, &[&str])] = &[
    (
        Kind::Quota,
        &[
            "billing_error",
            "insufficient_quota",
            "billing_hard_limit_reached",
            "billing_not_active",
            "enforced_spend_limit_reached",
            "insufficient_balance",
            "insufficient_credits",
            "quota_exceeded",
        ],
    ),
    (
        Kind::ContextOverflow,
        &["context_length_exceeded", "exceed_context_size_error", "request_too_large", "model_context_window_exceeded"],
    ),
    (Kind::RateLimit, &["rate_limit_error", "rate_limit_exceeded", "too_many_requests", "RESOURCE_EXHAUSTED"]),
    (
        Kind::Overloaded,
        &[
            "overloaded_error",
            "unavailable_error",
            "service_unavailable",
            "insufficient_system_resource",
            "UNAVAILABLE",
        ],
    ),
    (
        Kind::Auth,
        &["authentication_error", "permission_error", "invalid_api_key", "PERMISSION_DENIED", "UNAUTHENTICATED"],
    ),
    (Kind::ModelNotFound, &["not_found_error", "model_not_found", "NOT_FOUND"]),
    (Kind::BadRequest, &["invalid_request_error", "INVALID_ARGUMENT", "tool_use_failed"]),
];

impl ErrorObject {
    /// The error in `value`, if that is one.
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        match value {
            // Gemini's compatible API wraps the object in a list.
            Value::Array(items) => items.first().and_then(Self::parse),
            Value::Object(object) => {
                let top = || {
                    let is_error = ["type", "object"].iter().any(|key| object.get(*key) == Some(&Value::from("error")));
                    let is_bare = ["detail", "message", "errors"].iter().any(|key| object.contains_key(*key));
                    (is_error || is_bare).then_some(value)
                };
                let inner = object.get("error").filter(|inner| is_something(inner)).or_else(top)?;
                Some(Self::read(inner))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }

    /// An error that a server reports inside a stream; other events may hold a `message` too.
    pub(crate) fn parse_event(event: &Json<'_>) -> Option<Self> {
        let is_marked = is_something(&event["error"].to_value())
            || ["type", "object"].iter().any(|key| event[*key].as_str() == Some("error"));
        is_marked.then(|| Self::parse(&event.to_value())).flatten()
    }

    /// An error that only has words.
    pub(crate) fn from_text(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// An error that only has a machine-readable word.
    pub(crate) fn from_word(word: &str) -> Self {
        Self { message: word.to_owned(), words: vec![word.to_owned()], status: None }
    }

    fn read(value: &Value) -> Self {
        let mut object = Self { message: words_of(value), ..Self::default() };
        let nested = ["details", "metadata"].into_iter().filter_map(|key| value.get(key));
        for source in std::iter::once(value).chain(nested) {
            for key in ["type", "code", "status", "error_code"] {
                object.note(source.get(key));
            }
        }
        // OpenRouter wraps the text of the provider behind it, which says more than its own.
        if let Some(raw) = value.pointer("/metadata/raw").and_then(Value::as_str) {
            object.message = format!("{}: {raw}", object.message);
        }
        object
    }

    fn note(&mut self, value: Option<&Value>) {
        let number = match value {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => {
                self.words.push(text.clone());
                text.parse().ok()
            }
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => None,
        };
        let status = number.and_then(|number| u16::try_from(number).ok()).filter(|code| (400..600).contains(code));
        self.status = self.status.or(status);
    }

    /// The kind its own words name.
    fn named_kind(&self) -> Option<Kind> {
        let found = WORDS.iter().find(|(_, words)| self.words.iter().any(|word| words.contains(&word.as_str())));
        found.map(|(kind, _)| *kind)
    }

    /// The kind of an error that came without an HTTP status of its own (in a stream, in a 200).
    pub(crate) fn kind(&self) -> Kind {
        if self.says_overflow() {
            return Kind::ContextOverflow;
        }
        let by_status = || self.status.map(|status| status_kind(status, self));
        self.named_kind().or_else(by_status).unwrap_or(Kind::ServerError)
    }

    fn says_overflow(&self) -> bool {
        self.named_kind() == Some(Kind::ContextOverflow) || OVERFLOW.is_match(&self.message)
    }

    fn says_quota(&self) -> bool {
        self.named_kind() == Some(Kind::Quota) || QUOTA.is_match(&self.message)
    }
}

/// The kind of an error response. Source: contract section 6.
pub(crate) fn status_kind(status: u16, object: &ErrorObject) -> Kind {
    match status {
        // Rate limits count tokens too, and their texts read like an overflow.
        429 if object.says_quota() => Kind::Quota,
        429 => Kind::RateLimit,
        413 => Kind::ContextOverflow,
        400 | 422 | 500 if object.says_overflow() => Kind::ContextOverflow,
        402 => Kind::Quota,
        400..=499 if object.says_quota() => Kind::Quota,
        401 | 403 => Kind::Auth,
        404 => Kind::ModelNotFound,
        503 | 529 => Kind::Overloaded,
        408 | 409 | 425 | 500..=599 => Kind::ServerError,
        300..=399 => Kind::Config,
        _ => Kind::BadRequest,
    }
}

/// Texts that say the prompt is larger than the window. Source: provider documentation and recorded errors.
static OVERFLOW: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = [
        r"(?i)prompt is too long",
        r"(?i)context_length_exceeded",
        r"(?i)exceeds? the context window",
        r"(?i)maximum context length",
        r"(?i)maximum prompt length is",
        r"(?i)exceeds the available context size",
        r"(?i)exceed_context_size_error",
        r"(?i)input token count.*exceeds",
        r"(?i)reduce the length of the messages",
        r"(?i)greater than the context length",
        r"(?i)exceeded model token limit",
        r"(?i)too large for model with",
        r"(?i)current length is .* while limit is",
        r"(?i)range of input length",
        r"(?i)context window exceeds limit",
    ];
    RegexSet::new(patterns).expect("the patterns are constant and tested")
});

/// Texts that say there is no money or allowance left.
static QUOTA: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = [
        r"(?i)exceeded your current quota",
        r"(?i)credit balance is too low",
        r"(?i)insufficient (balance|credits|quota|funds)",
        r"(?i)spend(ing)? limit",
    ];
    RegexSet::new(patterns).expect("the patterns are constant and tested")
});

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::Array(_) | Value::Object(_) => true,
    }
}

/// What an error value says to people.
fn words_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(object) => {
            let spoken = ["message", "msg", "detail", "errors"].iter().find_map(|key| object.get(*key));
            spoken.map_or_else(|| value.to_string(), words_of)
        }
        Value::Array(items) => items.iter().map(located_words).collect::<Vec<_>>().join("; "),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Words of one entry of a validation error, with the place it names.
fn located_words(value: &Value) -> String {
    let words = words_of(value);
    let Some(Value::Array(place)) = value.get("loc") else { return words };
    let place: Vec<String> =
        place.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect();
    format!("{}: {words}", place.join("."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(status: u16, body: Value, kind: Kind, message: &str) {
        let object = ErrorObject::parse(&body).unwrap();
        assert_eq!((status_kind(status, &object), object.message.as_str()), (kind, message), "{body}");
    }

    #[test]
    fn every_shape_of_error_is_read() {
        check(
            401,
            json!({"type": "error", "error": {"type": "authentication_error", "message": "no"}}),
            Kind::Auth,
            "no",
        );
        check(404, json!({"error": {"message": "gone", "code": 404}}), Kind::ModelNotFound, "gone");
        check(500, json!({"error": "plain"}), Kind::ServerError, "plain");
        check(404, json!({"detail": "Not Found"}), Kind::ModelNotFound, "Not Found");
        let missing = json!({"detail": [{"type": "missing", "loc": ["body", "max_tokens"], "msg": "Field required"}]});
        check(422, missing, Kind::BadRequest, "body.max_tokens: Field required");
        let flat = json!({"object": "error", "message": "bad id", "type": "invalid_function_call", "code": "3280"});
        check(400, flat, Kind::BadRequest, "bad id");
        check(
            400,
            json!([{"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}]),
            Kind::BadRequest,
            "bad",
        );
        let wrapped =
            json!({"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "boom"}}});
        check(502, wrapped, Kind::ServerError, "Provider returned error: boom");
    }

    #[test]
    fn a_missing_allowance_is_told_from_a_rate_limit() {
        let spent = |code: &str| json!({"error": {"message": "m", "type": code, "code": code}});
        check(429, spent("insufficient_quota"), Kind::Quota, "m");
        check(429, spent("rate_limit_exceeded"), Kind::RateLimit, "m");
        let limit = json!({"error": {"message": "m", "details": {"error_code": "enforced_spend_limit_reached"}}});
        check(429, limit, Kind::Quota, "m");
        let low = "Your credit balance is too low to access the API";
        check(400, json!({"error": {"type": "invalid_request_error", "message": low}}), Kind::Quota, low);
        check(402, json!({"error": {"message": "pay"}}), Kind::Quota, "pay");
    }

    #[test]
    fn an_overflow_is_known_by_its_text() {
        let texts = [
            "prompt is too long: 213462 tokens > 200000 maximum",
            "request (12020 tokens) exceeds the available context size (8192 tokens), try increasing it",
            "This model's maximum context length is 8192 tokens. However, you requested 12038 tokens",
            "This model's maximum prompt length is 131072 but the request contains 200000 tokens",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)",
            "Please reduce the length of the messages or completion",
            "tokens to keep from the initial prompt is greater than the context length",
            "Your request exceeded model token limit: 8192 (requested: 9000)",
            "Prompt contains 9000 tokens and is too large for model with 8192 maximum context length",
            "Current length is 9000 while limit is 8192",
            "Range of input length should be [1, 8192]",
            "Your input exceeds the context window of this model",
        ];
        for text in texts {
            for status in [400, 413, 422, 500] {
                check(status, json!({"error": {"message": text}}), Kind::ContextOverflow, text);
            }
            check(429, json!({"error": {"message": text}}), Kind::RateLimit, text);
        }
        check(400, json!({"error": {"code": "context_length_exceeded", "message": "m"}}), Kind::ContextOverflow, "m");
        check(413, json!({"error": {"message": "m"}}), Kind::ContextOverflow, "m");
    }

    fn parse_event(event: &Value) -> Option<ErrorObject> {
        ErrorObject::parse_event(&Json::parse(&event.to_string()).unwrap())
    }

    #[test]
    fn an_error_without_a_status_has_the_kind_of_its_type() {
        let check = |error: Value, kind: Kind| {
            assert_eq!(parse_event(&json!({ "error": error })).unwrap().kind(), kind, "{error}");
        };
        check(json!({"type": "overloaded_error", "message": "m"}), Kind::Overloaded);
        check(json!({"code": 429, "message": "m"}), Kind::RateLimit);
        check(json!({"code": "server_error", "message": "m"}), Kind::ServerError);
        check(
            json!({"type": "streaming_error", "message": "exceeds the available context size"}),
            Kind::ContextOverflow,
        );
        check(json!("text"), Kind::ServerError);
    }

    #[test]
    fn an_ordinary_event_is_no_error() {
        for event in [
            json!({"type": "message_start", "message": {}}),
            json!({"choices": [], "error": null}),
            json!({"choices": [], "message": "hello"}),
        ] {
            assert_eq!(parse_event(&event), None, "{event}");
        }
    }
}
