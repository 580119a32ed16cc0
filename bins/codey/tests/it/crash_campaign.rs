//! The program is killed wherever it writes, and at any time: nothing is torn but the record being written, nothing
//! keeps running, and the session goes on.
//!
//! `CODEY_CAMPAIGN=full` kills at 200 points and 50 moments; without it at some 40, which every test run can afford.
//! `--no-capture` shows the figures.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use codey_llm::{Block, tool_use};
use codey_testkit::{Reply, ScriptedServer, TempWorkspace, check_anthropic, check_openai};
use serde_json::{Value, json};

use crate::codey::{Api, Codey, bash, read, reply, says, session_file};

/// Threads that run points: the machine that this was measured on has two cores.
const THREADS: usize = 2;
/// How long what a dead program started may live on.
const PATIENCE: Duration = Duration::from_secs(10);
/// Names the variable that marks everything one point started.
const MARK: &str = "CODEY_CRASH_POINT";
/// What the run that is killed is asked for.
const PROMPT: &str = "number the lines";
/// Kinds of steps that happen at once. They are few, so all of them are points.
const STEPS: [&str; 3] = ["rename", "link", "remove"];
/// Kinds of writes and steps that tools make.
const OF_TOOLS: [&str; 6] = ["temporary", "rename", "link", "remove", "spill", "watchdog"];

struct Scale {
    /// Points in each class, besides the steps and those drawn over all bytes.
    in_class: usize,
    over_bytes: usize,
    /// Some of these end before their moment comes.
    by_clock: usize,
}

fn scale() -> Scale {
    match std::env::var("CODEY_CAMPAIGN").as_deref() {
        Ok("full") => Scale { in_class: 60, over_bytes: 80, by_clock: 64 },
        Ok("ci") | Err(_) => Scale { in_class: 8, over_bytes: 8, by_clock: 8 },
        Ok(other) => panic!("CODEY_CAMPAIGN is {other:?}, expected ci or full"),
    }
}

// ---- The run that is killed

fn numbered(word: &str) -> String {
    (1..=80).map(|number| format!("{word} {number}\n")).collect()
}

/// A file that a call changes.
struct Change {
    path: &'static str,
    call: &'static str,
    old: Option<String>,
    new: String,
}

fn changes() -> [Change; 3] {
    let line = numbered("line");
    let edited = line.replace("line 40\n", "the edited line\n");
    [
        Change { path: "a.txt", call: "edit-a", old: Some(line), new: edited },
        Change { path: "src/b.txt", call: "write-b", old: Some(numbered("old")), new: numbered("overwritten") },
        Change { path: "src/c.txt", call: "write-c", old: None, new: numbered("made") },
    ]
}

fn workspace() -> TempWorkspace {
    let changes = changes();
    let old: Vec<_> = changes.iter().filter_map(|change| Some((change.path, change.old.as_deref()?))).collect();
    TempWorkspace::with_git(&old)
}

fn write(id: &str, path: &str, content: &str) -> Block {
    tool_use(id, "write", json!({"path": path, "content": content}))
}

/// Reads side by side, an edit, two writes in one message, a command, one whose output is spilled, one that takes its
/// time and leaves something behind.
fn turns(api: Api) -> Vec<Reply> {
    let [_, b, c] = changes();
    let edit = json!({"path": "a.txt", "old_str": "line 40\n", "new_str": "the edited line\n"});
    let sleeps = "setsid sleep 60 & echo on > sleeping; sleep 0.2; rm sleeping";
    let turns = vec![
        vec![
            Block::text("I look."),
            read("read-a", "a.txt"),
            read("read-b", "src/b.txt"),
            tool_use("glob", "glob", json!({"pattern": "**"})),
        ],
        vec![tool_use("edit-a", "edit", edit)],
        vec![Block::text("I write."), write("write-b", b.path, &b.new), write("write-c", c.path, &c.new)],
        vec![bash("short", "echo $CODEY_PROCESS > mark"), bash("spilled", "seq 9000")],
        vec![bash("sleeps", sleeps)],
    ];
    turns.into_iter().map(|blocks| reply(api, blocks)).chain([says(api, "all done")]).collect()
}

/// A write or step that the ledger of a process names.
#[derive(Clone, Debug)]
struct Entry {
    what: String,
    /// Which one of its kind.
    nth: usize,
    bytes: usize,
    class: Class,
}

