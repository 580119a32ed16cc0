//! Asking before something is done.

use codey_llm::{Block, ScriptedTurn, StopReason, tool_use, turn};
use codey_protocol::{Decision, ErrorCode, Event, Handle, Input, PermissionMode, RunOutcome};
use serde_json::json;

use crate::world::{Story, World, assert_valid, prompt, rest, run, until};

fn turns(calls: Vec<Block>) -> Vec<ScriptedTurn> {
    vec![turn(calls, StopReason::ToolUse), turn(vec![Block::text("done")], StopReason::EndTurn)]
}

fn write(id: &str) -> Block {
    tool_use(id, "write", json!({"path": format!("{id}.txt"), "content": "x"}))
}

fn bash(id: &str, command: &str) -> Block {
    tool_use(id, "bash", json!({"command": command}))
}

/// Runs with somebody who answers each request with the next of `decisions`, and counts the requests.
async fn answered(world: &World, mode: PermissionMode, decisions: Vec<Decision>) -> (Story, usize) {
    let mut handle = world.builder().mode(mode).answers(true).spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    let mut decisions = decisions.into_iter();
    let (mut events, mut asked) = (Vec::new(), 0);
    loop {
        let event = handle.events.recv().await.unwrap();
        if let Event::ApprovalRequest { call, .. } = &event {
            asked += 1;
            let decision = decisions.next().expect("asked more often than expected");
            handle.inputs.send(Input::Resolve { call: call.clone(), decision }).unwrap();
        }
        let ended = matches!(event, Event::RunEnd { .. });
        events.push(event);
        if ended {
            return (Story(events), asked);
        }
    }
}

#[tokio::test]
async fn head_05_with_nobody_to_ask_the_run_ends_at_the_call_and_every_call_is_answered() {
    let calls = vec![
        tool_use("c1", "read", json!({"path": "a.txt"})),
        bash("c2", "touch made"),
        tool_use("c3", "read", json!({"path": "a.txt"})),
    ];
    let world = World::new(turns(calls)).file("a.txt", "hello\n");
    let story = run(world.builder().mode(PermissionMode::Auto).spawn().unwrap(), "go").await;
    assert_eq!(story.outcome(), RunOutcome::NeedsApproval { call: "c2".into() });
    let needed = Some(ErrorCode::NeedsApproval);
    assert_eq!(story.codes(), [None, needed, needed]);
    assert!(!world.root().join("made").exists());
    run(world.resumed().spawn().unwrap(), "go on").await;
    assert_valid(&world.last_request());
}

#[tokio::test]
async fn answers_are_remembered_as_far_as_they_go() {
    let calls = vec![write("c1"), write("c2"), bash("c3", "true"), bash("c4", "true"), bash("c5", "false")];
    let world = World::new(turns(calls));
    let decisions = vec![Decision::AlwaysTool {}, Decision::AlwaysCommand {}, Decision::Once {}];
    let (story, asked) = answered(&world, PermissionMode::Default, decisions).await;
    assert_eq!((asked, story.codes()), (3, vec![None; 5]));
}

#[tokio::test]
async fn a_rejection_is_a_result_with_its_reason_and_the_run_goes_on() {
    let world = World::new(turns(vec![write("c1"), write("c2")]));
    let reject = Decision::Reject { reason: Some("not in this folder".into()) };
    let (story, _) = answered(&world, PermissionMode::Default, vec![reject, Decision::Once {}]).await;
    let (_, code, text) = story.results().remove(0);
    assert_eq!(code, Some(ErrorCode::Denied));
    assert!(text.contains("not in this folder"), "{text}");
    assert_eq!(story.outcome(), RunOutcome::Completed {});
    assert!(!world.root().join("c1.txt").exists() && world.root().join("c2.txt").exists());
}

