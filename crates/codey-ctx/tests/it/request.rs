//! What is mended on the way from a lineage to a request.

use std::collections::HashSet;
use std::sync::Arc;

use codey_ctx::{LOST_RESULT, PathState, assemble};
use codey_llm::{Block, CachePoint, Message, Opaque, tool_use};
use codey_session::NodeKind;
use serde_json::{Value, json};

use crate::{assistant, calls, lineage, model, prefix, request, result, results, said, sketch, user};

fn check(kinds: Vec<NodeKind>, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|line| line.replace("LOST", LOST_RESULT)).collect();
    assert_eq!(sketch(&request(&lineage(kinds))), expected);
}

#[test]
fn a_whole_conversation_goes_out_as_it_is_and_shared() {
    let kinds = vec![user("fix"), calls(&["a", "b"]), results(&["a", "b"]), assistant("done"), user("thanks")];
    let nodes = lineage(kinds);
    let request = request(&nodes);
    let sent: Vec<_> = nodes.iter().map(|node| node.message().unwrap()).collect();
    assert_eq!(request.messages.len(), sent.len());
    assert!(request.messages.iter().zip(sent).all(|(sent, stored)| Arc::ptr_eq(sent, stored)));
    assert_eq!((request.max_tokens, request.effort, request.temperature), (4_096, None, None));
}

#[test]
fn in_a_long_conversation_only_what_is_mended_is_copied() {
    const TURNS: usize = 100;
    let turn = |number: usize| {
        let id = format!("c{number}");
        // Two of them need mending: blanks at the end, and a steer after the results.
        let more = [(30, assistant("so far \n")), (60, user("and the docs"))].into_iter();
        let more = more.filter(move |(at, _)| *at == number).map(|(_, kind)| kind);
        [calls(&[&id]), results(&[&id])].into_iter().chain(more)
    };
    let nodes = lineage([user("go")].into_iter().chain((0..TURNS).flat_map(turn)).collect());
    let path = PathState::rebuild(&nodes);
    let stored: HashSet<*const Message> = nodes.iter().map(|node| Arc::as_ptr(node.message().unwrap())).collect();
    let request = assemble(&prefix(), &path, &model(true));
    let copied: Vec<usize> = request
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| !stored.contains(&Arc::as_ptr(message)))
        .map(|(index, _)| index)
        .collect();
    // The one with the blanks joins the calls after it.
    assert_eq!(copied, [1 + 2 * 31, 2 + 2 * 60]);
    assert_eq!(request.messages.len(), 1 + 2 * TURNS);
}

#[test]
fn loop_01_calls_without_a_stored_result_are_answered_wherever_they_are() {
    check(vec![user("go"), calls(&["a", "b"])], &["U go", "A call a|call b", "U error a=LOST|error b=LOST"]);
    check(
        vec![user("go"), calls(&["a", "b"]), results(&["b"]), user("well?")],
        &["U go", "A call a|call b", "U error a=LOST|b=result of b|well?"],
    );
    check(
        vec![user("go"), calls(&["a"]), user("stop"), assistant("ok")],
        &["U go", "A call a", "U error a=LOST|stop", "A ok"],
    );
}

#[test]
fn results_come_first_once_and_in_the_order_of_their_calls() {
    let double =
        said(Message::user(vec![Block::text("note"), result("b", "first"), result("a", "x"), result("b", "second")]));
    check(vec![user("go"), calls(&["a", "b"]), double], &["U go", "A call a|call b", "U a=x|b=first|note"]);
    check(vec![user("go"), results(&["a"]), assistant("hm"), results(&["a"]), assistant("so")], &["U go", "A hm|so"]);
    check(vec![user("go"), calls(&["a"]), results(&["a"]), results(&["a"])], &["U go", "A call a", "U a=result of a"]);
}

#[test]
fn neighbours_of_one_role_become_one_message() {
    check(
        vec![user("one"), user("two"), assistant("three"), calls(&["a"]), results(&["a"]), user("four")],
        &["U one|two", "A three|call a", "U a=result of a|four"],
    );
}

#[test]
fn a_call_id_that_occurs_again_gets_a_new_name_in_the_request_only() {
    check(
        vec![user("go"), calls(&["a"]), results(&["a"]), calls(&["a", "a"]), results(&["a", "a"]), calls(&["a_2"])],
        &[
            "U go",
            "A call a",
            "U a=result of a",
            "A call a_2|call a_3",
            "U a_2=result of a|a_3=result of a",
            "A call a_2_2",
            "U error a_2_2=LOST",
        ],
    );
}