/// When something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// By a tool that runs.
    Tool,
    /// By something else between a message with calls and their results, these included.
    Between,
    Other,
}

/// How a process is killed.
#[derive(Clone, Debug)]
enum Death {
    At { what: String, nth: usize, part: usize },
    After(Duration),
}

/// A process that ended, one way or the other.
struct Ended {
    status: ExitStatus,
    took: Duration,
    /// Whether a command was asleep then.
    slept: bool,
    /// Complete writes and steps.
    done: Vec<Entry>,
    /// When the one was due that killed it.
    died: Option<Class>,
}

fn run(api: Api, workspace: &TempWorkspace, mark: &str, death: Option<&Death>) -> Ended {
    let server = ScriptedServer::start(turns(api));
    let args = ["-p", "--mode", "json", "--always-approve", PROMPT];
    let mut codey = Codey::new(workspace.path()).asking(&server, api).env(MARK, mark).args(&args);
    let ledger = codey.home.path().join("ledger");
    codey = codey.env("CODEY_FAULT_LEDGER", ledger.to_str().unwrap());
    if let Some(Death::At { what, nth, part }) = death {
        let point = format!("{what}:{nth}:{part}");
        codey = codey.env("CODEY_FAULT_AT", point.as_str());
    }
    let start = Instant::now();
    let mut child = codey.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    if let Some(Death::After(moment)) = death {
        std::thread::sleep(*moment);
        child.kill().unwrap();
    }
    let (status, took, slept) = (child.wait().unwrap(), start.elapsed(), workspace.exists("sleeping"));
    let ledger = std::fs::read_to_string(ledger).unwrap_or_default();
    let (done, died) = classified(&ledger, &Session::of(workspace).records);
    Ended { status, took, slept, done, died }
}

/// Reads a ledger. Its session entries are the records of the session file, in order.
fn classified(ledger: &str, records: &[Value]) -> (Vec<Entry>, Option<Class>) {
    let (mut done, mut died) = (Vec::new(), None);
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut records = records.iter();
    let mut is_open = false;
    for line in ledger.lines() {
        let (what, rest) = line.split_once(' ').unwrap();
        let class = |what| match (is_open, OF_TOOLS.contains(&what)) {
            (true, true) => Class::Tool,
            (true, false) => Class::Between,
            (false, _) => Class::Other,
        };
        if what == "died" {
            died = Some(class(rest.split(' ').next().unwrap()));
            continue;
        }
        let nth = counts.entry(what).or_default();
        done.push(Entry { what: what.to_owned(), nth: *nth, bytes: rest.parse().unwrap(), class: class(what) });
        *nth += 1;
        if what == "session" {
            let record = records.next().expect("what the ledger calls complete is in the file");
            is_open = blocks(record).any(|block| block["type"] == "tool_use");
        }
    }
    (done, died)
}

fn blocks(record: &Value) -> impl Iterator<Item = &Value> {
    record["message"]["content"].as_array().into_iter().flatten()
}

// ---- What has to hold afterwards

/// A session file.
#[derive(Default)]
struct Session {
    exists: bool,
    /// Its whole lines, byte for byte.
    whole: Vec<u8>,
    records: Vec<Value>,
    /// Bytes of a last line without an end.
    torn: usize,
}

impl Session {
    fn of(workspace: &TempWorkspace) -> Self {
        let entries = std::fs::read_dir(workspace.at(".codey/sessions"));
        let is_there = entries.is_ok_and(|mut entries| {
            entries.any(|entry| entry.unwrap().path().extension().is_some_and(|extension| extension == "jsonl"))
        });
        if !is_there {
            return Self::default();
        }
        let mut whole = std::fs::read(session_file(workspace)).unwrap();
        let end = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let torn = whole.split_off(end).len();
        let lines = std::str::from_utf8(&whole).unwrap().lines();
        let records = lines.map(|line| serde_json::from_str(line).expect("every whole line is a record")).collect();
        Self { exists: true, whole, records, torn }
    }

    fn holds(&self, kind: &str, id_member: &str, id: &str) -> bool {
        self.records.iter().any(|record| blocks(record).any(|block| block["type"] == kind && block[id_member] == id))
    }
}

