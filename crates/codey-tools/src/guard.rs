//! Rules that forbid. Nothing here can permit.

use async_trait::async_trait;
use codey_protocol::{RelPath, ToolKind};
use serde_json::Value;
use tokio::time::Instant;

/// A rule that may deny a call or has no opinion; so the order of guards changes the message, never the outcome.
#[async_trait]
pub trait Guard: Send + Sync {
    /// Names the guard in the refusal.
    fn name(&self) -> &'static str;

    /// `None`: no opinion. A guard that cannot tell refuses.
    async fn check(&self, call: &GuardedCall<'_>) -> Option<Refusal>;
}

/// What a guard may look at.
#[derive(Clone, Copy, Debug)]
pub struct GuardedCall<'a> {
    /// Which tool.
    pub name: &'a str,
    /// The arguments.
    pub input: &'a Value,
    /// What the tool is for.
    pub kind: ToolKind,
    /// Where relative paths start.
    pub cwd: &'a RelPath,
    /// When the call's time is over, if it has a bound.
    pub deadline: Option<Instant>,
    /// The earlier calls of the same tool with the same arguments that no other call's change came after, oldest first.
    pub recent: &'a [PastCall],
}

/// Why a call was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// For the model: why, and what to do instead.
    pub reason: String,
}

/// A call that was settled.
#[derive(Clone, Debug, PartialEq)]
pub struct PastCall {
    /// Which tool.
    pub name: String,
    /// The arguments.
    pub input: Value,
    /// Hash of the result text.
    pub result: u64,
    /// Whether it changed something as far as can be told: a successful edit or write, or any command that ran.
    pub changed: bool,
    /// Whether a guard denied it.
    pub denied: bool,
}

/// Counts the calls in a row before this one that were the same: same tool, same arguments, same result, and nothing
/// changed in between by another call. Calls that a guard denied count without a look at their result.
pub fn repetitions(recent: &[PastCall], name: &str, input: &Value) -> u32 {
    let mut count = 0;
    let mut result = None;
    for past in recent.iter().rev() {
        let same = past.name == name && past.input == *input;
        match same {
            true if past.denied => count += 1,
            true if result.is_none_or(|known| known == past.result) => {
                result = Some(past.result);
                count += 1;
            }
            true => break,
            false if past.changed => break,
            false => {}
        }
    }
    count
}

/// Identical calls that run; the next one is denied. Source: contract section 4.
pub const REPETITIONS_ALLOWED: u32 = 3;

/// Denies the fourth identical call in a row. The third result carries a warning and the fifth call ends the run; both
/// are the loop's business.
#[derive(Debug, Default)]
pub struct RepetitionGuard;

#[async_trait]
impl Guard for RepetitionGuard {
    fn name(&self) -> &'static str {
        "repetition"
    }

    async fn check(&self, call: &GuardedCall<'_>) -> Option<Refusal> {
        let count = repetitions(call.recent, call.name, call.input);
        (count >= REPETITIONS_ALLOWED).then(|| Refusal {
            reason: format!(
                "this exact {} call already ran {REPETITIONS_ALLOWED} times with the same result and nothing changed since. \
                 Use that result, or do something different; once more and the run ends.",
                call.name
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn past(name: &str, input: Value, result: u64, changed: bool) -> PastCall {
        PastCall { name: name.into(), input, result, changed, denied: false }
    }

    fn check_count(recent: &[PastCall], expected: u32) {
        assert_eq!(repetitions(recent, "read", &json!({"path": "a", "limit": 1})), expected);
    }

    #[test]
    fn key_order_does_not_matter_and_looks_in_between_do_not_reset() {
        let read = |result| past("read", json!({"limit": 1, "path": "a"}), result, false);
        check_count(&[read(1), past("read", json!({"path": "b"}), 9, false), read(1)], 2);
        check_count(&[read(1), read(2)], 1);
        check_count(&[read(1), past("bash", json!({"command": "make"}), 9, true), read(1)], 1);
        check_count(&[read(1), read(1), read(1), PastCall { denied: true, ..read(7) }], 4);
    }
}
