//! `codey models`: lists models. Always exits 0 with at least one row, since editors probe it.

use std::fmt::Write as _;

use codey_app::App;
use codey_print::{message_line, one_line};
use codey_protocol::Host as _;

use super::say;
use crate::args::ModelsArgs;

pub(super) async fn run(app: &App, args: ModelsArgs) -> u8 {
    let list = app.models(&args.place.cwd, args.refresh).await;
    let mut text = String::new();
    // Editors look for these words and take every line that begins with * or - for a model.
    let login = if list.authenticated { "You are logged in." } else { "Not logged in: no key is set." };
    let _ = writeln!(text, "{login}");
    for note in &list.notes {
        let _ = writeln!(text, "Note: {}", message_line(note));
    }
    let _ = writeln!(text);
    for model in &list.models {
        let (mark, default) = if model.default { ('*', " (default)") } else { ('-', "") };
        let _ = writeln!(text, "{mark} {}{default}", one_line(&model.id));
    }
    // Editors judge the exit code; a closed stdout is theirs to choose.
    say(&text);
    0
}