/// Every file of the work tree and of `.git/info`.
fn files(workspace: &TempWorkspace) -> Vec<String> {
    fn collect(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            match name.as_str() {
                ".git" => collect(root, &path.join("info"), found),
                ".codey" => {}
                _ if path.is_dir() => collect(root, &path, found),
                _ => found.push(name),
            }
        }
    }
    let mut found = Vec::new();
    collect(workspace.path(), workspace.path(), &mut found);
    found
}

fn is_temporary(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap();
    name.starts_with(".codey-") && name.ends_with(".tmp")
}

/// Files are old or new, never torn; none changed before its call was recorded, none is old after its result was.
fn check_files(workspace: &TempWorkspace, session: &Session, exclude: &str) {
    for Change { path, call, old, new } in changes() {
        let now = workspace.exists(path).then(|| workspace.read(path));
        if now.as_deref() == Some(new.as_str()) {
            assert!(session.holds("tool_use", "id", call), "{path} changed before its call was recorded");
        } else {
            assert!(now == old, "{path} is torn: {now:?}");
            assert!(!session.holds("tool_result", "call", call), "{path} has not changed, and its result says so");
        }
    }
    let now = workspace.read(".git/info/exclude");
    assert!(now == exclude || now == format!("{exclude}/.codey/\n"), "the exclude file is torn: {now:?}");
    let known = ["a.txt", "src/b.txt", "src/c.txt", "mark", "sleeping", ".git/info/exclude"];
    let strange = files(workspace).into_iter().filter(|path| !known.contains(&path.as_str()) && !is_temporary(path));
    assert_eq!(strange.collect::<Vec<_>>(), [""; 0], "files nobody asked for");
}

/// What the ledger calls complete is in the file, and at most one record more: the one being written. Nodes hang
/// together.
fn check_records(session: &Session, ended: &Ended) {
    let done = ended.done.iter().filter(|entry| entry.what == "session");
    let (count, bytes) = done.fold((0, 0), |(count, bytes), entry| (count + 1, bytes + entry.bytes));
    let whole = session.records.len();
    // A kill from outside can fall between the write and the note in the ledger.
    assert!(whole == count || (ended.died.is_none() && whole == count + 1), "{whole} records, {count} complete writes");
    assert!(whole != count || session.whole.len() == bytes);
    let mut known = vec![&Value::Null];
    for record in session.records.iter().filter(|record| record["type"] == "node") {
        assert!(known.contains(&&record["parent"]), "the parent of {record} is missing");
        known.push(&record["id"]);
    }
}

/// Metrics lose a line at most.
fn check_metrics(workspace: &TempWorkspace, done: usize) {
    let text = std::fs::read_to_string(workspace.at(".codey/events.jsonl")).unwrap_or_default();
    let is_whole = |line: &&str| serde_json::from_str::<Value>(line).is_ok();
    let whole = text.lines().filter(is_whole).count();
    assert!(whole >= done && text.lines().count() <= whole + 1, "{done} lines were complete: {text}");
}

