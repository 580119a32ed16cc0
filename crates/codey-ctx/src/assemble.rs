//! From the path to a request that any provider accepts.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;

use codey_llm::{Block, CachePoint, CallId, Message, ModelInfo, Request, Role};
use serde_json::{Map, Value};

use crate::path::{answered, called};
use crate::{PathState, Prefix};

/// What the model reads in place of a result that is not there.
pub const LOST_RESULT: &str = "Error: the result of this call was lost (the program ended before it was stored); \
    nothing is known of its effect. Check before you repeat it.";
/// Stands before a path that begins with the model's words.
const LOST_BEGINNING: &str = "[the beginning of this conversation was lost]";
/// Stands for a result that says nothing.
const NO_OUTPUT: &str = "(no output)";
/// Stands for a picture that the model cannot take.
const NO_IMAGE: &str = "[image left out: it cannot be sent to this model]";
/// Number of the second call with an id.
const FIRST_COPY: u32 = 2;
/// User messages whose ends are cached. With the prefix that makes three marks; Anthropic allows four.
const CACHED_MESSAGES: usize = 2;

/// Makes the next request; [`Assembly`] does the same for one request after another.
///
/// Total: whatever the lineage, roles alternate, the first message is the user's, every call is answered once and
/// right after it, and nothing is blank. While all calls are answered, appending a node only appends to the request,
/// so that providers find what they cached. Messages that need no mending are shared, not copied.
pub fn assemble(prefix: &Prefix, path: &PathState, model: &ModelInfo) -> Request {
    Assembly::default().request(prefix, path, model)
}

/// Makes requests of a path that grows: each takes the time of what was appended since the last.
#[derive(Default)]
pub struct Assembly {
    /// Whether the model takes pictures, and the messages of the path that are in `mended`, the last run left open.
    images: bool,
    taken: Vec<Arc<Message>>,
    mended: Mended,
}

impl Assembly {
    /// The request that [`assemble`] makes. Begins anew when the path is another one (prune, fold, rewind).
    pub fn request(&mut self, prefix: &Prefix, path: &PathState, model: &ModelInfo) -> Request {
        let messages = self.mend(path, model.capabilities.images);
        let newest_users = messages.iter().enumerate().rev().filter(|(_, message)| message.role == Role::User);
        let mut cache_points: Vec<CachePoint> =
            newest_users.take(CACHED_MESSAGES).map(|(index, _)| CachePoint::Message(index)).collect();
        cache_points.push(CachePoint::Prefix);
        cache_points.reverse();
        Request {
            model: model.clone(),
            system: prefix.system.clone(),
            tools: prefix.tools.clone(),
            messages,
            max_tokens: model.max_output,
            effort: None,
            temperature: None,
            cache_points,
        }
    }

    fn mend(&mut self, path: &PathState, images: bool) -> Vec<Arc<Message>> {
        let mut messages = path.messages();
        let is_continued = images == self.images
            && self.taken.iter().all(|taken| messages.next().is_some_and(|message| Arc::ptr_eq(taken, message)));
        if !is_continued {
            *self = Self { images, ..Self::default() };
            messages = path.messages();
        }
        for message in messages {
            self.taken.push(message.clone());
            if let Some(message) = clean(message, images) {
                self.mended.push(message);
            }
        }
        self.mended.clone().end()
    }
}

/// Messages so far, and the run of neighbours of one role that is being collected.
#[derive(Clone, Default)]
struct Mended {
    messages: Vec<Arc<Message>>,
    role: Option<Role>,
    run: Vec<Arc<Message>>,
    /// Calls of the last assistant message, as the path names them and as the request does.
    open: Vec<(CallId, CallId)>,
    /// All call ids in the request, and the number that the next one like it gets. Shared with a clone until a call
    /// is added.
    used: Arc<HashMap<CallId, u32>>,
}

