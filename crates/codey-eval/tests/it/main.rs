//! Tests of what `codey-eval` writes to disk and reads from it.
#![allow(clippy::unwrap_used)]

mod harbor;
mod swebench;
