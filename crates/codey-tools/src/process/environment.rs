//! What a command finds in its environment.

use std::ffi::OsStr;

use tokio::process::Command;

/// Marks all that a command starts; nested runs of Codey append to it.
pub(super) const MARK: &str = "CODEY_CALL";

/// A variable with one of these in its name is taken for a secret. Source: contract section 3.
const SECRET: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// Nobody sits there to page, edit, or type a password, and colours are noise to a model.
const SET: [(&str, &str); 18] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("PSQL_PAGER", "cat"),
    ("AWS_PAGER", "cat"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "/bin/false"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SUDO_ASKPASS", "/bin/false"),
];

/// They would bring back what `SET` turns off, or name the terminal that Codey itself runs in.
const UNSET: [&str; 4] = ["FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM", "GPG_TTY"];

/// Sets up the environment of `command`: ours, without secrets, made for a machine to read.
pub(super) fn prepare(command: &mut Command, hidden: &[String], mark: &str) {
    for (name, _) in std::env::vars_os() {
        if is_secret(&name) || hidden.iter().any(|hidden| name == **hidden) {
            command.env_remove(name);
        }
    }
    for name in UNSET {
        command.env_remove(name);
    }
    command.envs(SET);
    let mark = match std::env::var(MARK) {
        Ok(outer) => format!("{outer}:{mark}"),
        Err(_) => mark.to_owned(),
    };
    command.env(MARK, mark);
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names_in_any_case() {
        for name in ["ANTHROPIC_API_KEY", "github_token", "MySecret", "DB_PASSWORD", "GOOGLE_CREDENTIALS"] {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "HOME", "SSH_AUTH_SOCK", "LANG"] {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }
}
