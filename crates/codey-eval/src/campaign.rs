//! Many runs: order, parallelism, resumption.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::record::{Agent, RunRecord, Via};
use crate::run::Runner;
use crate::task::Task;

/// What a campaign was begun with, beside its records, so that it can be resumed as it was.
const PLAN: &str = "campaign.json";
/// Tasks that the suite is tried on before a model is.
const TRIED_TASKS: usize = 3;

/// What a campaign runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Repeats of each task.
    pub repeats: u32,
    /// Of the order.
    pub seed: u64,
    /// Who does the work.
    pub agent: Agent,
    /// How it is started.
    pub via: Via,
    /// The tasks' names.
    pub tasks: Vec<String>,
    /// What the user calls it.
    pub label: Option<String>,
    /// The model asked for, if not the configured one.
    #[serde(default)]
    pub model: Option<String>,
    /// The endpoint asked for, if not the configured one.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// The server asked for, if not the configured one.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Turns, where a task allows more.
    #[serde(default)]
    pub max_turns: Option<u32>,
    /// Seconds, where a task allows more.
    #[serde(default)]
    pub timeout: Option<u64>,
    /// Codey's version.
    pub version: String,
    /// The commit Codey was built from, where known.
    pub commit: Option<String>,
}

/// A campaign's folder, `evals/runs/<time>`.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The folder.
    pub folder: PathBuf,
    /// What it runs.
    pub plan: Plan,
}

impl Campaign {
    /// Begins a campaign below `runs`.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn begin(runs: &Path, plan: Plan) -> Result<Self> {
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
        fs::create_dir_all(runs).with_context(|| runs.display().to_string())?;
        let taken = |folder: &PathBuf| {
            fs::create_dir(folder).is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists)
        };
        let folder = (1..).map(|number| runs.join(if number == 1 { time.clone() } else { format!("{time}-{number}") }));
        let folder = folder.into_iter().find(|folder| !taken(folder)).context("numbers do not end")?;
        fs::write(folder.join(PLAN), serde_json::to_vec_pretty(&plan)?)
            .with_context(|| folder.display().to_string())?;
        Ok(Self { folder, plan })
    }

    /// Opens one that was begun before.
    ///
    /// # Errors
    /// It is none.
    pub fn open(folder: &Path) -> Result<Self> {
        let file = folder.join(PLAN);
        let plan = fs::read(&file).with_context(|| format!("{} is no campaign: {PLAN}", folder.display()))?;
        let plan = serde_json::from_slice(&plan).with_context(|| file.display().to_string())?;
        Ok(Self { folder: folder.to_owned(), plan })
    }

    /// All records so far, by task and number; what is none is left out and named by [`Campaign::damaged`].
    pub fn records(&self) -> Vec<RunRecord> {
        self.read().0
    }

    /// Files in the place of records that are none of this campaign, a line each.
    pub fn damaged(&self) -> Vec<String> {
        self.read().1
    }

    fn read(&self) -> (Vec<RunRecord>, Vec<String>) {
        let (mut records, mut damaged) = (Vec::new(), Vec::new());
        for task in &self.plan.tasks {
            for entry in fs::read_dir(self.folder.join(task)).into_iter().flatten() {
                let Ok(path) = entry.map(|entry| entry.path()) else { continue };
                let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                // Transcripts have another ending, sessions a longer name.
                if path.extension().is_none_or(|end| end != "json") || stem.contains('.') {
                    continue;
                }
                let record = fs::read(&path).map_err(anyhow::Error::from);
                match record.and_then(|text| serde_json::from_slice::<RunRecord>(&text).map_err(Into::into)) {
                    Ok(record) if record.task == *task && record.number.to_string() == stem => records.push(record),
                    Ok(record) => {
                        damaged.push(format!("{}: is run {} of {}", path.display(), record.number, record.task));
                    }
                    Err(error) => damaged.push(format!("{}: {error}", path.display())),
                }
            }
        }
        records.sort_by(|one, other| (&one.task, one.number).cmp(&(&other.task, other.number)));
        (records, damaged)
    }

    /// Makes the runs that are missing, in the plan's order, `jobs` at a time but one of each task.
    ///
    /// A void run of an earlier time is made again. When `stop` is cancelled, runs that have begun are finished and no
    /// others begin. `done` is called after each run with its record and how many are done of how many.
    ///
    /// # Errors
    /// A record cannot be read or written.
    pub async fn run(
        &self,
        runner: &Runner,
        tasks: &[Task],
        jobs: usize,
        stop: &CancellationToken,
        done: impl Fn(&RunRecord, usize, usize),
    ) -> Result<Vec<RunRecord>> {
        let plan = fs::File::open(self.folder.join(PLAN))?;
        plan.try_lock().context("another program makes the runs of this campaign")?;
        let kept = self.records().into_iter().filter(|record| record.solved().is_some());
        let kept: BTreeSet<(String, u32)> = kept.map(|record| (record.task, record.number)).collect();
        let mut queues: Vec<(&Task, Vec<u32>)> = Vec::new();
        for task in tasks {
            let repeats = self.plan.repeats * task.spec.repetitions;
            queues.push((task, (1..=repeats).filter(|number| !kept.contains(&(task.name.clone(), *number))).collect()));
        }
        let mut random = fastrand::Rng::with_seed(self.plan.seed);
        random.shuffle(&mut queues);
        let total: usize = queues.iter().map(|(_, numbers)| numbers.len()).sum();
        let count = AtomicUsize::new(0);
        let (count, done) = (&count, &done);
        // Repeats of a task run one after another: their programs may use the same port or the same machine's cache.
        let runs = queues.into_iter().map(|(task, numbers)| async move {
            for number in numbers {
                if stop.is_cancelled() {
                    break;
                }
                let record = runner.run(task, number, &self.folder.join(&task.name)).await?;
                done(&record, 1 + count.fetch_add(1, Ordering::Relaxed), total);
            }
            anyhow::Ok(())
        });
        let mut runs = futures::stream::iter(runs).buffer_unordered(jobs.max(1));
        while let Some(run) = runs.next().await {
            run?;
        }
        Ok(self.records())
    }
}

/// Tries the suite itself on a few of the tasks: the oracle solves all, the nop and the liar none.
///
/// # Errors
/// They do not, so that figures of a model would mean nothing.
pub async fn calibrate(runner: &Runner, tasks: &[Task], place: &Path, jobs: usize) -> Result<()> {
    let tried: Vec<&Task> = tasks.iter().filter(|task| task.missing.is_empty()).take(TRIED_TASKS).collect();
    ensure!(!tried.is_empty(), "no task can be run: see `codey-evals verify`");
    let runs = tried.iter().flat_map(|task| [Agent::Oracle, Agent::Nop, Agent::Liar].map(|agent| (*task, agent)));
    let runs = runs.map(|(task, agent)| {
        let runner = Runner { agent, via: Via::Lib, max_turns: None, timeout: None, ..runner.clone() };
        let folder = place.join(format!("{}-{agent:?}", task.name));
        async move { (agent, runner.run(task, 1, &folder).await) }
    });
    let mut runs = futures::stream::iter(runs).buffer_unordered(jobs.max(1));
    while let Some((agent, record)) = runs.next().await {
        let record = record?;
        let is_right = match record.solved() {
            Some(solved) => solved == (agent == Agent::Oracle),
            // A missing toolchain says nothing of the suite.
            None => true,
        };
        if !is_right {
            bail!(
                "the suite cannot be trusted: {agent:?} on {} gave {:?}; nothing was run",
                record.task,
                record.verdict
            );
        }
    }
    Ok(())
}
