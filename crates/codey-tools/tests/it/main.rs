//! The built-in tools on real files and real processes.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests look at the disk itself")]

mod bash;
mod codey_dir;
mod edit;
mod fixture;
mod glob;
mod grep;
mod jail;
mod read;
mod specs;
#[cfg(target_os = "linux")]
mod watchdog;
mod write;
