//! One run of one task: a fresh workspace, the agent, the verdict, the record.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use codey_llm::{Block, Usage};
use codey_protocol::{
    ErrorCode, Event, FailCode, Handle, Host, Input, Limits, ModelRef, PermissionMode, RunOutcome, SandboxPolicy,
    SessionChoice, SpawnRequest,
};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::agents::scripted;
use crate::check::verify;
use crate::program::Group;
use crate::record::{Agent, RunRecord, ToolCounts, Verdict, Via};
use crate::task::Task;
use crate::workspace::{Tree, Workspace, difference};

/// How long an agent may take to end once it was told to.
const END_TIME: Duration = Duration::from_secs(15);
/// How long the last lines of a program that has ended may take.
const LAST_LINES: Duration = Duration::from_secs(2);
/// Whether this version can fold context. A figure without a source is left out, not zero.
const FOLDS: bool = false;

/// How runs are made.
#[derive(Clone)]
pub struct Runner {
    /// Starts agents in this process.
    pub host: Arc<dyn Host>,
    /// The program `codey`, for [`Via::Print`].
    pub codey: PathBuf,
    /// Environment of that program besides this one's: endpoint, model, key.
    pub variables: Vec<(String, String)>,
    /// How the agent is started.
    pub via: Via,
    /// Who does the work.
    pub agent: Agent,
    /// The model, if not the configured one.
    pub model: Option<ModelRef>,
    /// Fewer turns than the tasks allow.
    pub max_turns: Option<u32>,
    /// Less time than the tasks allow.
    pub timeout: Option<Duration>,
}

