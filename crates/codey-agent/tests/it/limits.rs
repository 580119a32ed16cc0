//! The bounds of a run.

use std::num::{NonZeroU32, NonZeroU64};

use codey_llm::{Block, Price, ScriptedTurn, Step, StopReason, StreamEvent, Usage, tool_use, turn};
use codey_protocol::{Event, Limit, Limits, RunOutcome};
use serde_json::json;

use crate::world::{Story, World, run};

/// Calls without end, each different.
fn calls() -> Vec<ScriptedTurn> {
    (0..9)
        .map(|n| {
            turn(vec![tool_use(&format!("c{n}"), "bash", json!({"command": format!("echo {n}")}))], StopReason::ToolUse)
        })
        .collect()
}

async fn check(turns: Vec<ScriptedTurn>, limits: Limits, outcome: RunOutcome, requests: usize, results: usize) {
    let mut world = World::new(turns);
    // A scripted response takes 100 tokens in and 20 out: 0.02 dollars.
    world.model.price = Some(Price { input: 100.0, output: 500.0, cache_read: 0.0, cache_write: 0.0 });
    let story = run(world.builder().limits(limits).spawn().unwrap(), "go").await;
    assert_eq!((story.outcome(), world.requests().len(), story.results().len()), (outcome, requests, results));
}

fn reached(limit: Limit) -> RunOutcome {
    RunOutcome::LimitReached { limit }
}

#[tokio::test]
async fn the_last_allowed_response_still_runs_its_calls() {
    let limits = Limits { turns: NonZeroU32::new(2), ..Limits::default() };
    check(calls(), limits, reached(Limit::Turns), 2, 2).await;
    let done = vec![calls().remove(0), turn(vec![Block::text("done")], StopReason::EndTurn)];
    check(done, limits, RunOutcome::Completed {}, 2, 1).await;
}

#[tokio::test]
async fn tokens_are_counted_over_the_run() {
    let limits = Limits { tokens_total: NonZeroU64::new(300), ..Limits::default() };
    check(calls(), limits, reached(Limit::Tokens), 3, 3).await;
}

#[tokio::test]
async fn cost_is_counted_when_usage_arrives_even_if_the_response_is_of_no_use() {
    let limits = Limits { cost_usd: Some(0.05), ..Limits::default() };
    check(calls(), limits, reached(Limit::Cost), 3, 3).await;
    let invalid = |n: usize| {
        let call = Block::ToolUse {
            id: format!("c{n}").as_str().into(),
            name: "bash".into(),
            input: json!({}),
            invalid: Some(format!("{{{n}")),
            opaque: None,
        };
        turn(vec![call], StopReason::ToolUse)
    };
    check((0..9).map(invalid).collect(), limits, reached(Limit::Cost), 3, 3).await;
}

/// Responses of a server that reports no usage.
fn unreported() -> Vec<ScriptedTurn> {
    let mut turns = calls();
    for step in turns.iter_mut().flat_map(|turn| &mut turn.0) {
        if let Step::Event(StreamEvent::Done { usage, .. }) = step {
            *usage = Usage::default();
        }
    }
    turns
}

#[tokio::test]
async fn a_limit_holds_by_estimates_where_a_server_reports_nothing_and_a_warning_says_so() {
    let limits = Limits { tokens_total: NonZeroU64::new(3_000), ..Limits::default() };
    let world = World::new(unreported());
    let story = run(world.builder().limits(limits).spawn().unwrap(), "go").await;
    assert_eq!(story.outcome(), reached(Limit::Tokens));
    assert_eq!(story.warnings(), ["usage_estimated"]);
    // A prefix of about 1,200 tokens, estimated high.
    assert!((2..=4).contains(&world.requests().len()), "{}", world.requests().len());
    let Some(Event::RunEnd { usage, .. }) = story.0.last() else { panic!("a run end is last") };
    assert_eq!(*usage, Usage::default(), "an estimate is not reported as usage");
    let limits = Limits { turns: NonZeroU32::new(2), ..Limits::default() };
    let story = run(World::new(unreported()).builder().limits(limits).spawn().unwrap(), "go").await;
    assert!(story.warnings().is_empty(), "no limit goes by tokens");
}

#[tokio::test]
async fn what_was_not_reported_is_not_said_to_cost_nothing() {
    let mut world = World::new([&unreported()[..1], &calls()[1..]].concat());
    world.model.price = Some(Price { input: 100.0, output: 500.0, cache_read: 0.0, cache_write: 0.0 });
    let limits = Limits { cost_usd: Some(0.05), ..Limits::default() };
    let story = run(world.builder().limits(limits).spawn().unwrap(), "go").await;
    assert_eq!(story.outcome(), reached(Limit::Cost));
    let costs = |story: &Story| {
        let cost = |event: &Event| match event {
            Event::Usage { cost_usd, .. } | Event::RunEnd { cost_usd, .. } => Some(*cost_usd),
            _ => None,
        };
        story.0.iter().filter_map(cost).collect::<Vec<_>>()
    };
    assert_eq!(costs(&story), [None, None]);
    let limits = Limits { turns: NonZeroU32::new(1), ..Limits::default() };
    let reported = run(world.resumed().limits(limits).spawn().unwrap(), "go on").await;
    assert_eq!(costs(&reported), [None, Some(0.02)], "of the session, of the run");
}

#[tokio::test]
async fn a_session_with_as_many_turns_as_can_be_counted_goes_on() {
    let world = World::new(vec![turn(vec![Block::text("one")], StopReason::EndTurn); 2]);
    world.run("go").await;
    let id = codey_session::latest(&world.sessions()).unwrap().unwrap();
    let file = world.sessions().join(format!("{id}.jsonl"));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(r#""turns":1"#, &format!(r#""turns":{}"#, u32::MAX))).unwrap();
    let story = run(world.resumed().spawn().unwrap(), "go on").await;
    assert_eq!(story.outcome(), RunOutcome::Completed {});
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.lines().last().unwrap().contains(&format!(r#""turns":{},"#, u32::MAX)), "{text}");
}