/// Waits until nothing is left of what a point started, its watchdog included.
fn check_processes(workspace: &TempWorkspace, mark: &str) {
    let codey = std::fs::read_to_string(workspace.at("mark")).unwrap_or_default();
    // A command writes it, and may be killed before it has.
    let watchdog = codey.strip_suffix('\n').map(|id| format!("CODEY_PROCESS={id}"));
    let marks = [Some(format!("{MARK}={mark}")), watchdog];
    let since = Instant::now();
    loop {
        let left = carriers(marks.iter().flatten().map(String::as_str));
        if left.is_empty() {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "still running: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes with one of `marks` in their environment or arguments.
fn carriers<'a>(marks: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |name| std::fs::read(process.path().join(name)).unwrap_or_default();
        let has =
            |bytes: &[u8]| marks.clone().any(|mark| bytes.split(|byte| *byte == 0).any(|one| one == mark.as_bytes()));
        let arguments = read("cmdline");
        if has(&arguments) || has(&read("environ")) {
            found.push(String::from_utf8_lossy(&arguments).replace('\0', " "));
        }
    }
    found
}

/// Killed once more, before it could cut the torn record off, the session is as before.
fn check_dies_again(api: Api, workspace: &TempWorkspace, session: &Session) {
    let server = ScriptedServer::start(Vec::new());
    let mut codey = Codey::new(workspace.path()).asking(&server, api).env("CODEY_FAULT_AT", "cut:0:0");
    codey = codey.args(&["-p", "--continue", "go on"]);
    let status = codey.command().stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!((status.signal(), server.requests().len()), (Some(9), 0));
    let now = Session::of(workspace);
    assert!(now.whole == session.whole && now.torn == session.torn);
}

/// Metrics of the run that goes on: two calls, two edits, two requests, the run.
const METRICS_OF_GOING_ON: usize = 7;

/// The session goes on: a strict server accepts every request, nothing that was stored is lost, what was left beside
/// files is tidied up.
fn check_goes_on(api: Api, workspace: &TempWorkspace, session: &Session, mark: &str) {
    let writes = vec![write("z1", "z.txt", "z\n"), write("z2", "src/z.txt", "z\n")];
    let server = ScriptedServer::start(vec![reply(api, writes), says(api, "went on")]);
    let codey = || Codey::new(workspace.path()).asking(&server, api).env(MARK, mark);
    let mut ran = codey().args(&["-p", "--continue", "--always-approve", "go on"]).run();
    if !session.exists {
        assert!(ran.code == 2 && server.requests().is_empty(), "{ran:?}");
        ran = codey().args(&["-p", "--always-approve", "go on"]).run();
    }
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "went on\n"), "{ran:?}");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        let request = request.json();
        let checked = match api {
            Api::Anthropic => check_anthropic(&request),
            Api::OpenAi => check_openai(&request),
        };
        checked.unwrap_or_else(|refusal| panic!("{refusal}: {request}"));
    }
    let first = requests[0].json().to_string();
    let was_asked = session.records.iter().any(|record| record["type"] == "node");
    assert!(first.contains("go on") && first.contains(PROMPT) == was_asked, "{first}");
    let now = Session::of(workspace);
    assert_eq!(now.torn, 0, "the torn record was not cut");
    assert!(now.whole.starts_with(&session.whole), "records were changed");
    assert_eq!(now.records.last().unwrap()["type"], "head");
    let left: Vec<String> = files(workspace).into_iter().filter(|path| is_temporary(path)).collect();
    assert_eq!(left, [""; 0], "nobody tidied up");
    let sessions = std::fs::read_dir(workspace.at(".codey/sessions")).unwrap();
    assert_eq!(sessions.count(), 1, "a lock is left");
}

// ---- The campaign

/// Kills a run and checks all that has to hold then. Says what kind of case it was.
fn check(index: usize, death: &Death) -> Vec<&'static str> {
    let api = if index.is_multiple_of(2) { Api::Anthropic } else { Api::OpenAi };
    let workspace = workspace();
    let mark = format!("{}-{index}", std::process::id());
    let exclude = workspace.read(".git/info/exclude");
    let ended = run(api, &workspace, &mark, Some(death));
    let by_clock = matches!(death, Death::After(_));
    let survived = ended.status.success();
    assert!(
        ended.status.signal() == Some(9) && ended.died.is_some() != by_clock || by_clock && survived,
        "{:?}",
        ended.status
    );
    let session = Session::of(&workspace);
    check_processes(&workspace, &mark);
    check_files(&workspace, &session, &exclude);
    check_records(&session, &ended);
    let metrics = |ended: &Ended| ended.done.iter().filter(|entry| entry.what == "metrics").count();
    check_metrics(&workspace, metrics(&ended));
    if session.torn > 0 {
        check_dies_again(api, &workspace, &session);
    }
    check_goes_on(api, &workspace, &session, &mark);
    check_metrics(&workspace, metrics(&ended) + METRICS_OF_GOING_ON);
    check_processes(&workspace, &mark);
    let is_step = matches!(death, Death::At { what, .. } if STEPS.contains(&what.as_str()));
    let facts = [
        (POINTS, !by_clock),
        (IN_TOOL, ended.died == Some(Class::Tool)),
        (BETWEEN, ended.died == Some(Class::Between)),
        (AT_STEP, is_step),
        (BY_CLOCK, by_clock && !survived),
        ("by clock while a command slept", by_clock && ended.slept),
        (SURVIVED, survived),
        ("died before there was a session", !session.exists),
        (RESUMED, session.exists),
        ("lost the record being written", session.torn > 0),
    ];
    facts.into_iter().filter(|(_, holds)| *holds).map(|(fact, _)| fact).collect()
}

