//! The system prompt and the prefix.

use codey_ctx::{ContextFile, Environment, Prefix, SystemOptions, report, system_prompt};
use codey_llm::{TokenEstimator, ToolSpec};
use serde_json::json;

const TOOLS: [&str; 6] = ["read", "glob", "grep", "edit", "write", "bash"];

fn options() -> SystemOptions {
    let environment = Environment {
        os: "linux".into(),
        shell: Some("bash".into()),
        cwd: "/home/ada/work/crates".into(),
        root: "/home/ada/work".into(),
        is_git: true,
    };
    let tools = TOOLS.map(str::to_owned).to_vec();
    SystemOptions { environment, context_files: Vec::new(), system_override: None, append: None, tools }
}

fn rules() -> ContextFile {
    ContextFile { path: "AGENTS.md".into(), text: "Use tabs.\n".into(), bytes: 10, cut: false }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec { name: name.into(), description: "Does it.".into(), schema: json!({"type": "object"}) }
}

#[test]
fn the_built_in_prompt_is_short() {
    let prompt = system_prompt(&options());
    assert!(prompt[0].len() <= 1_800, "{} bytes", prompt[0].len());
    let all: usize = prompt.iter().map(String::len).sum();
    assert!(all <= 2_048, "{all} bytes");
}

#[test]
fn parts_come_from_the_stablest_to_the_callers_own() {
    let all = SystemOptions { context_files: vec![rules()], append: Some("Be terse.".into()), ..options() };
    let prompt = system_prompt(&all);
    assert!(prompt[0].starts_with("You are Codey, a coding agent."));
    let environment = "Operating system: linux\nShell: bash\n\
        Working directory, where relative paths start: /home/ada/work/crates\nRoot: /home/ada/work (a git work tree)";
    assert_eq!(prompt[1..], [environment, "Instructions of this project, from AGENTS.md:\n\nUse tabs.\n", "Be terse."]);
}

#[test]
fn a_prompt_of_ones_own_replaces_the_built_in_text_and_nothing_else() {
    let own = SystemOptions { system_override: Some("You are Ada.".into()), context_files: vec![rules()], ..options() };
    let prompt = system_prompt(&own);
    assert_eq!(prompt[0], "You are Ada.");
    assert_eq!(prompt[1..], system_prompt(&SystemOptions { system_override: None, ..own.clone() })[1..]);
}

#[test]
fn blank_texts_of_the_caller_are_no_parts() {
    let blank = SystemOptions { system_override: Some("\n".into()), append: Some(" ".into()), ..options() };
    assert_eq!(system_prompt(&blank).len(), 1);
}

#[test]
fn guidance_names_only_tools_that_are_there() {
    let guidance = |tools: &[&str]| {
        let tools = tools.iter().map(|tool| tool.to_string()).collect();
        system_prompt(&SystemOptions { tools, ..options() }).remove(0)
    };
    assert!(guidance(&TOOLS).contains("Change files with edit; write is for new files"));
    assert!(!guidance(&TOOLS).contains("todo"));
    assert!(guidance(&["todo"]).contains("Keep a todo list"));
    let none = guidance(&[]);
    assert!(!none.contains("Tools:") && !none.contains("bash"));
}

#[test]
fn a_hash_names_exactly_these_bytes() {
    let prefix = |system: &[&str], tools: &[&str]| {
        let system = system.iter().map(|text| text.to_string()).collect();
        Prefix::new(system, tools.iter().map(|name| tool(name)).collect()).hash
    };
    let hash = prefix(&["a", "b"], &["read"]);
    assert_eq!(hash, "a87f1b8dd64c9cb437fbb89ce71a040fe3cf1901acfc19cbf802207325f08d4a");
    assert_eq!(hash, prefix(&["a", "b"], &["read"]));
    for other in [prefix(&["ab"], &["read"]), prefix(&["a", "b"], &[]), prefix(&["b", "a"], &["read"])] {
        assert_ne!(hash, other);
    }
}

#[test]
fn the_estimator_weighs_all_of_the_prefix() {
    let tools = vec![tool("read"), tool("bash")];
    let system = system_prompt(&options());
    let sent = system.iter().map(String::len).sum::<usize>() + serde_json::to_string(&tools).unwrap().len();
    let weighed = Prefix::new(system, tools).bytes();
    assert!((sent as u64..sent as u64 + 100).contains(&weighed), "{weighed} for {sent} bytes");
}

#[test]
fn a_report_names_each_part_with_its_origin_and_size() {
    let all = SystemOptions { context_files: vec![rules()], append: Some("Be terse.".into()), ..options() };
    let report = report(&all, &[tool("read")], &TokenEstimator::default(), 20_000);
    let parts: Vec<_> = report.parts.iter().map(|part| (&part.name[..], &part.origin[..])).collect();
    let expected = [
        ("system prompt", "built-in"),
        ("environment", "built-in"),
        ("context file", "AGENTS.md"),
        ("added text", "--append-system"),
        ("tool read", "built-in"),
    ];
    assert_eq!(parts, expected);
    for (part, text) in report.parts.iter().zip(system_prompt(&all)) {
        assert_eq!(part.bytes, text.len() as u64);
        assert!(part.tokens >= part.bytes / 4);
    }
    assert_eq!(report.budget_tokens, 20_000);
}
