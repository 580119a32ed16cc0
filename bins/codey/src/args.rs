//! The command line.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, Parser, ValueEnum};
use codey_protocol::PermissionMode;

/// What the command line asks for.
pub(crate) enum Parsed {
    Run(Box<Command>),
    /// Text for stdout (help, version).
    Say(String),
}

/// One variant for each file in `cmd`.
pub(crate) enum Command {
    Prompt(PromptArgs),
    Demo(DemoArgs),
    Sessions(SessionsArgs),
    Resume(ResumeArgs),
    Models(ModelsArgs),
    Context(ContextArgs),
    Doctor(DoctorArgs),
}

/// Words that are subcommands where they come first.
const SUBCOMMANDS: [&str; 6] = ["demo", "sessions", "resume", "models", "context", "doctor"];

/// A coding agent for the terminal and for scripts.
#[derive(Debug, Parser)]
#[command(name = "codey", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
pub(crate) struct PromptArgs {
    /// What to do; `-` reads it from stdin.
    pub(crate) prompt: Option<String>,
    /// Answer one request and leave; needs no terminal.
    #[arg(short = 'p', long = "print")]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    #[command(flatten)]
    pub(crate) run: RunFlags,
    /// Go on with the newest session of this project.
    #[arg(long = "continue", conflicts_with_all = ["resume", "no_session"])]
    pub(crate) continue_latest: bool,
    /// Go on with a session: its id, or the beginning of it.
    #[arg(long, value_name = "ID", conflicts_with = "no_session", value_parser = name)]
    pub(crate) resume: Option<String>,
    /// With --resume: go on from an earlier node.
    #[arg(long, value_name = "NODE", requires = "resume", conflicts_with = "continue_latest")]
    pub(crate) branch: Option<String>,
    /// Keep no session file.
    #[arg(long)]
    pub(crate) no_session: bool,
}

const AFTER_HELP: &str = "\
Commands:
  codey demo                  the main job without any account: a recorded model, real tools
  codey sessions              list the sessions of this project
  codey resume [ID] [PROMPT]  go on with a session
  codey models                list models
  codey context               show what the prompt prefix holds
  codey doctor                look for what is wrong with the set-up

Exit codes: 0 completed, 1 failed, 2 wrong usage or configuration, 3 interrupted, 4 a limit was reached.";

/// Flags about stdout and stderr.
#[derive(Debug, Args)]
pub(crate) struct OutputFlags {
    /// What stdout carries: the answer, or every event as a line of JSON.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) mode: OutputMode,
    /// Read prompts, answers and interrupts as lines of JSON from stdin, also during a run.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) input: Option<InputFormat>,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// How much is said on stderr and logged.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Verbosity {
    /// Only errors on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Log more and show warnings of the log on stderr; twice for everything.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputMode {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    Json,
}

/// Flags of everything that runs the agent.
#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
    /// Ask this model.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) model: Option<String>,
    /// Ask at this endpoint.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) endpoint: Option<String>,
    /// How hard the model should think.
    #[arg(long, value_enum)]
    pub(crate) effort: Option<EffortFlag>,
    /// When to ask before something is done.
    #[arg(long, value_name = "MODE", value_enum, conflicts_with = "always_approve")]
    pub(crate) permission_mode: Option<ModeFlag>,
    /// Never ask. Denials still hold.
    #[arg(long, alias = "yolo")]
    pub(crate) always_approve: bool,
    /// How bash is confined; this version has no sandbox, so only `off` is possible.
    #[arg(long, value_enum)]
    pub(crate) sandbox: Option<SandboxFlag>,
    /// Stop after this many model responses.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = turns)]
    pub(crate) max_turns: Option<NonZeroU32>,
    /// Stop before the next request once this many tokens were used.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = tokens)]
    pub(crate) max_tokens_total: Option<NonZeroU64>,
    /// Stop before the next request once this much was spent.
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) max_cost: Option<f64>,
    /// Send no request that fills more than this share of the context window.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = share)]
    pub(crate) compact_floor: Option<f32>,
    /// Offer only these tools.
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = trimmed)]
    pub(crate) tools: Option<Vec<String>>,
    /// Use this file's text in place of the built-in system prompt.
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,
    /// Add this text to the system prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system: Option<String>,
}