impl Mended {
    fn push(&mut self, message: Arc<Message>) {
        if self.role != Some(message.role) {
            self.end_run();
            self.role = Some(message.role);
        }
        self.run.push(message);
    }

    fn end(mut self) -> Vec<Arc<Message>> {
        self.end_run();
        if !self.open.is_empty() {
            // The path ends with calls that nobody answered.
            self.role = Some(Role::User);
            self.end_run();
        }
        self.messages
    }

    fn end_run(&mut self) {
        let run = mem::take(&mut self.run);
        match self.role {
            None => {}
            Some(Role::User) => self.end_user_run(run),
            Some(Role::Assistant) => self.end_assistant_run(run),
        }
    }

    fn end_assistant_run(&mut self, mut run: Vec<Arc<Message>>) {
        match self.messages.last().map(|message| message.role) {
            None => self.messages.push(Arc::new(Message::user(vec![Block::text(LOST_BEGINNING)]))),
            Some(Role::User) => {}
            // The user's words in between were answers to nothing. The message before them has no calls.
            Some(Role::Assistant) => run.splice(0..0, self.messages.pop()).for_each(drop),
        }
        for call in run.iter().flat_map(|message| &message.content).filter_map(called) {
            let sent = self.unique_id(call);
            self.open.push((call.clone(), sent));
        }
        let renames = self.open.iter().any(|(call, sent)| call != sent);
        let mut message = join(run);
        if renames {
            let message = Arc::make_mut(&mut message);
            let mut sent = self.open.iter().map(|(_, sent)| sent);
            for block in &mut message.content {
                if let Block::ToolUse { id, .. } = block {
                    id.clone_from(sent.next().expect("each call of this message was just opened"));
                }
            }
        }
        self.messages.push(message);
    }

    fn end_user_run(&mut self, run: Vec<Arc<Message>>) {
        let open = mem::take(&mut self.open);
        if let [message] = &run[..]
            && answers_exactly(message, &open)
        {
            self.messages.push(message.clone());
            return;
        }
        let mut results: HashMap<&CallId, VecDeque<(&[Block], bool)>> = HashMap::new();
        let mut rest = Vec::new();
        for block in run.iter().flat_map(|message| &message.content) {
            if let Block::ToolResult { call, content, is_error } = block {
                results.entry(call).or_default().push_back((content, *is_error));
            } else {
                rest.push(block.clone());
            }
        }
        let answers = open.into_iter().map(|(call, sent)| {
            let stored = results.get_mut(&call).and_then(VecDeque::pop_front);
            let (content, is_error) = stored.map_or_else(
                || (vec![Block::text(LOST_RESULT)], true),
                |(content, is_error)| (content.to_vec(), is_error),
            );
            Block::ToolResult { call: sent, content, is_error }
        });
        let content: Vec<Block> = answers.chain(rest).collect();
        if !content.is_empty() {
            self.messages.push(Arc::new(Message::user(content)));
        }
    }

    /// The id itself, or one made of it if it is in the request already: providers refuse an id that occurs twice.
    fn unique_id(&mut self, call: &CallId) -> CallId {
        let used = Arc::make_mut(&mut self.used);
        let mut id = call.clone();
        while used.contains_key(&id) {
            let number = used.entry(call.clone()).or_insert(FIRST_COPY);
            id = CallId::new(format!("{call}_{number}"));
            *number += 1;
        }
        used.insert(id.clone(), FIRST_COPY);
        id
    }
}

/// Whether a message begins with the results of these calls, in their order and under their own names, and holds no
/// others.
fn answers_exactly(message: &Message, open: &[(CallId, CallId)]) -> bool {
    let Some((first, rest)) = message.content.split_at_checked(open.len()) else { return false };
    first.iter().map(answered).eq(open.iter().map(|(call, _)| Some(call)))
        && open.iter().all(|(call, sent)| call == sent)
        && rest.iter().all(|block| answered(block).is_none())
}

