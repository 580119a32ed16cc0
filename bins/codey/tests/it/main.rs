//! The built program against scripted model servers, with real tools.
#![allow(clippy::unwrap_used)]

mod codey;
mod config;
mod demo;
mod events;
mod failures;
mod main_job;
mod sessions;
mod signals;
mod stdin;
