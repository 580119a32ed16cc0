//! What happens next: the agent loop.
//!
//! [`AgentBuilder::spawn`] starts one task that owns the conversation and speaks to its front end through a
//! [`codey_protocol::Handle`] only. This crate must not know which provider it asks, configuration or front ends.

mod agent;
mod approval;
mod dispatch;
mod execute;
mod limits;
mod mail;
mod next;
mod output;
mod repetition;
mod run;
mod turn;

pub use agent::{AgentBuilder, ModelBinding, ModelResolver, Place, SetModel};

/// Compiles the examples of the document for people who embed the agent.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
mod embedding {}
