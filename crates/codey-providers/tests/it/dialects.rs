//! How servers bend their API, where no recording shows it.

use codey_llm::{Block, StopReason, StreamEvent, Usage, tool_use};
use codey_providers::Api;
use codey_testkit::{Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::{Answer, ask, endpoint, hello};

async fn answer(api: Api, events: &[Value]) -> Answer {
    let frames: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let server = ScriptedServer::start(vec![Reply::sse(frames)]);
    ask(endpoint(api, &server), hello()).await
}

/// Deltas of Chat Completions, then a finish reason, then usage.
async fn openai(deltas: &[Value], finish: &str, usage: Value) -> (Vec<Block>, StopReason, Usage) {
    let chunk = |delta: &Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let mut chunks: Vec<Value> = deltas.iter().map(chunk).collect();
    chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    chunks.push(json!({"choices": [], "usage": usage}));
    let (message, stop, usage, _) = answer(Api::OpenAi, &chunks).await.end.unwrap();
    (message.content, stop, usage)
}

/// Blocks of the Messages API as start and deltas, then a stop.
async fn anthropic(blocks: &[(Value, Vec<Value>)], stop: Value) -> (Vec<Block>, StopReason) {
    let mut events = vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}})];
    for (index, (block, deltas)) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 2}}));
    events.push(json!({"type": "message_stop"}));
    let (message, stop, _, _) = answer(Api::Anthropic, &events).await.end.unwrap();
    (message.content, stop)
}

fn part(index: u64, id: Value, name: Value, arguments: Value) -> Value {
    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]})
}

#[tokio::test]
async fn parallel_calls_that_share_an_index_are_told_apart_by_id() {
    let deltas = [
        part(0, json!("a"), json!("read"), json!("{\"path\":")),
        part(0, Value::Null, Value::Null, json!("\"x\"}")),
        part(0, json!("b"), json!("read"), json!("{}")),
        part(0, json!("a"), Value::Null, json!(" ")),
    ];
    let (content, stop, _) = openai(&deltas, "stop", Value::Null).await;
    assert_eq!(content, vec![tool_use("a", "read", json!({"path": "x"})), tool_use("b", "read", json!({}))]);
    assert_eq!(stop, StopReason::ToolUse);
}

#[tokio::test]
async fn calls_that_arrive_mixed_keep_their_order() {
    let deltas = [
        part(0, json!("a"), json!("read"), json!("{\"n\"")),
        part(1, json!("b"), json!("read"), json!("{\"n\"")),
        json!({"content": "Both."}),
        part(1, Value::Null, Value::Null, json!(":2}")),
        part(0, Value::Null, Value::Null, json!(":1}")),
    ];
    let (content, _, _) = openai(&deltas, "tool_calls", Value::Null).await;
    let calls = [tool_use("a", "read", json!({"n": 1})), tool_use("b", "read", json!({"n": 2})), Block::text("Both.")];
    assert_eq!(content, calls);
}

#[tokio::test]
async fn two_calls_without_ids_get_different_ones() {
    let deltas = [part(0, Value::Null, json!("read"), json!("{}")), part(1, json!(""), json!("read"), json!({"n": 1}))];
    let (content, _, _) = openai(&deltas, "tool_calls", Value::Null).await;
    let [Block::ToolUse { id: one, .. }, Block::ToolUse { id: two, input, .. }] = content.as_slice() else {
        panic!("{content:?}")
    };
    assert_ne!(one, two);
    assert_eq!(input, &json!({"n": 1}));
}

#[tokio::test]
async fn thinking_and_text_in_turns_become_blocks_in_that_order() {
    let deltas = [
        json!({"reasoning": "a", "reasoning_content": "a"}),
        json!({"content": "b"}),
        json!({"content": [{"type": "text", "text": "c"}, {"type": "thinking", "thinking": "d"}]}),
    ];
    let (content, _, _) = openai(&deltas, "stop", Value::Null).await;
    let thinking = |text: &str| Block::Thinking { text: text.into(), opaque: None };
    assert_eq!(content, vec![thinking("a"), Block::text("bc"), thinking("d")]);
}

