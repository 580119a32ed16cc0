//! Exit codes and the line that explains them.

use codey_protocol::{FailCode, Limit, RunOutcome};

/// Exit code when the reader of stdout went away: what a shell reports for a program that SIGPIPE ended.
pub const STDOUT_CLOSED: u8 = 141;

/// The exit code of a run, by contract section 1.
pub fn exit_code(outcome: &RunOutcome) -> u8 {
    match outcome {
        RunOutcome::Completed {} => 0,
        RunOutcome::Failed { code: FailCode::Config, .. } | RunOutcome::NeedsApproval { .. } => 2,
        RunOutcome::Failed { .. } => 1,
        RunOutcome::Interrupted {} => 3,
        RunOutcome::LimitReached { .. } => 4,
    }
}

/// What to say of a run that did not complete: message and hint.
pub(crate) fn explanation(outcome: &RunOutcome) -> Option<(String, String)> {
    let (message, hint) = match outcome {
        RunOutcome::Completed {} => return None,
        RunOutcome::Interrupted {} => ("interrupted", "Everything done so far is kept; --continue goes on from here."),
        RunOutcome::LimitReached { limit } => limit_explanation(*limit),
        RunOutcome::NeedsApproval { .. } => (
            "a tool call needs an approval and nobody can give it here",
            "Choose what may run with --permission-mode, or allow everything with --always-approve.",
        ),
        RunOutcome::Failed { message, hint, .. } => (message.as_str(), hint.as_str()),
    };
    Some((message.to_owned(), hint.to_owned()))
}

fn limit_explanation(limit: Limit) -> (&'static str, &'static str) {
    match limit {
        Limit::Turns => ("the turn limit was reached", "Raise it with --max-turns, or go on with --continue."),
        Limit::Tokens => ("the token limit was reached", "Raise it with --max-tokens-total, or go on with --continue."),
        Limit::Cost => ("the cost limit was reached", "Raise it with --max-cost, or go on with --continue."),
        Limit::ContextFull => ("the context window is full", "Start a new session: this version has no codey compact that would make room."),
        Limit::Repetition => (
            "the model repeated the same call without effect",
            "Look at what it tried, and go on with --continue and a hint.",
        ),
    }
}
