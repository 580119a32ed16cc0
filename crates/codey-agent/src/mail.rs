//! The loop's two ends of the handle: inputs are read whatever the loop waits for, events are sent in order.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use codey_llm::{Block, CallId, Effort};
use codey_protocol::{Decision, Event, Input, NodeId, PermissionMode};
use tokio::sync::mpsc::error::{SendError, TrySendError};
use tokio::sync::mpsc::{Sender, UnboundedReceiver};
use tokio_util::sync::CancellationToken;

/// Looks at each event before it is sent.
pub(crate) type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

/// Something to do between runs.
pub(crate) enum Errand {
    Prompt(Vec<Block>),
    Compact,
    Rewind(NodeId),
    SetModel {
        model: String,
        endpoint: Option<String>,
        effort: Option<Effort>,
    },
    /// An input that could not be followed.
    Warn {
        code: &'static str,
        message: String,
    },
}

/// What [`Mail::answer`] brought.
pub(crate) enum Answer {
    Decided(Decision),
    /// The run was interrupted while it waited.
    Interrupted,
    /// Nobody is left who could answer.
    Nobody,
}

/// Providers refuse messages that say nothing.
fn is_blank(blocks: &[Block]) -> bool {
    blocks.iter().all(|block| block.as_text().is_some_and(|text| text.trim().is_empty()))
}

/// What ended a wait for the front end.
enum Step {
    Input(Option<Input>),
    /// There is room for an event.
    Room,
    /// The front end is gone.
    Gone,
    /// The run, or all, is to end.
    Stopped,
}

/// The room itself is given back: this is the only sender, so it is still there for the next event.
fn room_or_gone<T>(room: Result<T, SendError<()>>) -> Step {
    if room.is_ok() { Step::Room } else { Step::Gone }
}

/// Both ends of the handle, and what arrived but is not done yet.
pub(crate) struct Mail {
    /// When the person is asked; changes at once, also during a run.
    pub(crate) mode: PermissionMode,
    events: Sender<Event>,
    inputs: UnboundedReceiver<Input>,
    inputs_open: bool,
    observer: Option<Observer>,
    /// Events of a stopping run that its consumer did not take yet. While a run goes on the loop waits instead.
    late: VecDeque<Event>,
    errands: VecDeque<Errand>,
    /// Inputs that could not be followed, as code and message: told before the next event.
    warnings: VecDeque<(&'static str, String)>,
    steers: VecDeque<Vec<Block>>,
    running: bool,
    asked: Option<CallId>,
    decided: Option<Decision>,
    /// Cancelled when Codey is to end or the front end is gone.
    pub(crate) ending: CancellationToken,
    /// Cancelled when the run is to end.
    pub(crate) run: CancellationToken,
}

impl Mail {
    pub(crate) fn new(
        events: Sender<Event>,
        inputs: UnboundedReceiver<Input>,
        ending: CancellationToken,
        observer: Option<Observer>,
        mode: PermissionMode,
    ) -> Self {
        Self {
            mode,
            events,
            inputs,
            inputs_open: true,
            observer,
            late: VecDeque::new(),
            errands: VecDeque::new(),
            warnings: VecDeque::new(),
            steers: VecDeque::new(),
            running: false,
            asked: None,
            decided: None,
            run: ending.child_token(),
            ending,
        }
    }

    /// Waits for something to do; `None` when there will be nothing more.
    pub(crate) async fn next_errand(&mut self) -> Option<Errand> {
        loop {
            if self.ending.is_cancelled() {
                return None;
            }
            if let Some((code, message)) = self.warnings.pop_front() {
                return Some(Errand::Warn { code, message });
            }
            if let Some(errand) = self.errands.pop_front() {
                return Some(errand);
            }
            if !self.inputs_open {
                return None;
            }
            self.deliver_late_or_take_input().await;
        }
    }

    async fn deliver_late_or_take_input(&mut self) {
        let step = tokio::select! {
            biased;
            input = self.inputs.recv() => Step::Input(input),
            () = self.ending.cancelled() => Step::Stopped,
            () = self.events.closed() => Step::Gone,
            room = self.events.reserve(), if !self.late.is_empty() => room_or_gone(room),
        };
        self.follow(step);
    }

    fn follow(&mut self, step: Step) {
        match step {
            Step::Input(input) => self.take(input),
            Step::Room => self.send_without_waiting(),
            Step::Gone => self.ending.cancel(),
            Step::Stopped => {}
        }
    }

    /// Begins a run: from here on an interrupt ends it.
    pub(crate) fn begin_run(&mut self) {
        self.run = self.ending.child_token();
        self.running = true;
    }

    /// Ends a run. What was said too late to join it is a prompt of its own, before those that already wait.
    pub(crate) fn end_run(&mut self) {
        self.running = false;
        for blocks in self.steers.drain(..).rev() {
            self.errands.push_front(Errand::Prompt(blocks));
        }
    }

    /// Whether an approval request could still be answered.
    pub(crate) fn can_be_answered(&self) -> bool {
        self.inputs_open && !self.run.is_cancelled()
    }

