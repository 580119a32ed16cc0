//! The endpoints Codey knows without configuration.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::endpoint::{Api, Quirks};

/// An endpoint that needs no configuration but a key, or none at all.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltinEndpoint {
    /// The name users give it.
    pub name: String,
    /// What it speaks.
    pub api: Api,
    /// Where it is.
    pub base_url: String,
    /// Environment variables that may hold its key, the best first; empty when it needs none. The caller reads them.
    #[serde(default)]
    pub key_vars: Vec<String>,
    /// The model to use when the user names none.
    #[serde(default)]
    pub default_model: Option<String>,
    /// What it does differently.
    #[serde(default)]
    pub quirks: Quirks,
}

/// The built-in endpoints, in the order in which one with a key is chosen.
pub fn builtin_endpoints() -> &'static [BuiltinEndpoint] {
    static ENDPOINTS: LazyLock<Vec<BuiltinEndpoint>> = LazyLock::new(|| {
        #[derive(Deserialize)]
        struct Table {
            endpoint: Vec<BuiltinEndpoint>,
        }
        let table: Table = toml::from_str(include_str!("endpoints.toml")).expect("the table is constant and tested");
        table.endpoint
    });
    &ENDPOINTS
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::endpoint::{EndpointOptions, MaxTokensField};

    #[test]
    fn the_table_is_sound() {
        let endpoints = builtin_endpoints();
        let names: HashSet<&str> = endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
        assert_eq!(names.len(), endpoints.len());
        for endpoint in endpoints {
            let url = reqwest::Url::parse(&endpoint.base_url).unwrap();
            let is_local = url.host_str() == Some("127.0.0.1");
            assert!(is_local || (url.scheme() == "https" && !endpoint.key_vars.is_empty()), "{}", endpoint.name);
        }
    }

    #[test]
    fn quirks_follow_the_host() {
        let field = |url: &str| EndpointOptions::new("x", Api::OpenAi, url).quirks.max_tokens_field;
        assert_eq!(field("https://api.openai.com/v1"), MaxTokensField::MaxCompletionTokens);
        assert_eq!(field("http://127.0.0.1:8080/v1"), MaxTokensField::MaxTokens);
        assert_eq!(field("https://example.com/v1"), MaxTokensField::MaxTokens);
    }
}
