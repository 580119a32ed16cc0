//! The `codey` program: reads the command line, wires the host, hands over to a front end.

mod args;
mod cmd;
mod environment;
mod log;
mod signals;
mod stdin;
mod system;

use std::process::ExitCode;

use codey_print::Mode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    hide_from_commands();
    #[cfg(debug_assertions)]
    arm_faults();
    let mode = if args::wants_json(std::env::args_os()) { Mode::Json } else { Mode::Text };
    let code = match args::parse(std::env::args_os()) {
        Ok(args::Parsed::Run(command)) => cmd::run(*command, mode),
        Ok(args::Parsed::Say(text)) => cmd::say(&text),
        Err(usage) => cmd::refuse(&usage, mode),
    };
    // Not a return from main: a thread may be stuck in a write to a reader that never reads.
    std::process::exit(i32::from(code))
}

/// Closes `/proc/PID/environ`, where the keys stand, and this process's memory to the commands that the agent runs, unless
/// they may look into every process, as root may outside a container.
#[cfg(target_os = "linux")]
fn hide_from_commands() {
    // Fails on no kernel that runs Rust; without it Codey works as well.
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// Lets a test say where this process is to die.
#[cfg(debug_assertions)]
fn arm_faults() {
    let [die_at, ledger] = ["CODEY_FAULT_AT", "CODEY_FAULT_LEDGER"].map(|name| std::env::var(name).ok());
    if die_at.is_some() || ledger.is_some() {
        let die_at = die_at.map(|point| point.parse().expect("CODEY_FAULT_AT names a point"));
        let armed = codey_faults::arm(codey_faults::Faults { die_at, ledger: ledger.map(Into::into) });
        armed.expect("CODEY_FAULT_LEDGER names a file that can be written");
    }
}
