//! The built program against scripted model servers, with real tools.
#![allow(clippy::unwrap_used)]

mod bad_arguments;
mod bad_environment;
mod bad_server;
mod bad_world;
mod codey;
mod config;
#[cfg(debug_assertions)]
mod crash_campaign;
mod demo;
mod evals;
mod events;
mod failures;
mod main_job;
mod places;
mod schema;
mod sessions;
mod signals;
mod stdin;
