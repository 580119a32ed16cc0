//! Cancels commands of every kind at every moment: each call settles in time, and nothing of it is left.
//!
//! `CODEY_CAMPAIGN=full` cancels 300 calls; without it 60, which every test run can afford. `--no-capture` shows the
//! figures.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use codey_llm::{StopReason, tool_use, turn};
use codey_protocol::{ErrorCode, Event, Handle, Input, RunOutcome};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::world::{World, prompt, rest, until};

/// Calls at a time. Most of their time is waiting.
const AT_ONCE: usize = 4;
/// SIGKILL comes 2 s after SIGTERM; the rest is for a machine that runs other tests as well.
const PATIENCE: Duration = Duration::from_secs(4);

/// Something to cancel.
struct Kind {
    name: &'static str,
    /// `SLEEP` stands for a sleep that outlasts everything and names its call; `up` is printed when all of it runs.
    command: &'static str,
    /// Whether it holds a grandchild, a pipe or a process outside its group: what is easily left behind.
    holds: bool,
}

const fn plain(name: &'static str, command: &'static str) -> Kind {
    Kind { name, command, holds: false }
}

const fn holding(name: &'static str, command: &'static str) -> Kind {
    Kind { name, command, holds: true }
}

const KINDS: [Kind; 24] = [
    plain("sleep", "echo up; SLEEP; true"),
    plain("exec", "echo up; exec SLEEP"),
    plain("printing", "echo up; yes"),
    plain("trickling", "while :; do echo up; sleep 0.01; done"),
    plain("pipeline", "SLEEP | SLEEP | (echo up >&2; cat)"),
    plain("builtin loop", "echo up; while :; do :; done"),
    plain("deaf", "trap '' TERM; echo up; SLEEP; SLEEP"),
    plain("stopped shell", "echo up; kill -STOP $$"),
    plain("spilling", "seq 9000; echo up; SLEEP"),
    plain("traps", "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done"),
    holding("grandchild", "bash -c 'SLEEP & SLEEP & echo up; wait' & wait"),
    holding("pipe kept open", "(SLEEP; true) & disown; echo up; exec SLEEP 2> /dev/null > /dev/null"),
    holding("setsid", "setsid SLEEP & echo up; SLEEP"),
    holding("setsid and deaf", "setsid bash -c 'trap \"\" TERM; echo up; SLEEP; SLEEP' & SLEEP"),
    holding("daemon", "(setsid bash -c 'cd /; SLEEP & exec SLEEP' < /dev/null > /dev/null 2>&1 &); echo up; SLEEP"),
    holding("nohup", "nohup SLEEP > /dev/null 2>&1 & echo up; SLEEP"),
    holding("stopped child", "SLEEP & kill -STOP $!; echo up; SLEEP"),
    holding("stopped outside", "setsid SLEEP & sleep 0.02; kill -STOP $!; echo up; SLEEP"),
    holding("closed descriptors", "bash -c 'exec 0<&- 1>&- 2>&-; SLEEP & SLEEP' & echo up; wait"),
    holding("tree", "t() { [ $1 = 0 ] || (t $(($1 - 1))) & [ $1 != 0 ] || echo up; SLEEP; }; t 20"),
    holding("jobs", "set -m; SLEEP & (SLEEP | SLEEP) & echo up; wait"),
    holding("bare jobs", "set -m; env -i $(command -v sleep) SLEEP_TIME & echo up; wait"),
    holding("bare outside", "setsid env -i $(command -v sleep) SLEEP_TIME & echo up; wait"),
    holding("ever more", "while :; do setsid SLEEP & echo up; sleep 0.02; done"),
];

/// When it is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// As soon as the call is announced, or this much later.
    Started(Duration),
    /// With its first output.
    Printed,
    /// When all of it runs.
    Up,
}

/// Who cancels it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Canceller {
    /// The person; the session could go on.
    Interrupt,
    /// Codey is to end.
    Ending,
    /// The front end is gone.
    Dropped,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    index: usize,
    kind: usize,
    moment: Moment,
    canceller: Canceller,
}

/// Every kind at every moment comes up, whatever the number of cases.
fn case(index: usize) -> Case {
    let round = index / KINDS.len();
    let delay = Duration::from_millis((index as u64 * 7) % 60);
    let moments = [Moment::Up, Moment::Started(Duration::ZERO), Moment::Printed, Moment::Started(delay)];
    let cancellers = [Canceller::Interrupt, Canceller::Interrupt, Canceller::Ending, Canceller::Dropped];
    Case {
        index,
        kind: index % KINDS.len(),
        moment: moments[(index + round) % moments.len()],
        canceller: cancellers[(index / 2 + round) % cancellers.len()],
    }
}

fn count() -> usize {
    match std::env::var("CODEY_CAMPAIGN").as_deref() {
        Ok("full") => 300,
        Ok("ci") | Err(_) => 60,
        Ok(other) => panic!("CODEY_CAMPAIGN is {other:?}, expected ci or full"),
    }
}

/// Stands in the arguments or the environment of every process of a call. The number is a time to sleep.
fn mark(index: usize) -> String {
    format!("{}.{index:04}", 1_000_000 + std::process::id())
}

/// Live processes that carry `mark`, as `PID STATE ARGUMENTS`.
fn carriers(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |name| std::fs::read(process.path().join(name)).unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\0', " ");
        let arguments = text(&read("cmdline"));
        if arguments.contains(mark) || text(&read("environ")).contains(mark) {
            let stat = text(&read("stat"));
            let state = stat.rsplit_once(')').map_or("", |(_, rest)| &rest[..rest.len().min(40)]);
            found.push(format!("{}{state} {arguments}", process.file_name().display()));
        }
    }
    found
}

