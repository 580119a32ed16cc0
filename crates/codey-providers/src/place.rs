//! Where a request goes, as error texts may show it.

/// Longest part of a server's own words in an error text, in characters.
const MAX_QUOTE: usize = 400;

/// Names an endpoint in error texts and keeps its secrets out of them.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The endpoint's name in the configuration.
    pub(crate) endpoint: String,
    /// The address without user, password and query.
    pub(crate) url: String,
    /// Texts that must not be shown.
    secrets: Vec<String>,
}

impl Place {
    pub(crate) fn new(endpoint: &str, url: String, secrets: Vec<String>) -> Self {
        // A very short "key" ("none", "x") is no secret, and blanking it would garble every text.
        let secrets = secrets.into_iter().filter(|secret| secret.len() >= 6).collect();
        Self { endpoint: endpoint.to_owned(), url, secrets }
    }

    /// A server's words on one line, cut to a bearable length, without secrets and control characters.
    pub(crate) fn quote(&self, text: &str) -> String {
        let mut line = String::new();
        for character in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
            if character.is_control() {
                line.extend(character.escape_default());
            } else {
                line.push(character);
            }
        }
        for secret in &self.secrets {
            line = line.replace(secret.as_str(), "[redacted]");
        }
        match line.char_indices().nth(MAX_QUOTE) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}