const POINTS: &str = "points";
const IN_TOOL: &str = "in a tool";
const BETWEEN: &str = "between calls and results";
const AT_STEP: &str = "at a step";
const BY_CLOCK: &str = "by clock";
const SURVIVED: &str = "ended before the clock";
const RESUMED: &str = "resumed";

/// Numbers that are the same in every run (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// The deaths of a campaign, after what a run without a fault wrote.
fn deaths(whole: &Ended, scale: &Scale) -> Vec<Death> {
    let mut draw = Draw(3);
    let at = |entry: &Entry, part| Death::At { what: entry.what.clone(), nth: entry.nth, part };
    let steps = whole.done.iter().filter(|entry| STEPS.contains(&entry.what.as_str()));
    let mut deaths: Vec<Death> = steps.map(|entry| at(entry, 0)).collect();
    for class in [Class::Tool, Class::Between] {
        let entries: Vec<&Entry> = whole.done.iter().filter(|entry| entry.class == class).collect();
        for _ in 0..scale.in_class {
            let entry = entries[draw.below(entries.len())];
            deaths.push(at(entry, draw.below(entry.bytes + 1)));
        }
    }
    let bytes: usize = whole.done.iter().map(|entry| entry.bytes).sum();
    for _ in 0..scale.over_bytes {
        let mut place = draw.below(bytes);
        let entry = whole.done.iter().find(|entry| {
            let is_here = place < entry.bytes;
            place -= if is_here { 0 } else { entry.bytes };
            is_here
        });
        deaths.push(at(entry.unwrap(), place));
    }
    let moments = u32::try_from(scale.by_clock).unwrap();
    deaths.extend((0..moments).map(|moment| Death::After(whole.took * (2 * moment + 1) / (2 * moments))));
    deaths
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are asked for with --no-capture")]
fn killed_anywhere_a_session_goes_on_and_loses_one_record_at_most() {
    let start = Instant::now();
    let scale = scale();
    let reference = workspace();
    let whole = run(Api::Anthropic, &reference, "reference", None);
    assert!(whole.status.success(), "{}", whole.status);
    for kind in STEPS.iter().chain(&OF_TOOLS) {
        assert!(whole.done.iter().any(|entry| entry.what == *kind), "nothing is called {kind:?} any more");
    }
    for change in changes() {
        assert_eq!(reference.read(change.path), change.new);
    }
    let bytes: usize = whole.done.iter().map(|entry| entry.bytes).sum();
    let all = deaths(&whole, &scale);
    let next = Mutex::new(all.iter().enumerate());
    let results = Mutex::new((BTreeMap::<&str, usize>::new(), Vec::new()));
    let work = || {
        while let Some((index, death)) = { next.lock().unwrap().next() } {
            let result = std::panic::catch_unwind(|| check(index, death));
            let (figures, failed) = &mut *results.lock().unwrap();
            match result {
                Ok(facts) => facts.into_iter().for_each(|fact| *figures.entry(fact).or_default() += 1),
                // The message was printed where it panicked.
                Err(_) => failed.push(death),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    let (figures, failed) = results.into_inner().unwrap();
    println!(
        "crash campaign: {} writes of {bytes} bytes; {figures:?}; {:.1} s",
        whole.done.len(),
        start.elapsed().as_secs_f32()
    );
    assert!(failed.is_empty(), "{} of {} failed: {failed:#?}", failed.len(), all.len());
    for (fact, least) in [(IN_TOOL, scale.in_class), (BETWEEN, scale.in_class), (AT_STEP, 5), (RESUMED, all.len() / 2)]
    {
        assert!(figures[fact] >= least, "{fact}: {figures:?}");
    }
    let count = |fact| figures.get(fact).copied().unwrap_or(0);
    assert_eq!(count(POINTS), all.len() - scale.by_clock);
    assert_eq!(count(BY_CLOCK) + count(SURVIVED), scale.by_clock);
    assert!(count(BY_CLOCK) >= scale.by_clock * 3 / 4, "too few died by the clock: {figures:?}");
}