impl Runner {
    /// Runs a task and writes `<number>.json`, its transcript and its session to `folder`.
    ///
    /// A task that cannot be set up gives a void record.
    ///
    /// # Errors
    /// The record cannot be written.
    pub async fn run(&self, task: &Task, number: u32, folder: &Path) -> Result<RunRecord> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let started_at = jiff::Timestamp::now().to_string();
        let transcript = folder.join(format!("{number}.events.jsonl"));
        let mut seen = Seen::default();
        let (verdict, workspace) = match self.measure(task, number, folder, &transcript, &mut seen).await {
            Ok(measured) => measured,
            Err(error) => (Verdict::Void { reason: format!("{error:#}") }, Workspaces::default()),
        };
        let record = RunRecord {
            v: 1,
            task: task.name.clone(),
            category: task.spec.category.clone(),
            number,
            agent: self.agent,
            model: seen.model,
            endpoint: seen.endpoint,
            via: self.via,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at,
            verdict,
            outcome: seen.outcome,
            answer: seen.answer,
            turns: seen.turns,
            usage: (seen.usage.total() > 0).then_some(seen.usage),
            cost_usd: seen.cost_usd,
            wall_ms: seen.wall_ms,
            model_ms: seen.model_ms,
            tools_ms: seen.tools.values().map(|counts| counts.ms).sum(),
            tools: seen.tools,
            retries: seen.retries,
            cache_breaks: Some(seen.cache_breaks),
            folds: FOLDS.then_some(seen.folds),
            changed: workspace.changed,
            collateral: workspace.collateral,
            transcript: name(&transcript),
            session: workspace.session,
        };
        let file = folder.join(format!("{number}.json"));
        // A record is there whole or not at all: a resumed campaign trusts it.
        let part = folder.join(format!("{number}.json.part"));
        fs::write(&part, serde_json::to_vec_pretty(&record)?).and_then(|()| fs::rename(&part, &file))?;
        Ok(record)
    }

    async fn measure(
        &self,
        task: &Task,
        number: u32,
        folder: &Path,
        transcript: &Path,
        seen: &mut Seen,
    ) -> Result<(Verdict, Workspaces)> {
        let place = tempfile::Builder::new().prefix("codey-eval-").tempdir().context("no temporary folder")?;
        let mut writer = BufWriter::new(File::create(transcript).with_context(|| transcript.display().to_string())?);
        let workspace = Workspace::prepare(task, place.path()).await?;
        let began = Instant::now();
        let timeout = self.timeout.map_or(task.spec.timeout, |most| most.min(task.spec.timeout));
        let ended = match self.via {
            Via::Lib => self.in_process(task, &workspace, place.path(), timeout, seen, &mut writer).await,
            Via::Print => {
                let complaints = folder.join(format!("{number}.stderr"));
                self.as_program(task, &workspace, &complaints, timeout, seen, &mut writer).await
            }
        };
        seen.wall_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        writer.flush()?;
        let is_in_time = ended?;
        // From here on the agent may have broken what is looked at; that is no reason to count nothing.
        let session = keep_session(&workspace.folder, &folder.join(format!("{number}.session.jsonl"))).unwrap_or(None);
        // What verify.sh leaves behind is not the agent's, and what Codey keeps for itself is no part of the task.
        let own = workspace.folder.join(".codey");
        let _ = fs::remove_dir_all(&own).or_else(|_| fs::remove_file(&own));
        if let Ok(patch) = crate::swebench::patch(&workspace).await {
            fs::write(folder.join(format!("{number}.patch")), patch)?;
        }
        let (excuse, broken) = (seen.excuse(is_in_time, timeout), workspace.broken());
        if let Some(reason) = &broken {
            let verdict = excuse.unwrap_or_else(|| Verdict::Unsolved { reason: reason.clone() });
            return Ok((verdict, Workspaces { session, ..Workspaces::default() }));
        }
        let changed = workspace.changed()?;
        let collateral = collateral(task, &workspace, &changed, &place.path().join("solved")).await?;
        let measured = Workspaces { changed, collateral, session };
        let answer = place.path().join("answer.txt");
        fs::write(&answer, &seen.answer)?;
        let verdict = match excuse {
            Some(verdict) => verdict,
            None => verify(task, &workspace, &answer, transcript).await?,
        };
        Ok((verdict, measured))
    }

    fn request(&self, task: &Task, workspace: &Workspace) -> SpawnRequest {
        let turns = self.max_turns.map_or(task.spec.max_turns, |most| most.min(task.spec.max_turns));
        SpawnRequest {
            cwd: workspace.folder.clone(),
            session: SessionChoice::New,
            mode: Some(PermissionMode::AlwaysApprove),
            // The copy is temporary; there is no sandbox in this version.
            sandbox: Some(SandboxPolicy::Off),
            model: self.model.clone(),
            tools: task.spec.tools.clone(),
            limits: Some(Limits { turns: turns.try_into().ok(), ..Limits::default() }),
            ..SpawnRequest::default()
        }
    }

    /// Whether it ended within the time.
    async fn in_process(
        &self,
        task: &Task,
        workspace: &Workspace,
        place: &Path,
        timeout: Duration,
        seen: &mut Seen,
        transcript: &mut impl std::io::Write,
    ) -> Result<bool> {
        let provider = scripted(self.agent, task, workspace, &place.join("oracle")).await?;
        let request = SpawnRequest { provider, ..self.request(task, workspace) };
        let mut handle = self.host.spawn(request).await.map_err(|error| anyhow::anyhow!("{error}. {}", error.hint))?;
        let is_listening = handle.inputs.send(Input::Prompt(vec![Block::text(task.prompt.clone())])).is_ok();
        anyhow::ensure!(is_listening, "the agent ended at once");
        let all = follow(&mut handle, seen, transcript, true);
        let is_in_time = match tokio::time::timeout(timeout, all).await {
            Ok(followed) => followed.map(|()| true)?,
            Err(_) => false,
        };
        handle.cancel.cancel();
        // Its commands end with it; the workspace is looked at only then.
        let rest = follow(&mut handle, seen, transcript, false);
        tokio::time::timeout(END_TIME, rest).await.context("the agent did not end")??;
        Ok(is_in_time)
    }

    async fn as_program(
        &self,
        task: &Task,
        workspace: &Workspace,
        complaints: &Path,
        timeout: Duration,
        seen: &mut Seen,
        transcript: &mut impl std::io::Write,
    ) -> Result<bool> {
        if self.agent != Agent::Model {
            bail!("--via print asks a real model: the scripted agents need --via lib");
        }
        let request = self.request(task, workspace);
        let mut command = Command::new(&self.codey);
        command.args(["-p", "--mode", "json", "--always-approve", "--sandbox", "off", "--cwd"]).arg(&workspace.folder);
        if let Some(turns) = request.limits.and_then(|limits| limits.turns) {
            command.args(["--max-turns", &turns.to_string()]);
        }
        let model = request.model.unwrap_or_default();
        for (flag, value) in [("--model", model.model), ("--endpoint", model.endpoint)] {
            command.args(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
        command.args(request.tools.map(|tools| format!("--tools={}", tools.join(","))));
        command.arg("--").arg(&task.prompt).envs(self.variables.iter().cloned());
        let stderr = File::create(complaints).with_context(|| complaints.display().to_string())?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).process_group(0).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("{} cannot be started", self.codey.display()))?;
        let group = Group::of(&child);
        let mut lines = BufReader::new(child.stdout.take().context("stdout is a pipe")?).lines();
        let (mut is_in_time, mut status) = (true, None);
        let limit = tokio::time::sleep(timeout);
        tokio::pin!(limit);
        loop {
            tokio::select! {
                biased;
                line = lines.next_line() => {
                    let Some(line) = line? else { break };
                    writeln!(transcript, "{line}")?;
                    // A newer program may say more than this one knows.
                    if let Ok(event) = serde_json::from_str(&line) {
                        seen.see(&event);
                    }
                }
                ended = child.wait(), if status.is_none() => {
                    status = Some(ended?);
                    limit.as_mut().reset(tokio::time::Instant::now() + LAST_LINES);
                }
                () = &mut limit => {
                    // Somebody else holds stdout, or SIGTERM was not enough.
                    if status.is_some() || !is_in_time {
                        break;
                    }
                    is_in_time = false;
                    group.terminate();
                    limit.as_mut().reset(tokio::time::Instant::now() + END_TIME);
                }
            }
        }
        group.kill();
        let status = match status {
            Some(status) => status,
            None => tokio::time::timeout(END_TIME, child.wait()).await.context("codey did not end")??,
        };
        if is_in_time && seen.model.is_empty() && seen.outcome.is_none() {
            let complaint = fs::read_to_string(complaints).unwrap_or_default();
            let complaint = complaint.trim_end().lines().last().unwrap_or_default();
            bail!("codey did not begin ({status}): {complaint}");
        }
        Ok(is_in_time)
    }
}

