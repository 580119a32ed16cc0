//! When file work has to stop.

use std::time::Duration;

use codey_protocol::ErrorCode;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{ToolContext, ToolError};

/// How long a plan may take. Source: contract section 3.
const PLAN_TIME: Duration = Duration::from_secs(120);

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

    /// For a plan, which has neither a token nor a deadline of its own: time to stop is when nobody waits for it any
    /// more and the guard is dropped.
    pub(super) fn while_awaited() -> (Self, DropGuard) {
        let cancel = CancellationToken::new();
        (Self::until(cancel.clone(), Instant::now() + PLAN_TIME), cancel.drop_guard())
    }

    /// For tests of what does not stop.
    #[cfg(test)]
    pub(super) fn never() -> Self {
        Self::until(CancellationToken::new(), Instant::now() + PLAN_TIME)
    }

    /// Whether it is time to stop, and why.
    pub(super) fn now(&self) -> Option<Stopped> {
        if self.cancel.is_cancelled() {
            return Some(Stopped::Cancelled);
        }
        (Instant::now() >= self.deadline).then_some(Stopped::OutOfTime)
    }

    /// The same as a result, for long loops.
    ///
    /// # Errors
    /// It is time to stop.
    pub(super) fn look(&self) -> Result<(), Stopped> {
        self.now().map_or(Ok(()), Err)
    }

    /// For tools that have nothing to show before they are done.
    ///
    /// # Errors
    /// It is time to stop.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        self.look().map_err(Stopped::error)
    }
}

impl Stopped {
    /// For a call that changed nothing yet.
    pub(super) fn error(self) -> ToolError {
        match self {
            Self::Cancelled => {
                ToolError::new(ErrorCode::Cancelled, "cancelled by the user before it was done; nothing was changed.")
            }
            Self::OutOfTime => ToolError::new(
                ErrorCode::Timeout,
                "the time for one call was over before it was done; nothing was changed. Do less at once, or use bash.",
            ),
        }
    }
}
