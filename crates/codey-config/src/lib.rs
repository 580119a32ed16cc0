//! A layering engine for TOML with spans and origins.
