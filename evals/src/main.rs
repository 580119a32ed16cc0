//! `codey-evals`: runs the eval suite, compares campaigns, reports.

mod args;
mod interchange;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use codey_app::{App, AppOptions};
use codey_eval::{
    Agent, Campaign, Plan, Report, RunRecord, Runner, Task, Verdict, Via, calibrate, compare, load_suite, plot, prove,
    update_metrics,
};
use codey_protocol::ModelRef;
use etcetera::base_strategy::{BaseStrategy as _, Xdg};
use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;

use crate::args::{AgentFlag, Cli, Command, Format, ReportArgs, RunArgs, ViaFlag};

/// The suite could not be used, or a bad flag.
const WRONG_USAGE: u8 = 2;
/// What was asked to hold does not.
const FAILED: u8 = 1;
/// Whoever interrupts once waits for what has begun; twice, leaves.
const INTERRUPTED: u8 = 3;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = runtime.context("cannot start").and_then(|runtime| runtime.block_on(run(cli)));
    let code = ended.unwrap_or_else(|error| {
        say(&format!("codey-evals: {error:#}"));
        WRONG_USAGE
    });
    ExitCode::from(code)
}

async fn run(cli: Cli) -> Result<u8> {
    let tasks = cli.tasks.unwrap_or_else(|| home().join("tasks"));
    match cli.command {
        Command::List => {
            for task in load_suite(&tasks, &[])? {
                let missing = task.missing.iter().map(|name| format!(" (no {name})")).collect::<String>();
                print(&format!(
                    "{:<28} {:<20} {:>3} turns{missing}\n",
                    task.name, task.spec.category, task.spec.max_turns
                ));
            }
            Ok(0)
        }
        Command::Verify { only, jobs } => verify(&load_suite(&tasks, &only)?, jobs.unwrap_or_else(cores)).await,
        Command::Run(args) => campaign(&tasks, *args).await,
        Command::Compare(args) => {
            let (a, b) = (records(&args.a)?, records(&args.b)?);
            print(&compare(&a, &b, args.seed).text());
            Ok(0)
        }
        Command::Report(args) => report(args),
        Command::Export { only, to } => interchange::export(&load_suite(&tasks, &only)?, &to).await,
        Command::Import { folders } => Ok(interchange::import(&folders, &tasks)),
        Command::Predictions { campaign, number } => interchange::write_predictions(&campaign, number),
    }
}

/// The folder of this package: tasks and runs lie there.
fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

async fn verify(tasks: &[Task], jobs: usize) -> Result<u8> {
    let place = tempfile::tempdir()?;
    let proofs = tasks.iter().map(|task| {
        let place = place.path().join(&task.name);
        async move { prove(task, &place).await }
    });
    let mut proofs = futures::stream::iter(proofs).buffered(jobs);
    let (mut wrong, mut void, mut right) = (0, 0, 0);
    while let Some(proofs) = proofs.next().await {
        for proof in proofs {
            let (word, why) = match (proof.problem, proof.void) {
                (Some(problem), _) => ("WRONG", problem),
                (None, Some(void)) => ("void", void),
                (None, None) => ("ok", String::new()),
            };
            *match word {
                "WRONG" => &mut wrong,
                "void" => &mut void,
                _ => &mut right,
            } += 1;
            print(format!("{word:<5} {} {} {why}", proof.task, proof.case).trim_end());
            print("\n");
        }
    }
    print(&format!("{} tasks: {right} cases right, {wrong} wrong, {void} could not be tried here\n", tasks.len()));
    Ok(if wrong == 0 { 0 } else { FAILED })
}

async fn campaign(tasks: &Path, args: RunArgs) -> Result<u8> {
    let campaign = match &args.resume {
        Some(folder) => Campaign::open(folder)?,
        None => {
            let chosen = load_suite(tasks, &args.only)?;
            let plan = Plan {
                repeats: args.n,
                seed: args.seed,
                agent: match args.agent {
                    AgentFlag::Model => Agent::Model,
                    AgentFlag::Oracle => Agent::Oracle,
                    AgentFlag::Nop => Agent::Nop,
                    AgentFlag::Liar => Agent::Liar,
                },
                via: match args.via {
                    ViaFlag::Lib => Via::Lib,
                    ViaFlag::Print => Via::Print,
                },
                tasks: chosen.into_iter().map(|task| task.name).collect(),
                label: args.label.clone(),
                model: args.model.clone(),
                endpoint: args.endpoint.clone(),
                base_url: args.base_url.clone(),
                max_turns: args.max_turns,
                timeout: args.timeout,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                commit: commit(),
            };
            Campaign::begin(&args.runs.clone().unwrap_or_else(|| home().join("runs")), plan)?
        }
    };
    let tasks = load_suite(tasks, &campaign.plan.tasks)?;
    let runner = runner(&args, &campaign.plan)?;
    let jobs = args.jobs.unwrap_or_else(cores);
    if runner.agent == Agent::Model {
        let place = tempfile::tempdir()?;
        calibrate(&runner, &tasks, place.path(), jobs).await?;
    }
    say(&format!("{} tasks, records in {}", tasks.len(), campaign.folder.display()));
    let stop = CancellationToken::new();
    let signals = tokio::spawn(listen(stop.clone()));
    let records = campaign.run(&runner, &tasks, jobs, &stop, progress).await?;
    signals.abort();
    let measured: Vec<bool> = records.iter().filter_map(RunRecord::solved).collect();
    print(&Report::of(&records).text());
    if stop.is_cancelled() {
        say(&format!("codey-evals: interrupted. Go on with --resume {}", campaign.folder.display()));
        return Ok(INTERRUPTED);
    }
    let solved = measured.iter().filter(|solved| **solved).count();
    // Nothing measured is no rate that could be high enough.
    let share = solved as f64 / measured.len().max(1) as f64;
    Ok(if args.min_pass_rate.is_some_and(|least| share < least) { FAILED } else { 0 })
}

