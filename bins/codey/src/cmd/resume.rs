//! `codey resume`: goes on with a session.

use codey_app::App;
use codey_print::start_failed;
use codey_protocol::SessionChoice;

use super::print;
use crate::args::ResumeArgs;

pub(super) async fn run(app: &App, args: ResumeArgs) -> u8 {
    let mode = print::mode(args.output.mode);
    if !args.print {
        return print::no_terminal_interface(mode);
    }
    let (id, prompt) = match (args.id_or_prompt, args.prompt) {
        // With two words the first is the id, even if it does not look like one: the error names it then.
        (Some(word), prompt) if prompt.is_some() || looks_like_id(&word) => (Some(word), prompt),
        (word, prompt) => (None, word.or(prompt)),
    };
    let session = match (id, print::branch(args.branch.as_deref())) {
        (_, Err(error)) => return start_failed(mode, &error),
        (Some(id), Ok(branch)) => SessionChoice::Id { id, branch },
        (None, Ok(None)) => SessionChoice::Latest,
        (None, Ok(Some(_))) => {
            let hint = "Say codey resume ID --branch NODE.";
            return start_failed(mode, &codey_protocol::StartError::config("--branch needs a session id", hint));
        }
    };
    print::headless(app, prompt, session, args.output, args.run).await
}

/// A ULID, with or without `codey-`, or a prefix of 8 or more. Source: contract section 1.
fn looks_like_id(word: &str) -> bool {
    let word = word.strip_prefix("codey-").unwrap_or(word);
    let is_crockford = |c: char| c.is_ascii_alphanumeric() && !matches!(c.to_ascii_uppercase(), 'I' | 'L' | 'O' | 'U');
    (8..=26).contains(&word.len()) && word.chars().all(is_crockford) && word.starts_with(|c: char| c.is_ascii_digit())
}
