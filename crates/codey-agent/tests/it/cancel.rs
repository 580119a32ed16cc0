//! Interrupts: nothing is left running, every call is answered, the next run works.

use std::time::{Duration, Instant};

use codey_llm::{Block, ScriptedTurn, Step, StopReason, StreamEvent, tool_use, turn};
use codey_protocol::{ErrorCode, Event, Input, RunOutcome};
use serde_json::json;

use crate::world::{World, assert_valid, prompt, rest, run, until};

/// How long an interrupt may take. Source: the acceptance of the main job.
const PATIENCE: Duration = Duration::from_secs(3);

fn done() -> ScriptedTurn {
    turn(vec![Block::text("done")], StopReason::EndTurn)
}

fn sleeping() -> Vec<ScriptedTurn> {
    let calls = vec![
        tool_use("c1", "bash", json!({"command": "echo $$ > pid; sleep 60"})),
        tool_use("c2", "bash", json!({"command": "touch made"})),
    ];
    vec![turn(calls, StopReason::ToolUse), done()]
}

async fn wait_for(path: &std::path::Path) -> String {
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[tokio::test]
async fn loop_01_an_interrupted_command_is_ended_and_answered_and_the_next_prompt_works() {
    let world = World::new(sleeping());
    let handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    let pid = wait_for(&world.root().join("pid")).await;
    let interrupted = Instant::now();
    handle.inputs.send(Input::Interrupt).unwrap();
    let story = rest(handle).await;
    assert!(interrupted.elapsed() < PATIENCE, "{:?}", interrupted.elapsed());
    assert_eq!(story.outcome(), RunOutcome::Interrupted {});
    assert_eq!(story.codes(), [Some(ErrorCode::Cancelled); 2]);
    for (_, _, text) in story.results() {
        assert!(text.contains("cancelled by the user"), "{text}");
    }
    assert!(!is_alive(&pid), "the command is still there");
    assert!(!world.root().join("made").exists());
    run(world.resumed().spawn().unwrap(), "go on").await;
    assert_valid(&world.last_request());
}

#[tokio::test]
async fn a_consumer_that_stops_reading_cannot_keep_an_interrupt_from_ending_the_run() {
    // More events than the channel holds, then a command.
    let deltas = (0..2_000).map(|_| Step::Event(StreamEvent::BlockDelta { index: 0, text: "x".into() }));
    let mut steps = vec![Step::Event(StreamEvent::BlockStart { index: 0, block: Block::text("") })];
    steps.extend(deltas);
    steps.push(Step::Hang);
    let world = World::new(vec![ScriptedTurn(steps), done()]);
    let mut handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    until(&mut handle, |event| matches!(event, Event::TextDelta { .. })).await;
    while handle.events.len() < handle.events.max_capacity() {
        tokio::task::yield_now().await;
    }
    let interrupted = Instant::now();
    handle.inputs.send(Input::Interrupt).unwrap();
    // Nothing is read: the session file tells that the run ended.
    let id = codey_session::latest(&world.sessions()).unwrap().unwrap();
    let file = world.sessions().join(format!("{id}.jsonl"));
    while !std::fs::read_to_string(&file).unwrap().contains(r#""type":"head""#) {
        assert!(interrupted.elapsed() < PATIENCE, "the run did not end");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let story = rest(handle).await;
    assert_eq!(story.outcome(), RunOutcome::Interrupted {});
}

#[tokio::test]
async fn a_stuck_consumer_and_a_running_command_are_both_ended() {
    // More results than the channel holds, then a command that does not end.
    let mut calls: Vec<Block> =
        (0..200).map(|n| tool_use(&format!("c{n}"), "glob", json!({"pattern": format!("{n}")}))).collect();
    calls.push(tool_use("last", "bash", json!({"command": "echo $$ > pid; sleep 60"})));
    let world = World::new(vec![turn(calls, StopReason::ToolUse), done()]);
    let handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    while handle.events.len() < handle.events.max_capacity() {
        tokio::task::yield_now().await;
    }
    let cancelled = Instant::now();
    handle.cancel.cancel();
    let story = rest(handle).await;
    assert!(cancelled.elapsed() < PATIENCE, "{:?}", cancelled.elapsed());
    assert_eq!((story.outcome(), story.results().len()), (RunOutcome::Interrupted {}, 201));
    assert!(!world.root().join("pid").exists());
}

#[tokio::test]
async fn loop_11_the_text_of_an_interrupted_answer_is_trimmed_and_blanks_are_dropped() {
    for (arrived, expected) in [("Let me ", vec!["go", "Let me", "again"]), ("\n\n", vec!["go\nagain"])] {
        let steps = vec![
            Step::Event(StreamEvent::BlockStart { index: 0, block: Block::text("") }),
            Step::Event(StreamEvent::BlockDelta { index: 0, text: arrived.into() }),
            Step::Hang,
        ];
        let world = World::new(vec![ScriptedTurn(steps), done()]);
        let mut handle = world.builder().spawn().unwrap();
        handle.inputs.send(prompt("go")).unwrap();
        until(&mut handle, |event| matches!(event, Event::TextDelta { .. })).await;
        handle.inputs.send(Input::Interrupt).unwrap();
        assert_eq!(rest(handle).await.outcome(), RunOutcome::Interrupted {});
        run(world.resumed().spawn().unwrap(), "again").await;
        let request = world.last_request();
        assert_valid(&request);
        let texts: Vec<String> = request
            .iter()
            .map(|message| message.content.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n"))
            .collect();
        assert_eq!(texts, expected);
    }
}

#[tokio::test]
async fn a_prompt_that_was_interrupted_before_it_was_sent_is_heard_next_time() {
    let world = World::new(vec![ScriptedTurn(vec![Step::Hang]), done()]);
    let mut handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("first")).unwrap();
    until(&mut handle, |event| matches!(event, Event::TurnStart { .. })).await;
    handle.inputs.send(Input::Interrupt).unwrap();
    handle.inputs.send(prompt("second")).unwrap();
    let story = rest(handle).await;
    assert_eq!(story.outcomes(), [RunOutcome::Interrupted {}, RunOutcome::Completed {}]);
    assert_eq!(world.last_request()[0].content, [Block::text("first"), Block::text("second")]);
}