/// Takes events until the run ends, or all of them.
async fn follow(
    handle: &mut Handle,
    seen: &mut Seen,
    transcript: &mut impl std::io::Write,
    one_run: bool,
) -> Result<()> {
    while let Some(event) = handle.events.recv().await {
        serde_json::to_writer(&mut *transcript, &event)?;
        transcript.write_all(b"\n")?;
        seen.see(&event);
        if one_run && matches!(event, Event::RunEnd { .. }) {
            break;
        }
    }
    Ok(())
}

/// What the events of a run add up to.
#[derive(Default)]
struct Seen {
    model: String,
    endpoint: String,
    outcome: Option<RunOutcome>,
    answer: String,
    turns: u32,
    usage: Usage,
    cost_usd: Option<f64>,
    wall_ms: u64,
    model_ms: u64,
    tools: BTreeMap<String, ToolCounts>,
    retries: u64,
    cache_breaks: u64,
    folds: u64,
}

impl Seen {
    fn see(&mut self, event: &Event) {
        match event {
            Event::SessionStart { model, endpoint, .. } => {
                self.model.clone_from(model);
                self.endpoint.clone_from(endpoint);
            }
            Event::Usage { request, cache_break, duration_ms, .. } => {
                // Also for the run that never ends: the sum of the last event is not there then.
                self.usage += *request;
                self.turns += 1;
                self.model_ms += duration_ms;
                self.cache_breaks += u64::from(cache_break.is_some());
            }
            Event::ToolEnd { name, code, duration_ms, .. } => {
                let counts = self.tools.entry(name.clone()).or_default();
                counts.calls += 1;
                counts.ms += duration_ms;
                if let Some(code) = code {
                    *counts.errors.entry(code_name(code)).or_default() += 1;
                }
            }
            Event::Retry { .. } => self.retries += 1,
            Event::Compaction { kind: codey_protocol::CompactionKind::Fold, .. } => self.folds += 1,
            Event::RunEnd { outcome, turns, usage, cost_usd, text } => {
                self.outcome = Some(outcome.clone());
                self.answer.clone_from(text);
                (self.turns, self.usage, self.cost_usd) = (*turns, *usage, *cost_usd);
            }
            _ => {}
        }
    }

