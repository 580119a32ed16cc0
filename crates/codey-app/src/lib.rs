//! How an agent is put together: the one [`codey_protocol::Host`].
//!
//! Reads the configuration, chooses an endpoint, opens workspace and session and starts the agent. This crate must not
//! know the command line or terminals.

mod app;
mod endpoint;
mod place;
mod recorder;
mod settings;
mod spawn;

pub use app::{App, AppOptions};
