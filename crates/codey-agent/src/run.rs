//! A run: from one prompt until the agent stops.

use std::sync::Arc;

use codey_ctx::Relief;
use codey_llm::{Assembled, Block, Message, ProviderErrorKind, Request, StopReason, Usage};
use codey_protocol::{Event, FailCode, Limit, Meta, RunError, RunOutcome};
use codey_session::{Node, NodeKind, SessionError};

use crate::agent::Agent;
use crate::dispatch::Settled;
use crate::limits::Spent;
use crate::next::{Next, next};
use crate::repetition::Recent;
use crate::turn::Response;

/// Responses in a row that asked for nothing but cut calls. Source: architecture section 3.
const CUT_IN_A_ROW: u32 = 3;
/// Paused responses in a row. Source: architecture section 3.
const PAUSES_IN_A_ROW: u32 = 8;
/// Least room for an answer that is asked for, however full the window is.
const LEAST_OUTPUT: u64 = 256;

/// What a run remembers between its turns.
struct Run {
    spent: Spent,
    /// User blocks that are not in the session yet.
    waiting: Vec<Block>,
    /// The newest text of the model.
    text: String,
    cut_in_a_row: u32,
    pauses_in_a_row: u32,
    asked_again: bool,
    usage_warned: bool,
}

/// Ends the turn loop.
type Ended = RunOutcome;

impl Agent {
    /// Runs `prompt` to its end and tells how it ended.
    pub(crate) async fn run(&mut self, prompt: Vec<Block>) {
        self.mail.begin_run();
        self.mail.emit(Event::RunStart {}).await;
        let mut run = Run {
            spent: Spent::nothing(self.binding.model.price),
            waiting: prompt,
            text: String::new(),
            cut_in_a_row: 0,
            pauses_in_a_row: 0,
            asked_again: false,
            usage_warned: false,
        };
        let mut outcome = loop {
            if let Some(outcome) = self.turn(&mut run).await {
                break outcome;
            }
        };
        // What was said and not yet heard is kept, so that the next run hears it exactly once.
        if let Err(error) = self.append_steers().await {
            outcome = session_failed(error).into();
        }
        let (workspace, ending) = (self.workspace.clone(), self.mail.ending.clone());
        self.mail.drive(workspace.end_run(&ending)).await;
        self.mail.end_run();
        self.append_head().await;
        let Spent { turns, usage, cost_usd, .. } = run.spent;
        self.mail.emit(Event::RunEnd { outcome, turns, usage, cost_usd, text: run.text }).await;
    }

    /// One turn; the run's outcome if it was the last.
    async fn turn(&mut self, run: &mut Run) -> Option<Ended> {
        if self.mail.run.is_cancelled() {
            return Some(self.interrupted_before_sending(run).await);
        }
        if let Some(limit) = run.spent.reached(&self.limits) {
            return Some(RunOutcome::LimitReached { limit });
        }
        if let Some(outcome) = self.relieve(run).await {
            return Some(outcome);
        }
        if let Err(error) = self.append_waiting(run).await {
            return Some(session_failed(error).into());
        }
        self.mail.emit(Event::TurnStart { turn: run.spent.turns + 1 }).await;
        let request_bytes = self.request_bytes();
        let request = self.request(request_bytes);
        match self.respond(request).await {
            Response::Whole { assembled, stop, usage, duration_ms } => {
                self.account(run, usage, &assembled.message, request_bytes, duration_ms).await;
                let next = next(&assembled.message, assembled.last_call_cut, &stop);
                let Assembled { message, last_call_cut } = assembled;
                let message = Arc::new(message);
                let text = message.text();
                if !text.trim().is_empty() {
                    run.text = text;
                }
                if next != Next::AskAgain && !message.content.is_empty() {
                    let meta = self.response_meta(Some(usage), request_bytes);
                    if let Err(error) = self.append(Arc::clone(&message), meta).await {
                        return Some(session_failed(error).into());
                    }
                }
                self.follow(run, next, &stop, &message, last_call_cut).await
            }
            Response::Interrupted { partial } => {
                let stored = self.append_partial(run, partial, request_bytes).await;
                Some(stored.err().map_or(RunOutcome::Interrupted {}, |error| session_failed(error).into()))
            }
            Response::Failed { error, partial } => {
                if let Err(error) = self.append_partial(run, partial, request_bytes).await {
                    return Some(session_failed(error).into());
                }
                if error.kind == ProviderErrorKind::ContextOverflow {
                    return Some(self.context_full(&error.message).await);
                }
                Some(RunError::from(error).into())
            }
        }
    }