#[tokio::test]
async fn every_reason_to_stop_has_its_meaning() {
    for (reason, expected) in [
        ("stop", StopReason::EndTurn),
        ("", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::ContentFilter),
        ("model_length", StopReason::ContextWindow),
        ("new_one", StopReason::Other("new_one".into())),
    ] {
        let (_, stop, _) = openai(&[json!({"content": "x"})], reason, Value::Null).await;
        assert_eq!(stop, expected);
    }
    let text = (json!({"type": "text", "text": "x"}), Vec::new());
    for (reason, expected) in [
        (json!({"stop_reason": "end_turn"}), StopReason::EndTurn),
        (json!({"stop_reason": "stop_sequence"}), StopReason::EndTurn),
        (json!({"stop_reason": "max_tokens"}), StopReason::MaxTokens),
        (json!({"stop_reason": "pause_turn"}), StopReason::Pause),
        (json!({"stop_reason": "model_context_window_exceeded"}), StopReason::ContextWindow),
        (json!({"stop_reason": "refusal"}), StopReason::Refusal { category: None }),
        (
            json!({"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": "cyber"}}),
            StopReason::Refusal { category: Some("cyber".into()) },
        ),
        (json!({"stop_reason": "new_one"}), StopReason::Other("new_one".into())),
        (json!({"stop_reason": null}), StopReason::EndTurn),
    ] {
        assert_eq!(anthropic(std::slice::from_ref(&text), reason).await.1, expected);
    }
}

#[tokio::test]
async fn a_refusal_in_words_is_shown_and_known() {
    let (content, stop, _) = openai(&[json!({"content": null, "refusal": "I will not."})], "stop", Value::Null).await;
    assert_eq!((content, stop), (vec![Block::text("I will not.")], StopReason::Refusal { category: None }));
}

#[tokio::test]
async fn odd_counts_do_not_break_the_sums() {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 15}, "completion_tokens_details": {"reasoning_tokens": 7}});
    let (_, _, usage) = openai(&[json!({"content": "x"})], "stop", usage).await;
    assert_eq!(usage, Usage { input: 0, output: 10, cache_read: 10, cache_write: 0, reasoning: 7 });
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
        "completion_tokens_details": {"reasoning_tokens": 7}});
    let (_, _, usage) = openai(&[json!({"content": "x"})], "stop", usage).await;
    assert_eq!(usage, Usage { input: 10, output: 7, cache_read: 0, cache_write: 0, reasoning: 7 });
    let usage = json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX, "total_tokens": u64::MAX,
        "completion_tokens_details": {"reasoning_tokens": u64::MAX}});
    let (_, _, usage) = openai(&[json!({"content": "x"})], "stop", usage).await;
    assert_eq!((usage.output, usage.total()), (u64::MAX, u64::MAX));
}

#[tokio::test]
async fn a_server_tool_is_kept_with_its_input() {
    let block = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}});
    let pieces = ["{\"query\":", "\"rust\"}"].map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
    let (content, _) = anthropic(&[(block, pieces.to_vec())], json!({"stop_reason": "pause_turn"})).await;
    let [Block::Foreign { opaque }] = content.as_slice() else { panic!("{content:?}") };
    let expected = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "rust"}});
    assert_eq!(*opaque.raw, *expected.to_string());
    assert_eq!(opaque.model, "m");
}

#[tokio::test]
async fn an_index_that_is_used_twice_does_not_overwrite_a_block() {
    let block = |text: &str| {
        [
            json!({"type": "content_block_start", "index": "0", "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": 0}),
        ]
    };
    let mut events: Vec<Value> = block("one").into_iter().chain(block("two")).collect();
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    events.push(json!({"type": "message_stop"}));
    let answer = answer(Api::Anthropic, &events).await;
    assert_eq!(answer.message().content, vec![Block::text("one"), Block::text("two")]);
}

#[tokio::test]
async fn a_call_whose_input_comes_whole_needs_no_deltas() {
    let block = json!({"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}});
    let (content, _) = anthropic(&[(block, Vec::new())], json!({"stop_reason": "tool_use"})).await;
    assert_eq!(content, vec![tool_use("c1", "read", json!({"path": "a"}))]);
}

#[tokio::test]
async fn of_several_choices_the_first_is_read() {
    let chunk = |choices: Value| json!({"choices": choices});
    let says = |index: u64, text: &str| json!({"index": index, "delta": {"content": text}, "finish_reason": null});
    let (message, ..) = answer(
        Api::OpenAi,
        &[
            chunk(json!([says(0, "a"), says(1, "x")])),
            chunk(json!([says(1, "y")])),
            chunk(json!([says(1, "z"), says(0, "b")])),
            chunk(json!([{"index": 1, "delta": {}, "finish_reason": "length"}])),
            chunk(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}])),
        ],
    )
    .await
    .end
    .unwrap();
    assert_eq!(message.content, [Block::text("ab")]);
    // One that counts from 1 is read as well.
    let whole = json!({"index": 1, "delta": {"content": "c"}, "finish_reason": "stop"});
    let (message, ..) = answer(Api::OpenAi, &[chunk(json!([whole]))]).await.end.unwrap();
    assert_eq!(message.content, [Block::text("c")]);
}

