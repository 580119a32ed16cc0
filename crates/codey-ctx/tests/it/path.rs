//! Summaries, prunes, and what they hide.

use codey_ctx::{FoldPolicy, PathState, Prefix, Relief, relieve, seen, what_fills};
use codey_llm::{Block, Message, TokenEstimator, tool_use};
use codey_session::NodeKind;
use serde_json::json;

use crate::{
    assistant, calls, lineage, observing, prefix, prune, request, result, results, said, sketch, summary, user,
};

fn big(call: &str) -> NodeKind {
    said(Message::user(vec![result(call, &"x".repeat(2_049))]))
}

#[test]
fn a_summary_keeps_the_tail_that_is_older_than_itself() {
    let nodes = lineage(vec![
        user("task"),
        assistant("old 1"),
        user("old 2"),
        assistant("tail"),
        summary("notes", &[1, 2]),
        user("next"),
    ]);
    assert_eq!(sketch(&request(&nodes)), ["U task|notes", "A tail", "U next"]);
}

#[test]
fn a_summary_of_a_summary_stands_where_the_first_stood() {
    let nodes = lineage(vec![
        user("task"),
        assistant("a"),
        summary("first", &[1]),
        assistant("b"),
        user("tail"),
        summary("second", &[2, 3]),
    ]);
    assert_eq!(sketch(&request(&nodes)), ["U task|second|tail"]);
}

#[test]
fn a_rewind_before_a_summary_brings_the_folded_nodes_back() {
    let nodes = lineage(vec![user("task"), assistant("a"), summary("notes", &[1])]);
    assert_eq!(sketch(&request(&nodes)), ["U task|notes"]);
    assert_eq!(sketch(&request(&nodes[..2])), ["U task", "A a"]);
}

#[test]
fn large_results_before_a_prune_mark_become_stubs_that_name_the_file() {
    let bash = said(Message::assistant(vec![tool_use("b", "bash", json!({"command": "ls"}))]));
    let small = said(Message::user(vec![result("c", &"x".repeat(2_048))]));
    let nodes = lineage(vec![
        user("task"),
        calls(&["a"]),
        big("a"),
        bash,
        big("b"),
        calls(&["c"]),
        small,
        calls(&["d"]),
        big("d"),
        prune(7),
    ]);
    let sent = sketch(&request(&nodes));
    assert_eq!(sent[2], "U a=[read a.rs: 2049 bytes left out to save context; read the file again if you need them]");
    assert_eq!(sent[4], "U b=[bash: 2049 bytes left out to save context; call it again if you need them]");
    assert_eq!([sent[6].len(), sent[8].len()], [4 + 2_048, 4 + 2_049], "small results and those after the mark stay");
}

#[test]
fn pruned_pictures_go_too() {
    let picture = Block::Image { media_type: "image/png".into(), data: vec![0; 3_000].into() };
    let shown = Block::ToolResult { call: "a".into(), content: vec![picture], is_error: false };
    let nodes = lineage(vec![user("see"), calls(&["a"]), said(Message::user(vec![shown])), assistant("ok"), prune(3)]);
    let sent = sketch(&request(&nodes));
    assert_eq!(sent[2], "U a=[read a.rs: 3000 bytes left out to save context; read the file again if you need them]");
}

fn check_seen(kinds: Vec<NodeKind>, observed: &[(usize, &str, &str)], expected: &[(&str, &str, bool)]) {
    let nodes = observing(lineage(kinds), observed);
    let found = seen(&PathState::rebuild(&nodes));
    let found: Vec<_> = found.iter().map(|seen| (seen.path.as_str(), seen.digest.as_str(), seen.visible)).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_newest_version_of_each_file_is_seen() {
    let kinds = vec![user("task"), results(&["a"]), results(&["b"]), results(&["c"])];
    check_seen(
        kinds,
        &[(1, "b.rs", "1"), (2, "a.rs", "1"), (3, "b.rs", "2")],
        &[("a.rs", "1", true), ("b.rs", "2", true)],
    );
}

#[test]
fn a_file_whose_content_left_the_context_is_known_and_not_visible() {
    let observed = &[(1, "a.rs", "1"), (2, "b.rs", "1")];
    let folded = vec![user("task"), results(&["a"]), results(&["b"]), summary("notes", &[1])];
    check_seen(folded, observed, &[("a.rs", "1", false), ("b.rs", "1", true)]);
    let pruned = vec![user("task"), big("a"), results(&["b"]), prune(2)];
    check_seen(pruned, observed, &[("a.rs", "1", false), ("b.rs", "1", true)]);
}

#[test]
fn a_file_read_again_is_visible_while_either_place_shows_that_version() {
    let fold = |replaced| vec![user("task"), results(&["a"]), results(&["b"]), summary("notes", &[replaced])];
    for replaced in [1, 2] {
        check_seen(fold(replaced), &[(1, "a.rs", "1"), (2, "a.rs", "1")], &[("a.rs", "1", true)]);
    }
    check_seen(fold(2), &[(1, "a.rs", "1"), (2, "a.rs", "2")], &[("a.rs", "2", false)]);
}

#[test]
fn a_window_is_stuck_from_the_floor_on() {
    let policy = FoldPolicy::default();
    let cases = [(0.0, Relief::Nothing), (0.969, Relief::Nothing), (0.97, Relief::Stuck), (2.0, Relief::Stuck)];
    for (fill, expected) in cases {
        assert_eq!(relieve(&PathState::default(), fill, &policy), expected, "{fill}");
    }
}

#[test]
fn comp_01_what_fills_the_window_is_said_in_numbers() {
    let estimator = TokenEstimator::default();
    let fixed = Prefix::new(vec!["y".repeat(85_000)], Vec::new());
    let path = PathState::rebuild(&lineage(vec![user("hi")]));
    assert_eq!(
        what_fills(&fixed, &path, &estimator),
        "system prompt and tools take about 28759 tokens, the conversation about 7"
    );
    let small = said(Message::user(vec![result("b", "x")]));
    let path = PathState::rebuild(&lineage(vec![user("hi"), calls(&["a"]), big("a"), calls(&["b"]), small]));
    let text = what_fills(&prefix(), &path, &estimator);
    assert!(text.ends_with("; its largest results are read a.rs: 699, read a.rs: 6"), "{text}");
}