fn join(mut run: Vec<Arc<Message>>) -> Arc<Message> {
    if run.len() == 1 {
        return run.remove(0);
    }
    let role = run[0].role;
    Arc::new(Message { role, content: run.iter().flat_map(|message| message.content.iter().cloned()).collect() })
}

/// The message without what its role may not say, blanks, and pictures the model cannot take. `None`: nothing is left.
fn clean(message: &Arc<Message>, images: bool) -> Option<Arc<Message>> {
    let role = message.role;
    let mut message = message.clone();
    let fits = |block| fit(role, block, images);
    if !message.content.iter().all(|block| matches!(fits(block), Some(Cow::Borrowed(_)))) {
        let content = message.content.iter().filter_map(fits).map(Cow::into_owned).collect();
        message = Arc::new(Message { role, content });
    }
    if role == Role::Assistant && message.content.last().and_then(Block::as_text).is_some_and(ends_blank) {
        // Providers refuse it at the end of a request. Done everywhere, so that a message stays as it was sent first.
        if let Some(Block::Text { text }) = Arc::make_mut(&mut message).content.last_mut() {
            text.truncate(text.trim_end().len());
        }
    }
    // Reasoning alone is no message.
    let says_something = message.content.iter().any(|block| !matches!(block, Block::Thinking { .. }));
    says_something.then_some(message)
}

fn ends_blank(text: &str) -> bool {
    text.ends_with(char::is_whitespace)
}

/// The block as this role may send it.
fn fit(role: Role, block: &Block, images: bool) -> Option<Cow<'_, Block>> {
    match (role, block) {
        (_, Block::Text { text }) => (!text.trim().is_empty()).then_some(Cow::Borrowed(block)),
        (Role::User, Block::Image { .. }) if images => Some(Cow::Borrowed(block)),
        (_, Block::Image { .. }) => Some(Cow::Owned(Block::text(NO_IMAGE))),
        (Role::User, Block::ToolResult { call, content, is_error }) => {
            Some(fit_result(block, call, content, *is_error, images))
        }
        (Role::Assistant, Block::ToolUse { input: Value::Object(_), .. }) => Some(Cow::Borrowed(block)),
        (Role::Assistant, Block::ToolUse { id, name, input: _, invalid, opaque }) => {
            let (id, name, invalid, opaque) = (id.clone(), name.clone(), invalid.clone(), opaque.clone());
            Some(Cow::Owned(Block::ToolUse { id, name, input: Value::Object(Map::new()), invalid, opaque }))
        }
        (Role::Assistant, Block::Thinking { text, opaque }) => {
            (opaque.is_some() || !text.trim().is_empty()).then_some(Cow::Borrowed(block))
        }
        (Role::Assistant, Block::Foreign { .. }) => Some(Cow::Borrowed(block)),
        (Role::User, Block::ToolUse { .. } | Block::Thinking { .. } | Block::Foreign { .. })
        | (Role::Assistant, Block::ToolResult { .. }) => None,
    }
}

/// The result with texts and pictures only, and never empty.
fn fit_result<'a>(
    block: &'a Block,
    call: &CallId,
    content: &'a [Block],
    is_error: bool,
    images: bool,
) -> Cow<'a, Block> {
    let fits = |inner: &'a Block| match inner {
        Block::Text { .. } | Block::Image { .. } => fit(Role::User, inner, images),
        Block::Thinking { .. } | Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Foreign { .. } => None,
    };
    if !content.is_empty() && content.iter().all(|inner| matches!(fits(inner), Some(Cow::Borrowed(_)))) {
        return Cow::Borrowed(block);
    }
    let mut content: Vec<Block> = content.iter().filter_map(fits).map(Cow::into_owned).collect();
    if content.is_empty() {
        content.push(Block::text(NO_OUTPUT));
    }
    Cow::Owned(Block::ToolResult { call: call.clone(), content, is_error })
}