    /// Does what follows a whole response.
    async fn follow(
        &mut self,
        run: &mut Run,
        next: Next,
        stop: &StopReason,
        message: &Message,
        last_call_cut: bool,
    ) -> Option<Ended> {
        run.cut_in_a_row = if next == Next::SettleCut { run.cut_in_a_row + 1 } else { 0 };
        run.pauses_in_a_row = if next == Next::GoOn { run.pauses_in_a_row + 1 } else { 0 };
        let asked_again = std::mem::replace(&mut run.asked_again, next == Next::AskAgain);
        match next {
            Next::Settle | Next::SettleCut => {
                let settled = self.settle(message, last_call_cut).await;
                let ended = self.append_settled(settled).await;
                if ended.is_none() && next == Next::SettleCut && *stop == StopReason::ContextWindow {
                    return Some(self.context_full("the context window filled up while the model answered").await);
                }
                if ended.is_none() && run.cut_in_a_row >= CUT_IN_A_ROW {
                    return Some(output_limit(
                        "the model's tool calls were cut at the output limit three times in a row",
                    ));
                }
                ended
            }
            Next::Complete if self.mail.has_steers() => None,
            Next::Complete => Some(RunOutcome::Completed {}),
            Next::OutputLimit => Some(output_limit("the answer was cut at the model's output limit")),
            Next::AskAgain if asked_again => Some(
                RunError::new(
                    FailCode::ServerError,
                    format!("the model returned nothing, twice (stop reason {})", stop_name(stop)),
                    "Try again, or choose another model with --model.",
                )
                .into(),
            ),
            Next::AskAgain => None,
            Next::Refused { category } => {
                let category = category.map_or(String::new(), |category| format!(" ({category})"));
                let hint = "Rephrase the task, or choose another model with --model.";
                Some(RunError::new(FailCode::Refusal, format!("the model declined to answer{category}"), hint).into())
            }
            Next::GoOn if run.pauses_in_a_row > PAUSES_IN_A_ROW => {
                let message = format!("the provider paused the answer {PAUSES_IN_A_ROW} times in a row");
                Some(RunError::new(FailCode::ServerError, message, "Try again later.").into())
            }
            Next::GoOn => None,
            Next::ContextFull => Some(self.context_full("the context window filled up while the model answered").await),
        }
    }

    /// Makes room if the next request would not fit; the outcome if it cannot be sent.
    async fn relieve(&mut self, run: &Run) -> Option<Ended> {
        let Some(window) = self.binding.model.window else {
            if !std::mem::replace(&mut self.window_warned, true) {
                let message = format!(
                    "the context window of {} is unknown, so Codey cannot tell when it is full; set context_window \
                     under [endpoint.quirks] to change that",
                    self.binding.model.id
                );
                self.mail.warn("window_unknown", &message).await;
            }
            return None;
        };
        let waiting = codey_llm::bytes_in_tokens_of(&Message::user(run.waiting.clone()));
        let tokens = self.estimator.tokens(self.request_bytes() + waiting);
        let fill = tokens as f32 / window as f32;
        match codey_ctx::relieve(&self.path, fill, &self.policy) {
            Relief::Nothing => None,
            Relief::Stuck => {
                let message = format!("the next request would take about {tokens} of {window} tokens");
                Some(self.context_full(&message).await)
            }
        }
    }

    /// Ends the run for want of context, saying what fills the window.
    async fn context_full(&mut self, why: &str) -> Ended {
        let fills = codey_ctx::what_fills(&self.prefix, &self.path, &self.estimator);
        self.mail.warn("context_full", &format!("{why}; {fills}")).await;
        RunOutcome::LimitReached { limit: Limit::ContextFull }
    }

    fn request_bytes(&self) -> u64 {
        self.prefix.bytes() + self.path.bytes()
    }

    fn request(&mut self, request_bytes: u64) -> Request {
        let mut request = self.assembly.request(&self.prefix, &self.path, &self.binding.model);
        request.effort = self.binding.effort;
        if let Some(window) = self.binding.model.window {
            // Some servers refuse a request whose prompt and answer together could exceed the window.
            let room = u64::from(window).saturating_sub(self.estimator.tokens(request_bytes)).max(LEAST_OUTPUT);
            request.max_tokens = request.max_tokens.min(u32::try_from(room).unwrap_or(u32::MAX));
        }
        request
    }

    /// Counts a response at the moment its usage arrives. Where none does, limits go by an estimate.
    async fn account(&mut self, run: &mut Run, usage: Usage, message: &Message, request_bytes: u64, duration_ms: u64) {
        let mut counted = usage;
        if usage.context() == 0 {
            counted.input = self.estimator.tokens(request_bytes);
            counted.output = usage.output.max(self.estimator.tokens(codey_llm::bytes_in_tokens_of(message)));
            let is_limited = self.limits.tokens_total.is_some() || self.limits.cost_usd.is_some();
            if is_limited && !std::mem::replace(&mut run.usage_warned, true) {
                let message = format!(
                    "the server of {} does not report what a request takes, so the limits of this run go by estimates",
                    self.binding.model.id
                );
                self.mail.warn("usage_estimated", &message).await;
            }
        }
        self.estimator.learn(request_bytes, usage.context());
        let price = self.binding.model.price;
        // What nobody reported is no reason to say that it was free.
        let cost_usd = price.filter(|_| usage.context() > 0).map(|price| price.cost_usd(&usage));
        run.spent.add(usage, cost_usd, counted, price);
        self.totals.turns = self.totals.turns.saturating_add(1);
        self.totals.usage += usage;
        self.totals.cost_usd = self.totals.cost_usd.zip(cost_usd).map(|(sum, cost)| sum + cost);
        let context_tokens = match usage.context() {
            0 => self.estimator.tokens(request_bytes),
            _ => usage.total(),
        };
        let changed = self.last_prefix.replace(self.prefix.hash.clone()).is_some_and(|last| last != self.prefix.hash);
        let event = Event::Usage {
            request: usage,
            session: self.totals.usage,
            cost_usd: self.totals.cost_usd,
            context_tokens,
            context_window: self.binding.model.window,
            cache_break: changed.then(|| "prefix".to_owned()),
            duration_ms,
        };
        self.mail.emit(event).await;
    }

