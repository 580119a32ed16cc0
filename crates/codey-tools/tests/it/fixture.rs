//! A throw-away workspace, and calls as the agent makes them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use codey_llm::Block;
use codey_protocol::{ErrorCode, Observed, RelPath, ToolDisplay};
use codey_tools::{
    Plan, Tool, ToolContext, ToolError, ToolOutput, Workspace, WorkspaceOptions, builtin_tools, default_deny_paths,
};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub struct Fixture {
    folder: tempfile::TempDir,
    pub workspace: Workspace,
    pub cancel: CancellationToken,
    pub ending: CancellationToken,
    pub timeout: Duration,
    /// What `ToolContext::output` was given.
    pub streamed: Arc<Mutex<String>>,
}

impl Fixture {
    /// A workspace with these files; a path that ends in `/` is a folder.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::below("", files)
    }

    /// The same, with relative paths starting in `cwd`.
    pub fn below(cwd: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = open(folder.path(), cwd);
        let fixture = Self {
            folder,
            workspace,
            cancel: CancellationToken::new(),
            ending: CancellationToken::new(),
            timeout: Duration::from_secs(60),
            streamed: Arc::default(),
        };
        for (path, content) in files {
            fixture.put(path, content.as_bytes());
        }
        fixture
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file behind the tools' back.
    pub fn put(&self, path: &str, content: &[u8]) {
        let file = self.path(path);
        if path.ends_with('/') {
            return std::fs::create_dir_all(file).unwrap();
        }
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }

    pub fn bytes(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.path(path)).unwrap()
    }

    /// Content with all but printable ASCII escaped, to compare and to show.
    pub fn escaped(&self, path: &str) -> String {
        self.bytes(path).escape_ascii().to_string()
    }

    pub fn mode(&self, path: &str) -> u32 {
        std::fs::metadata(self.path(path)).unwrap().permissions().mode() & 0o7777
    }

    pub fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    pub async fn plan(&self, tool: &str, input: &Value) -> Result<Plan, ToolError> {
        tool_named(tool).plan(input, &self.workspace).await
    }

    pub async fn carry_out(&self, tool: &str, input: Value, plan: Plan) -> Result<ToolOutput, ToolError> {
        let streamed = Arc::clone(&self.streamed);
        let take = move |text: &str| streamed.lock().unwrap().push_str(text);
        let context = ToolContext {
            workspace: &self.workspace,
            cancel: self.cancel.clone(),
            ending: self.ending.clone(),
            deadline: Instant::now() + self.timeout,
            output: &take,
        };
        tool_named(tool).run(input, plan, context).await
    }

    /// Plans, runs and observes, as dispatch does.
    pub async fn call(&self, tool: &str, input: Value) -> Result<ToolOutput, ToolError> {
        let plan = self.plan(tool, &input).await?;
        let output = self.carry_out(tool, input, plan).await?;
        self.workspace.observe(&output.observed);
        Ok(output)
    }

    /// The text of a call that succeeds.
    pub async fn text(&self, tool: &str, input: Value) -> String {
        text_of(&self.call(tool, input).await.unwrap())
    }

    /// The error of a call that fails.
    pub async fn error(&self, tool: &str, input: Value) -> ToolError {
        match self.call(tool, input.clone()).await {
            Ok(output) => panic!("{tool} {input} succeeded: {}", text_of(&output)),
            Err(error) => error,
        }
    }

    /// Fails unless the call fails with this code; gives the message.
    pub async fn refused(&self, tool: &str, input: Value, code: ErrorCode) -> String {
        let error = self.error(tool, input).await;
        assert_eq!(error.code, code, "{}", error.message);
        error.message
    }

    pub async fn read(&self, path: &str) -> Vec<Observed> {
        self.call("read", serde_json::json!({ "path": path })).await.unwrap().observed
    }
}

pub fn open(root: &Path, cwd: &str) -> Workspace {
    let options = WorkspaceOptions {
        root: root.to_owned(),
        cwd: RelPath::new(cwd),
        deny_paths: default_deny_paths(),
        hidden_env: vec!["MY_PROVIDER".to_owned()],
    };
    Workspace::open(options).unwrap()
}

pub fn tool_named(name: &str) -> Arc<dyn Tool> {
    builtin_tools().into_iter().find(|tool| tool.info().spec.name == name).unwrap()
}

pub fn text_of(output: &ToolOutput) -> String {
    match output.for_model.as_slice() {
        [Block::Text { text }] => text.clone(),
        other => panic!("not one text: {other:?}"),
    }
}

pub fn diff_of(display: &ToolDisplay) -> &codey_protocol::Diff {
    match display {
        ToolDisplay::Diff(diff) => diff,
        other => panic!("no diff: {other:?}"),
    }
}