#[test]
fn the_first_message_is_the_users() {
    check(
        vec![assistant("hello"), user("hi")],
        &["U [the beginning of this conversation was lost]", "A hello", "U hi"],
    );
    check(
        vec![results(&["a"]), calls(&["b"]), results(&["b"])],
        &["U [the beginning of this conversation was lost]", "A call b", "U b=result of b"],
    );
    check(vec![], &[]);
}

#[test]
fn sess_09_blank_texts_and_empty_messages_are_not_sent() {
    let blank = |texts: &[&str]| texts.iter().map(|text| Block::text(*text)).collect::<Vec<_>>();
    let thinking = Block::Thinking { text: "hm".into(), opaque: None };
    check(
        vec![
            user("go"),
            said(Message::assistant(vec![thinking.clone()])),
            said(Message::assistant(blank(&["", "\n", " \t"]))),
            said(Message::user(blank(&[""]))),
            user("again"),
            said(Message::assistant(vec![Block::text("\n"), thinking, Block::text("yes")])),
            said(Message::user(vec![])),
        ],
        &["U go|again", "A thinking hm|yes"],
    );
}

#[test]
fn sess_09_a_silent_result_says_that_it_is_silent() {
    for content in [vec![], vec![Block::text("")], vec![Block::text("\n \n")]] {
        let silent = Block::ToolResult { call: "a".into(), content, is_error: false };
        check(
            vec![user("go"), calls(&["a"]), said(Message::user(vec![silent]))],
            &["U go", "A call a", "U a=(no output)"],
        );
    }
}

#[test]
fn loop_11_an_interrupted_answer_is_sent_without_blanks_at_its_end() {
    check(vec![user("go"), assistant("Let me "), user("stop")], &["U go", "A Let me", "U stop"]);
    check(vec![user("go"), assistant("\n\n"), user("stop")], &["U go|stop"]);
    check(
        vec![user("go"), said(Message::assistant(vec![Block::text("Let me\n"), Block::text("\n")]))],
        &["U go", "A Let me"],
    );
}

#[test]
fn a_message_holds_only_what_its_role_may_say() {
    let opaque = Opaque { provider: "p".into(), model: "m".into(), raw: "{}".into() };
    let all = || {
        vec![
            Block::text("t"),
            Block::Thinking { text: "x".into(), opaque: None },
            Block::Thinking { text: String::new(), opaque: Some(opaque.clone()) },
            Block::Thinking { text: " ".into(), opaque: None },
            tool_use("a", "read", Value::Null),
            result("z", "orphan"),
            Block::Image { media_type: "image/png".into(), data: vec![1].into() },
            Block::Foreign { opaque: opaque.clone() },
        ]
    };
    check(
        vec![said(Message::user(all())), said(Message::assistant(all())), results(&["a"])],
        &[
            "U t|picture",
            "A t|thinking x|thinking |call a|[image left out: it cannot be sent to this model]|foreign",
            "U a=result of a",
        ],
    );
}

#[test]
fn arguments_are_always_an_object() {
    let nodes = lineage(vec![user("go"), said(Message::assistant(vec![tool_use("a", "read", json!([1]))]))]);
    let request = request(&nodes);
    assert!(matches!(&request.messages[1].content[0], Block::ToolUse { input, .. } if *input == json!({})));
}

#[test]
fn pictures_become_words_for_a_model_without_eyes() {
    let picture = Block::Image { media_type: "image/png".into(), data: vec![1].into() };
    let shown = Block::ToolResult { call: "a".into(), content: vec![picture.clone()], is_error: false };
    let nodes = lineage(vec![
        said(Message::user(vec![Block::text("see"), picture])),
        calls(&["a"]),
        said(Message::user(vec![shown])),
    ]);
    let sent = |images| sketch(&assemble(&prefix(), &PathState::rebuild(&nodes), &model(images)));
    assert_eq!(sent(true), ["U see|picture", "A call a", "U a=picture"]);
    let stub = "[image left out: it cannot be sent to this model]";
    assert_eq!(sent(false), [&format!("U see|{stub}"), "A call a", &format!("U a={stub}")]);
}

#[test]
fn the_prefix_and_the_two_newest_user_messages_are_cached() {
    use CachePoint::{Message, Prefix};
    let kinds = [user("1"), assistant("2"), user("3"), calls(&["a"]), results(&["a"])];
    let expected: [&[CachePoint]; 6] = [
        &[Prefix],
        &[Prefix, Message(0)],
        &[Prefix, Message(0)],
        &[Prefix, Message(0), Message(2)],
        &[Prefix, Message(2), Message(4)],
        &[Prefix, Message(2), Message(4)],
    ];
    for (length, expected) in expected.into_iter().enumerate() {
        assert_eq!(request(&lineage(kinds[..length].to_vec())).cache_points, expected, "{length}");
    }
}