    fn response_meta(&self, usage: Option<Usage>, request_bytes: u64) -> Meta {
        Meta {
            model: Some(self.binding.model.id.clone()),
            endpoint: Some(self.binding.endpoint.clone()),
            usage,
            request_bytes: Some(request_bytes),
            prefix: Some(self.prefix.hash.clone()),
            ..Meta::default()
        }
    }

    async fn append_waiting(&mut self, run: &mut Run) -> Result<(), SessionError> {
        if !run.waiting.is_empty() {
            let prompt = Message::user(std::mem::take(&mut run.waiting));
            self.append(Arc::new(prompt), Meta::default()).await?;
        }
        self.append_steers().await
    }

    async fn append_steers(&mut self) -> Result<(), SessionError> {
        while let Some(blocks) = self.mail.next_steer() {
            let steer = Message::user(blocks.clone());
            let text = steer.text();
            if let Err(error) = self.append(Arc::new(steer), Meta::default()).await {
                self.mail.put_back(blocks);
                return Err(error);
            }
            self.mail.emit(Event::Steering { text }).await;
        }
        Ok(())
    }

    /// Keeps the text of a response that did not reach its end.
    async fn append_partial(
        &mut self,
        run: &mut Run,
        partial: Message,
        request_bytes: u64,
    ) -> Result<(), SessionError> {
        if partial.content.is_empty() {
            return Ok(());
        }
        run.text = partial.text();
        let meta = Meta { interrupted: true, ..self.response_meta(None, request_bytes) };
        self.append(Arc::new(partial), meta).await
    }

    /// A prompt that was interrupted before it was sent is still the person's: the next run hears it.
    async fn interrupted_before_sending(&mut self, run: &mut Run) -> Ended {
        match self.append_waiting(run).await {
            Ok(()) => RunOutcome::Interrupted {},
            Err(error) => session_failed(error).into(),
        }
    }

    async fn append_settled(&mut self, settled: Settled) -> Option<Ended> {
        match self.append(Arc::new(settled.message), settled.meta).await {
            Ok(()) => settled.ends,
            Err(error) => {
                // The model will never see these results: what it knows is what the path shows.
                self.workspace.reset_seen(codey_ctx::seen(&self.path));
                if let Ok(lineage) = self.session.lineage() {
                    self.recent = Recent::of(&lineage, &self.tools);
                }
                Some(session_failed(error).into())
            }
        }
    }

    /// Appends a message node, and before it whatever the file needs to make sense of it.
    async fn append(&mut self, message: Arc<Message>, meta: Meta) -> Result<(), SessionError> {
        self.session.append_prefix(&self.prefix.hash, &self.prefix.system, &self.prefix.tools)?;
        let node: Arc<Node> = self.session.append(NodeKind::Message(message), meta)?;
        if let Some(file) = self.session.take_restored() {
            let message = format!("{} was deleted or moved and is written anew", file.display());
            self.mail.warn("session_restored", &message).await;
        }
        self.path.append(&node);
        self.mail.emit(Event::Message { node: node.view() }).await;
        Ok(())
    }

    /// Writes the line that session lists and a resume read.
    pub(crate) async fn append_head(&mut self) {
        let title = self.session.totals().title.clone();
        if let Err(error) = self.session.append_head(&title, self.totals.turns, self.totals.usage) {
            self.mail.warn("session_not_written", &error.to_string()).await;
        }
    }
}

fn session_failed(error: SessionError) -> RunError {
    let hint = error.hint();
    RunError::new(FailCode::Session, error.to_string(), hint)
}

fn output_limit(message: &str) -> RunOutcome {
    RunError::new(
        FailCode::OutputLimit,
        message,
        "Ask for smaller pieces, or choose a model with a larger output limit.",
    )
    .into()
}

fn stop_name(stop: &StopReason) -> String {
    match stop {
        StopReason::EndTurn => "end_turn".to_owned(),
        StopReason::ToolUse => "tool_use".to_owned(),
        StopReason::MaxTokens => "max_tokens".to_owned(),
        StopReason::Refusal { .. } => "refusal".to_owned(),
        StopReason::ContentFilter => "content_filter".to_owned(),
        StopReason::Pause => "pause".to_owned(),
        StopReason::ContextWindow => "context_window".to_owned(),
        StopReason::Other(reason) => reason.clone(),
    }
}
