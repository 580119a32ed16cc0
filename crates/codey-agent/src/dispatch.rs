//! Settles the calls of one message: every call gets exactly one result, in source order.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use codey_llm::{Block, CallId, Message};
use codey_protocol::{
    Approval, Decision, Effect, ErrorCode, Event, Limit, Meta, Observed, RunOutcome, ToolDisplay, ToolKind,
};
use codey_session::Node;
use codey_tools::{
    CapRule, GuardedCall, PastCall, Plan, REPETITIONS_ALLOWED, Tool, ToolContext, ToolError, ToolOutput, cap_text,
    repetitions,
};
use futures::FutureExt as _;
use futures::stream::{FuturesUnordered, StreamExt as _};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::approval::Verdict;
use crate::mail::Answer;
use crate::output::LiveOutput;
use crate::turn::millis_since;

/// Observing calls that run at once. Source: contract section 8.
const PARALLEL: usize = 10;
/// Time of any tool but bash, which has its own. Source: contract section 3.
const TOOL_TIME: Duration = Duration::from_secs(120);
/// The longest bash may ask for. Source: contract section 3.
const COMMAND_TIME: Duration = Duration::from_secs(600);
/// How long a tool may take to end by itself after its deadline before it is cancelled.
const DEADLINE_GRACE: Duration = Duration::from_secs(10);
/// Characters of all results of one turn. Source: contract section 3.
const TURN_CHARACTERS: usize = 300_000;
/// Characters every result keeps, however much the others take.
const LEAST_CHARACTERS: usize = 500;

/// The answers to one message, ready to be appended.
pub(crate) struct Settled {
    pub(crate) message: Message,
    pub(crate) meta: Meta,
    /// The run's outcome, if a call ended it.
    pub(crate) ends: Option<RunOutcome>,
}

/// A call of the message that is being settled.
#[derive(Clone)]
struct Call {
    id: CallId,
    name: String,
    input: Value,
    invalid: Option<String>,
}

/// A call that passed everything but the question whether it may run.
struct Ready {
    call: Call,
    tool: Arc<dyn Tool>,
    plan: Plan,
}

/// The result of one call.
struct Outcome {
    content: Vec<Block>,
    code: Option<ErrorCode>,
    display: ToolDisplay,
    observed: Vec<Observed>,
    denied: bool,
    changed: bool,
}

impl Outcome {
    fn error(code: ErrorCode, message: impl AsRef<str>) -> Self {
        let text = format!("Error: {}", message.as_ref());
        Self {
            content: vec![Block::text(text.clone())],
            code: Some(code),
            display: ToolDisplay::Text { text },
            observed: Vec::new(),
            denied: false,
            changed: false,
        }
    }

    fn text(&self) -> String {
        self.content.iter().filter_map(Block::as_text).collect()
    }
}

/// Where a call is after the checks that need nobody.
enum Prepared {
    Ready(Ready),
    Done(Outcome),
    /// The same call once too often.
    EndsRun,
}

/// Everything about the message that is being settled.
struct Batch {
    slots: Vec<Option<Outcome>>,
    ends: Option<RunOutcome>,
}

impl Agent {
    /// Runs the calls of `message`. Neighbours that only observe run together; any other call waits for those before
    /// it and holds those after it.
    pub(crate) async fn settle(&mut self, message: &Message, last_call_cut: bool) -> Settled {
        let mut calls = calls_of(message);
        let cut = last_call_cut.then(|| calls.pop()).flatten();
        let mut batch = Batch { slots: calls.iter().map(|_| None).collect(), ends: None };
        let mut index = 0;
        while index < calls.len() {
            if let Some((code, reason)) = self.reason_not_to_start(&batch) {
                for (slot, call) in calls.iter().enumerate().skip(index) {
                    let outcome = Outcome::error(code, reason);
                    self.finish_unstarted(&mut batch, slot, call, outcome).await;
                }
                break;
            }
            index = self.settle_next(&mut batch, &calls, index).await;
        }
        if let Some(call) = cut {
            let text = "cut at the output limit, nothing was run; write in smaller pieces";
            batch.slots.push(None);
            let slot = batch.slots.len() - 1;
            self.finish_unstarted(&mut batch, slot, &call, Outcome::error(ErrorCode::InvalidArguments, text)).await;
            calls.push(call);
        }
        self.collected(calls, batch)
    }

