//! The loop against a scripted model, with real tools and a real session.
#![allow(clippy::unwrap_used)]

mod approvals;
mod calls;
mod cancel;
mod context;
mod embed;
mod endings;
mod limits;
// Linux alone tells what runs and what nobody took note of.
#[cfg(target_os = "linux")]
mod process_campaign;
mod steering;
mod transcript;
mod world;
