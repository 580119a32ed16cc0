//! Names for tool calls.

use std::collections::HashSet;
use std::sync::Arc;

use codey_llm::{Block, CallId, Request};

use crate::random::Random;
use crate::wire_name::LONGEST_NAME;

/// Ids that one response may ask for before the history is put into a set. Most have a few calls, and looking through
/// the history costs less than the set does.
const LOOKUPS: usize = 8;

/// Hands out call ids and sees to it that each is unique in the conversation.
///
/// Some servers leave ids out, and some number the calls of every response from the start; results pair by id, so
/// neither may reach the history.
#[derive(Clone, Debug)]
pub(crate) struct CallIds {
    request: Arc<Request>,
    /// Those of the request, once there have been many questions.
    past: Option<HashSet<CallId>>,
    claimed: HashSet<CallId>,
    random: Random,
}

impl CallIds {
    /// Ids that differ from those of the calls in `request`.
    pub(crate) fn new(request: &Arc<Request>, random: Random) -> Self {
        Self { request: request.clone(), past: None, claimed: HashSet::new(), random }
    }

    /// The id a server gave, or a made-up one when there is none, it is taken or far too long.
    pub(crate) fn claim(&mut self, given: Option<&str>) -> CallId {
        let given = given.filter(|given| (1..=LONGEST_NAME).contains(&given.len()));
        let mut id = given.map_or_else(|| self.invent(), CallId::from);
        while self.is_past(&id) || !self.claimed.insert(id.clone()) {
            id = self.invent();
        }
        id
    }

    fn is_past(&mut self, id: &CallId) -> bool {
        if self.claimed.len() < LOOKUPS {
            return past(&self.request).any(|past| past == id);
        }
        self.past.get_or_insert_with(|| past(&self.request).cloned().collect()).contains(id)
    }

    fn invent(&mut self) -> CallId {
        CallId::new(format!("call_{:016x}", self.random.next()))
    }
}

fn past(request: &Request) -> impl Iterator<Item = &CallId> {
    request.messages.iter().flat_map(|message| &message.content).filter_map(|block| match block {
        Block::ToolUse { id, .. } => Some(id),
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::ToolResult { .. }
        | Block::Image { .. }
        | Block::Foreign { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use codey_llm::Message;

    use super::*;
    use crate::models::model_info;

    #[test]
    fn an_id_is_never_used_twice_in_a_conversation() {
        let old = codey_llm::tool_use("call_0", "read", serde_json::json!({}));
        let request = Arc::new(Request {
            model: model_info("m"),
            system: Arc::from([]),
            tools: Arc::from([]),
            messages: vec![Arc::new(Message::assistant(vec![old]))],
            max_tokens: 1,
            effort: None,
            temperature: None,
            cache_points: Vec::new(),
        });
        let mut ids = CallIds::new(&request, Random::seeded(1));
        assert_eq!(ids.claim(Some("call_1")).as_str(), "call_1");
        let made: Vec<CallId> = [Some("call_0"), Some("call_1"), Some(""), None].map(|given| ids.claim(given)).into();
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), 4);
        assert!(made.iter().all(|id| id.as_str().len() == "call_".len() + 16), "{made:?}");
        assert_eq!(ids.claim(Some(&"x".repeat(LONGEST_NAME + 1))).as_str().len(), "call_".len() + 16);
        // Enough of them that the past is asked in another way.
        let more: HashSet<CallId> = (0..2 * LOOKUPS).map(|_| ids.claim(Some("call_0"))).collect();
        assert!(more.len() == 2 * LOOKUPS && !more.contains(&CallId::from("call_0")), "{more:?}");
    }
}
