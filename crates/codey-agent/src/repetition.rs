//! Which calls were made before, and what follows from one that is made again.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use codey_llm::{Block, CallId};
use codey_protocol::ToolKind;
use codey_session::Node;
use codey_tools::{PastCall, REPETITIONS_ALLOWED, ToolSet, repetitions};

use crate::approval;
use crate::dispatch::{Call, calls_of, kind_in};
use crate::execute::Outcome;

/// Ends the text of the last identical result that is given.
const WARNING: &str = "\n[This exact call gave this exact result for the third time, with no change in \
     between. A further one will be denied: use the result, or do something different.]";

/// The text of the call that ends a run.
pub(crate) const ENDS_RUN: &str = "the run ends: the same call was made again after it was denied as a repetition";
/// Begins the text of a call that was never started; it is no call that was made.
pub(crate) const NOT_RUN: &str = "not run: ";

/// The calls of a lineage that no other call's change came after, together with those that are the same: a message may
/// hold thousands of calls, so none is compared with all others.
#[derive(Default)]
pub(crate) struct Recent {
    /// By tool and canonical arguments; oldest first.
    same: HashMap<(String, String), Vec<PastCall>>,
}

impl Recent {
    /// The calls of a lineage, noted as [`Recent::note`] did when they were settled, as far as the stored texts tell.
    pub(crate) fn of(lineage: &[Arc<Node>], tools: &ToolSet) -> Self {
        let mut open: HashMap<CallId, Call> = HashMap::new();
        let mut recent = Self::default();
        for message in lineage.iter().filter_map(|node| node.message()) {
            for block in &message.content {
                let Block::ToolResult { call, content, is_error } = block else { continue };
                let Some(call) = open.remove(call) else { continue };
                let texts = content.iter().filter_map(Block::as_text).filter(|text| *text != WARNING);
                let text: String = texts.collect();
                let begins = |reason: &str| text.strip_prefix("Error: ").is_some_and(|text| text.starts_with(reason));
                if begins(NOT_RUN) {
                    continue;
                }
                let ran = !is_error || ["timed out", "cancelled by"].into_iter().any(begins);
                let changed = match kind_in(tools, &call.name) {
                    ToolKind::Read | ToolKind::Search | ToolKind::Think => false,
                    ToolKind::Edit => !is_error,
                    ToolKind::Execute | ToolKind::Fetch | ToolKind::Other => ran,
                };
                recent.push(&call, hash_of(&text), changed, begins("denied by ") || begins(ENDS_RUN));
            }
            open = calls_of(message).into_iter().map(|call| (call.id.clone(), call)).collect();
        }
        recent
    }

    /// The earlier calls that `call` repeats, if their results were the same.
    pub(crate) fn same_as(&self, call: &Call) -> &[PastCall] {
        self.same.get(&key(call)).map_or(&[], Vec::as_slice)
    }

    /// Whether `call` is made once more after it was denied as a repetition: then the run ends.
    pub(crate) fn ends_run(&self, call: &Call) -> bool {
        let same = self.same_as(call);
        repetitions(same, &call.name, &call.input) > REPETITIONS_ALLOWED && same.last().is_some_and(|past| past.denied)
    }

    /// Notes a settled call, and warns the model when this was the last identical one that runs.
    pub(crate) fn note(&mut self, call: &Call, outcome: &mut Outcome) {
        let result = hash_of(&outcome.text());
        let same = self.same_as(call);
        let is_last = repetitions(same, &call.name, &call.input) + 1 == REPETITIONS_ALLOWED;
        if !outcome.denied && is_last && same.last().is_some_and(|past| past.result == result) {
            outcome.content.push(Block::text(WARNING));
        }
        self.push(call, result, outcome.changed, outcome.denied);
    }

    fn push(&mut self, call: &Call, result: u64, changed: bool, denied: bool) {
        let key = key(call);
        if changed {
            // Whatever came before another call's change counts no more, so it need not be kept.
            self.same.retain(|other, _| *other == key);
        }
        let past = PastCall { name: call.name.clone(), input: call.input.clone(), result, changed, denied };
        self.same.entry(key).or_default().push(past);
    }
}

fn key(call: &Call) -> (String, String) {
    match &call.invalid {
        Some(raw) => (call.name.clone(), raw.clone()),
        None => approval::key(&call.name, &call.input),
    }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
