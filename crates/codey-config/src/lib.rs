//! What did the user ask for? A layering engine for TOML that remembers where each value was written.
//!
//! A [`Layer`] is one place settings come from: built-in defaults, a file, an environment variable, a flag. [`load`]
//! checks every layer by itself against the caller's type, merges them (later wins), and returns the typed value
//! together with the origin of each part. Whatever is wrong is one [`ConfigError`] that names file, line, column, key
//! and what is allowed there.
//!
//! This crate must not know any key: names, defaults and the meaning of values belong to the caller's type, rules for
//! lists are passed to [`load`], and what an untrusted file may set is a predicate passed to [`Layer::split`].
//!
//! ```
//! use codey_config::{Layer, Origin, load};
//!
//! #[derive(serde::Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct Settings {
//!     colour: String,
//! }
//! impl Default for Settings {
//!     fn default() -> Self {
//!         Self { colour: "blue".into() }
//!     }
//! }
//!
//! let file = Layer::parse(Origin::File("settings.toml".into()), "colour = 'red'")?;
//! let flag = Layer::single(Origin::Flag("--colour".into()), "colour", "green");
//! let loaded = load::<Settings>(vec![file.clone(), flag], &[])?;
//! assert_eq!(loaded.value.colour, "green");
//! assert_eq!(loaded.origin_of("colour"), Some(&Origin::Flag("--colour".into())));
//!
//! let wrong = Layer::parse(Origin::File("settings.toml".into()), "color = 'red'")?;
//! let error = load::<Settings>(vec![wrong], &[]).err().expect("the key is misspelt");
//! assert_eq!(error.to_string(), "settings.toml:1:1: color: unknown key, allowed here: `colour`");
//! assert_eq!(error.hint.as_deref(), Some("did you mean `colour`?"));
//! # Ok::<(), codey_config::ConfigError>(())
//! ```

mod error;
mod explain;
mod layer;
mod load;
mod node;
mod source;

pub use error::{ConfigError, Position};
pub use layer::Layer;
pub use load::{ListRule, Loaded, Setting, load};
pub use source::{Access, Origin};
