//! What is known of models without asking.

use std::sync::LazyLock;

use codey_llm::{Capabilities, ModelInfo, Price};
use serde::Deserialize;

/// Output limit of a model that is not in the table: what even small servers take.
pub const DEFAULT_MAX_OUTPUT: u32 = 8_192;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    as_of: String,
    model: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    window: u32,
    max_output: u32,
    price: Option<Price>,
    #[serde(default)]
    images: bool,
    #[serde(default)]
    effort: bool,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("models.toml")).expect("the table is constant and tested"));

/// What is known of the model with this id, from a table of its time ([`models_as_of`]).
///
/// Dated ids (`claude-haiku-4-5-20251001`) and ids with a maker before them (`anthropic/claude-haiku-4.5`) are found
/// too. A model that is not in the table has no window and no price, [`DEFAULT_MAX_OUTPUT`] and no capabilities: a wrong
/// figure would be worse than none.
pub fn model_info(id: &str) -> ModelInfo {
    let name = plain(id);
    let matching = TABLE
        .model
        .iter()
        .filter(|entry| name.strip_prefix(&plain(&entry.id)).is_some_and(|rest| rest.is_empty() || is_version(rest)));
    match matching.max_by_key(|entry| entry.id.len()) {
        Some(entry) => ModelInfo {
            id: id.to_owned(),
            window: Some(entry.window),
            max_output: entry.max_output,
            price: entry.price,
            capabilities: Capabilities { images: entry.images, effort: entry.effort },
        },
        None => ModelInfo {
            id: id.to_owned(),
            window: None,
            max_output: DEFAULT_MAX_OUTPUT,
            price: None,
            capabilities: Capabilities::default(),
        },
    }
}

/// The day the table of models was last checked, as `YYYY-MM-DD`.
pub fn models_as_of() -> &'static str {
    &TABLE.as_of
}

/// The id as the table compares it: without the maker, and with one spelling of version numbers.
fn plain(id: &str) -> String {
    id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase().replace('.', "-")
}

/// Whether what follows a model's name is a date or `latest`. Anything else is another model, with other prices.
fn is_version(rest: &str) -> bool {
    let Some(version) = rest.strip_prefix(['-', '@']) else { return false };
    let digits: String = version.chars().filter(|c| *c != '-').collect();
    version == "latest" || (digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert!(models_as_of().parse::<jiff::civil::Date>().is_ok());
        for entry in &TABLE.model {
            assert!(entry.max_output < entry.window, "{}", entry.id);
            let Some(price) = entry.price else { continue };
            assert!(price.cache_read < price.input && price.input < price.output, "{}", entry.id);
        }
    }

    #[test]
    fn dated_and_prefixed_ids_are_found() {
        let haiku = model_info("claude-haiku-4-5");
        for id in [
            "claude-haiku-4-5-20251001",
            "anthropic/claude-haiku-4.5",
            "claude-haiku-4-5@20251001",
            "x/y/Claude-Haiku-4-5",
        ] {
            let found = model_info(id);
            assert_eq!(found, ModelInfo { id: id.to_owned(), ..haiku.clone() });
            assert_eq!((found.window, found.max_output), (Some(200_000), 64_000));
        }
        assert_eq!(model_info("gpt-4.1-mini-2025-04-14").price.map(|price| price.input), Some(0.4));
    }

    #[test]
    fn another_model_of_the_family_is_unknown() {
        for id in ["claude-haiku-4-5-turbo", "claude-haiku-4", "gpt-5-ultra", "gpt-4.1-9", "local", "", "gpt-5:free"] {
            let unknown = model_info(id);
            assert_eq!((unknown.window, unknown.max_output, unknown.price), (None, DEFAULT_MAX_OUTPUT, None), "{id}");
        }
    }
}
