//! Settles the calls of one message: every call gets exactly one result, in source order.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use codey_llm::{Block, CallId, Message};
use codey_protocol::{Approval, Decision, Effect, ErrorCode, Event, Limit, Meta, RunOutcome, ToolKind};
use codey_tools::{CapRule, Guard, GuardedCall, Plan, RepetitionGuard, Tool, ToolSet, cap_text};
use futures::FutureExt as _;
use futures::stream::{FuturesUnordered, StreamExt as _};
use serde_json::Value;
use tokio::time::Instant;

use crate::agent::Agent;
use crate::approval::Verdict;
use crate::execute::{Outcome, caught, execute, panic_text};
use crate::mail::Answer;
use crate::output::LiveOutput;
use crate::repetition::{self, ENDS_RUN};
use crate::turn::millis_since;

/// Observing calls that run at once. Source: contract section 8.
const PARALLEL: usize = 10;
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
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) input: Value,
    /// The arguments as they came, if they are no object.
    pub(crate) invalid: Option<String>,
}

/// A call that passed everything but the question whether it may run.
pub(crate) struct Ready {
    pub(crate) call: Call,
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) plan: Plan,
    /// What checks and plan took; an edit spends most of its time there.
    prepared_ms: u64,
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
    /// Characters that the results may still take together.
    room: usize,
}

