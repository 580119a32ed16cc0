//! How an agent is put together.