    /// The results in source order, cut to the turn's room.
    fn collected(&self, calls: Vec<Call>, batch: Batch) -> Settled {
        let mut meta = Meta::default();
        let mut content = Vec::with_capacity(calls.len());
        let mut room = TURN_CHARACTERS;
        for (call, slot) in calls.into_iter().zip(batch.slots) {
            let outcome = slot.expect("every call is settled before the results are collected");
            let blocks = capped(outcome.content, &mut room, CapRule::of(self.kind_of(&call.name)));
            meta.observed.extend(outcome.observed);
            meta.displays.insert(call.id.clone(), outcome.display);
            content.push(Block::ToolResult { call: call.id, content: blocks, is_error: outcome.code.is_some() });
        }
        Settled { message: Message::user(content), meta, ends: batch.ends }
    }

    fn kind_of(&self, name: &str) -> ToolKind {
        let tool = self.tools.iter().find(|tool| tool.info().spec.name == name);
        tool.map_or(ToolKind::Other, |tool| tool.info().kind)
    }

    /// Why the calls that have not started will not be.
    fn reason_not_to_start(&self, batch: &Batch) -> Option<(ErrorCode, &'static str)> {
        match &batch.ends {
            Some(RunOutcome::NeedsApproval { .. }) => {
                return Some((
                    ErrorCode::NeedsApproval,
                    "not run: an earlier call needs an approval that nobody can give",
                ));
            }
            Some(_) => return Some((ErrorCode::Cancelled, "not run: the run ended at an earlier call")),
            None => {}
        }
        if self.mail.run.is_cancelled() {
            return Some((ErrorCode::Cancelled, "not run: cancelled by the user before it started"));
        }
        self.mail.has_steers().then_some((ErrorCode::Cancelled, "not run: the user sent a message; read it first"))
    }

    /// Settles the call at `index`, and its neighbours if they may run together. Returns the next index.
    async fn settle_next(&mut self, batch: &mut Batch, calls: &[Call], mut index: usize) -> usize {
        let mut together = Vec::new();
        let first = index;
        while index < calls.len() && together.len() < PARALLEL {
            if !together.is_empty() && !self.likely_observes(&calls[index]) {
                break;
            }
            match self.prepare(&calls[index]).await {
                Prepared::Ready(ready) if ready.plan.effect == Effect::Observe => {
                    self.announce(&ready.call, ready.tool.info().kind, ready.plan.summary.clone()).await;
                    together.push((index, ready));
                }
                Prepared::Ready(ready) => {
                    // A barrier waits for those before it, and is prepared anew then: its checks look at the newest state.
                    if index == first {
                        self.settle_barrier(batch, index, ready).await;
                        return index + 1;
                    }
                    break;
                }
                Prepared::Done(outcome) => self.finish_unstarted(batch, index, &calls[index], outcome).await,
                Prepared::EndsRun => {
                    batch.ends = Some(RunOutcome::LimitReached { limit: Limit::Repetition });
                    let text = "the run ends: the same call was made again after it was denied as a repetition";
                    let outcome = Outcome { denied: true, ..Outcome::error(ErrorCode::Denied, text) };
                    self.finish_unstarted(batch, index, &calls[index], outcome).await;
                    index += 1;
                    break;
                }
            }
            index += 1;
        }
        self.run_together(batch, together).await;
        index
    }

    /// Whether a call may join calls that run together; what its plan says decides.
    fn likely_observes(&self, call: &Call) -> bool {
        match self.kind_of(&call.name) {
            ToolKind::Read | ToolKind::Search | ToolKind::Think => true,
            ToolKind::Edit | ToolKind::Execute | ToolKind::Fetch | ToolKind::Other => false,
        }
    }

