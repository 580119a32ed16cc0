//! When file work has to stop.

use codey_protocol::ErrorCode;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{ToolContext, ToolError};

/// The call's bounds, for work that looks at them itself because it runs on a thread that may block.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    cancel: CancellationToken,
    deadline: Instant,
}

/// Why work stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    Cancelled,
    OutOfTime,
}

impl Stop {
    pub(super) fn of(context: &ToolContext<'_>) -> Self {
        Self::until(context.cancel.clone(), context.deadline)
    }

    pub(super) fn until(cancel: CancellationToken, deadline: Instant) -> Self {
        Self { cancel, deadline }
    }

    /// Whether it is time to stop, and why.
    pub(super) fn now(&self) -> Option<Stopped> {
        if self.cancel.is_cancelled() {
            return Some(Stopped::Cancelled);
        }
        (Instant::now() >= self.deadline).then_some(Stopped::OutOfTime)
    }

    /// For tools that have nothing to show before they are done.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        match self.now() {
            None => Ok(()),
            Some(Stopped::Cancelled) => Err(ToolError::new(
                ErrorCode::Cancelled,
                "cancelled by the user before it was done; nothing was changed.",
            )),
            Some(Stopped::OutOfTime) => Err(ToolError::new(
                ErrorCode::Timeout,
                "the time for one call was over before it was done; nothing was changed. Do less at once, or use bash.",
            )),
        }
    }
}