impl Agent {
    /// Runs the calls of `message`. Neighbours that only observe run together; any other call waits for those before
    /// it and holds those after it.
    pub(crate) async fn settle(&mut self, message: &Message, last_call_cut: bool) -> Settled {
        let mut calls = calls_of(message);
        let mut batch = Batch {
            slots: calls.iter().map(|_| None).collect(),
            ends: None,
            room: TURN_CHARACTERS.saturating_sub(calls.len() * LEAST_CHARACTERS),
        };
        let cut = last_call_cut.then(|| calls.pop()).flatten();
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
            let slot = calls.len();
            self.finish_unstarted(&mut batch, slot, &call, Outcome::error(ErrorCode::InvalidArguments, text)).await;
            calls.push(call);
        }
        collected(calls, batch)
    }

    fn kind_of(&self, name: &str) -> ToolKind {
        kind_in(&self.tools, name)
    }

    /// Why the calls that have not started will not be.
    fn reason_not_to_start(&self, batch: &Batch) -> Option<(ErrorCode, &'static str)> {
        match &batch.ends {
            Some(RunOutcome::NeedsApproval { .. }) => {
                return Some((
                    ErrorCode::NeedsApproval,
                    "not run: an earlier call needs an approval that nobody can give; send this one again if it is \
                     still needed",
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
        let mut together: Vec<(usize, Ready)> = Vec::new();
        while index < calls.len() && together.len() < PARALLEL {
            let call = &calls[index];
            let twin = together.iter().any(|(_, ready)| ready.call.name == call.name && ready.call.input == call.input);
            // A barrier waits for those before it, and so does a call that may be a repetition of one of them.
            if !together.is_empty() && (twin || !self.likely_observes(call)) {
                break;
            }
            let start = Instant::now();
            match self.prepare(call).await {
                Prepared::Ready(ready) if ready.plan.effect == Effect::Observe => {
                    self.announce(&ready.call, ready.tool.info().kind, ready.plan.summary.clone()).await;
                    together.push((index, ready));
                }
                Prepared::Ready(ready) if together.is_empty() => {
                    self.settle_barrier(batch, index, ready).await;
                    return index + 1;
                }
                // A barrier after all: it is prepared anew once those before it are done.
                Prepared::Ready(_) => break,
                Prepared::Done(outcome) => {
                    self.finish_unplanned(batch, index, call, outcome, millis_since(start)).await;
                }
                Prepared::EndsRun => {
                    batch.ends = Some(RunOutcome::LimitReached { limit: Limit::Repetition });
                    let outcome = Outcome { denied: true, ..Outcome::error(ErrorCode::Denied, ENDS_RUN) };
                    self.finish_unplanned(batch, index, call, outcome, 0).await;
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
        if self.recent.ends_run(call) {
            return Prepared::EndsRun;
        }
        let start = Instant::now();
        let usable = self.usable_tool(call);
        let guards = match &usable {
            Ok(_) => self.guards.clone(),
            // Other guards have nothing to look at.
            Err(_) => vec![Arc::new(RepetitionGuard) as Arc<dyn Guard>],
        };
        if let Some(denial) = self.denial(call, guards).await {
            return Prepared::Done(denial);
        }
        let tool = match usable {
            Ok(tool) => tool,
            Err(outcome) => return Prepared::Done(*outcome),
        };
        let workspace = self.workspace.clone();
        let planned = caught(tool.plan(&call.input, &workspace));
        match self.mail.drive_or_stop(planned).await {
            Some(Ok(plan)) => {
                Prepared::Ready(Ready { call: call.clone(), tool, plan, prepared_ms: millis_since(start) })
            }
            Some(Err(error)) => Prepared::Done(Outcome::error(error.code, error.message)),
            None => Prepared::Done(cancelled_before_start()),
        }
    }

    /// The tool, if there is one of that name and the arguments are an object.
    fn usable_tool(&self, call: &Call) -> Result<Arc<dyn Tool>, Box<Outcome>> {
        let Some(tool) = self.tools.iter().find(|tool| tool.info().spec.name == call.name) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.info().spec.name.as_str()).collect();
            let text = format!(
                "there is no tool named {:?}; nothing was run. The tools are: {}.",
                call.name,
                names.join(", ")
            );
            return Err(Box::new(Outcome::error(ErrorCode::UnknownTool, text)));
        };
        let Some(raw) = &call.invalid else { return Ok(Arc::clone(tool)) };
        let text = format!(
            "the arguments of this {} call are not a JSON object ({}); nothing was run. Send them again as one valid \
             JSON object. Received: {}",
            call.name,
            json_fault(raw),
            excerpt(raw)
        );
        Err(Box::new(Outcome::error(ErrorCode::InvalidArguments, text)))
    }

    /// The first guard's refusal. A guard that panics refuses.
    async fn denial(&mut self, call: &Call, guards: Vec<Arc<dyn Guard>>) -> Option<Outcome> {
        let kind = self.kind_of(&call.name);
        for guard in guards {
            let guarded = GuardedCall {
                name: &call.name,
                input: &call.input,
                kind,
                cwd: self.workspace.cwd(),
                deadline: None,
                recent: self.recent.same_as(call),
            };
            let check = AssertUnwindSafe(guard.check(&guarded)).catch_unwind();
            let reason = match self.mail.drive_or_stop(check).await {
                None => return Some(cancelled_before_start()),
                Some(Ok(None)) => continue,
                Some(Ok(Some(refusal))) => refusal.reason,
                Some(Err(panic)) => {
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
        let Ready { call, plan, tool, prepared_ms } = &ready;
        self.announce(call, tool.info().kind, plan.summary.clone()).await;
        let refused = match self.verdict(call, plan) {
            Verdict::Run => None,
            Verdict::PlanMode => Some(plan_mode(call)),
            Verdict::Ask if !self.approvals.answers => Some(self.nobody_to_ask(batch, call)),
            Verdict::Ask => self.ask(batch, call, plan).await,
        };
        if let Some(outcome) = refused {
            return self.finish(batch, slot, call, outcome, *prepared_ms).await;
        }
        self.run_together(batch, vec![(slot, ready)]).await;
    }

    fn verdict(&self, call: &Call, plan: &Plan) -> Verdict {
        self.approvals.verdict(self.mail.mode, plan.effect, &call.name, &call.input)
    }

    fn nobody_to_ask(&self, batch: &mut Batch, call: &Call) -> Outcome {
        batch.ends = Some(RunOutcome::NeedsApproval { call: call.id.clone() });
        let text = format!(
            "{} was not run: it needs an approval and nobody can give it here, so the run ends. Tell the user what the \
             call is for, or go on without it.",
            call.name
        );
        Outcome::error(ErrorCode::NeedsApproval, text)
    }

    /// Asks the person; what stands against running, if anything.
    async fn ask(&mut self, batch: &mut Batch, call: &Call, plan: &Plan) -> Option<Outcome> {
        if self.mail.run.is_cancelled() {
            return Some(cancelled_before_start());
        }
        if !self.mail.can_be_answered() {
            return Some(self.nobody_to_ask(batch, call));
        }
        let approval = Approval {
            tool: call.name.clone(),
            summary: plan.summary.clone(),
            preview: plan.preview.clone(),
            rememberable: plan.rememberable,
        };
        self.mail.emit(Event::ApprovalRequest { call: call.id.clone(), approval }).await;
        match self.mail.answer(&call.id).await {
            Answer::Interrupted => Some(cancelled_before_start()),
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
                // The mode may have changed while the question was open; plan mode beats any answer.
                (self.verdict(call, plan) == Verdict::PlanMode).then(|| plan_mode(call))
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
                let (run, ending) = (run.clone(), ending.clone());
                async move {
                    let start = Instant::now();
                    let output = move |text: &str| live.push(place, text);
                    let outcome = execute(&ready, workspace, run, ending, &output).await;
                    (place, slot, ready.call, outcome, ready.prepared_ms + millis_since(start))
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

    /// Finishes a call that was turned down before it could be planned.
    async fn finish_unplanned(
        &mut self,
        batch: &mut Batch,
        slot: usize,
        call: &Call,
        outcome: Outcome,
        duration_ms: u64,
    ) {
        self.announce(call, self.kind_of(&call.name), summary_of(call)).await;
        self.finish(batch, slot, call, outcome, duration_ms).await;
    }

    /// Finishes a call that was never looked at: it is no call that was made.
    async fn finish_unstarted(&mut self, batch: &mut Batch, slot: usize, call: &Call, outcome: Outcome) {
        self.announce(call, self.kind_of(&call.name), summary_of(call)).await;
        self.deliver(batch, slot, call, outcome, 0).await;
    }

    /// Notes a result for guards and applies what was observed at once, so that two edits of one file in one turn both
    /// pass; then delivers it.
    async fn finish(&mut self, batch: &mut Batch, slot: usize, call: &Call, mut outcome: Outcome, duration_ms: u64) {
        self.workspace.observe(&outcome.observed);
        self.recent.note(call, &mut outcome);
        self.deliver(batch, slot, call, outcome, duration_ms).await;
    }

    /// Puts a result in its slot, cut to the turn's room, and tells people.
    async fn deliver(&mut self, batch: &mut Batch, slot: usize, call: &Call, mut outcome: Outcome, duration_ms: u64) {
        let rule = CapRule::of(self.kind_of(&call.name));
        outcome.content = capped(outcome.content, &mut batch.room, rule);
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
}

fn cancelled_before_start() -> Outcome {
    Outcome::error(ErrorCode::Cancelled, format!("{}cancelled by the user before it started", repetition::NOT_RUN))
}

fn plan_mode(call: &Call) -> Outcome {
    let text = format!(
        "denied by plan mode: {} was not run, since nothing is changed in this mode. Look with read, glob and grep and \
         describe the change instead.",
        call.name
    );
    Outcome { denied: true, ..Outcome::error(ErrorCode::Denied, text) }
}

/// The results in source order.
fn collected(calls: Vec<Call>, batch: Batch) -> Settled {
    let mut meta = Meta::default();
    let mut content = Vec::with_capacity(calls.len());
    for (call, slot) in calls.into_iter().zip(batch.slots) {
        let outcome = slot.expect("every call is settled before the results are collected");
        meta.observed.extend(outcome.observed);
        meta.displays.insert(call.id.clone(), outcome.display);
        content.push(Block::ToolResult { call: call.id, content: outcome.content, is_error: outcome.code.is_some() });
    }
    Settled { message: Message::user(content), meta, ends: batch.ends }
}

/// What the tool of this name is for.
pub(crate) fn kind_in(tools: &ToolSet, name: &str) -> ToolKind {
    let tool = tools.iter().find(|tool| tool.info().spec.name == name);
    tool.map_or(ToolKind::Other, |tool| tool.info().kind)
}

pub(crate) fn calls_of(message: &Message) -> Vec<Call> {
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

/// Cuts text blocks to what is left of the turn's room; each result keeps the least that was set aside for it.
fn capped(blocks: Vec<Block>, room: &mut usize, rule: CapRule) -> Vec<Block> {
    let mut own = LEAST_CHARACTERS;
    let cut = |block: Block| match block {
        Block::Text { text } => {
            let allowed = *room + own;
            let length = text.chars().count();
            let text = if length > allowed { cap_text(&text, allowed, rule) } else { text };
            let taken = length.min(allowed);
            let of_own = taken.min(own);
            own -= of_own;
            *room -= taken - of_own;
            Block::Text { text }
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
