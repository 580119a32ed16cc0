//! Output of running calls on its way to people: capped, and in few events.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use codey_llm::CallId;
use codey_protocol::Event;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Most bytes of one call that are shown as it runs. Source: contract section 5.
const SHOWN_BYTES: usize = 64 * 1024;
/// Time between two events: 20 a second. Source: contract section 5.
const INTERVAL: Duration = Duration::from_millis(50);

/// Collects what the calls of one batch print.
pub(crate) struct LiveOutput {
    calls: Mutex<Vec<CallOutput>>,
    arrived: Notify,
    last: Mutex<Option<Instant>>,
}

struct CallOutput {
    call: CallId,
    pending: String,
    shown: usize,
    left_out: usize,
}

impl LiveOutput {
    pub(crate) fn new(calls: impl Iterator<Item = CallId>) -> Self {
        let calls = calls.map(|call| CallOutput { call, pending: String::new(), shown: 0, left_out: 0 }).collect();
        Self { calls: Mutex::new(calls), arrived: Notify::new(), last: Mutex::new(None) }
    }

    /// Takes output of the call at `index`.
    pub(crate) fn push(&self, index: usize, text: &str) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(output) = calls.get_mut(index) else { return };
        let mut room = text.len().min(SHOWN_BYTES.saturating_sub(output.shown));
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        output.pending.push_str(&text[..room]);
        output.shown += room;
        output.left_out += text.len() - room;
        drop(calls);
        if room > 0 {
            self.arrived.notify_one();
        }
    }

    /// Waits until there is something to show and the last event is long enough ago. Cancelled by drop.
    pub(crate) async fn ready(&self) {
        while !self.has_pending() {
            self.arrived.notified().await;
        }
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last {
            tokio::time::sleep_until(last + INTERVAL).await;
        }
    }

    fn has_pending(&self) -> bool {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|output| !output.pending.is_empty())
    }

    /// What is to be shown now.
    pub(crate) fn take(&self) -> Vec<Event> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = calls.iter_mut().filter(|output| !output.pending.is_empty());
        waiting
            .map(|output| Event::ToolOutput { call: output.call.clone(), text: std::mem::take(&mut output.pending) })
            .collect()
    }

    /// The last events of the call at `index`: the rest, and how much was left out.
    pub(crate) fn finish(&self, index: usize) -> Vec<Event> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(output) = calls.get_mut(index) else { return Vec::new() };
        let mut text = std::mem::take(&mut output.pending);
        if output.left_out > 0 {
            text.push_str(&format!("\n[{} bytes not shown]\n", std::mem::take(&mut output.left_out)));
        }
        if text.is_empty() { Vec::new() } else { vec![Event::ToolOutput { call: output.call.clone(), text }] }
    }
}
