//! The table of turn endings, architecture section 3.

use codey_llm::{Block, ProviderError, ProviderErrorKind, ScriptedTurn, Step, StopReason, StreamEvent, tool_use, turn};
use codey_protocol::{FailCode, Limit, RunOutcome};
use serde_json::json;

use crate::world::{World, assert_sound, assert_valid};

fn read(id: &str) -> Block {
    tool_use(id, "read", json!({"path": "a.txt"}))
}

fn text(text: &str) -> Block {
    Block::text(text)
}

fn done() -> ScriptedTurn {
    turn(vec![text("done")], StopReason::EndTurn)
}

fn refusal() -> StopReason {
    StopReason::Refusal { category: Some("cyber".into()) }
}

/// What a run comes to, in one word and the number of requests.
async fn ending(turns: Vec<ScriptedTurn>) -> (String, usize) {
    let world = World::new(turns).file("a.txt", "hello\n");
    let story = world.run("go").await;
    let word = match story.outcome() {
        RunOutcome::Completed {} => "completed".to_owned(),
        RunOutcome::Interrupted {} => "interrupted".to_owned(),
        RunOutcome::LimitReached { limit: Limit::ContextFull } => "context_full".to_owned(),
        RunOutcome::LimitReached { limit } => format!("limit {limit:?}"),
        RunOutcome::NeedsApproval { .. } => "needs_approval".to_owned(),
        RunOutcome::Failed { code: FailCode::Refusal, message, .. } => {
            assert!(message.contains("cyber") || message.contains("content filter"), "{message}");
            "refusal".to_owned()
        }
        RunOutcome::Failed { code, .. } => format!("{code:?}"),
    };
    for request in world.requests() {
        let messages: Vec<_> = request.messages.iter().map(|message| (**message).clone()).collect();
        assert_sound(&messages);
    }
    (word, world.requests().len())
}

#[tokio::test]
async fn the_message_decides_first_and_the_stop_reason_second() {
    use StopReason::{ContentFilter, ContextWindow, EndTurn, MaxTokens, Other, Pause, ToolUse};
    let other = || Other("new".into());
    let thinking = || Block::Thinking { text: "hm".into(), opaque: None };
    let cut = || vec![read("c1")];
    let overflow = || {
        let error = ProviderError::new(ProviderErrorKind::ContextOverflow, "prompt is too long");
        ScriptedTurn(vec![Step::Fail(error)])
    };
    let endless = || {
        let text = "word ".repeat(100_000);
        let mut steps = vec![Step::Event(StreamEvent::BlockStart { index: 0, block: Block::text("") })];
        steps.extend((0..20).map(|_| Step::Event(StreamEvent::BlockDelta { index: 0, text: text.clone() })));
        steps.push(Step::Hang);
        ScriptedTurn(steps)
    };
    let table: Vec<(&str, Vec<ScriptedTurn>, &str, usize)> = vec![
        ("calls, tool_use", vec![turn(vec![read("c1")], ToolUse), done()], "completed", 2),
        ("calls, end_turn", vec![turn(vec![read("c1")], EndTurn), done()], "completed", 2),
        ("calls, refusal", vec![turn(vec![read("c1")], refusal()), done()], "completed", 2),
        ("calls, pause", vec![turn(vec![read("c1")], Pause), done()], "completed", 2),
        ("a whole call and a cut one", vec![turn(vec![read("c1"), read("c2")], MaxTokens), done()], "completed", 2),
        ("more than any model says", vec![endless(), done()], "ServerError", 1),
        ("only a cut call", vec![turn(cut(), MaxTokens), done()], "completed", 2),
        ("cut twice, then fine", vec![turn(cut(), MaxTokens), turn(cut(), MaxTokens), done()], "completed", 3),
        (
            "cut three times",
            vec![turn(cut(), MaxTokens), turn(cut(), MaxTokens), turn(cut(), MaxTokens)],
            "OutputLimit",
            3,
        ),
        ("text, end_turn", vec![done()], "completed", 1),
        ("text, other", vec![turn(vec![text("a")], other())], "completed", 1),
        ("text, tool_use", vec![turn(vec![text("a")], ToolUse)], "completed", 1),
        ("text, max_tokens", vec![turn(vec![text("a")], MaxTokens)], "OutputLimit", 1),
        ("nothing, twice", vec![turn(vec![], EndTurn), turn(vec![text(" \n")], EndTurn)], "ServerError", 2),
        ("nothing, then text", vec![turn(vec![], EndTurn), done()], "completed", 2),
        ("thinking, then text", vec![turn(vec![thinking()], EndTurn), done()], "completed", 2),
        ("refusal", vec![turn(vec![], refusal())], "refusal", 1),
        ("text, refusal", vec![turn(vec![text("a")], refusal())], "refusal", 1),
        ("content filter", vec![turn(vec![text("a")], ContentFilter)], "refusal", 1),
        ("pause, then text", vec![turn(vec![text("a")], Pause), done()], "completed", 2),
        ("eight pauses", [vec![turn(vec![text("a")], Pause); 8], vec![done()]].concat(), "completed", 9),
        ("nine pauses", vec![turn(vec![text("a")], Pause); 9], "ServerError", 9),
        ("text, context_window", vec![turn(vec![text("a")], ContextWindow)], "context_full", 1),
        ("overflow", vec![overflow()], "context_full", 1),
    ];
    for (name, turns, outcome, requests) in table {
        assert_eq!(ending(turns).await, (outcome.to_owned(), requests), "{name}");
    }
}

#[tokio::test]
async fn a_stream_without_its_end_mark_fails_and_its_text_is_kept() {
    let begun = vec![
        Step::Event(StreamEvent::BlockStart { index: 0, block: text("") }),
        Step::Event(StreamEvent::BlockDelta { index: 0, text: "half an answer ".into() }),
    ];
    let world = World::new(vec![ScriptedTurn(begun), done()]);
    let story = world.run("go").await;
    assert!(matches!(story.outcome(), RunOutcome::Failed { code: FailCode::Network, .. }), "{:?}", story.outcome());
    crate::world::run(world.resumed().spawn().unwrap(), "again").await;
    let texts: Vec<String> = world.last_request().iter().map(codey_llm::Message::text).collect();
    assert_eq!(texts, ["go", "half an answer", "again"]);
}

#[tokio::test]
async fn prov_03_an_error_in_the_stream_ends_the_run_at_once() {
    let steps = vec![
        Step::Event(StreamEvent::BlockStart { index: 0, block: text("a") }),
        Step::Fail(ProviderError::new(ProviderErrorKind::Overloaded, "the provider is overloaded")),
        Step::Hang,
    ];
    let story = World::new(vec![ScriptedTurn(steps)]).run("go").await;
    assert!(matches!(story.outcome(), RunOutcome::Failed { code: FailCode::Overloaded, .. }));
}

#[tokio::test]
async fn prov_09_a_call_cut_at_the_output_limit_is_never_run() {
    let write = tool_use("c1", "write", json!({"path": "out.txt", "content": "half"}));
    let world = World::new(vec![turn(vec![write], StopReason::MaxTokens), done()]);
    let story = world.run("go").await;
    assert!(!world.root().join("out.txt").exists());
    let (_, _, result) = story.results().remove(0);
    assert_eq!(result, "Error: cut at the output limit, nothing was run; write in smaller pieces");
    assert_valid(&world.last_request());
}
