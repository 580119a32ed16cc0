//! What the file tools cost on large files and large trees: `cargo bench -p codey-tools`.
//!
//! - `edit_plan`: an edit in a file of 5 MB, up to the moment when it would be written, and refusals: a text that is
//!   nowhere in it but resembles a place, one that resembles nothing, and one that is there thousands of times.
//! - `edit`: the same edit, planned, carried out and on disk.
//! - `read_file`: the first, and the last, 2,000 lines of a file of 5 MB and of 50 MB.
//! - `grep`: a tree of 3,000 files in 100 folders. `grep_by_rg` is the `rg` program with the same work, process start
//!   included; it is ignored where `rg` is not installed.
//! - `glob`: the names of the same tree.
//!
//! Files lie in a temporary folder (80 MB) that is removed at the end.
#![allow(clippy::unwrap_used)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the files to work on are made here")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;
use std::{env, fs};

use codey_protocol::{ErrorCode, RelPath};
use codey_tools::{
    Plan, Tool, ToolContext, ToolError, ToolOutput, Workspace, WorkspaceOptions, builtin_tools, default_deny_paths,
};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();
static TREE: LazyLock<Fixture> = LazyLock::new(|| {
    let fixture = Fixture::new("tree");
    for number in 0..3_000_usize {
        let folder = fixture.root.join(format!("crate_{}/src", number % 100));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("module_{number}.rs")), code(8 << 10, number)).unwrap();
    }
    fixture
});

/// A line that is in the middle of each file of code.
const MARKED: &str = "    let marked = place(\"here\", 7)?;\n";
/// What takes its place, and gives it back.
const REPLACED: &str = "    let marked = place(\"there\", 8)?;\n";

fn main() {
    // Tests build this too, and are not to wait for it.
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    FOLDER.set(folder.path().canonicalize().unwrap()).unwrap();
    divan::main();
}

/// The edits by name: what is looked for, and how that ends.
const EDITS: [(&str, &str, Option<ErrorCode>); 4] = [
    ("match", MARKED, None),
    ("close", "    let marked = place('here', 9)?;\n    let never = written();\n", Some(ErrorCode::NoMatch)),
    ("nowhere", "SELECT name FROM users WHERE id = 12", Some(ErrorCode::NoMatch)),
    ("ambiguous", "&font)?;\n", Some(ErrorCode::AmbiguousMatch)),
];

#[divan::bench(args = EDITS.map(|(name, ..)| name))]
fn edit_plan(bencher: Bencher<'_, '_>, which: &str) {
    let (_, old_str, expected) = EDITS.into_iter().find(|(name, ..)| *name == which).unwrap();
    let fixture = Fixture::with_file("plan", 5 << 20);
    let input = json!({"path": "file.rs", "old_str": old_str, "new_str": REPLACED});
    let edit = tool("edit");
    bencher.counter(BytesCount::new(5_usize << 20)).bench_local(|| {
        let planned = fixture.runtime.block_on(edit.plan(black_box(&input), &fixture.workspace));
        assert_eq!(planned.err().map(|error| error.code), expected);
    });
}

#[divan::bench]
fn edit(bencher: Bencher<'_, '_>) {
    let fixture = Fixture::with_file("edit", 5 << 20);
    let edit = tool("edit");
    let mut texts = [MARKED, REPLACED];
    let input = || {
        texts.reverse();
        json!({"path": "file.rs", "old_str": texts[1], "new_str": texts[0]})
    };
    bencher.with_inputs(input).bench_local_values(|input| {
        let output = fixture.call(&*edit, input).unwrap();
        fixture.workspace.observe(&output.observed);
    });
}

#[divan::bench(args = [(5, "first"), (5, "last"), (50, "first"), (50, "last")])]
fn read_file(bencher: Bencher<'_, '_>, (megabytes, lines): (usize, &str)) {
    let fixture = Fixture::with_file("read", megabytes << 20);
    let count = fs::read_to_string(fixture.root.join("file.rs")).unwrap().lines().count();
    let offset = if lines == "first" { 1 } else { count - 1_999 };
    let read = tool("read");
    bencher
        .with_inputs(|| json!({"path": "file.rs", "offset": offset}))
        .counter(BytesCount::new(megabytes << 20))
        .bench_local_values(|input| fixture.call(&*read, input).unwrap());
}