    /// Finds the tool, checks the arguments, asks the guards, plans.
    async fn prepare(&mut self, call: &Call) -> Prepared {
        let tool = self.tools.iter().find(|tool| tool.info().spec.name == call.name).cloned();
        let Some(tool) = tool else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.info().spec.name.as_str()).collect();
            let text = format!(
                "there is no tool named {:?}; nothing was run. The tools are: {}.",
                call.name,
                names.join(", ")
            );
            return Prepared::Done(Outcome::error(ErrorCode::UnknownTool, text));
        };
        if let Some(raw) = &call.invalid {
            let text = format!(
                "the arguments of this {} call are not a JSON object ({}); nothing was run. Send them again as one valid \
                 JSON object. Received: {}",
                call.name,
                json_fault(raw),
                excerpt(raw)
            );
            return Prepared::Done(Outcome::error(ErrorCode::InvalidArguments, text));
        }
        if repetitions(&self.recent, &call.name, &call.input) > REPETITIONS_ALLOWED {
            return Prepared::EndsRun;
        }
        if let Some(denial) = self.denial(call, tool.info().kind).await {
            return Prepared::Done(denial);
        }
        let workspace = self.workspace.clone();
        let planned = caught(tool.plan(&call.input, &workspace));
        match self.mail.drive(planned).await {
            Ok(plan) => Prepared::Ready(Ready { call: call.clone(), tool, plan }),
            Err(error) => Prepared::Done(Outcome::error(error.code, error.message)),
        }
    }

    /// The first guard's refusal. A guard that panics refuses.
    async fn denial(&mut self, call: &Call, kind: ToolKind) -> Option<Outcome> {
        for guard in self.guards.clone() {
            let guarded = GuardedCall {
                name: &call.name,
                input: &call.input,
                kind,
                cwd: self.workspace.cwd(),
                deadline: None,
                recent: &self.recent,
            };
            let check = AssertUnwindSafe(guard.check(&guarded)).catch_unwind();
            let reason = match self.mail.drive(check).await {
                Ok(None) => continue,
                Ok(Some(refusal)) => refusal.reason,
                Err(panic) => {
                    tracing::error!(guard = guard.name(), panic = panic_text(&*panic), "a guard panicked");
                    "the check itself failed, so the call was not run".to_owned()
                }
            };
            let text = format!("denied by {}: {reason}", guard.name());
            return Some(Outcome { denied: true, ..Outcome::error(ErrorCode::Denied, text) });
        }
        None
    }

    /// Settles one call that changes something: asks if it must, then runs it alone.
    async fn settle_barrier(&mut self, batch: &mut Batch, slot: usize, ready: Ready) {
        let Ready { call, plan, tool } = &ready;
        self.announce(call, tool.info().kind, plan.summary.clone()).await;
        let verdict = self.approvals.verdict(self.mail.mode, plan.effect, &call.name, &call.input);
        let refused = match verdict {
            Verdict::Run => None,
            Verdict::PlanMode => {
                let text = format!(
                    "denied by plan mode: {} was not run, since nothing is changed in this mode. Look with read, glob and \
                     grep and describe the change instead.",
                    call.name
                );
                Some(Outcome { denied: true, ..Outcome::error(ErrorCode::Denied, text) })
            }
            Verdict::Ask if !self.approvals.answers => Some(self.nobody_to_ask(batch, call)),
            Verdict::Ask => self.ask(batch, call, plan).await,
        };
        if let Some(outcome) = refused {
            let (id, call) = (slot, call.clone());
            return self.finish(batch, id, &call, outcome, 0).await;
        }
        self.run_together(batch, vec![(slot, ready)]).await;
    }

    fn nobody_to_ask(&self, batch: &mut Batch, call: &Call) -> Outcome {
        batch.ends = Some(RunOutcome::NeedsApproval { call: call.id.clone() });
        let text = format!("{} was not run: it needs an approval and nobody can give it here", call.name);
        Outcome::error(ErrorCode::NeedsApproval, text)
    }

    /// Asks the person; what stands against running, if anything.
    async fn ask(&mut self, batch: &mut Batch, call: &Call, plan: &Plan) -> Option<Outcome> {
        let approval = Approval {
            tool: call.name.clone(),
            summary: plan.summary.clone(),
            preview: plan.preview.clone(),
            rememberable: plan.rememberable,
        };
        self.mail.emit(Event::ApprovalRequest { call: call.id.clone(), approval }).await;
        match self.mail.answer(&call.id).await {
            Answer::Interrupted => Some(Outcome::error(
                ErrorCode::Cancelled,
                "not run: cancelled by the user while it waited for approval",
            )),
            Answer::Nobody => Some(self.nobody_to_ask(batch, call)),
            Answer::Decided(decision) => {
                let reply = Event::ApprovalReply { call: call.id.clone(), decision: decision.clone() };
                self.mail.emit(reply).await;
                if let Decision::Reject { reason } = decision {
                    let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                    let text = format!(
                        "the user rejected this call{reason}. Nothing was run; do not repeat it, find another way."
                    );
                    return Some(Outcome::error(ErrorCode::Denied, text));
                }
                if plan.rememberable {
                    self.approvals.remember(&decision, plan.effect, &call.name, &call.input);
                }
                None
            }
        }
    }

    /// Runs calls at the same time and finishes each as it ends.
    async fn run_together(&mut self, batch: &mut Batch, ready: Vec<(usize, Ready)>) {
        if ready.is_empty() {
            return;
        }
        let live = LiveOutput::new(ready.iter().map(|(_, ready)| ready.call.id.clone()));
        let workspace = self.workspace.clone();
        let (run, ending) = (self.mail.run.clone(), self.mail.ending.clone());
        let mut running: FuturesUnordered<_> = ready
            .into_iter()
            .enumerate()
            .map(|(place, (slot, ready))| {
                let (live, workspace) = (&live, &workspace);
                let (cancel, ending) = (run.child_token(), ending.clone());
                async move {
                    let start = Instant::now();
                    let output = move |text: &str| live.push(place, text);
                    let outcome = execute(&ready, workspace, cancel, ending, &output).await;
                    (place, slot, ready.call, outcome, millis_since(start))
                }
            })
            .collect();
        loop {
            let step = self.mail.drive(async {
                tokio::select! {
                    biased;
                    ended = running.next() => Some(ended),
                    () = live.ready() => None,
                }
            });
            match step.await {
                None => {
                    for event in live.take() {
                        self.mail.emit(event).await;
                    }
                }
                Some(None) => return,
                Some(Some((place, slot, call, outcome, duration_ms))) => {
                    for event in live.finish(place) {
                        self.mail.emit(event).await;
                    }
                    self.finish(batch, slot, &call, outcome, duration_ms).await;
                }
            }
        }
    }

    async fn announce(&mut self, call: &Call, kind: ToolKind, summary: String) {
        let event = Event::ToolStart {
            call: call.id.clone(),
            name: call.name.clone(),
            kind,
            summary,
            input: call.input.clone(),
        };
        self.mail.emit(event).await;
    }

    async fn finish_unstarted(&mut self, batch: &mut Batch, slot: usize, call: &Call, outcome: Outcome) {
        self.announce(call, self.kind_of(&call.name), summary_of(call)).await;
        self.finish(batch, slot, call, outcome, 0).await;
    }

    /// Puts the result in its slot, tells people, and applies what was observed at once, so that two edits of one file
    /// in one turn both pass.
    async fn finish(&mut self, batch: &mut Batch, slot: usize, call: &Call, mut outcome: Outcome, duration_ms: u64) {
        self.workspace.observe(&outcome.observed);
        let result = hash_of(&outcome.text());
        if !outcome.denied {
            self.warn_of_repetition(call, result, &mut outcome);
        }
        self.recent.push(PastCall {
            name: call.name.clone(),
            input: call.input.clone(),
            result,
            changed: outcome.changed,
            denied: outcome.denied,
        });
        let event = Event::ToolEnd {
            call: call.id.clone(),
            name: call.name.clone(),
            code: outcome.code,
            text: outcome.text(),
            duration_ms,
            display: outcome.display.clone(),
        };
        batch.slots[slot] = Some(outcome);
        self.mail.emit(event).await;
    }

    /// Warns the model when this was the last identical call that runs.
    fn warn_of_repetition(&self, call: &Call, result: u64, outcome: &mut Outcome) {
        let before = repetitions(&self.recent, &call.name, &call.input);
        let last = self.recent.iter().rev().find(|past| past.name == call.name && past.input == call.input);
        if before + 1 == REPETITIONS_ALLOWED && last.is_some_and(|past| past.result == result) {
            outcome.content.push(Block::text(REPETITION_WARNING));
        }
    }
}