fn records(folder: &Path) -> Result<Vec<RunRecord>> {
    let campaign = Campaign::open(folder)?;
    let records = campaign.records();
    for damage in campaign.damaged() {
        say(&format!("codey-evals: left out {damage}"));
    }
    if records.is_empty() {
        bail!("{} holds no run yet", folder.display());
    }
    Ok(records)
}

/// Reports on all runs of the campaigns together; one of each campaign for METRICS.md.
fn report(args: ReportArgs) -> Result<u8> {
    let folders = if args.campaigns.is_empty() { vec![newest_campaign()?] } else { args.campaigns };
    let mut all = Vec::new();
    let mut named = std::collections::BTreeSet::new();
    for folder in &folders {
        if !named.insert(folder.canonicalize()?) {
            bail!("{} is named twice", folder.display());
        }
        all.extend(records(folder)?);
    }
    let report = Report::of(&all);
    if let Some(file) = args.svg {
        std::fs::write(&file, plot(&report)).with_context(|| file.display().to_string())?;
    }
    if let Some(file) = args.update {
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let updated = update_metrics(&text, &args.name, &report.markdown())?;
        // Written beside it first: a full disk must not cost the history.
        let part = file.with_extension("part");
        std::fs::write(&part, updated)
            .and_then(|()| std::fs::rename(&part, &file))
            .with_context(|| file.display().to_string())?;
        return Ok(0);
    }
    print(&match args.format {
        Format::Text => report.text(),
        Format::Markdown => report.markdown(),
        Format::Json => report.json(),
    });
    Ok(0)
}

fn newest_campaign() -> Result<PathBuf> {
    let runs = home().join("runs");
    let folders = std::fs::read_dir(&runs).into_iter().flatten().flatten().map(|entry| entry.path());
    // Their names are times.
    folders.filter(|folder| folder.is_dir()).max().with_context(|| format!("{} holds no campaign", runs.display()))
}

/// Lets what has begun end at the first Ctrl-C; leaves at the second.
async fn listen(stop: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_ok() {
        say("codey-evals: finishing the runs that have begun; Ctrl-C again leaves at once");
        stop.cancel();
    }
    if tokio::signal::ctrl_c().await.is_ok() {
        std::process::exit(i32::from(INTERRUPTED));
    }
}

fn progress(record: &RunRecord, done: usize, total: usize) {
    let (word, why) = match &record.verdict {
        Verdict::Solved {} => ("solved", ""),
        Verdict::Unsolved { reason } => ("unsolved", reason.as_str()),
        Verdict::Void { reason } => ("void", reason.as_str()),
    };
    let seconds = Duration::from_millis(record.wall_ms).as_secs_f64();
    let line = format!("{word:<8} {} {} · {} turns · {seconds:.1} s {why}", record.task, record.number, record.turns);
    let mut stderr = std::io::stderr().lock();
    if stderr.is_terminal() {
        // The bar is written over by the next line.
        let width = 24 * done / total.max(1);
        let bar = format!("[{}{}] {done}/{total}", "#".repeat(width), ".".repeat(24 - width));
        let _ = write!(stderr, "\r\x1b[K{}\n{bar}{}", line.trim_end(), if done == total { "\n" } else { "" });
    } else {
        let _ = writeln!(stderr, "{}", line.trim_end());
    }
}

fn runner(args: &RunArgs, plan: &Plan) -> Result<Runner> {
    let mut variables: std::collections::HashMap<String, String> = std::env::vars().collect();
    let mut given = Vec::new();
    if let Some(url) = args.base_url.as_ref().or(plan.base_url.as_ref()) {
        given.push(("CODEY_BASE_URL".to_owned(), url.clone()));
    }
    variables.extend(given.iter().cloned());
    let config_folder = Xdg::new().ok().map(|folders| folders.config_dir().join("codey"));
    let app = App::new(AppOptions { variables, config_folder, ..AppOptions::default() });
    let codey = match &args.codey {
        Some(file) => file.clone(),
        None => beside_this_program()?,
    };
    if plan.via == Via::Print && !codey.is_file() {
        bail!(
            "--via print runs {}, which is not there: build it with `cargo build -p codey`, or name it with --codey",
            codey.display()
        );
    }
    let model = ModelRef { model: plan.model.clone(), endpoint: plan.endpoint.clone() };
    Ok(Runner {
        host: Arc::new(app),
        codey,
        variables: given,
        via: plan.via,
        agent: plan.agent,
        model: Some(model),
        max_turns: plan.max_turns,
        timeout: plan.timeout.map(Duration::from_secs),
    })
}

fn beside_this_program() -> Result<PathBuf> {
    let this = std::env::current_exe().context("this program's place is unknown")?;
    Ok(this.with_file_name(format!("codey{}", std::env::consts::EXE_SUFFIX)))
}

fn commit() -> Option<String> {
    let output =
        std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(home()).output().ok()?;
    let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// A reader that has gone away is no reason to fail.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
