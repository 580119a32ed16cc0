//! Events of a run as text for people or NDJSON for programs.
//!
//! A consumer of [`codey_protocol::Handle`]. It must not know the core; it owns stdout while it runs.

mod exit;
mod input;
mod output;
mod print;
mod text;

pub use exit::{STDOUT_CLOSED, exit_code};
pub use print::{Mode, PrintOptions, print, start_failed, start_interrupted};