    pub(crate) fn has_steers(&self) -> bool {
        !self.steers.is_empty()
    }

    pub(crate) fn next_steer(&mut self) -> Option<Vec<Block>> {
        self.steers.pop_front()
    }

    /// Takes back a steer that could not be stored.
    pub(crate) fn put_back(&mut self, steer: Vec<Block>) {
        self.steers.push_front(steer);
    }

    /// Waits for `future` and reads inputs meanwhile. The future itself must end when the run's token is cancelled.
    pub(crate) async fn drive<F: Future>(&mut self, future: F) -> F::Output {
        tokio::pin!(future);
        loop {
            tokio::select! {
                biased;
                input = self.inputs.recv(), if self.inputs_open => self.take(input),
                () = self.events.closed(), if !self.ending.is_cancelled() => self.ending.cancel(),
                output = &mut future => return output,
            }
        }
    }

    /// Waits for `future` unless the run is to end first; then it is dropped. For steps that change nothing.
    pub(crate) async fn drive_or_stop<F: Future>(&mut self, future: F) -> Option<F::Output> {
        let run = self.run.clone();
        self.drive(async {
            tokio::select! {
                biased;
                () = run.cancelled() => None,
                output = future => Some(output),
            }
        })
        .await
    }

    /// Waits for the answer to an approval request that was just emitted.
    pub(crate) async fn answer(&mut self, call: &CallId) -> Answer {
        self.asked = Some(call.clone());
        let answer = loop {
            if let Some(decision) = self.decided.take() {
                break Answer::Decided(decision);
            }
            if self.run.is_cancelled() {
                break Answer::Interrupted;
            }
            if !self.inputs_open {
                break Answer::Nobody;
            }
            tokio::select! {
                biased;
                input = self.inputs.recv() => self.take(input),
                () = self.events.closed() => self.ending.cancel(),
                () = self.run.cancelled() => {}
            }
        };
        self.asked = None;
        answer
    }

    /// Sends an event. Waits for a slow consumer, but not once the run is to end: then the event is kept and delivered
    /// when there is room.
    pub(crate) async fn emit(&mut self, event: Event) {
        while let Some((code, message)) = self.warnings.pop_front() {
            self.queue(Event::Warning { code: code.to_owned(), message });
        }
        self.queue(event);
        self.send_without_waiting();
        while !self.late.is_empty() && !self.run.is_cancelled() {
            let step = tokio::select! {
                biased;
                input = self.inputs.recv(), if self.inputs_open => Step::Input(input),
                room = self.events.reserve() => room_or_gone(room),
                () = self.run.cancelled() => Step::Stopped,
            };
            self.follow(step);
        }
    }

    fn queue(&mut self, event: Event) {
        if let Some(observer) = &self.observer {
            observer(&event);
        }
        self.late.push_back(event);
    }

    fn send_without_waiting(&mut self) {
        while let Some(event) = self.late.pop_front() {
            match self.events.try_send(event) {
                Ok(()) => {}
                Err(TrySendError::Full(event)) => {
                    self.late.push_front(event);
                    return;
                }
                Err(TrySendError::Closed(_)) => {
                    // The loss is nobody's: the front end is gone.
                    self.late.clear();
                    self.ending.cancel();
                }
            }
        }
    }

    /// Reports a loss.
    pub(crate) async fn warn(&mut self, code: &str, message: &str) {
        self.emit(Event::Warning { code: code.to_owned(), message: message.to_owned() }).await;
    }

    /// Delivers what is left, as long as there is a consumer.
    pub(crate) async fn flush(&mut self) {
        while let Some(event) = self.late.pop_front() {
            if self.events.send(event).await.is_err() {
                return;
            }
        }
    }

    fn take(&mut self, input: Option<Input>) {
        let Some(input) = input else {
            self.inputs_open = false;
            return;
        };
        match input {
            Input::Prompt(blocks) | Input::Steer(blocks) if is_blank(&blocks) => {
                self.warnings.push_back(("empty_message", "an empty message was left out".to_owned()));
            }
            Input::Prompt(blocks) => self.errands.push_back(Errand::Prompt(blocks)),
            Input::Steer(blocks) if self.running => self.steers.push_back(blocks),
            Input::Steer(blocks) => self.errands.push_back(Errand::Prompt(blocks)),
            Input::Resolve { call, decision } => {
                if self.asked.as_ref() == Some(&call) {
                    self.decided = Some(decision);
                } else {
                    let message = format!("an answer came to {call}, which nobody asked about at that time");
                    self.warnings.push_back(("unexpected_answer", message));
                }
            }
            Input::Interrupt if self.running => self.run.cancel(),
            Input::Interrupt => {}
            Input::Compact { .. } => self.errands.push_back(Errand::Compact),
            Input::Rewind { to } => self.errands.push_back(Errand::Rewind(to)),
            Input::SetMode(mode) => self.mode = mode,
            Input::SetModel { model, endpoint, effort } => {
                self.errands.push_back(Errand::SetModel { model, endpoint, effort });
            }
        }
    }
}
