//! The `codey` program: reads the command line, wires the host, hands over to a front end.

mod args;
mod cmd;
mod log;
mod signals;
mod stdin;

use std::process::ExitCode;

fn main() -> ExitCode {
    let wants_json = args::wants_json(std::env::args_os());
    let code = match args::parse(std::env::args_os()) {
        Ok(args::Parsed::Run(command)) => cmd::run(*command),
        Ok(args::Parsed::Say(text)) => cmd::say(&text),
        Err(usage) => cmd::refuse(&usage, wants_json),
    };
    // Not a return from main: a thread may be stuck in a write to a reader that never reads.
    std::process::exit(i32::from(code))
}