#[tokio::test]
async fn plan_mode_changes_nothing_even_if_everything_else_would_allow_it() {
    let world = World::new(turns(vec![write("c1"), bash("c2", "touch made")]));
    let story = run(world.builder().mode(PermissionMode::Plan).spawn().unwrap(), "go").await;
    assert_eq!(story.codes(), [Some(ErrorCode::Denied); 2]);
    assert!(!world.root().join("c1.txt").exists() && !world.root().join("made").exists());
}

#[tokio::test]
async fn the_file_is_looked_at_again_after_the_answer() {
    let calls = vec![tool_use("c2", "edit", json!({"path": "a.txt", "old_str": "hello", "new_str": "bye"}))];
    let first = turn(vec![tool_use("c1", "read", json!({"path": "a.txt"}))], StopReason::ToolUse);
    let world = World::new([vec![first], turns(calls)].concat()).file("a.txt", "hello\n");
    let mut handle = world.builder().mode(PermissionMode::Default).answers(true).spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    until(&mut handle, |event| matches!(event, Event::ApprovalRequest { .. })).await;
    std::fs::write(world.root().join("a.txt"), "hello\nfrom outside\n").unwrap();
    handle.inputs.send(Input::Resolve { call: "c2".into(), decision: Decision::Once {} }).unwrap();
    let story = rest(handle).await;
    assert_eq!(story.codes(), [Some(ErrorCode::StaleRead)]);
    assert_eq!(world.text("a.txt"), "hello\nfrom outside\n");
}

#[tokio::test]
async fn an_interrupt_or_the_end_of_inputs_ends_the_wait_for_an_answer() {
    for interrupt in [true, false] {
        let world = World::new(turns(vec![write("c1")]));
        let mut handle = world.builder().mode(PermissionMode::Default).answers(true).spawn().unwrap();
        handle.inputs.send(prompt("go")).unwrap();
        until(&mut handle, |event| matches!(event, Event::ApprovalRequest { .. })).await;
        if interrupt {
            handle.inputs.send(Input::Interrupt).unwrap();
        }
        let story = rest(handle).await;
        let expected =
            if interrupt { RunOutcome::Interrupted {} } else { RunOutcome::NeedsApproval { call: "c1".into() } };
        assert_eq!(story.outcome(), expected);
        assert!(!world.root().join("c1.txt").exists());
    }
}

#[tokio::test]
async fn a_dropped_handle_ends_the_agent_and_runs_nothing() {
    let world = World::new(turns(vec![write("c1")]));
    let mut handle = world.builder().mode(PermissionMode::Default).answers(true).spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    until(&mut handle, |event| matches!(event, Event::ApprovalRequest { .. })).await;
    let Handle { inputs, events, cancel } = handle;
    drop(events);
    cancel.cancelled().await;
    inputs.closed().await;
    assert!(!world.root().join("c1.txt").exists());
    run(world.resumed().spawn().unwrap(), "go on").await;
    assert_valid(&world.last_request());
}

#[tokio::test]
async fn plan_mode_that_is_switched_on_while_a_question_is_open_beats_the_answer() {
    let world = World::new(turns(vec![write("c1")]));
    let mut handle = world.builder().mode(PermissionMode::Default).answers(true).spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    until(&mut handle, |event| matches!(event, Event::ApprovalRequest { .. })).await;
    handle.inputs.send(Input::SetMode(PermissionMode::Plan)).unwrap();
    handle.inputs.send(Input::Resolve { call: "c1".into(), decision: Decision::Once {} }).unwrap();
    assert_eq!(rest(handle).await.codes(), [Some(ErrorCode::Denied)]);
    assert!(!world.root().join("c1.txt").exists());
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_approves_nothing_and_is_said() {
    let world = World::new(turns(vec![write("c1")]));
    let handle = world.builder().mode(PermissionMode::Default).answers(true).spawn().unwrap();
    handle.inputs.send(Input::Resolve { call: "c1".into(), decision: Decision::Once {} }).unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    let story = rest(handle).await;
    assert_eq!(
        (story.warnings(), story.outcome()),
        (vec!["unexpected_answer"], RunOutcome::NeedsApproval { call: "c1".into() })
    );
}
