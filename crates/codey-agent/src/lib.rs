//! What happens next: the agent loop.
