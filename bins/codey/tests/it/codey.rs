//! Runs the built program in a home of its own.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use codey_llm::{Block, Message, StopReason, Usage, tool_use};
use codey_testkit::{Reply, ScriptedServer, TempWorkspace, anthropic_sse, openai_sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::schema::assert_valid;

/// What the model server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Anthropic,
    OpenAi,
}

/// A program about to run: an empty home, no key, nothing of the developer's environment.
pub(crate) struct Codey {
    pub(crate) home: TempDir,
    command: Command,
    stdin: Option<Vec<u8>>,
}

/// What a program left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Codey {
    /// The program in `folder`.
    pub(crate) fn new(folder: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_codey"));
        command.env_clear().current_dir(folder).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home.path());
        Self { home, command, stdin: None }
    }

    /// Asks `server` for the model `m`.
    pub(crate) fn asking(self, server: &ScriptedServer, api: Api) -> Self {
        let (name, url) = match api {
            Api::Anthropic => ("anthropic", server.url()),
            Api::OpenAi => ("openai", format!("{}/v1", server.url())),
        };
        self.env("CODEY_API", name).env("CODEY_BASE_URL", &url).env("CODEY_API_KEY", "k").env("CODEY_MODEL", "m")
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Asks `url` for the model `m`; for servers that are none.
    pub(crate) fn asking_at(self, url: &str) -> Self {
        self.env("CODEY_BASE_URL", url).env("CODEY_API_KEY", "k").env("CODEY_MODEL", "m")
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: &[S]) -> Self {
        self.command.args(args);
        self
    }

    /// Gives `text` on a pipe.
    pub(crate) fn stdin(self, text: &str) -> Self {
        self.stdin_bytes(text.as_bytes())
    }

    /// The same with what need not be text.
    pub(crate) fn stdin_bytes(mut self, bytes: &[u8]) -> Self {
        self.stdin = Some(bytes.to_vec());
        self
    }

    /// Writes the user's configuration.
    pub(crate) fn config(self, text: &str) -> Self {
        self.config_bytes(text.as_bytes())
    }

    /// The same with what need not be text.
    pub(crate) fn config_bytes(self, text: &[u8]) -> Self {
        let folder = self.home.path().join(".config/codey");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
        self
    }

    /// The same started by another program, which gets the words `before` and then the program and its arguments.
    pub(crate) fn through(self, program: impl AsRef<OsStr>, before: &[&str]) -> Self {
        let mut command = Command::new(program);
        command
            .env_clear()
            .stdin(Stdio::null())
            .args(before)
            .arg(self.command.get_program())
            .args(self.command.get_args());
        self.carry_over(command)
    }

    /// The same from another copy of the program.
    pub(crate) fn replacing(self, program: &Path) -> Self {
        let mut command = Command::new(program);
        command.env_clear().stdin(Stdio::null()).args(self.command.get_args());
        self.carry_over(command)
    }

    fn carry_over(mut self, mut command: Command) -> Self {
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.command.get_current_dir().unwrap());
        self.command = command;
        self
    }

    pub(crate) fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Ran {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let Some(text) = self.stdin.take() else { return self.command.output().unwrap().into() };
        let mut child = self.command.stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            // The program may end without having read it all.
            let _ = pipe.write_all(&text);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output.into()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is valid UTF-8");
        Self { code: exit(output.status), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

pub(crate) fn exit(status: ExitStatus) -> i32 {
    status.code().expect("codey ends by itself and not by a signal")
}

impl Ran {
    /// stdout as JSON lines, each an event.
    pub(crate) fn events(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        let events: Vec<Value> = lines.map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
        events.iter().for_each(assert_valid);
        events
    }

    /// The last line of stderr, which says why it did not complete: `codey: MESSAGE. HINT`, whatever came from outside.
    pub(crate) fn complaint(&self) -> &str {
        let Self { stderr, .. } = self;
        let line = stderr.lines().last().unwrap_or_default();
        assert!(line.starts_with("codey: ") && !line.contains("codey: codey: "), "{stderr}");
        assert!(!line.contains(|c: char| c.is_control()) && line.chars().count() < 2_100, "{stderr:?}");
        for raw in ["os error", "error sending request", "panicked", "error decoding", "RUST_BACKTRACE"] {
            assert!(!stderr.contains(raw), "{stderr}");
        }
        line
    }

    /// It did not start: exit code 2, nothing on stdout, and this one line on stderr.
    pub(crate) fn assert_refused(&self, message: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{message}: {self:?}");
        assert!(self.complaint().starts_with(&format!("codey: {message}")), "{message}: {self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
    }

    /// The events of one type.
    pub(crate) fn of_type(&self, name: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == name).collect()
    }
}

/// A response in either API.
pub(crate) fn reply(api: Api, blocks: Vec<Block>) -> Reply {
    let calls = blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
    let stop = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
    let usage = Usage { input: 1_000, output: 50, ..Usage::default() };
    let message = Message::assistant(blocks);
    Reply::sse(match api {
        Api::Anthropic => anthropic_sse(&message, &stop, usage),
        Api::OpenAi => openai_sse(&message, &stop, usage),
    })
}

pub(crate) fn says(api: Api, text: &str) -> Reply {
    reply(api, vec![Block::text(text)])
}

pub(crate) fn bash(id: &str, command: &str) -> Block {
    tool_use(id, "bash", json!({"command": command}))
}

pub(crate) fn read(id: &str, path: &str) -> Block {
    tool_use(id, "read", json!({"path": path}))
}

/// A server that says `text` to every one of `count` requests.
pub(crate) fn talker(api: Api, text: &str, count: usize) -> ScriptedServer {
    ScriptedServer::start((0..count).map(|_| says(api, text)).collect())
}

/// The one session file of a workspace.
pub(crate) fn session_file(workspace: &TempWorkspace) -> PathBuf {
    let entries = std::fs::read_dir(workspace.at(".codey/sessions")).unwrap();
    let mut files =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "jsonl"));
    let file = files.next().expect("there is a session");
    assert_eq!(files.next(), None, "there is one session only");
    file
}
