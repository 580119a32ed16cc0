//! `codey context`: shows what the prompt prefix holds.

use std::fmt::Write as _;

use codey_app::App;
use codey_print::one_line;
use codey_protocol::Host as _;

use super::{host_failed, say};
use crate::args::ContextArgs;

pub(super) async fn run(app: &App, args: ContextArgs) -> u8 {
    let report = match app.context(&args.place.cwd).await {
        Ok(report) => report,
        Err(error) => return host_failed(&error),
    };
    if args.json {
        let line = serde_json::to_string(&report).expect("a report holds only strings and numbers");
        return say(&format!("{line}\n"));
    }
    let mut text = String::new();
    for part in &report.parts {
        let _ = writeln!(
            text,
            "{:>7} bytes  ~{:>6} tokens  {}  ({})",
            part.bytes,
            part.tokens,
            one_line(&part.name),
            one_line(&part.origin)
        );
    }
    let bytes: u64 = report.parts.iter().map(|part| part.bytes).sum();
    let tokens: u64 = report.parts.iter().map(|part| part.tokens).sum();
    let _ = writeln!(text, "{bytes:>7} bytes  ~{tokens:>6} tokens  in all");
    let _ = writeln!(text, "Context files may take {} tokens.", report.budget_tokens);
    say(&text)
}