    /// The verdict where the task's program need not be asked: how the run ended says it.
    fn excuse(&self, is_in_time: bool, timeout: Duration) -> Option<Verdict> {
        let unsolved = |reason: String| Some(Verdict::Unsolved { reason });
        if !is_in_time {
            return unsolved(format!("it took over {} s", timeout.as_secs()));
        }
        match &self.outcome {
            None => unsolved("the agent ended without an end of its run".to_owned()),
            Some(RunOutcome::Completed {}) => None,
            Some(RunOutcome::Interrupted {}) => Some(Verdict::Void { reason: "it was interrupted".to_owned() }),
            Some(RunOutcome::LimitReached { limit }) => unsolved(format!("it reached a limit ({limit:?})")),
            Some(RunOutcome::NeedsApproval { .. }) => unsolved("it needed an approval".to_owned()),
            Some(RunOutcome::Failed { code, message, .. }) => match code {
                // Nobody was there to be measured.
                FailCode::Auth
                | FailCode::RateLimit
                | FailCode::Quota
                | FailCode::Overloaded
                | FailCode::ServerError
                | FailCode::Network
                | FailCode::Stalled
                | FailCode::ModelNotFound
                | FailCode::Config => Some(Verdict::Void { reason: message.clone() }),
                // The model's doing, or ours.
                FailCode::ContextOverflow
                | FailCode::OutputLimit
                | FailCode::BadRequest
                | FailCode::Refusal
                | FailCode::Session
                | FailCode::Internal => unsolved(message.clone()),
            },
        }
    }
}

/// What is kept of a workspace.
#[derive(Default)]
struct Workspaces {
    changed: Vec<String>,
    collateral: Vec<String>,
    session: Option<String>,
}

/// Changed files that the solution leaves alone.
async fn collateral(task: &Task, workspace: &Workspace, changed: &[String], place: &Path) -> Result<Vec<String>> {
    let Some(change) = task.solution().and_then(|solution| solution.change) else { return Ok(changed.to_vec()) };
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    fs::create_dir_all(place)?;
    crate::workspace::copy(&workspace.before, place)?;
    let solved = workspace.elsewhere(place);
    solved.apply(&change).await?;
    let meant = difference(&Tree::of(&workspace.before)?, &Tree::of(place)?);
    fs::remove_dir_all(place)?;
    Ok(changed.iter().filter(|path| !meant.contains(path)).cloned().collect())
}

/// Copies the session's file; `None`: there is none.
fn keep_session(workspace: &Path, to: &Path) -> Result<Option<String>> {
    let sessions = fs::read_dir(workspace.join(".codey/sessions")).into_iter().flatten().flatten();
    let session = sessions.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let Some(session) = session else { return Ok(None) };
    fs::copy(session, to)?;
    Ok(Some(name(to)))
}

/// As events write it.
fn code_name(code: &ErrorCode) -> String {
    serde_json::to_value(code).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