/// Where to work.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceFlags {
    /// Work in this folder.
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub(crate) cwd: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffortFlag {
    Low,
    Medium,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxFlag {
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub(crate) enum ModeFlag {
    Default,
    AcceptEdits,
    Auto,
    Plan,
}

impl RunFlags {
    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        if self.always_approve {
            return Some(PermissionMode::AlwaysApprove);
        }
        self.permission_mode.map(|mode| match mode {
            ModeFlag::Default => PermissionMode::Default,
            ModeFlag::AcceptEdits => PermissionMode::AcceptEdits,
            ModeFlag::Auto => PermissionMode::Auto,
            ModeFlag::Plan => PermissionMode::Plan,
        })
    }
}

/// The main job without any account: a throwaway repository with a failing test, a recorded model, real tools.
#[derive(Debug, Parser)]
#[command(name = "codey demo")]
pub(crate) struct DemoArgs {
    /// What stdout carries: the answer, or every event as a line of JSON.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) mode: OutputMode,
    /// Keep the repository in this folder, which must not exist or be empty.
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// List the sessions of this project, newest first.
#[derive(Debug, Parser)]
#[command(name = "codey sessions")]
pub(crate) struct SessionsArgs {
    /// One JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
}

/// Go on with a session, the newest of this project without an ID.
#[derive(Debug, Parser)]
#[command(name = "codey resume")]
pub(crate) struct ResumeArgs {
    /// An id or the beginning of one; anything else is the prompt.
    pub(crate) id_or_prompt: Option<String>,
    /// What to do; `-` reads it from stdin.
    pub(crate) prompt: Option<String>,
    /// Answer one request and leave; needs no terminal.
    #[arg(short = 'p', long = "print")]
    pub(crate) print: bool,
    /// Go on from an earlier node.
    #[arg(long, value_name = "NODE")]
    pub(crate) branch: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    #[command(flatten)]
    pub(crate) run: RunFlags,
}

/// List models, the one that is used marked.
#[derive(Debug, Parser)]
#[command(name = "codey models")]
pub(crate) struct ModelsArgs {
    /// Ask the endpoint which models it has.
    #[arg(long)]
    pub(crate) refresh: bool,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
}

/// Show what the prompt prefix holds.
#[derive(Debug, Parser)]
#[command(name = "codey context")]
pub(crate) struct ContextArgs {
    /// One JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
}

/// Look for what is wrong with the set-up.
#[derive(Debug, Parser)]
#[command(name = "codey doctor")]
pub(crate) struct DoctorArgs {
    /// One JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
}

/// A command line that cannot be followed, exit code 2: what is wrong, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Whether the command line asks for events on stdout, even if the rest of it cannot be followed.
pub(crate) fn wants_json(args: impl IntoIterator<Item = OsString>) -> bool {
    let mut last = OsString::new();
    args.into_iter().take_while(|word| word != "--").any(|word| {
        let found = word == "--mode=json" || (last == "--mode" && word == "json");
        last = word;
        found
    })
}

/// Reads the command line. The first word that is not a flag is a subcommand unless `-p` stands before it.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, Usage> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let Some(place) = subcommand_place(&args) else {
        return parsed::<PromptArgs>(args, Command::Prompt);
    };
    let word = args.remove(place);
    match word.to_str() {
        Some("demo") => parsed::<DemoArgs>(args, Command::Demo),
        Some("sessions") => parsed::<SessionsArgs>(args, Command::Sessions),
        Some("resume") => parsed::<ResumeArgs>(args, Command::Resume),
        Some("models") => parsed::<ModelsArgs>(args, Command::Models),
        Some("context") => parsed::<ContextArgs>(args, Command::Context),
        Some("doctor") => parsed::<DoctorArgs>(args, Command::Doctor),
        Some(_) | None => unreachable!("only words of SUBCOMMANDS have a place"),
    }
}

