//! `codey sessions`: lists the sessions of this project.

use std::fmt::Write as _;

use codey_app::App;
use codey_print::{message_line, one_line};
use codey_protocol::{Host as _, SessionFilter, SessionSummary};

use super::{host_failed, say};
use crate::args::SessionsArgs;

pub(super) async fn run(app: &App, args: SessionsArgs) -> u8 {
    let sessions = match app.sessions(SessionFilter { cwd: args.place.cwd }).await {
        Ok(sessions) => sessions,
        Err(error) => return host_failed(&error),
    };
    let mut text = String::new();
    for session in &sessions {
        let line = if args.json {
            serde_json::to_string(session).expect("a summary holds only strings and numbers")
        } else {
            line(session)
        };
        let _ = writeln!(text, "{line}");
    }
    if sessions.is_empty() && !args.json {
        text.push_str("There are no sessions here yet.\n");
    }
    say(&text)
}

fn line(session: &SessionSummary) -> String {
    let SessionSummary { id, title, updated_at, turns, problem, .. } = session;
    let title = one_line(title);
    // Minutes are enough for people; --json has the rest.
    let day = updated_at.get(..16).unwrap_or(updated_at).replace('T', " ");
    match problem {
        Some(problem) => format!("{id}  {day}  cannot be opened: {}", message_line(problem)),
        None => {
            let unit = if *turns == 1 { "turn" } else { "turns" };
            format!("{id}  {day}  {turns:>3} {unit:<5}  {title}")
        }
    }
}
