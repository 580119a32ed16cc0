//! Figures of runs, and how they are shown.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::document::{Column, NOTHING, Table, dollars, grouped, or_nothing, percent, percents, time};
use crate::record::{RunRecord, ToolCounts};
use crate::stats::{Interval, Tally, ratio};

/// Figures of a task, a category or of all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Of what.
    pub name: String,
    /// Measured runs that solved their task.
    pub solved: u64,
    /// Runs that count.
    pub measured: u64,
    /// Runs that do not.
    pub void: u64,
    /// pass@1: solved of measured.
    pub rate: Option<f64>,
    /// Its 95 % interval (Wilson).
    pub interval: Option<Interval>,
    /// Model responses.
    pub turns: Option<Mean>,
    /// Model responses of the runs that solved their task.
    pub turns_solved: Option<Mean>,
    /// Tokens of all prompts, cached or not.
    pub tokens_in: Option<Mean>,
    /// Tokens of all responses.
    pub tokens_out: Option<Mean>,
    /// The part of `tokens_in` that was read from the cache.
    pub tokens_cached: Option<Mean>,
    /// Cost in US dollars.
    pub cost_usd: Option<Mean>,
    /// Millitime of the run.
    pub wall_ms: Option<Mean>,
    /// Of that, waiting for the model.
    pub model_ms: Option<Mean>,
    /// Sum over all tool calls; calls that ran side by side count each.
    pub tools_ms: Option<Mean>,
    /// Requests tried again.
    pub retries: Option<Mean>,
    /// Requests whose prefix missed the cache because it changed.
    pub cache_breaks: Option<Mean>,
    /// Times context was folded.
    pub folds: Option<Mean>,
}

/// A mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Of how many runs.
    pub runs: u64,
}

/// pass^k, the mean over tasks of the unbiased estimate C(solved, k) / C(measured, k).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PassAll {
    /// k: the repeats most tasks have.
    pub repeats: u64,
    /// The estimate.
    pub rate: f64,
    /// Tasks with so many measured runs; others are left out.
    pub tasks: u64,
}

/// What each repeat solved of the tasks that were measured in all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The tasks.
    pub tasks: u64,
    /// Solved tasks, by repeat.
    pub solved: Vec<u64>,
    /// The lowest rate of a repeat.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

/// Calls of one tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolFigures {
    /// The tool.
    pub name: String,
    /// Settled calls.
    pub calls: u64,
    /// Those that failed.
    pub errors: u64,
    /// Their part.
    pub error_rate: Option<f64>,
    /// Their codes, the commonest first.
    pub codes: Vec<CodeCount>,
    /// Millitime of a call, on average.
    pub mean_ms: Option<f64>,
}

/// How often a code was an error's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeCount {
    /// The code.
    pub code: String,
    /// Calls.
    pub count: u64,
}

impl Figures {
    /// The figures of `runs`.
    pub(crate) fn of(name: &str, runs: &[&RunRecord]) -> Self {
        let tally: Tally = runs.iter().filter_map(|run| run.solved()).collect();
        let mean = |figure: fn(&RunRecord) -> Option<f64>| {
            Mean::of(runs.iter().filter(|run| run.solved().is_some()).filter_map(|run| figure(run)))
        };
        Self {
            name: name.to_owned(),
            solved: tally.solved,
            measured: tally.measured(),
            void: runs.len() as u64 - tally.measured(),
            rate: tally.rate(),
            interval: tally.wilson(),
            turns: mean(|run| Some(run.turns.into())),
            turns_solved: mean(|run| (run.solved() == Some(true)).then_some(run.turns.into())),
            tokens_in: mean(|run| Some(run.usage?.context() as f64)),
            tokens_out: mean(|run| Some(run.usage?.output as f64)),
            tokens_cached: mean(|run| Some(run.usage?.cache_read as f64)),
            cost_usd: mean(|run| run.cost_usd),
            wall_ms: mean(|run| Some(run.wall_ms as f64)),
            model_ms: mean(|run| Some(run.model_ms as f64)),
            tools_ms: mean(|run| Some(run.tools_ms as f64)),
            retries: mean(|run| Some(run.retries as f64)),
            cache_breaks: mean(|run| run.cache_breaks.map(|count| count as f64)),
            folds: mean(|run| run.folds.map(|count| count as f64)),
        }
    }

    pub(crate) fn by(runs: &[&RunRecord], name: fn(&RunRecord) -> &str) -> Vec<Self> {
        groups(runs, name).into_iter().map(|(name, runs)| Self::of(name, &runs)).collect()
    }

    /// Rate, interval and both counts.
    pub(crate) fn pass(&self) -> String {
        let rate = self.rate.zip(self.interval);
        let rate = or_nothing(rate, |(rate, interval)| format!("{} (95 %: {})", percent(rate), percents(interval)));
        format!("{rate}, {} solved of {} measured", self.solved, self.measured)
    }

    /// The mean, with the number of its runs if they are not all.
    pub(crate) fn mean(&self, mean: Mean, show: fn(f64) -> String) -> String {
        let runs = if mean.runs == self.measured { String::new() } else { format!(" (of {} runs)", mean.runs) };
        format!("{}{runs}", show(mean.mean))
    }

    pub(crate) fn part(&self, count: usize) -> String {
        if self.measured == 0 { NOTHING.to_owned() } else { format!("{count} of {}", self.measured) }
    }
}

