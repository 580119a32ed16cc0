//! `codey doctor`: looks for what is wrong with the set-up.

use std::fmt::Write as _;

use codey_app::App;
use codey_print::message_line;
use codey_protocol::{Check, CheckStatus, Host as _};

use super::say;
use crate::args::DoctorArgs;
use crate::environment::ignored_variables;

pub(super) async fn run(app: &App, args: DoctorArgs) -> u8 {
    let mut checks = app.doctor(&args.place.cwd).await;
    let warning = |message| Check { name: "environment".to_owned(), status: CheckStatus::Warning, message };
    checks.extend(ignored_variables().map(warning));
    let mut text = String::new();
    for check in &checks {
        let word = match check.status {
            CheckStatus::Ok => "ok",
            CheckStatus::Warning => "warning",
            CheckStatus::Error => "error",
        };
        let line = if args.json {
            serde_json::to_string(check).expect("a check holds only strings")
        } else {
            format!("{word:<8} {:<12} {}", check.name, message_line(&check.message))
        };
        let _ = writeln!(text, "{line}");
    }
    let failed = checks.iter().any(|check| check.status == CheckStatus::Error);
    match say(&text) {
        0 => u8::from(failed),
        code => code,
    }
}