/// Ends the text of the last identical result that is given.
const REPETITION_WARNING: &str = "\n[This exact call gave this exact result for the third time, with no change in \
     between. A further one will be denied: use the result, or do something different.]";

/// Runs one call to its end: a panic is caught, a late tool cancelled and awaited.
async fn execute(
    ready: &Ready,
    workspace: &codey_tools::Workspace,
    cancel: CancellationToken,
    ending: CancellationToken,
    output: &(dyn Fn(&str) + Send + Sync),
) -> Outcome {
    let is_command = ready.tool.info().kind == ToolKind::Execute;
    let deadline = Instant::now() + if is_command { COMMAND_TIME } else { TOOL_TIME };
    let context = ToolContext { workspace, cancel: cancel.clone(), ending, deadline, output };
    let run = caught(ready.tool.run(ready.call.input.clone(), ready.plan.clone(), context));
    tokio::pin!(run);
    let result = match tokio::time::timeout_at(deadline + DEADLINE_GRACE, &mut run).await {
        Ok(result) => result,
        Err(_) => {
            cancel.cancel();
            // Awaited, never abandoned: what it still does must not meet the next call.
            let _ = run.await;
            let text = "timed out (it did not fail, it did not finish). Try a smaller step.";
            Err(ToolError::new(ErrorCode::Timeout, text))
        }
    };
    into_outcome(result, ready.plan.effect)
}

