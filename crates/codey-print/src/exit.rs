//! Exit codes and the line that explains them.

use codey_protocol::{FailCode, Limit, RunOutcome};

use crate::line;

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

/// The outcome with its texts as they may be shown. They quote servers, files and the system, so this is what every
/// outcome passes before it is printed in either mode.
pub(crate) fn presentable(outcome: RunOutcome) -> RunOutcome {
    match outcome {
        RunOutcome::Failed { code, message, hint } => {
            RunOutcome::Failed { code, message: line::message_line(&message), hint: line::message_line(&hint) }
        }
        RunOutcome::Completed {}
        | RunOutcome::Interrupted {}
        | RunOutcome::LimitReached { .. }
        | RunOutcome::NeedsApproval { .. } => outcome,
    }
}

/// What to say of a run that did not complete: message and hint. Only a kept session can be gone on with.
pub(crate) fn explanation(outcome: &RunOutcome, is_kept: bool) -> Option<(String, String)> {
    let go_on = |hint: &str| match is_kept {
        true if hint.is_empty() => "Go on with --continue.".to_owned(),
        true => format!("{hint}, or go on with --continue."),
        false if hint.is_empty() => String::new(),
        false => format!("{hint}."),
    };
    let (message, hint) = match outcome {
        RunOutcome::Completed {} => return None,
        RunOutcome::Interrupted {} => ("interrupted", go_on("")),
        RunOutcome::LimitReached { limit } => match limit {
            Limit::Turns => ("the turn limit was reached", go_on("Raise it with --max-turns")),
            Limit::Tokens => ("the token limit was reached", go_on("Raise it with --max-tokens-total")),
            Limit::Cost => ("the cost limit was reached", go_on("Raise it with --max-cost")),
            Limit::ContextFull => (
                "the context window is full",
                "Start a new session: this version has no codey compact that would make room.".to_owned(),
            ),
            Limit::Repetition => (
                "the model repeated the same call without effect",
                go_on("Look at what it tried and say it differently"),
            ),
        },
        RunOutcome::NeedsApproval { .. } => (
            "a tool call needs an approval and nobody can give it here",
            "Choose what may run with --permission-mode, or allow everything with --always-approve.".to_owned(),
        ),
        RunOutcome::Failed { message, hint, .. } => (message.as_str(), hint.clone()),
    };
    Some((message.to_owned(), hint))
}