fn parsed<A: Parser>(args: Vec<OsString>, command: fn(A) -> Command) -> Result<Parsed, Usage> {
    match A::try_parse_from(&args) {
        Ok(args) => Ok(Parsed::Run(Box::new(command(args)))),
        Err(error) if error.use_stderr() => Err(usage(&error, &args)),
        Err(error) => Ok(Parsed::Say(error.render().to_string())),
    }
}

/// What is wrong with a command line, in one line where the parser has several.
fn usage(error: &clap::Error, args: &[OsString]) -> Usage {
    const HELP: &str = "See codey --help.";
    let words = |kind| error.get(kind).map(context_words).unwrap_or_default();
    let (wrong, value) = (words(ContextKind::InvalidArg), words(ContextKind::InvalidValue));
    let flag = wrong.split(' ').next().unwrap_or_default();
    let (message, hint) = match error.kind() {
        ErrorKind::UnknownArgument if wrong.starts_with('-') => {
            let meant = words(ContextKind::SuggestedArg);
            let meant = if meant.is_empty() { String::new() } else { format!("Did you mean {meant}? ") };
            (
                format!("there is no flag {wrong}"),
                format!("{meant}{HELP} A prompt that begins with a dash comes after --."),
            )
        }
        ErrorKind::UnknownArgument => {
            (format!("{wrong:?} is one word too many"), "Put a prompt of several words in quotes.".to_owned())
        }
        ErrorKind::InvalidValue if value.is_empty() => (format!("{flag} needs a value"), HELP.to_owned()),
        ErrorKind::InvalidValue => {
            (format!("{flag} cannot be {value:?}"), format!("It can be {}.", words(ContextKind::ValidValue)))
        }
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            (format!("{flag} cannot be {value:?}: {reason}"), HELP.to_owned())
        }
        ErrorKind::InvalidUtf8 => {
            let word = undecodable(args).to_string_lossy().into_owned();
            (
                format!("{word:?} is not valid UTF-8"),
                "Only paths may hold other bytes; a prompt can come on stdin.".to_owned(),
            )
        }
        ErrorKind::ArgumentConflict => {
            let other = words(ContextKind::PriorArg);
            let other = other.split(' ').next().unwrap_or_default();
            if other.is_empty() || other == flag {
                (format!("{flag} is given twice"), "Leave one of them out.".to_owned())
            } else {
                (format!("{flag} and {other} exclude each other"), "Leave one of them out.".to_owned())
            }
        }
        ErrorKind::MissingRequiredArgument => (format!("{wrong} is missing"), HELP.to_owned()),
        // Kinds that this command line has no use for.
        _ => {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            (first.trim_start_matches("error: ").to_owned(), HELP.to_owned())
        }
    };
    Usage { message, hint }
}

fn context_words(value: &ContextValue) -> String {
    match value {
        ContextValue::String(word) => word.clone(),
        ContextValue::Strings(words) => words.join(", "),
        _ => String::new(),
    }
}

/// The word that is no text though it should be; a path may be any bytes.
fn undecodable(args: &[OsString]) -> OsString {
    let is_path = |index: usize| {
        let (before, word) = (&args[index - 1], args[index].to_string_lossy());
        let is_value =
            |flag: &&str| before == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='));
        ["--cwd", "--system", "--keep"].iter().any(is_value)
    };
    let found = (1..args.len()).find(|index| args[*index].to_str().is_none() && !is_path(*index));
    found.map(|index| args[index].clone()).unwrap_or_default()
}

/// Where the subcommand word stands.
fn subcommand_place(args: &[OsString]) -> Option<usize> {
    let prompt = PromptArgs::command();
    let takes_value = |flag: &str| {
        let known = |argument: &&clap::Arg| {
            let long = argument.get_long_and_visible_aliases().unwrap_or_default();
            long.iter().any(|name| flag.strip_prefix("--") == Some(name))
        };
        let argument = prompt.get_arguments().find(known);
        // Flags of subcommands only that take a value.
        argument.map_or(flag == "--keep", |argument| argument.get_action().takes_values())
    };
    let mut place = 1;
    while place < args.len() {
        let word = args[place].to_string_lossy();
        match word.as_ref() {
            "-p" | "--print" | "--" | "-" => return None,
            _ if word.starts_with("--") => place += if takes_value(&word) { 2 } else { 1 },
            // Bundled short flags: none takes a value.
            _ if word.starts_with('-') => {
                if word.contains('p') {
                    return None;
                }
                place += 1;
            }
            word => return SUBCOMMANDS.contains(&word).then_some(place),
        }
    }
    None
}

