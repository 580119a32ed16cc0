//! Which calls were made before, and what follows from one that is made again.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use codey_llm::Block;
use codey_protocol::ToolKind;
use codey_session::Node;
use codey_tools::{PastCall, REPETITIONS_ALLOWED, ToolSet, repetitions};

use crate::dispatch::{Call, calls_of, kind_in};
use crate::execute::Outcome;

/// Ends the text of the last identical result that is given.
const WARNING: &str = "\n[This exact call gave this exact result for the third time, with no change in \
     between. A further one will be denied: use the result, or do something different.]";

/// Begins the text of a call that was never started; it is no call that was made.
pub(crate) const NOT_RUN: &str = "not run: ";

/// Whether `call` is made once more after it was denied as a repetition: then the run ends.
pub(crate) fn ends_run(recent: &[PastCall], call: &Call) -> bool {
    repetitions(recent, &call.name, &call.input) > REPETITIONS_ALLOWED
        && newest(recent, call).is_some_and(|past| past.denied)
}

/// Notes a settled call, and warns the model when this was the last identical one that runs.
pub(crate) fn note(recent: &mut Vec<PastCall>, call: &Call, outcome: &mut Outcome) {
    let result = hash_of(&outcome.text());
    let before = repetitions(recent, &call.name, &call.input);
    let same = newest(recent, call).is_some_and(|past| past.result == result);
    if !outcome.denied && same && before + 1 == REPETITIONS_ALLOWED {
        outcome.content.push(Block::text(WARNING));
    }
    push(recent, call, result, outcome.changed, outcome.denied);
}

fn push(recent: &mut Vec<PastCall>, call: &Call, result: u64, changed: bool, denied: bool) {
    let past = PastCall { name: call.name.clone(), input: call.input.clone(), result, changed, denied };
    if changed {
        // Whatever came before another call's change counts no more, so it need not be kept.
        recent.retain(|older| older.name == past.name && older.input == past.input);
    }
    recent.push(past);
}

fn newest<'a>(recent: &'a [PastCall], call: &Call) -> Option<&'a PastCall> {
    recent.iter().rev().find(|past| past.name == call.name && past.input == call.input)
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The calls of a lineage, noted as [`note`] did when they were settled, as far as the stored texts tell.
pub(crate) fn past_calls(lineage: &[Arc<Node>], tools: &ToolSet) -> Vec<PastCall> {
    let mut open: Vec<Call> = Vec::new();
    let mut recent = Vec::new();
    for message in lineage.iter().filter_map(|node| node.message()) {
        for block in &message.content {
            let Block::ToolResult { call, content, is_error } = block else { continue };
            let Some(place) = open.iter().position(|one| one.id == *call) else { continue };
            let call = open.swap_remove(place);
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
            push(&mut recent, &call, hash_of(&text), changed, begins("denied by "));
        }
        open = calls_of(message);
    }
    recent
}
