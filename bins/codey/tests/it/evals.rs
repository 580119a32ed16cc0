//! The eval runner that starts the built program.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use codey_app::{App, AppOptions};
use codey_eval::{Agent, Runner, Verdict, Via, load_suite};
use codey_llm::{Block, Message, StopReason, Usage, tool_use};
use codey_protocol::ModelRef;
use codey_testkit::{Reply, ScriptedServer, openai_sse};
use serde_json::json;

fn answer(blocks: Vec<Block>, stop: &StopReason) -> Reply {
    let usage = Usage { input: 100, output: 20, ..Usage::default() };
    Reply::sse(openai_sse(&Message::assistant(blocks), stop, usage))
}

fn task(folder: &Path) {
    for (name, text) in [
        ("prompt.txt", "Write hello.txt."),
        ("setup.sh", "exit 0\n"),
        ("verify.sh", "test -f hello.txt || { echo 'no hello.txt'; exit 1; }\n"),
        ("task.toml", "timeout = '60s'\ntools = ['read', 'write']\n"),
    ] {
        let file = folder.join("tasks/hello").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_the_program_is_recorded_like_one_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    task(folder.path());
    let tasks = load_suite(&folder.path().join("tasks"), &[]).unwrap();
    let write = tool_use("c1", "write", json!({"path": "hello.txt", "content": "hello\n"}));
    let mut records = Vec::new();
    for via in [Via::Lib, Via::Print] {
        let done = answer(vec![Block::text("Done.")], &StopReason::EndTurn);
        let server = ScriptedServer::start(vec![answer(vec![write.clone()], &StopReason::ToolUse), done]);
        let variables = vec![("CODEY_BASE_URL".to_owned(), format!("{}/v1", server.url()))];
        let options = AppOptions { variables: HashMap::from_iter(variables.clone()), ..AppOptions::default() };
        let runner = Runner {
            host: Arc::new(App::new(options)),
            codey: env!("CARGO_BIN_EXE_codey").into(),
            variables,
            via,
            agent: Agent::Model,
            model: Some(ModelRef { model: Some("m".into()), endpoint: None }),
            max_turns: None,
            timeout: None,
        };
        let record = runner.run(&tasks[0], 1, &folder.path().join(format!("{via:?}"))).await.unwrap();
        assert_eq!((&record.verdict, server.unplayed()), (&Verdict::Solved {}, 0), "{via:?}");
        assert!(folder.path().join(format!("{via:?}")).join(record.session.as_ref().unwrap()).is_file());
        let tools: Vec<_> = record.tools.iter().map(|(name, counts)| (name.clone(), counts.calls)).collect();
        records.push((record.answer, record.turns, record.usage, record.outcome, record.changed, tools));
    }
    assert_eq!(records[0], records[1]);
    assert_eq!(records[0].4, ["hello.txt"]);
}