/// A pattern that is in no file, in one line of each, and in most lines.
const PATTERNS: [&str; 3] = [r"never_\w+\(", "marked", "measure"];

#[divan::bench(args = PATTERNS)]
fn grep(bencher: Bencher<'_, '_>, pattern: &str) {
    let grep = tool("grep");
    bencher.with_inputs(|| json!({ "pattern": pattern })).bench_local_values(|input| TREE.call(&*grep, input).unwrap());
}

/// Prints all matches; the tool counts most of them.
#[divan::bench(args = PATTERNS, ignore = Command::new("rg").arg("--version").output().is_err())]
fn grep_by_rg(bencher: Bencher<'_, '_>, pattern: &str) {
    bencher.bench_local(|| {
        let mut rg = Command::new("rg");
        rg.args(["--line-number", black_box(pattern), "."]).current_dir(&TREE.root).stdin(Stdio::null());
        rg.output().unwrap()
    });
}

#[divan::bench(args = ["**/*.rs", "crate_7/**", "**/module_77.rs"])]
fn glob(bencher: Bencher<'_, '_>, pattern: &str) {
    let glob = tool("glob");
    bencher.with_inputs(|| json!({ "pattern": pattern })).bench_local_values(|input| TREE.call(&*glob, input).unwrap());
}

fn tool(name: &str) -> Arc<dyn Tool> {
    builtin_tools().into_iter().find(|tool| tool.info().spec.name == name).unwrap()
}

/// A workspace, and calls as the agent makes them.
struct Fixture {
    root: PathBuf,
    workspace: Workspace,
    runtime: Runtime,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let root = FOLDER.get().unwrap().join(name);
        fs::create_dir(&root).unwrap();
        let workspace = Workspace::open(WorkspaceOptions {
            root: root.clone(),
            cwd: RelPath::root(),
            deny_paths: default_deny_paths(),
            hidden_env: Vec::new(),
        });
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { root, workspace: workspace.unwrap(), runtime }
    }

    /// One file of code, which was read; the folder goes when the fixture does.
    fn with_file(name: &str, size: usize) -> Folder {
        let fixture = Self::new(name);
        fs::write(fixture.root.join("file.rs"), code(size, 0)).unwrap();
        let output = fixture.call(&*tool("read"), json!({"path": "file.rs", "limit": 1})).unwrap();
        fixture.workspace.observe(&output.observed);
        Folder(fixture)
    }

    fn call(&self, tool: &dyn Tool, input: Value) -> Result<ToolOutput, ToolError> {
        self.runtime.block_on(async {
            let plan: Plan = tool.plan(&input, &self.workspace).await?;
            let context = ToolContext {
                workspace: &self.workspace,
                cancel: CancellationToken::new(),
                ending: CancellationToken::new(),
                deadline: Instant::now() + Duration::from_secs(120),
                output: &|_| {},
            };
            tool.run(input, plan, context).await
        })
    }
}

/// A fixture whose files are removed with it.
struct Folder(Fixture);

impl std::ops::Deref for Folder {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0.root).unwrap();
    }
}

/// About `size` bytes of code, with the marked line in the middle.
fn code(size: usize, seed: usize) -> String {
    let mut text = String::with_capacity(size + 100);
    let mut is_marked = false;
    for number in seed.. {
        if text.len() >= size / 2 && !std::mem::replace(&mut is_marked, true) {
            text.push_str(MARKED);
        }
        if text.len() >= size {
            break;
        }
        match number % 8 {
            0 => writeln!(text, "fn draw_{number}(font: &Font) -> Result<(), Error> {{"),
            7 => writeln!(text, "}}\n"),
            _ => writeln!(text, "    let width_{number} = measure(glyph_{number}, &font)?;"),
        }
        .unwrap();
    }
    text
}
