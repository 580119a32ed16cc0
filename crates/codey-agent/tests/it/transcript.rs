//! Everything an agent says of one run, as a snapshot.

use codey_llm::{Block, StopReason, tool_use, turn};
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_fix_from_the_first_look_to_the_green_run() {
    let edit =
        |id, old: &str, new: &str| tool_use(id, "edit", json!({"path": "add.sh", "old_str": old, "new_str": new}));
    let read = |id, path: &str| tool_use(id, "read", json!({"path": path}));
    let world = World::new(vec![
        turn(vec![Block::text("I'll look."), read("c1", "add.sh"), read("c2", "missing.sh")], StopReason::ToolUse),
        turn(vec![edit("c3", "  echo", "  printf")], StopReason::ToolUse),
        turn(vec![edit("c4", "$(($1 - $2))", "$(($1 + $2))")], StopReason::ToolUse),
        turn(vec![tool_use("c5", "bash", json!({"command": ". ./add.sh; add 1 2"}))], StopReason::ToolUse),
        turn(vec![Block::text("add adds now.")], StopReason::EndTurn),
    ])
    .file("add.sh", "add() {\n\techo $(($1 - $2))\n}\n");
    let story = world.run("make add add").await;
    insta::assert_snapshot!(codey_testkit::transcript(&story.0));
}
