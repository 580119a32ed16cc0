//! Events as they are, at least one of each type; a session of nobody.

use std::collections::BTreeMap;
use std::sync::Arc;

use codey_llm::{Block, Message, Opaque, Usage, tool_use};
use codey_protocol::{
    Approval, CompactionKind, Decision, Diff, ErrorCode, Event, FailCode, Limit, Meta, NodeId, NodeView, NodeViewKind,
    Observed, PermissionMode, RelPath, RunOutcome, SandboxStatus, TodoItem, TodoStatus, ToolDisplay, ToolKind,
};
use serde_json::{Value, json};

/// All samples, in an order in which they could come.
pub(super) fn events() -> Vec<Event> {
    let mut events = vec![session_start()];
    events.extend(messages());
    events.extend([
        Event::RunStart {},
        Event::TurnStart { turn: 1 },
        Event::Retry { attempt: 1, of: 10, wait_ms: 2_000, reason: "anthropic: too many requests (429)".into() },
        Event::ThinkingDelta { text: "The test expects".into() },
        Event::TextDelta { text: "I look at ".into() },
        usage(),
    ]);
    events.extend(calls());
    events.extend([
        Event::Steering { text: "leave the public API alone".into() },
        Event::Compaction {
            kind: CompactionKind::Fold,
            before_tokens: 151_300,
            after_tokens: 64_800,
            node: node(7),
            replaced: 42,
        },
        Event::Warning { code: "file_cut".into(), message: "AGENTS.md is over the budget and was cut".into() },
    ]);
    events.extend(ends());
    events
}

fn session_start() -> Event {
    Event::SessionStart {
        v: 1,
        session: Some("01JGFJJZ00000000000000000A".into()),
        root: "/home/me/project".into(),
        cwd: "/home/me/project/core".into(),
        model: "claude-haiku-4-5".into(),
        endpoint: "anthropic".into(),
        tools: ["read", "glob", "grep", "edit", "write", "bash"].map(str::to_owned).into(),
        permission_mode: PermissionMode::Auto,
        sandbox: SandboxStatus::off(),
        version: "0.1.0".into(),
        resumed: true,
    }
}

/// Ids as sessions give them.
fn node(number: u8) -> NodeId {
    from_json(json!(format!("01JGFJJZ0000000000000000{number:02}")))
}

fn from_json<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the sample is written right")
}

fn view(number: u8, message: Message, meta: Meta) -> NodeView {
    NodeView {
        id: node(number),
        parent: (number > 0).then(|| node(number - 1)),
        kind: NodeViewKind::Message,
        message: Some(Arc::new(message)),
        meta,
    }
}

/// The resumed path with every kind of node, and nodes with every kind of block and member.
fn messages() -> Vec<Event> {
    let opaque = || Opaque {
        provider: "anthropic".into(),
        model: "claude-haiku-4-5".into(),
        raw: r#"{"type":"redacted_thinking","data":"c2VjcmV0"}"#.into(),
    };
    let prompt = Message::user(vec![Block::text("make the failing test pass")]);
    let image = Block::Image { media_type: "image/png".into(), data: Arc::from([0x89, b'P', b'N', b'G'].as_slice()) };
    let prune = NodeView {
        id: node(1),
        parent: Some(node(0)),
        kind: NodeViewKind::Prune,
        message: None,
        meta: Meta::default(),
    };
    let summary = NodeView {
        kind: NodeViewKind::Summary,
        ..view(2, Message::user(vec![Block::text("Summary of what came before")]), Meta::default())
    };
    let answer = Message::assistant(vec![
        Block::Thinking { text: "The test expects minutes.".into(), opaque: Some(opaque()) },
        Block::Foreign { opaque: opaque() },
        Block::text("I look at the code."),
        tool_use("toolu_1", "read", json!({"path": "duration.sh"})),
    ]);
    let answer_meta = Meta {
        model: Some("claude-haiku-4-5".into()),
        endpoint: Some("anthropic".into()),
        usage: Some(Usage { input: 212, output: 95, cache_read: 3_900, cache_write: 0, reasoning: 40 }),
        request_bytes: Some(14_200),
        created_at: Some(from_json(json!("2025-01-01T12:00:00.250Z"))),
        prefix: Some("0".repeat(64)),
        ..Meta::default()
    };
    let path: RelPath = RelPath::new("core/duration.sh");
    let results = Message::user(vec![Block::ToolResult {
        call: "toolu_1".into(),
        content: vec![Block::text("     1\techo $1"), image],
        is_error: false,
    }]);
    let results_meta = Meta {
        displays: BTreeMap::from([("toolu_1".into(), ToolDisplay::text("1 line"))]),
        observed: vec![Observed { path, digest: from_json(json!("a".repeat(64))) }],
        todo: Some(todo()),
        interrupted: true,
        ..Meta::default()
    };
    vec![
        Event::PathReset { path: vec![view(0, prompt, Meta::default()), prune, summary] },
        Event::Message { node: view(3, answer, answer_meta) },
        Event::Message { node: view(4, results, results_meta) },
    ]
}