fn into_outcome(result: Result<ToolOutput, ToolError>, effect: Effect) -> Outcome {
    match result {
        Ok(ToolOutput { for_model, for_user, observed }) => Outcome {
            content: for_model,
            code: None,
            display: for_user,
            observed,
            denied: false,
            changed: effect != Effect::Observe,
        },
        // A command that timed out or was cancelled did run.
        Err(ToolError { code, message }) => {
            let ran = matches!(code, ErrorCode::Timeout | ErrorCode::Cancelled | ErrorCode::ToolPanic);
            Outcome { changed: effect == Effect::Execute && ran, ..Outcome::error(code, message) }
        }
    }
}

/// Awaits a step of a tool; a panic becomes an error for the model and a bug for the log.
async fn caught<T>(step: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
    match AssertUnwindSafe(step).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => {
            tracing::error!(panic = panic_text(&*panic), "a tool panicked");
            let text = "the tool failed because of a bug in it; what it did until then is unknown. Check, and use \
                        another tool.";
            Err(ToolError::new(ErrorCode::ToolPanic, text))
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

fn calls_of(message: &Message) -> Vec<Call> {
    let call = |block: &Block| match block {
        Block::ToolUse { id, name, input, invalid, .. } => {
            Some(Call { id: id.clone(), name: name.clone(), input: input.clone(), invalid: invalid.clone() })
        }
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::ToolResult { .. }
        | Block::Image { .. }
        | Block::Foreign { .. } => None,
    };
    message.content.iter().filter_map(call).collect()
}

/// Cuts text blocks to what is left of the turn's room.
fn capped(blocks: Vec<Block>, room: &mut usize, rule: CapRule) -> Vec<Block> {
    let cut = |block: Block| match block {
        Block::Text { text } => {
            // Bytes bound characters from above, so most texts are never counted.
            let length = if text.len() <= *room { text.len() } else { text.chars().count() };
            let allowed = (*room).max(LEAST_CHARACTERS);
            *room = room.saturating_sub(length);
            Block::Text { text: if length > allowed { cap_text(&text, allowed, rule) } else { text } }
        }
        other => other,
    };
    blocks.into_iter().map(cut).collect()
}

fn summary_of(call: &Call) -> String {
    const SUMMARY_CHARACTERS: usize = 80;
    let members = ["command", "path", "pattern", "file_path"];
    let detail = members.iter().find_map(|member| call.input.get(member).and_then(Value::as_str)).unwrap_or_default();
    let detail: String =
        detail.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SUMMARY_CHARACTERS).collect();
    format!("{} {detail}", call.name).trim_end().to_owned()
}

fn json_fault(raw: &str) -> String {
    match serde_json::from_str::<Value>(raw) {
        Ok(_) => "it is another kind of value".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn excerpt(raw: &str) -> String {
    const EXCERPT_CHARACTERS: usize = 200;
    let mut text: String = raw.chars().take(EXCERPT_CHARACTERS).collect();
    if text.len() < raw.len() {
        text.push('…');
    }
    text
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The calls of a lineage, for guards, as [`Agent::finish`] would have noted them.
pub(crate) fn past_calls(lineage: &[Arc<Node>]) -> Vec<PastCall> {
    let mut open: Vec<Call> = Vec::new();
    let mut past = Vec::new();
    for message in lineage.iter().filter_map(|node| node.message()) {
        for block in &message.content {
            let Block::ToolResult { call, content, is_error } = block else { continue };
            let Some(place) = open.iter().position(|one| one.id == *call) else { continue };
            let Call { name, input, .. } = open.swap_remove(place);
            let text: String =
                content.iter().filter_map(Block::as_text).filter(|text| *text != REPETITION_WARNING).collect();
            let denied = *is_error && text.starts_with("Error: denied by ");
            let changed = !is_error && !matches!(name.as_str(), "read" | "glob" | "grep" | "todo" | "read_skill");
            past.push(PastCall { name, input, result: hash_of(&text), changed, denied });
        }
        open.extend(calls_of(message));
    }
    past
}
