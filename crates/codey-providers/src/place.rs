//! Where a request goes, as error texts may show it.

use std::cmp::Reverse;

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
    pub(crate) fn new(endpoint: &str, url: String, mut secrets: Vec<String>) -> Self {
        // A very short "key" ("none", "x") is no secret, and blanking it would garble every text.
        secrets.retain(|secret| secret.len() >= 6);
        // Longest first: one that begins another would leave the rest of that in the text.
        secrets.sort_by_key(|secret| Reverse(secret.len()));
        Self { endpoint: endpoint.to_owned(), url, secrets }
    }

    /// A server's words on one line, cut to a bearable length, without secrets and control characters.
    pub(crate) fn quote(&self, text: &str) -> String {
        // Before blanks are joined: a secret may hold several in a row.
        let text =
            self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[redacted]"));
        let mut line = String::new();
        for character in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
            if character.is_control() {
                line.extend(character.escape_default());
            } else {
                line.push(character);
            }
        }
        match line.char_indices().nth(MAX_QUOTE) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_holds_no_secret_with_blanks_and_no_rest_of_one() {
        let secrets = ["sesame", "sesame-opens", "two  blanks"].map(str::to_owned).into();
        let place = Place::new("test", String::new(), secrets);
        assert_eq!(place.quote("sesame-opens  two  blanks\nsesame"), "[redacted] [redacted] [redacted]");
    }
}
