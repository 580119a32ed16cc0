//! Tasks: a folder each, checked as a whole before anything runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// Runs of a task may take this long unless it says otherwise.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Turns a task may take unless it says otherwise.
const MAX_TURNS: u32 = 20;
/// What a variant (a solution, a near miss) consists of, by the ends of its files' names.
const ANSWER: &str = ".answer.txt";
const PATCH: &str = ".patch";
const SCRIPT: &str = ".sh";

/// A task: its folder and what stands in it.
#[derive(Clone, Debug)]
pub struct Task {
    /// The folder's name.
    pub name: String,
    /// The folder, absolute.
    pub folder: PathBuf,
    /// What a user would type.
    pub prompt: String,
    /// `task.toml`.
    pub spec: Spec,
    /// Files that are missing. Runs of such a task are void.
    pub missing: Vec<String>,
}

/// The optional `task.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// For the report.
    pub category: String,
    /// Responses the model may take; one more and the run has failed.
    pub max_turns: u32,
    /// Wall time of the agent; more and the run has failed.
    #[serde(deserialize_with = "duration")]
    pub timeout: Duration,
    /// The tools the agent gets; `None`: all.
    pub tools: Option<Vec<String>>,
    /// Whether the workspace must be left as it was.
    pub expect_no_changes: bool,
    /// Files that must be there afterwards, byte for byte.
    pub must_survive: Vec<String>,
    /// Repeats for each one asked for.
    pub repetitions: u32,
    /// The repository's own test command; the scripted oracle runs it last.
    pub test: Option<String>,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            category: "other".to_owned(),
            max_turns: MAX_TURNS,
            timeout: TIMEOUT,
            tools: None,
            expect_no_changes: false,
            must_survive: Vec::new(),
            repetitions: 1,
            test: None,
        }
    }
}

/// Seconds as `"600s"`.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let seconds = text.strip_suffix('s').and_then(|number| number.parse().ok()).filter(|seconds| *seconds > 0);
    let error = || de::Error::custom(format!("{text:?} is no duration: write seconds, like \"600s\""));
    seconds.map(Duration::from_secs).ok_or_else(error)
}

/// One way to do a task, right or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// `solution/solution`, `near_miss/weakened-test`.
    pub name: String,
    /// What it does to the workspace.
    pub change: Option<Change>,
    /// What it says in the end.
    pub answer: Option<String>,
}

/// What a variant does to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A patch for `git apply`.
    Patch(PathBuf),
    /// A script for bash.
    Script(PathBuf),
}

/// Why a suite cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct SuiteError(
    /// Every problem found, a line each.
    pub Vec<String>,
);

/// Reads the tasks in `folder`, sorted by name; only those named in `only` unless that is empty.
///
/// The whole suite is read even if few tasks are asked for.
///
/// # Errors
/// Everything that is wrong with any of them: an unreadable file, an unknown key, an unknown name in `only`.
pub fn load_suite(folder: &Path, only: &[String]) -> Result<Vec<Task>, SuiteError> {
    let folder = folder.canonicalize().map_err(|error| SuiteError(vec![format!("{}: {error}", folder.display())]))?;
    let mut problems = Vec::new();
    let mut tasks = Vec::new();
    for path in entries(&folder).into_iter().filter(|path| path.is_dir()) {
        match load(&path) {
            Ok(task) => tasks.push(task),
            Err(problem) => problems.push(format!("{}: {problem}", path.display())),
        }
    }
    let names: BTreeSet<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    if problems.is_empty() {
        let unknown = only.iter().filter(|name| !names.contains(name.as_str()));
        problems.extend(unknown.map(|name| format!("there is no task {name:?}; `codey-evals list` names them")));
    }
    if tasks.is_empty() && problems.is_empty() {
        problems.push(format!("{} holds no task", folder.display()));
    }
    if !problems.is_empty() {
        return Err(SuiteError(problems));
    }
    tasks.retain(|task| only.is_empty() || only.contains(&task.name));
    Ok(tasks)
}

fn load(folder: &Path) -> Result<Task, String> {
    let name = folder.file_name().and_then(|name| name.to_str()).ok_or("its name is no text")?;
    if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        return Err("a task's name has lower-case letters, digits and hyphens".to_owned());
    }
    let file = folder.join("task.toml");
    let spec: Spec = match fs::read_to_string(&file) {
        Ok(text) => toml::from_str(&text).map_err(|error| format!("task.toml: {}", error.to_string().trim_end()))?,
        Err(_) if !file.exists() => Spec::default(),
        Err(error) => return Err(format!("task.toml: {error}")),
    };
    if spec.max_turns == 0 || spec.repetitions == 0 {
        return Err("task.toml: max_turns and repetitions are at least 1".to_owned());
    }
    let missing = ["prompt.txt", "setup.sh", "verify.sh"].iter().filter(|name| !folder.join(name).is_file());
    let missing = missing.map(|name| (*name).to_owned()).collect();
    let prompt = fs::read_to_string(folder.join("prompt.txt")).unwrap_or_default().trim().to_owned();
    Ok(Task { name: name.to_owned(), folder: folder.to_owned(), prompt, spec, missing })
}

impl Task {
    /// The reference solution.
    pub fn solution(&self) -> Option<Variant> {
        self.variants("solution").into_iter().next()
    }

    /// Plausible wrong solutions, sorted by name.
    pub fn near_misses(&self) -> Vec<Variant> {
        self.variants("near_miss")
    }

    fn variants(&self, folder: &str) -> Vec<Variant> {
        let files = entries(&self.folder.join(folder));
        let names = files.iter().filter_map(|path| path.file_name()?.to_str());
        let stem =
            |name: &str| [ANSWER, PATCH, SCRIPT].iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned);
        let stems: BTreeSet<String> = names.filter_map(stem).collect();
        stems
            .into_iter()
            .map(|stem| {
                let file = |end: &str| {
                    Some(self.folder.join(folder).join(format!("{stem}{end}"))).filter(|file| file.is_file())
                };
                let change = file(PATCH).map(Change::Patch).or_else(|| file(SCRIPT).map(Change::Script));
                let answer = file(ANSWER).and_then(|file| fs::read_to_string(file).ok());
                Variant { name: format!("{folder}/{stem}"), change, answer: answer.map(|text| text.trim().to_owned()) }
            })
            .collect()
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}