#[tokio::test]
async fn blocks_whose_indexes_are_no_numbers_are_told_apart() {
    let start = |index: &str| json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}});
    let delta = |index: &str, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}});
    let events =
        [start("a"), start("b"), delta("a", "1"), delta("b", "2"), delta("a", "3"), json!({"type": "message_stop"})];
    let (message, ..) = answer(Api::Anthropic, &events).await.end.unwrap();
    assert_eq!(message.content, [Block::text("13"), Block::text("2")]);
}

#[tokio::test]
async fn a_block_that_no_answer_may_hold_is_left_out() {
    let blocks = [
        Value::Null,
        json!(5),
        json!("text"),
        json!([]),
        json!({}),
        json!({"type": 5}),
        json!({"type": ""}),
        json!({"type": "tool_result", "tool_use_id": "c1", "content": "x"}),
        json!({"type": "image", "source": {}}),
        json!({"type": "document", "source": {}}),
    ];
    let delta = json!({"type": "text_delta", "text": "lost"});
    for block in blocks {
        let text = json!({"type": "text", "text": "kept"});
        let (content, _) = anthropic(&[(block.clone(), vec![delta.clone()]), (text, Vec::new())], Value::Null).await;
        assert_eq!(content, [Block::text("kept")], "{block}");
    }
}

#[tokio::test]
async fn an_input_that_comes_with_its_call_is_text_like_any_other() {
    let start = json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "tool_use", "id": "c1", "name": "read", "input": {"n": 1}}});
    let delta = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": "{\"n\":2}"}});
    let stop = [json!({"type": "content_block_stop", "index": 0}), json!({"type": "message_stop"})];
    let whole = answer(Api::Anthropic, &[std::slice::from_ref(&start), &stop].concat()).await;
    let events = [
        StreamEvent::BlockStart { index: 0, block: tool_use("c1", "read", json!({})) },
        StreamEvent::BlockDelta { index: 0, text: "{\"n\":1}".into() },
        StreamEvent::BlockStop { index: 0, opaque: None },
    ];
    assert_eq!(whole.events, events);
    // What follows is the newer one.
    let followed = answer(Api::Anthropic, &[[start, delta].as_slice(), &stop].concat()).await;
    assert_eq!(followed.message().content, [tool_use("c1", "read", json!({"n": 2}))]);
}

#[tokio::test]
async fn whole_calls_with_neither_index_nor_id_are_told_apart() {
    let whole =
        |name: &str, arguments: &str| json!({"tool_calls": [{"function": {"name": name, "arguments": arguments}}]});
    let deltas = [
        whole("read", r#"{"path":"}""#),
        // A name that is said again while its arguments go on is no new call.
        whole("read", r#"}"#),
        whole("read", r#"{"path":"b"}"#),
    ];
    let (content, _, _) = openai(&deltas, "tool_calls", Value::Null).await;
    let inputs: Vec<Value> = content
        .into_iter()
        .map(|block| match block {
            Block::ToolUse { input, invalid: None, .. } => input,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(inputs, [json!({"path": "}"}), json!({"path": "b"})]);
}

#[tokio::test]
async fn calls_without_number_are_given_up() {
    let calls = json!({"choices": [{"index": 0, "delta": {"tool_calls": vec![json!({}); 40_000]}}]});
    let error = answer(Api::OpenAi, &[calls]).await.end.unwrap_err();
    assert!(error.message.ends_with("more than 32768 calls in one answer"), "{error}");
}

#[tokio::test]
async fn of_calls_that_arrive_mixed_the_one_that_came_last_is_cut() {
    let chunk =
        |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    for id in [json!("a"), Value::Null] {
        let chunks = [
            chunk(part(0, id.clone(), json!("write"), json!("{\"n\":")), Value::Null),
            chunk(part(1, id.as_str().map_or(Value::Null, |_| json!("b")), json!("read"), json!("{}")), Value::Null),
            chunk(part(0, Value::Null, Value::Null, json!("1}")), Value::Null),
            chunk(json!({}), json!("length")),
        ];
        let (message, _, _, last_call_cut) = answer(Api::OpenAi, &chunks).await.end.unwrap();
        let Some(Block::ToolUse { name, .. }) = message.content.last() else { panic!("{message:?}") };
        assert_eq!((name.as_str(), last_call_cut), ("write", true), "{id}");
    }
}