fn todo() -> Vec<TodoItem> {
    let item = |content: &str, status| TodoItem { content: content.into(), status };
    vec![
        item("read the test", TodoStatus::Completed),
        item("fix it", TodoStatus::InProgress),
        item("run it", TodoStatus::Pending),
    ]
}

fn usage() -> Event {
    Event::Usage {
        request: Usage { input: 212, output: 95, cache_read: 3_900, cache_write: 0, reasoning: 40 },
        session: Usage { input: 2_300, output: 1_870, cache_read: 38_900, cache_write: 4_100, reasoning: 310 },
        cost_usd: Some(0.06),
        context_tokens: 4_207,
        context_window: Some(200_000),
        cache_break: Some("tools".into()),
        duration_ms: 1_840,
    }
}

/// A call that asks, runs and ends, one that fails, and an end with each display.
fn calls() -> Vec<Event> {
    let start = Event::ToolStart {
        call: "toolu_2".into(),
        name: "bash".into(),
        kind: ToolKind::Execute,
        summary: "bash sh tests/run.sh".into(),
        input: json!({"command": "sh tests/run.sh"}),
    };
    let approval = Approval {
        tool: "bash".into(),
        summary: "bash sh tests/run.sh".into(),
        preview: ToolDisplay::text("sh tests/run.sh"),
        rememberable: true,
    };
    let reply = |decision| Event::ApprovalReply { call: "toolu_2".into(), decision };
    let end = |call: &str, name: &str, code, text: &str, display| Event::ToolEnd {
        call: call.into(),
        name: name.into(),
        code,
        text: text.into(),
        duration_ms: 31,
        display,
    };
    let command = ToolDisplay::Command {
        output: "3 passed\n".into(),
        exit: Some(0),
        signal: None,
        truncated: true,
        spill: Some(RelPath::new(".codey/output/01JGFJJZ00.txt")),
    };
    let diff = ToolDisplay::Diff(Diff {
        path: RelPath::new("core/duration.sh"),
        old: Some("echo $1\n".into()),
        new: "echo $(($1 / 60))\n".into(),
        unified: "@@ -1 +1 @@\n-echo $1\n+echo $(($1 / 60))\n".into(),
        added: 1,
        removed: 1,
    });
    let missing = "Error: old_str does not occur in duration.sh; nothing was changed.";
    vec![
        start,
        Event::ApprovalRequest { call: "toolu_2".into(), approval },
        reply(Decision::Once {}),
        reply(Decision::AlwaysCommand {}),
        reply(Decision::AlwaysTool {}),
        reply(Decision::Reject { reason: Some("use the fast tests".into()) }),
        Event::ToolOutput { call: "toolu_2".into(), text: "3 passed\n".into() },
        end("toolu_2", "bash", None, "3 passed\n", command),
        end("toolu_3", "edit", None, "duration.sh was changed", diff),
        end("toolu_4", "edit", Some(ErrorCode::NoMatch), missing, ToolDisplay::text(missing)),
        end("toolu_5", "grep", None, "duration.sh\n1:echo $1", ToolDisplay::Matches { count: 1, suppressed: 0 }),
        end("toolu_6", "todo", None, "3 items", ToolDisplay::Todo { items: todo() }),
    ]
}

/// Each way a run ends.
fn ends() -> Vec<Event> {
    let end = |outcome, text: &str| Event::RunEnd {
        outcome,
        turns: 7,
        usage: Usage { input: 2_300, output: 1_870, cache_read: 38_900, cache_write: 4_100, reasoning: 310 },
        cost_usd: None,
        text: text.into(),
    };
    let failed = RunOutcome::Failed {
        code: FailCode::Auth,
        message: "anthropic refused the key (401)".into(),
        hint: "Check ANTHROPIC_API_KEY.".into(),
    };
    vec![
        end(RunOutcome::Completed {}, "The test passes: the script now divides by 60."),
        end(RunOutcome::Interrupted {}, "I look at "),
        end(RunOutcome::LimitReached { limit: Limit::Turns }, ""),
        end(RunOutcome::NeedsApproval { call: "toolu_2".into() }, ""),
        end(failed, ""),
    ]
}