/// Children of this process that ended and that nobody has taken note of yet.
fn zombies() -> HashSet<String> {
    let mut found = HashSet::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        if rest.starts_with(&format!("Z {} ", std::process::id())) {
            found.insert(stat);
        }
    }
    found
}

/// Zombies that stay. Others are about to be taken note of: by the runtime, or by a test in this process whose they are.
async fn lasting_zombies() -> HashSet<String> {
    let start = Instant::now();
    let mut lasting = zombies();
    while !lasting.is_empty() && start.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let now = zombies();
        lasting.retain(|zombie| now.contains(zombie));
    }
    lasting
}

/// How long a call took to settle, or what was wrong with it.
async fn check(case: Case) -> Result<Duration, String> {
    let mark = mark(case.index);
    let time = format!("sleep {mark}");
    let command = KINDS[case.kind].command.replace("SLEEP_TIME", &mark).replace("SLEEP", &time);
    let command = format!("export CAMPAIGN={mark}; {command}");
    let world = World::new(vec![turn(vec![tool_use("c1", "bash", json!({"command": command}))], StopReason::ToolUse)]);
    let mut handle = world.builder().spawn().unwrap();
    handle.inputs.send(prompt("go")).unwrap();
    wait(&mut handle, case.moment).await;
    let cancelled = Instant::now();
    let story = match case.canceller {
        Canceller::Interrupt => {
            handle.inputs.send(Input::Interrupt).unwrap();
            Some(rest(handle).await)
        }
        Canceller::Ending => {
            handle.cancel.cancel();
            Some(rest(handle).await)
        }
        Canceller::Dropped => {
            let (id, sessions) = (codey_session::latest(&world.sessions()).unwrap().unwrap(), world.sessions());
            drop(handle);
            // Nobody is told; the lock of its session tells that the agent is gone.
            while sessions.join(format!("{id}.lock")).exists() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            None
        }
    };
    let took = cancelled.elapsed();
    let left = carriers(&mark);
    if !left.is_empty() {
        return Err(format!("left behind: {left:#?}"));
    }
    if took > PATIENCE {
        return Err(format!("took {took:?}"));
    }
    match story.map(|story| (story.outcome(), story.results())) {
        None => Ok(took),
        Some((RunOutcome::Interrupted {}, results)) if matches!(results[..], [(_, Some(ErrorCode::Cancelled), _)]) => {
            Ok(took)
        }
        Some(other) => Err(format!("ended as {other:?}")),
    }
}

async fn wait(handle: &mut Handle, moment: Moment) {
    match moment {
        Moment::Started(delay) => {
            until(handle, |event| matches!(event, Event::ToolStart { .. })).await;
            // The moment is what is varied here; nothing depends on what happens by then.
            tokio::time::sleep(delay).await;
        }
        Moment::Printed => {
            until(handle, |event| matches!(event, Event::ToolOutput { .. })).await;
        }
        Moment::Up => {
            until(handle, |event| matches!(event, Event::ToolOutput { text, .. } if text.contains("up"))).await;
        }
    }
}

/// What the cases came to.
#[derive(Default)]
struct Campaign {
    /// Times by canceller: the graces differ.
    times: BTreeMap<String, Vec<Duration>>,
    failed: Vec<String>,
}

impl Campaign {
    fn figures(&mut self) -> String {
        let line = |(canceller, times): (&String, &mut Vec<Duration>)| {
            times.sort_unstable();
            let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_millis();
            format!("{canceller} {} (ms: median {}, p95 {}, most {})", times.len(), at(50), at(95), at(100))
        };
        self.times.iter_mut().map(line).collect::<Vec<_>>().join("; ")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout, reason = "the figures are asked for with --no-capture")]
async fn cancelled_commands_leave_neither_processes_nor_zombies() {
    let start = Instant::now();
    let cases = (0..count()).map(case).collect::<Vec<_>>();
    let holding = cases.iter().filter(|case| KINDS[case.kind].holds).count();
    assert!(holding * 2 >= cases.len());
    let (campaign, room) = (Arc::new(Mutex::new(Campaign::default())), Arc::new(Semaphore::new(AT_ONCE)));
    let mut running = JoinSet::new();
    for case in cases {
        let (campaign, room) = (Arc::clone(&campaign), Arc::clone(&room));
        running.spawn(async move {
            let _permit = room.acquire().await.unwrap();
            let result = check(case).await;
            let campaign = &mut *campaign.lock().unwrap();
            match result {
                Ok(took) => campaign.times.entry(format!("{:?}", case.canceller)).or_default().push(took),
                Err(problem) => campaign.failed.push(format!("{} {case:?}: {problem}", KINDS[case.kind].name)),
            }
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
    let mut campaign = std::mem::take(&mut *campaign.lock().unwrap());
    println!(
        "process campaign: {} calls cancelled, {holding} of them holding on; {}; {:.1} s",
        count(),
        campaign.figures(),
        start.elapsed().as_secs_f32()
    );
    assert!(campaign.failed.is_empty(), "{} failed:\n{}", campaign.failed.len(), campaign.failed.join("\n"));
    let left = carriers(&format!("{}.", 1_000_000 + std::process::id()));
    assert_eq!((left, lasting_zombies().await), (Vec::new(), HashSet::new()));
}
