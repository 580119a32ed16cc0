//! The system prompt: identity, tool guidance, response guidance, environment, the project's and the caller's words.

use codey_llm::{TokenEstimator, ToolSpec};
use codey_protocol::{ContextPart, ContextReport};

use crate::ContextFile;
use crate::prefix::{weight, written};

/// Where the agent runs. Holds nothing that changes during a session: the prompt must stay the same byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The operating system.
    pub os: String,
    /// The shell that runs commands, if any does.
    pub shell: Option<String>,
    /// Where relative paths start.
    pub cwd: String,
    /// Top of the workspace.
    pub root: String,
    /// Whether the root is a git work tree.
    pub is_git: bool,
}

/// What the system prompt is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemOptions {
    /// Where the agent runs.
    pub environment: Environment,
    /// What the project says, the root's files first.
    pub context_files: Vec<ContextFile>,
    /// Text in place of the built-in identity and guidance.
    pub system_override: Option<String>,
    /// Text added at the end.
    pub append: Option<String>,
    /// Names of the tools the model has.
    pub tools: Vec<String>,
}

const IDENTITY: &str = "\
You are Codey, a coding agent. You work in a loop on one repository: call tools, read their results, and go on until \
the task is done.

- Look before you answer or change anything: find the places that matter and read them.
- Make the smallest change that solves the task, in the style of the code around it. Leave the rest alone.
- Then check it: run the tests or the build that cover it, and fix what you broke.
- Report truthfully. Name the commands you ran and what came of them. Never claim a result you have not seen; if a \
check failed or was not run, say so.
- A failed call says what is wrong and what to do next. Do that; do not repeat the same call.
- Do not stop to ask what the tools can tell you. Where the task leaves a choice, take the likeliest reading and say \
so at the end.";

const RESPONSE: &str = "\
Between calls say at most a line. A question changes nothing: once you have read what it is about, answer it in text. \
When you are done, or truly cannot go on, finish with a short summary: what you changed, how it was checked, what is \
left. Name places as path:line.";

/// Guidance that is given when all the tools it is about are there.
const TOOL_GUIDANCE: &[(&[&str], &str)] = &[
    (&["read"], "Asked about a file, call read first, with the path as given."),
    (&["read", "edit"], "Read a file before you edit it, and again if it changed since."),
    (&["edit", "write"], "Change files with edit; write is for new files and complete rewrites."),
    (&["grep", "glob", "bash"], "Search with grep and glob rather than with bash."),
    (&["read", "grep"], "Calls that only look run together: send those you need in one message."),
    (&["bash"], "bash keeps nothing between calls and has no terminal and no input: use options that ask nothing."),
    (&["todo"], "Keep a todo list for work of three steps or more; skip it for less."),
];

struct Part {
    name: &'static str,
    origin: String,
    text: String,
}

/// The system prompt in parts, the stablest first.
pub fn system_prompt(options: &SystemOptions) -> Vec<String> {
    parts(options).into_iter().map(|part| part.text).collect()
}

/// Says what the prompt prefix holds and what each part takes.
pub fn report(
    options: &SystemOptions,
    tools: &[ToolSpec],
    estimator: &TokenEstimator,
    budget_tokens: u64,
) -> ContextReport {
    let measured = |name: String, origin: String, text: &str| {
        let (bytes, tokens) = (text.len() as u64, estimator.tokens(weight(text)));
        ContextPart { name, origin, bytes, tokens }
    };
    let tools = tools.iter().map(|tool| measured(format!("tool {}", tool.name), BUILT_IN.to_owned(), &written(tool)));
    let texts = parts(options).into_iter().map(|part| measured(part.name.to_owned(), part.origin, &part.text));
    ContextReport { parts: texts.chain(tools).collect(), budget_tokens }
}

const BUILT_IN: &str = "built-in";

fn parts(options: &SystemOptions) -> Vec<Part> {
    let built_in = |name, text| Part { name, origin: BUILT_IN.to_owned(), text };
    let mut parts = vec![match &options.system_override {
        None => built_in("system prompt", guidance(&options.tools)),
        Some(text) => Part { name: "system prompt", origin: "replaced".to_owned(), text: text.clone() },
    }];
    parts.push(built_in("environment", environment(&options.environment)));
    parts.extend(options.context_files.iter().map(|file| {
        let text = format!("Instructions of this project, from {}:\n\n{}", file.path, file.text);
        Part { name: "context file", origin: file.path.clone(), text }
    }));
    let added = options.append.iter().map(|text| Part {
        name: "added text",
        origin: "--append-system".to_owned(),
        text: text.clone(),
    });
    parts.extend(added);
    // Providers refuse blank parts.
    parts.retain(|part| !part.text.trim().is_empty());
    parts
}

fn guidance(tools: &[String]) -> String {
    let has = |name: &&str| tools.iter().any(|tool| tool == name);
    let lines = TOOL_GUIDANCE.iter().filter(|(names, _)| names.iter().all(has)).map(|(_, line)| format!("- {line}\n"));
    let lines: String = lines.collect();
    if lines.is_empty() {
        format!("{IDENTITY}\n\n{RESPONSE}")
    } else {
        format!("{IDENTITY}\n\nTools:\n{lines}\n{RESPONSE}")
    }
}

fn environment(environment: &Environment) -> String {
    let Environment { os, shell, cwd, root, is_git } = environment;
    let shell = shell.as_ref().map(|shell| format!("Shell: {shell}\n")).unwrap_or_default();
    let git = if *is_git { "a git work tree" } else { "not under git" };
    format!("Operating system: {os}\n{shell}Working directory, where relative paths start: {cwd}\nRoot: {root} ({git})")
}
