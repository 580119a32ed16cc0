//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measures how often Codey does its job.
#[derive(Parser)]
#[command(name = "codey-evals", version)]
pub(crate) struct Cli {
    /// Folder of the tasks
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) tasks: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run tasks and report
    Run(Box<RunArgs>),
    /// Say whether two campaigns differ
    Compare(CompareArgs),
    /// List the tasks
    List,
    /// Report on campaigns
    Report(ReportArgs),
    /// Write tasks as Harbor folders
    Export {
        /// Only these tasks
        only: Vec<String>,
        /// Folder to write to
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
    },
    /// Read Harbor folders as tasks
    Import {
        /// Harbor's task folders
        #[arg(required = true)]
        folders: Vec<PathBuf>,
    },
    /// Print the patches of a campaign as SWE-bench predictions
    Predictions {
        /// A campaign's folder
        campaign: PathBuf,
        /// Which repeat
        #[arg(short, default_value_t = 1, value_name = "N")]
        number: u32,
    },
    /// Prove without a model that the checkers tell right from wrong
    Verify {
        /// Only these tasks
        only: Vec<String>,
        /// Tasks at a time
        #[arg(long, value_name = "N")]
        jobs: Option<usize>,
    },
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Only these tasks
    pub(crate) only: Vec<String>,
    /// Repeats of each task
    #[arg(short, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) n: u32,
    /// Who does the work
    #[arg(long, value_enum, default_value_t = AgentFlag::Model)]
    pub(crate) agent: AgentFlag,
    /// How the agent is started
    #[arg(long, value_enum, default_value_t = ViaFlag::Lib)]
    pub(crate) via: ViaFlag,
    /// Tasks at a time
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Of the order of the tasks
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Chat Completions server to ask (as CODEY_BASE_URL); the key stands in CODEY_API_KEY
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Model to ask
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Configured endpoint to ask
    #[arg(long, value_name = "NAME")]
    pub(crate) endpoint: Option<String>,
    /// At most this many turns, even where a task allows more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// At most this many seconds, even where a task allows more
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    /// A name for the report
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Where campaigns are kept
    #[arg(long, value_name = "DIR")]
    pub(crate) runs: Option<PathBuf>,
    /// Go on with this campaign: make the runs that are missing or void
    #[arg(long, value_name = "DIR", conflicts_with_all = ["only", "n", "agent", "via", "seed", "label", "runs", "model", "endpoint", "max_turns", "timeout"])]
    pub(crate) resume: Option<PathBuf>,
    /// The program for --via print
    #[arg(long, value_name = "FILE")]
    pub(crate) codey: Option<PathBuf>,
    /// Exit with 1 when fewer are solved (0 to 1)
    #[arg(long, value_name = "SHARE")]
    pub(crate) min_pass_rate: Option<f64>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum AgentFlag {
    Model,
    Oracle,
    Nop,
    Liar,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ViaFlag {
    Lib,
    Print,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// A campaign's folder
    pub(crate) a: PathBuf,
    /// Another
    pub(crate) b: PathBuf,
    /// Of the resampling
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// Folders of campaigns; the newest of evals/runs if none is named
    pub(crate) campaigns: Vec<PathBuf>,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Replace what stands between `<!-- eval:begin NAME -->` and `<!-- eval:end NAME -->` in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) update: Option<PathBuf>,
    /// The name of the marks
    #[arg(long, default_value = "latest")]
    pub(crate) name: String,
    /// Draw the figures into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    Text,
    Markdown,
    Json,
}
