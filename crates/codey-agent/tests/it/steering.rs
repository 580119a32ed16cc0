//! Messages that join a run.

use codey_llm::{Block, ScriptedTurn, Step, StopReason, tool_use, turn};
use codey_protocol::{ErrorCode, Event, Input, RunOutcome};
use serde_json::json;

use crate::world::{World, assert_valid, prompt, rest, run, until};

fn done() -> ScriptedTurn {
    turn(vec![Block::text("done")], StopReason::EndTurn)
}

fn steer(text: &str) -> Input {
    Input::Steer(vec![Block::text(text)])
}

fn bash(id: &str, command: &str) -> Block {
    tool_use(id, "bash", json!({"command": command}))
}

/// How often a text stands in the newest request.
fn heard(world: &World, text: &str) -> usize {
    let request = world.last_request();
    assert_valid(&request);
    request.iter().flat_map(|message| &message.content).filter(|block| block.as_text() == Some(text)).count()
}

#[tokio::test]
async fn a_steer_joins_after_the_running_call_and_the_rest_is_not_run() {
    let calls = vec![bash("c1", "touch started; while [ ! -e go ]; do sleep 0.01; done"), bash("c2", "touch made")];
    let world = World::new(vec![turn(calls, StopReason::ToolUse), done()]);
    let mut handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    until(&mut handle, |event| matches!(event, Event::ToolStart { .. })).await;
    handle.inputs.send(steer("also do X")).unwrap();
    std::fs::write(world.root().join("go"), "").unwrap();
    let story = rest(handle).await;
    assert_eq!(story.codes(), [None, Some(ErrorCode::Cancelled)]);
    assert!(!world.root().join("made").exists());
    assert_eq!(heard(&world, "also do X"), 1);
}

#[tokio::test]
async fn a_steer_turns_completed_into_another_turn_and_without_a_run_it_is_a_prompt() {
    let slow = ScriptedTurn([vec![Step::Wait(std::time::Duration::from_millis(50))], done().0].concat());
    let world = World::new(vec![slow, done(), done()]);
    let mut handle = world.builder().spawn().unwrap();
    handle.inputs.send(steer("go")).unwrap();
    until(&mut handle, |event| matches!(event, Event::TurnStart { .. })).await;
    handle.inputs.send(steer("also do X")).unwrap();
    let story = rest(handle).await;
    assert_eq!(story.outcomes(), [RunOutcome::Completed {}]);
    assert_eq!((world.requests().len(), heard(&world, "also do X")), (2, 1));
}

#[tokio::test]
async fn loop_03_a_steer_before_an_interrupt_is_heard_exactly_once_on_continue() {
    let calls = vec![bash("c1", "touch started; sleep 60"), bash("c2", "true"), bash("c3", "true")];
    let world = World::new(vec![turn(calls, StopReason::ToolUse), done()]);
    let mut handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    until(&mut handle, |event| matches!(event, Event::ToolStart { .. })).await;
    handle.inputs.send(steer("also do X")).unwrap();
    handle.inputs.send(Input::Interrupt).unwrap();
    assert_eq!(rest(handle).await.outcome(), RunOutcome::Interrupted {});
    run(world.resumed().spawn().unwrap(), "go on").await;
    assert_eq!(heard(&world, "also do X"), 1);
}

#[tokio::test]
async fn prompts_sent_meanwhile_run_in_order_even_after_a_failed_run() {
    let world = World::new(vec![ScriptedTurn(vec![Step::Wait(std::time::Duration::from_millis(20))]), done(), done()]);
    let handle = world.builder().spawn().unwrap();
    for text in ["one", "two", "three"] {
        handle.inputs.send(prompt(text)).unwrap();
    }
    let story = rest(handle).await;
    let outcomes = story.outcomes();
    assert!(matches!(outcomes[0], RunOutcome::Failed { .. }), "{outcomes:?}");
    assert_eq!(outcomes[1..], [RunOutcome::Completed {}, RunOutcome::Completed {}]);
    assert_eq!((heard(&world, "one"), heard(&world, "two"), heard(&world, "three")), (1, 1, 1));
}

#[tokio::test]
async fn a_steer_that_comes_while_the_run_is_ending_is_a_prompt() {
    // The run's end waits for a process that ignores SIGTERM.
    let stubborn =
        "(trap '' TERM; echo on > stubborn; sleep 5) >/dev/null 2>&1 & while [ ! -e stubborn ]; do sleep 0.01; done";
    let world = World::new(vec![turn(vec![bash("c1", stubborn)], StopReason::ToolUse), done(), done()]);
    let mut handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    let last_answer = |event: &Event| matches!(event, Event::Message { node } if node.message.as_ref().is_some_and(|m| m.text() == "done"));
    until(&mut handle, last_answer).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    handle.inputs.send(steer("one more thing")).unwrap();
    let story = rest(handle).await;
    assert_eq!(story.outcomes(), [RunOutcome::Completed {}, RunOutcome::Completed {}]);
    assert_eq!(heard(&world, "one more thing"), 1);
}

#[tokio::test]
async fn an_empty_message_is_left_out_and_said() {
    let world = World::new(vec![done()]);
    let handle = world.builder().spawn().unwrap();
    for input in [prompt(" "), steer(""), prompt("go")] {
        handle.inputs.send(input).unwrap();
    }
    let story = rest(handle).await;
    assert_eq!((story.warnings(), story.outcomes().len()), (vec!["empty_message", "empty_message"], 1));
    assert!(matches!(story.0.last(), Some(Event::RunEnd { .. })), "what was left out is said before the end");
    assert_eq!(heard(&world, "go"), 1);
}
