//! How the calls of one message are settled.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use codey_llm::{Block, ScriptedTurn, StopReason, ToolSpec, tool_use, turn};
use codey_protocol::{Effect, ErrorCode, Event, Input, Limit, RunOutcome, ToolDisplay, ToolKind};
use codey_tools::{Guard, GuardedCall, Plan, Refusal, Tool, ToolContext, ToolError, ToolInfo, ToolOutput, Workspace};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::{World, assert_valid, prompt, rest, run, until};

fn ends(calls: Vec<Block>) -> Vec<ScriptedTurn> {
    vec![turn(calls, StopReason::ToolUse), turn(vec![Block::text("done")], StopReason::EndTurn)]
}

fn read(id: &str, path: &str) -> Block {
    tool_use(id, "read", json!({"path": path}))
}

fn edit(id: &str, old: &str, new: &str) -> Block {
    tool_use(id, "edit", json!({"path": "a.txt", "old_str": old, "new_str": new}))
}

fn bash(id: &str, command: &str) -> Block {
    tool_use(id, "bash", json!({"command": command}))
}

#[tokio::test]
async fn results_stand_in_call_order_in_one_message() {
    let calls = vec![read("c1", "a.txt"), bash("c2", "cat a.txt"), read("c3", "missing"), read("c4", "a.txt")];
    let world = World::new(ends(calls)).file("a.txt", "hello\n");
    world.run("go").await;
    let request = world.last_request();
    assert_valid(&request);
    let results: Vec<(String, bool)> = request[2]
        .content
        .iter()
        .map(|block| match block {
            Block::ToolResult { call, is_error, .. } => (call.to_string(), *is_error),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [("c1", false), ("c2", false), ("c3", true), ("c4", false)];
    assert_eq!(results, expected.map(|(call, is_error)| (call.to_owned(), is_error)));
}

#[tokio::test]
async fn a_barrier_sees_what_stood_before_it_and_shows_it_to_what_stands_after() {
    let calls =
        vec![bash("c1", "echo one > a.txt"), read("c2", "a.txt"), bash("c3", "echo two > a.txt"), read("c4", "a.txt")];
    let story = World::new(ends(calls)).run("go").await;
    let texts: Vec<String> = story.results().into_iter().map(|(_, _, text)| text).collect();
    assert!(texts[1].contains("one") && texts[3].contains("two"), "{texts:?}");
}

#[tokio::test]
async fn edit_19_two_edits_of_one_file_in_one_turn_both_pass() {
    let lines: String = (1..=100).map(|n| format!("{n}\n")).collect();
    let calls = vec![edit("c2", "\n50\n", "\nFIFTY\n"), edit("c3", "\n75\n", "\nSEVENTY\n")];
    let turns = [ends(vec![read("c1", "a.txt")]).remove(0)].into_iter().chain(ends(calls)).collect();
    let world = World::new(turns).file("a.txt", &lines);
    let story = world.run("go").await;
    assert_eq!(story.codes(), [None, None, None]);
    assert_eq!(world.text("a.txt"), lines.replace("\n50\n", "\nFIFTY\n").replace("\n75\n", "\nSEVENTY\n"));
}

#[tokio::test]
async fn prov_07_arguments_that_are_no_object_get_an_error_and_the_history_stays_valid() {
    for raw in ["{\"path\": \"a", "null", "[]", "\"{\\\"path\\\":\\\"a\\\"}\"", "{\"path\":\"a\u{1}\"}"] {
        let call = Block::ToolUse {
            id: "c1".into(),
            name: "read".into(),
            input: json!({}),
            invalid: Some(raw.into()),
            opaque: None,
        };
        let world = World::new(ends(vec![call]));
        let story = world.run("go").await;
        assert_eq!(story.codes(), [Some(ErrorCode::InvalidArguments)], "{raw}");
        assert_eq!(story.outcome(), RunOutcome::Completed {});
        assert_valid(&world.last_request());
    }
}

#[tokio::test]
async fn an_unknown_tool_is_told_which_there_are() {
    let story = World::new(ends(vec![tool_use("c1", "shell", json!({}))])).run("go").await;
    let (_, code, text) = story.results().remove(0);
    assert_eq!(code, Some(ErrorCode::UnknownTool));
    assert!(text.ends_with("The tools are: read, glob, grep, edit, write, bash."), "{text}");
}

/// Panics, waits, hangs or answers, as told.
struct Odd(ToolInfo);

impl Odd {
    fn tool() -> Arc<dyn Tool> {
        let spec = ToolSpec { name: "odd".into(), description: "-".into(), schema: json!({"type": "object"}) };
        Arc::new(Self(ToolInfo { spec, kind: ToolKind::Read }))
    }
}

#[async_trait]
impl Tool for Odd {
    fn info(&self) -> &ToolInfo {
        &self.0
    }

    async fn plan(&self, input: &Value, _: &Workspace) -> Result<Plan, ToolError> {
        if let Some(seconds) = input["plan_seconds"].as_u64() {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
        if input["do"] == "no plan" {
            return Err(ToolError::new(ErrorCode::InvalidArguments, "told to"));
        }
        Ok(Plan {
            effect: Effect::Observe,
            rememberable: false,
            summary: "odd".into(),
            preview: ToolDisplay::text(""),
            expects: Vec::new(),
        })
    }

    async fn run(&self, input: Value, _: Plan, context: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        assert!(input["do"] != "panic", "told to");
        if input["do"] == "wait" || input["do"] == "finish late" {
            context.cancel.cancelled().await;
        }
        if input["do"] == "never end" {
            std::future::pending::<()>().await;
        }
        if input["do"] == "wait" {
            return Err(ToolError::new(ErrorCode::Cancelled, "cancelled"));
        }
        let text = "x".repeat(input["characters"].as_u64().unwrap_or(1) as usize);
        Ok(ToolOutput { for_model: vec![Block::text(text)], for_user: ToolDisplay::text(""), observed: Vec::new() })
    }
}

#[tokio::test]
async fn a_panic_in_a_tool_is_a_result_and_its_neighbours_go_on() {
    let calls = vec![tool_use("c1", "odd", json!({"do": "panic"})), tool_use("c2", "odd", json!({}))];
    let world = World::new(ends(calls));
    let story = run(world.builder().tools(vec![Odd::tool()]).spawn().unwrap(), "go").await;
    let mut codes = story.results();
    codes.sort();
    assert_eq!([codes[0].1, codes[1].1], [Some(ErrorCode::ToolPanic), None]);
    assert_eq!(story.outcome(), RunOutcome::Completed {});
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_end_is_cancelled_after_its_time() {
    let world = World::new(ends(vec![tool_use("c1", "odd", json!({"do": "wait"}))]));
    let story = run(world.builder().tools(vec![Odd::tool()]).spawn().unwrap(), "go").await;
    assert_eq!(story.codes(), [Some(ErrorCode::Timeout)]);
}

#[tokio::test]
async fn the_results_of_one_turn_are_cut_together() {
    let calls = (0..3).map(|n| tool_use(&format!("c{n}"), "odd", json!({"characters": 200_000, "n": n}))).collect();
    let world = World::new(ends(calls));
    let story = run(world.builder().tools(vec![Odd::tool()]).spawn().unwrap(), "go").await;
    let lengths: Vec<usize> = world.last_request()[2]
        .content
        .iter()
        .map(|block| match block {
            Block::ToolResult { content, .. } => content[0].as_text().unwrap().chars().count(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lengths[0], 200_000);
    assert!(lengths[1] <= 100_000 && lengths[1] > 90_000, "{lengths:?}");
    assert!(lengths[2] <= 500, "{lengths:?}");
    assert!(lengths.iter().sum::<usize>() <= 300_000, "{lengths:?}");
    let told: Vec<usize> = story.results().iter().map(|(_, _, text)| text.chars().count()).collect();
    assert_eq!(told, lengths, "people see what the model reads");
}

#[tokio::test]
async fn the_third_identical_call_warns_the_fourth_is_denied_the_fifth_ends_the_run() {
    let turns = (1..=6).map(|n| turn(vec![read(&format!("c{n}"), "a.txt")], StopReason::ToolUse)).collect();
    let world = World::new(turns).file("a.txt", "hello\n");
    let story = world.run("go").await;
    let denied = Some(ErrorCode::Denied);
    assert_eq!(story.codes(), [None, None, None, denied, denied]);
    let texts: Vec<String> = story.results().into_iter().map(|(_, _, text)| text).collect();
    assert!(!texts[1].contains("third time"), "{}", texts[1]);
    assert!(texts[2].contains("third time"), "{}", texts[2]);
    assert!(texts[3].starts_with("Error: denied by repetition: "), "{}", texts[3]);
    assert_eq!(story.outcome(), RunOutcome::LimitReached { limit: Limit::Repetition });
    assert_eq!(world.requests().len(), 5);
}

#[tokio::test]
async fn repetitions_in_one_message_are_counted_like_those_in_several() {
    let calls = (1..=6).map(|n| read(&format!("c{n}"), "a.txt")).collect();
    let world = World::new(ends(calls)).file("a.txt", "hello\n");
    let story = world.run("go").await;
    let denied = Some(ErrorCode::Denied);
    assert_eq!(story.codes(), [None, None, None, denied, denied, Some(ErrorCode::Cancelled)]);
    assert_eq!(story.outcome(), RunOutcome::LimitReached { limit: Limit::Repetition });
}

#[tokio::test]
async fn calls_that_cannot_be_made_are_counted_as_repetitions_too() {
    let malformed = |n: usize| Block::ToolUse {
        id: format!("c{n}").as_str().into(),
        name: "read".into(),
        input: json!({}),
        invalid: Some("{\"path".into()),
        opaque: None,
    };
    let unknown = |n: usize| tool_use(&format!("c{n}"), "shell", json!({"command": "ls"}));
    let makers: [(&dyn Fn(usize) -> Block, ErrorCode); 2] =
        [(&malformed, ErrorCode::InvalidArguments), (&unknown, ErrorCode::UnknownTool)];
    for (call, code) in makers {
        let world = World::new((1..=6).map(|n| turn(vec![call(n)], StopReason::ToolUse)).collect());
        let story = world.run("go").await;
        let (error, denied) = (Some(code), Some(ErrorCode::Denied));
        assert_eq!(story.codes(), [error, error, error, denied, denied]);
        assert_eq!(story.outcome(), RunOutcome::LimitReached { limit: Limit::Repetition });
        let lineage = world.resumed().spawn().unwrap();
        assert_eq!(run(lineage, "again").await.codes(), [denied], "also after a resume");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_even_end_when_cancelled_is_answered_without() {
    // An interrupt leaves time for commands that end slowly; an end has to come before a front end goes without it.
    for (is_end, patience) in [(false, Duration::from_secs(5)), (true, Duration::from_millis(1_500))] {
        let world = World::new(ends(vec![tool_use("c1", "odd", json!({"do": "never end"}))]));
        let mut handle = world.builder().tools(vec![Odd::tool()]).spawn().unwrap();
        handle.inputs.send(prompt("go")).unwrap();
        until(&mut handle, |event| matches!(event, Event::ToolStart { .. })).await;
        let start = Instant::now();
        if is_end {
            handle.cancel.cancel();
        } else {
            handle.inputs.send(Input::Interrupt).unwrap();
        }
        let story = rest(handle).await;
        assert_eq!(start.elapsed().as_millis() / 10, patience.as_millis() / 10);
        assert_eq!(story.codes(), [Some(ErrorCode::Cancelled)]);
        assert!(story.results()[0].2.contains("it did not end in time"), "{:?}", story.results());
        let end = story.0.last().unwrap();
        let Event::RunEnd { outcome: RunOutcome::Interrupted {}, turns, usage, .. } = end else { panic!("{end:?}") };
        assert_eq!((*turns, usage.total()), (1, 120), "what was done counts");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_includes_its_plan() {
    for what in ["answer", "no plan"] {
        let world = World::new(ends(vec![tool_use("c1", "odd", json!({"do": what, "plan_seconds": 12}))]));
        let story = run(world.builder().tools(vec![Odd::tool()]).spawn().unwrap(), "go").await;
        let duration = story.0.iter().find_map(|event| match event {
            Event::ToolEnd { duration_ms, .. } => Some(duration_ms / 1_000),
            _ => None,
        });
        assert_eq!(duration, Some(12), "{what}");
    }
}

#[tokio::test]
async fn what_a_late_tool_still_got_done_counts() {
    let world = World::new(ends(vec![tool_use("c1", "odd", json!({"do": "finish late"}))]));
    tokio::time::pause();
    let story = run(world.builder().tools(vec![Odd::tool()]).spawn().unwrap(), "go").await;
    assert_eq!(story.codes(), [None]);
}

#[tokio::test]
async fn repetitions_are_counted_on_after_a_resume_and_forgotten_after_a_change() {
    let reads =
        |from: usize| (from..from + 3).map(|n| turn(vec![read(&format!("c{n}"), "a.txt")], StopReason::ToolUse));
    let done = || turn(vec![Block::text("done")], StopReason::EndTurn);
    let again = |id| turn(vec![read(id, "a.txt")], StopReason::ToolUse);
    let turns = reads(0).chain([done(), again("c3"), done()]);
    let change = turn(vec![bash("c4", "true")], StopReason::ToolUse);
    let world = World::new(turns.chain([change, again("c5"), done()]).collect()).file("a.txt", "hello\n");
    assert_eq!(world.run("go").await.codes(), [None, None, None]);
    let story = run(world.resumed().spawn().unwrap(), "go on").await;
    assert_eq!(story.codes(), [Some(ErrorCode::Denied)]);
    let story = run(world.resumed().spawn().unwrap(), "go on").await;
    assert_eq!(story.codes(), [None, None]);
}

struct Broken;

#[async_trait]
impl Guard for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    async fn check(&self, _: &GuardedCall<'_>) -> Option<Refusal> {
        panic!("told to")
    }
}

#[tokio::test]
async fn a_guard_that_panics_denies_and_is_named() {
    let world = World::new(ends(vec![bash("c1", "touch made")]));
    let story = run(world.builder().guard(Arc::new(Broken)).spawn().unwrap(), "go").await;
    let (_, code, text) = story.results().remove(0);
    assert_eq!(code, Some(ErrorCode::Denied));
    assert!(text.starts_with("Error: denied by broken: "), "{text}");
    assert!(!world.root().join("made").exists());
}

#[tokio::test]
async fn output_of_a_command_is_shown_as_it_runs_and_capped() {
    let world = World::new(ends(vec![bash("c1", "head -c 300000 /dev/zero | tr '\\0' x; echo end")]));
    let story = world.run("go").await;
    let shown: String = story
        .0
        .iter()
        .filter_map(|event| match event {
            Event::ToolOutput { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(shown.len() < 64 * 1024 + 100, "{}", shown.len());
    assert!(shown.ends_with("bytes not shown]\n"), "{}", &shown[shown.len() - 40..]);
}
