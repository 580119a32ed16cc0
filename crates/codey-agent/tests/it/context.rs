//! What the model sees, and when there is no room for more.

use codey_llm::{Block, StopReason, tool_use, turn};
use codey_protocol::{Event, Limit, RunOutcome};
use serde_json::json;

use crate::world::{World, prompt, rest, run, until};

fn done() -> codey_llm::ScriptedTurn {
    turn(vec![Block::text("done")], StopReason::EndTurn)
}

#[tokio::test]
async fn each_request_begins_with_the_one_before() {
    let call = |n: usize| {
        turn(vec![tool_use(&format!("c{n}"), "bash", json!({"command": format!("echo {n}")}))], StopReason::ToolUse)
    };
    let world = World::new(vec![call(1), call(2), call(3), done()]);
    world.run("go").await;
    let requests = world.requests();
    for pair in requests.windows(2) {
        assert_eq!(pair[0].messages, pair[1].messages[..pair[0].messages.len()]);
        assert_eq!((&pair[0].system, &pair[0].tools), (&pair[1].system, &pair[1].tools));
    }
}

#[tokio::test]
async fn at_the_floor_nothing_is_sent_and_the_prompt_is_not_stored() {
    let mut world = World::new(vec![done()]);
    world.model.window = Some(2_000);
    let story = run(world.builder().spawn().unwrap(), &"word ".repeat(2_000)).await;
    assert_eq!(story.outcome(), RunOutcome::LimitReached { limit: Limit::ContextFull });
    assert_eq!(story.warnings(), ["context_full"]);
    assert_eq!(world.requests().len(), 0);
    assert!(!std::fs::read_to_string(session_file(&world)).unwrap_or_default().contains("word"));
}

fn session_file(world: &World) -> std::path::PathBuf {
    let entries = std::fs::read_dir(world.sessions());
    let file = entries.into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    file.into_iter().find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap_or_default()
}

#[tokio::test]
async fn an_unknown_window_is_said_once() {
    let mut world = World::new(vec![done(), done()]);
    world.model.window = None;
    let handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("one")).unwrap();
    handle.inputs.send(prompt("two")).unwrap();
    assert_eq!(rest(handle).await.warnings(), ["window_unknown"]);
}

#[tokio::test]
async fn a_rewind_goes_on_from_the_older_node() {
    let world = World::new(vec![done(), turn(vec![Block::text("two")], StopReason::EndTurn), done(), done()]);
    let mut handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("first")).unwrap();
    let assistant = |event: &Event| match event {
        Event::Message { node } => node.meta.model.as_ref().map(|_| node.id),
        _ => None,
    };
    let event = until(&mut handle, |event| assistant(event).is_some()).await;
    let to = assistant(&event).unwrap();
    handle.inputs.send(prompt("second")).unwrap();
    until(&mut handle, |event| assistant(event).is_some()).await;
    handle.inputs.send(codey_protocol::Input::Rewind { to }).unwrap();
    handle.inputs.send(prompt("third")).unwrap();
    rest(handle).await;
    let texts: Vec<String> = world.last_request().iter().map(codey_llm::Message::text).collect();
    assert_eq!(texts, ["first", "done", "third"]);
    run(world.resumed().spawn().unwrap(), "fourth").await;
    assert_eq!(world.last_request().len(), 5, "a resume goes on from the same place");
}

/// Answers to a wish for another model: `price` and a window of its own.
fn resolver(price: Option<codey_llm::Price>) -> codey_agent::ModelResolver {
    std::sync::Arc::new(move |wish, current| {
        Box::pin(async move {
            let model = codey_llm::ModelInfo { id: wish.model, price, ..current.model };
            Ok(codey_agent::ModelBinding { model, effort: wish.effort, ..current })
        })
    })
}

#[tokio::test]
async fn another_model_is_asked_from_the_next_run_on_unless_a_cost_limit_could_not_be_held() {
    let price = codey_llm::Price { input: 1.0, output: 1.0, cache_read: 1.0, cache_write: 1.0 };
    for (new_price, asked) in [(Some(price), "other"), (None, "scripted")] {
        let mut world = World::new(vec![done(), done()]);
        world.model.price = Some(price);
        let limits = codey_protocol::Limits { cost_usd: Some(1.0), ..Default::default() };
        let handle = world.builder().limits(limits).resolver(resolver(new_price)).spawn().unwrap();
        handle.inputs.send(prompt("one")).unwrap();
        let wish = codey_protocol::Input::SetModel { model: "other".into(), endpoint: None, effort: None };
        handle.inputs.send(wish).unwrap();
        handle.inputs.send(prompt("two")).unwrap();
        rest(handle).await;
        let models: Vec<String> = world.requests().into_iter().map(|request| request.model.id).collect();
        assert_eq!(models, ["scripted", asked]);
    }
}

#[tokio::test]
async fn absurd_usage_does_not_stop_a_session() {
    let absurd = codey_llm::Usage { input: u64::MAX, output: u64::MAX, cache_read: 1, ..Default::default() };
    let steps = vec![
        codey_llm::Step::Event(codey_llm::StreamEvent::BlockStart { index: 0, block: Block::text("ok") }),
        codey_llm::Step::Event(codey_llm::StreamEvent::Done { stop: StopReason::EndTurn, usage: absurd }),
    ];
    let turn = codey_llm::ScriptedTurn(steps);
    let world = World::new(vec![turn.clone(), turn]);
    assert_eq!(world.run("one").await.outcome(), RunOutcome::Completed {});
    assert_eq!(run(world.resumed().spawn().unwrap(), "two").await.outcome(), RunOutcome::Completed {});
}
