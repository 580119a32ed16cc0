//! Events of a run as text for people or NDJSON for programs.
//!
//! A consumer of [`codey_protocol::Handle`]. It must not know the core; it owns stdout while it runs.

mod exit;
mod input;
mod line;
mod output;
mod print;
mod seen;
mod text;

#[cfg(test)]
mod schema;

pub use exit::{STDOUT_CLOSED, exit_code};
pub use line::{message_line, one_line};
pub use output::Stdout;
pub use print::{Mode, PrintOptions, complain, print, start_failed, start_interrupted};