/// A name is sent and shown as it is.
fn name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err("expected a name".to_owned());
    }
    Ok(text.to_owned())
}

fn trimmed(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(text.trim().to_owned())
}

fn turns(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| format!("expected a whole number from 1 to {}", u32::MAX))
}

fn tokens(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 1 to {}", u64::MAX))
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        Ok(_) | Err(_) => Err("expected a positive number of US dollars".to_owned()),
    }
}

fn share(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        Ok(_) | Err(_) => Err("expected a share between 0 and 1, such as 0.97".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let args = std::iter::once("codey").chain(line.split_whitespace()).map(OsString::from);
        let found = match parse(args) {
            Ok(Parsed::Run(command)) => match *command {
                Command::Prompt(PromptArgs { prompt, print, output, .. }) => {
                    format!("prompt {} print={print} mode={:?}", prompt.unwrap_or_default(), output.mode)
                }
                Command::Resume(args) => {
                    format!("resume {} {}", args.id_or_prompt.unwrap_or_default(), args.prompt.unwrap_or_default())
                }
                Command::Demo(args) => format!("demo {:?}", args.keep),
                Command::Sessions(args) => format!("sessions {}", args.place.cwd.display()),
                Command::Models(_) => "models".to_owned(),
                Command::Context(_) => "context".to_owned(),
                Command::Doctor(_) => "doctor".to_owned(),
            },
            Ok(Parsed::Say(text)) => text,
            Err(usage) => format!("{}. {}", usage.message, usage.hint),
        };
        assert_eq!(found.trim_end(), expected, "{line}");
    }

    #[test]
    fn the_first_word_is_a_subcommand_unless_p_stands_before_it() {
        check("-p demo", "prompt demo print=true mode=Text");
        check("-qp demo", "prompt demo print=true mode=Text");
        check("demo", "demo None");
        check("demo --keep demo", "demo Some(\"demo\")");
        check("--cwd /x sessions", "sessions /x");
        check("--cwd sessions fix", "prompt fix print=false mode=Text");
        check(
            "--model=demo models",
            "there is no flag --model. See codey --help. A prompt that begins with a dash comes after --.",
        );
        check("resume abc go", "resume abc go");
    }

    #[test]
    fn p_takes_no_value() {
        check("-p --mode json x", "prompt x print=true mode=Json");
        check("x -p", "prompt x print=true mode=Text");
        check("-p -- -x", "prompt -x print=true mode=Text");
        check("-p -", "prompt - print=true mode=Text");
    }

    #[test]
    fn limits_that_are_no_limits_are_refused() {
        for flag in ["--max-turns 0", "--max-tokens-total 0", "--max-cost 0", "--max-cost -1", "--max-turns x"] {
            let args = format!("codey -p x {flag}");
            assert!(parse(args.split(' ').map(OsString::from)).is_err(), "{flag}");
        }
    }

    #[test]
    fn a_path_may_be_any_bytes_and_nothing_else() {
        use std::os::unix::ffi::OsStringExt as _;
        let bytes =
            |text: &str| OsString::from_vec(text.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect());
        let parsed = |line: &str| parse(line.split(' ').map(bytes));
        assert!(
            matches!(parsed("codey --cwd=/? sessions"), Ok(Parsed::Run(command)) if matches!(*command, Command::Sessions(_)))
        );
        for line in ["codey -p --cwd=/? x?", "codey -p --cwd /? --system=? x?"] {
            assert_eq!(parsed(line).err().unwrap().message, "\"x\u{fffd}\" is not valid UTF-8", "{line}");
        }
    }

    #[test]
    fn version_is_one_clean_line() {
        check("--version", concat!("codey ", env!("CARGO_PKG_VERSION")));
    }
}