/// One row each.
pub(crate) fn figures_table(name: &'static str, all: &[Figures]) -> Table {
    use Column::{Left, Right};
    let heads = ["solved", "95 %", "void", "turns", "tokens in", "cached", "out", "cost", "wall"];
    let columns = [Left(name)].into_iter().chain(heads.map(Right)).collect();
    let row = |figures: &Figures| {
        let mean = |figure: Option<Mean>, show: fn(f64) -> String| or_nothing(figure, |mean| show(mean.mean));
        vec![
            figures.name.clone(),
            format!("{}/{}", figures.solved, figures.measured),
            or_nothing(figures.interval, percents),
            figures.void.to_string(),
            mean(figures.turns, |turns| format!("{turns:.1}")),
            mean(figures.tokens_in, grouped),
            mean(figures.tokens_cached, grouped),
            mean(figures.tokens_out, grouped),
            mean(figures.cost_usd, dollars),
            mean(figures.wall_ms, time),
        ]
    };
    Table { columns, rows: all.iter().map(row).collect() }
}

impl Mean {
    fn of(figures: impl Iterator<Item = f64>) -> Option<Self> {
        let (sum, runs) = figures.fold((0.0, 0), |(sum, runs), figure| (sum + figure, runs + 1));
        Some(Self { mean: ratio(sum, runs as f64)?, runs })
    }
}

/// Runs by what `name` gives, sorted.
pub(crate) fn groups<'a>(
    runs: &[&'a RunRecord],
    name: fn(&RunRecord) -> &str,
) -> BTreeMap<&'a str, Vec<&'a RunRecord>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for run in runs {
        groups.entry(name(run)).or_default().push(*run);
    }
    groups
}

/// The repeats that at least half of the tasks have, void ones included: some tasks may ask for more or lack some.
fn repeats(runs: &[&RunRecord]) -> u64 {
    let mut counts: Vec<u64> = groups(runs, |run| &run.task).values().map(|runs| runs.len() as u64).collect();
    counts.sort_unstable();
    counts.get(counts.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

impl PassAll {
    pub(crate) fn of(runs: &[&RunRecord]) -> Option<Self> {
        let repeats = repeats(runs);
        let chances = groups(runs, |run| &run.task)
            .into_values()
            .filter_map(|runs| runs.iter().filter_map(|run| run.solved()).collect::<Tally>().all_of(repeats));
        let Mean { mean, runs } = Mean::of(chances)?;
        Some(Self { repeats, rate: mean, tasks: runs })
    }

    pub(crate) fn text(self, of: usize) -> String {
        let Self { repeats, rate, tasks } = self;
        format!("{}, k = {repeats} ({tasks} of {of} tasks have so many measured runs)", percent(rate))
    }
}

impl Spread {
    /// `None` unless there are two repeats and a task that was measured in each.
    pub(crate) fn of(runs: &[&RunRecord]) -> Option<Self> {
        let numbers: BTreeSet<u32> = runs.iter().map(|run| run.number).collect();
        let numbers: Vec<u32> = numbers.into_iter().take(repeats(runs) as usize).collect();
        let result = |runs: &[&RunRecord], number| runs.iter().find(|run| run.number == number)?.solved();
        let all = |runs: Vec<&RunRecord>| numbers.iter().map(|number| result(&runs, *number)).collect();
        let tasks: Vec<Vec<bool>> = groups(runs, |run| &run.task).into_values().filter_map(all).collect();
        if numbers.len() < 2 || tasks.is_empty() {
            return None;
        }
        let count = |repeat| tasks.iter().filter(|task| task[repeat]).count() as u64;
        let solved: Vec<u64> = (0..numbers.len()).map(count).collect();
        let rate = |solved: Option<&u64>| solved.map_or(0.0, |solved| *solved as f64 / tasks.len() as f64);
        let (low, high) = (rate(solved.iter().min()), rate(solved.iter().max()));
        Some(Self { tasks: tasks.len() as u64, solved, low, high })
    }

    pub(crate) fn text(&self) -> String {
        let range = percents(Interval { low: self.low, high: self.high });
        let solved: Vec<String> = self.solved.iter().map(u64::to_string).collect();
        format!("{range} (solved {} of {} tasks)", solved.join(", "), self.tasks)
    }
}

impl ToolFigures {
    /// Of each tool that was called.
    pub(crate) fn by_name(runs: &[&RunRecord]) -> Vec<Self> {
        let mut tools = BTreeMap::<&str, ToolCounts>::new();
        for (name, counts) in runs.iter().flat_map(|run| &run.tools) {
            let sum = tools.entry(name).or_default();
            sum.calls += counts.calls;
            sum.ms += counts.ms;
            for (code, count) in &counts.errors {
                *sum.errors.entry(code.clone()).or_default() += count;
            }
        }
        tools.into_iter().map(|(name, counts)| Self::of(name, counts)).collect()
    }

    fn of(name: &str, counts: ToolCounts) -> Self {
        let (calls, errors) = (counts.calls, counts.errors.values().sum());
        let mut codes: Vec<_> = counts.errors.into_iter().map(|(code, count)| CodeCount { code, count }).collect();
        codes.sort_by_key(|code| std::cmp::Reverse(code.count));
        let of_calls = |figure: u64| ratio(figure as f64, calls as f64);
        Self { name: name.to_owned(), calls, errors, error_rate: of_calls(errors), codes, mean_ms: of_calls(counts.ms) }
    }

    pub(crate) fn succeeded(&self) -> String {
        let rate = or_nothing(self.error_rate, |rate| percent(1.0 - rate));
        format!("{rate}, {} of {} calls", self.calls.saturating_sub(self.errors), self.calls)
    }
}
