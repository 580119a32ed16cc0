//! The main job through the built program, over both APIs.

use codey_llm::{Block, Message, tool_use};
use codey_testkit::{
    Recorded, ScriptedServer, TempWorkspace, anthropic_to_messages, check_anthropic, check_openai, openai_to_messages,
};
use serde_json::{Value, json};

use crate::codey::{Api, Codey, bash, read, reply};

const CODE: &str = "double() {\n\techo $(($1 + $1 + $1))\n}\n";
const TESTS: &str = "\
. ./double.sh
actual=$(double 4)
if [ \"$actual\" != 8 ]; then echo \"FAIL: expected 8, got $actual\"; exit 1; fi
echo passed
";

fn workspace() -> TempWorkspace {
    TempWorkspace::with_git(&[("double.sh", CODE), ("test.sh", TESTS), ("README.md", "Doubles numbers.\n")])
}

fn edit(id: &str, old: &str, new: &str) -> Block {
    tool_use(id, "edit", json!({"path": "double.sh", "old_str": old, "new_str": new}))
}

/// Six turns with calls and a last one without: parallel reads, an edit that fails and is corrected, two test runs.
fn script() -> Vec<Vec<Block>> {
    vec![
        vec![Block::text("I'll run the test."), bash("c1", "sh test.sh")],
        vec![read("c2", "double.sh"), read("c3", "test.sh"), tool_use("c4", "grep", json!({"pattern": "double"}))],
        vec![edit("c5", "    echo $(($1 + $1 + $1))", "    echo $(($1 * 2))")],
        vec![Block::text("A tab, then."), edit("c6", "\techo $(($1 + $1 + $1))", "\techo $(($1 * 2))")],
        vec![bash("c7", "sh test.sh")],
        vec![tool_use("c8", "glob", json!({"pattern": "*.sh"}))],
        vec![Block::text("The test passes now.")],
    ]
}

/// What is left of a run over one API.
struct Left {
    stdout: String,
    tree: String,
    requests: Vec<Vec<Message>>,
}

fn run(api: Api) -> Left {
    let workspace = workspace();
    let server = ScriptedServer::start(script().into_iter().map(|blocks| reply(api, blocks)).collect());
    let ran = Codey::new(workspace.path())
        .asking(&server, api)
        .args(&["-p", "--always-approve", "Make the failing test pass"])
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(server.connections(), 1, "connections are reused");
    let messages = |request: &Recorded| {
        let body: Value = request.json();
        match api {
            Api::Anthropic => check_anthropic(&body).and(Ok(anthropic_to_messages(&body))),
            Api::OpenAi => check_openai(&body).and(Ok(openai_to_messages(&body))),
        }
        .unwrap()
    };
    let requests = server.requests().iter().map(messages).collect();
    Left { stdout: ran.stdout, tree: workspace.git(&["diff"]), requests }
}

#[test]
fn a_failing_test_is_fixed_alike_over_both_apis() {
    let [anthropic, openai] = [Api::Anthropic, Api::OpenAi].map(run);
    assert!(anthropic.tree.contains("+\techo $(($1 * 2))"), "{}", anthropic.tree);
    assert_eq!(anthropic.tree, openai.tree);
    assert_eq!(anthropic.stdout, "I'll run the test.\nA tab, then.\nThe test passes now.\n");
    assert_eq!(anthropic.stdout, openai.stdout);
    assert_eq!(anthropic.requests.len(), 7);
    assert_eq!(anthropic.requests, openai.requests);
    let results: Vec<&Block> = anthropic.requests[6]
        .iter()
        .flat_map(|m| &m.content)
        .filter(|b| matches!(b, Block::ToolResult { .. }))
        .collect();
    let errors: Vec<bool> = results.iter().map(|b| matches!(b, Block::ToolResult { is_error: true, .. })).collect();
    assert_eq!(errors, [false, false, false, false, true, false, false, false], "only the first edit fails");
}

/// Source: the acceptance of the main job; peers send 3.4 to 79 KB.
const FIRST_REQUEST_BYTES: usize = 8 * 1024;

#[test]
fn the_first_request_in_an_empty_repository_is_small() {
    for api in [Api::Anthropic, Api::OpenAi] {
        let workspace = TempWorkspace::with_git(&[(".keep", "")]);
        let server = ScriptedServer::start(vec![reply(api, vec![Block::text("hello")])]);
        Codey::new(workspace.path()).asking(&server, api).args(&["-p", "hi"]).run();
        let request = server.requests().remove(0);
        assert!(request.body.len() <= FIRST_REQUEST_BYTES, "{api:?}: {} bytes", request.body.len());
        let tools = request.json()["tools"].as_array().unwrap().len();
        assert_eq!(tools, 6);
    }
}
