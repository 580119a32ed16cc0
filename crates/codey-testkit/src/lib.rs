//! Test doubles and fixtures shared by the integration tests.
//!
//! A model server that plays a script over a real socket, the answers of both APIs as streams, request checkers as strict
//! as the strictest servers, temporary workspaces, and a printer of events for snapshots. Nothing here knows an adapter,
//! a tool or the loop, so a test of those cannot agree with itself by accident. Everything panics on misuse: it is for
//! tests alone.
//!
//! ```
//! use codey_testkit::{Reply, ScriptedServer};
//! let server = ScriptedServer::start(vec![Reply::status(404).body("gone")]);
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! assert_eq!(server.connections(), 0);
//! ```

mod check;
mod history;
mod server;
mod stream;
mod transcript;
mod workspace;

pub use check::{check_anthropic, check_openai, check_signatures};
pub use history::{anthropic_to_messages, openai_to_messages};
pub use server::{Recorded, Reply, ScriptedServer};
pub use stream::{anthropic_sse, openai_sse};
pub use transcript::transcript;
pub use workspace::TempWorkspace;
