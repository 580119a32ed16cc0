//! Whether one set of runs is better than another.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::document::{Column, Document, Table, or_nothing, probability};
use crate::figures::{Figures, Spread, figures_table, groups};
use crate::record::RunRecord;
use crate::report::word;
use crate::stats::{Interval, Tally, cluster_bootstrap, fisher_exact, mcnemar_exact, ratio};

/// Below so many runs in total a note says that the sample is small.
const SMALL: u64 = 60;

/// Two sets of runs, beside each other. Rates are from 0 to 1.
///
/// Only tasks that were measured on both sides are in any figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What can be said.
    pub conclusion: Conclusion,
    /// What is to be known before it is believed.
    pub notes: Vec<String>,
    /// The first set.
    pub a: Figures,
    /// The second set.
    pub b: Figures,
    /// Measured runs of a task with the same number on both sides.
    pub pairs: Pairs,
    /// McNemar's exact test over the pairs.
    pub mcnemar_p: f64,
    /// Fisher's exact test over all measured runs. Takes runs of one task for independent, so it decides nothing.
    pub fisher_p: f64,
    /// Pass rate of B minus that of A, the mean over tasks.
    pub difference: Option<Estimate>,
    /// How far the repeats of one side lie apart, of the side where that is more; `None` of single repeats.
    pub spread: Option<f64>,
    /// Prompt tokens of B for each of A, tasks weighing the same on both sides.
    pub tokens_in: Option<Estimate>,
    /// Response tokens likewise.
    pub tokens_out: Option<Estimate>,
    /// Cost likewise, over the tasks where it is known of both.
    pub cost: Option<Estimate>,
    /// By task, sorted. No test is made of one task: of twenty, one would seem to differ by chance alone.
    pub tasks: Vec<TaskPair>,
}

/// What a comparison shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Conclusion {
    /// A solves more.
    ABetter {},
    /// B solves more.
    BBetter {},
    /// They may be the same, or the sample is too small to tell.
    NoDifferenceShown {},
    /// No task was measured on both sides.
    NothingShared {},
}

/// Pairs, by who solved the task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pairs {
    /// Both.
    pub both: u64,
    /// Only A.
    pub only_a: u64,
    /// Only B.
    pub only_b: u64,
    /// Neither.
    pub neither: u64,
}

/// A figure and its 95 % interval: tasks drawn anew, 10,000 times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// `None` if there are fewer than two tasks.
    pub interval: Option<Interval>,
}

/// A task on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskPair {
    /// The task.
    pub task: String,
    /// Of A.
    pub a: Figures,
    /// Of B.
    pub b: Figures,
}

/// Compares two sets of runs.
///
/// A difference is called real only if McNemar's test gives p < 0.05 and the bootstrap interval excludes zero, both in
/// the same direction. The same runs and the same `seed` give the same figures.
pub fn compare(a: &[RunRecord], b: &[RunRecord], seed: u64) -> Comparison {
    let all = [a, b].map(|side| side.iter().collect::<Vec<_>>());
    let measured = all.each_ref().map(|side| measured_tasks(side));
    let shared: BTreeSet<&str> = measured[0].intersection(&measured[1]).copied().collect();
    let is_shared = |run: &&RunRecord| shared.contains(run.task.as_str());
    let [a, b] = all.each_ref().map(|side| side.iter().copied().filter(is_shared).collect::<Vec<_>>());
    let tasks = tasks(&a, &b);
    let difference = estimate(&tasks, seed, |figures| figures.rate, |a, b, tasks| ratio(b - a, tasks));
    let quotient = |figure: fn(&Figures) -> Option<f64>| estimate(&tasks, seed, figure, |a, b, _| ratio(b, a));
    let pairs = Pairs::of(&a, &b);
    let mcnemar_p = mcnemar_exact(pairs.only_a, pairs.only_b);
    let mut comparison = Comparison {
        conclusion: conclusion(shared.is_empty(), mcnemar_p, pairs, difference),
        notes: Vec::new(),
        a: Figures::of("A", &a),
        b: Figures::of("B", &b),
        pairs,
        mcnemar_p,
        fisher_p: fisher_exact(tally(&a), tally(&b)),
        difference,
        spread: [&a, &b].into_iter().filter_map(|side| Spread::of(side)).map(|s| s.high - s.low).reduce(f64::max),
        tokens_in: quotient(|figures| Some(figures.tokens_in?.mean)),
        tokens_out: quotient(|figures| Some(figures.tokens_out?.mean)),
        cost: quotient(|figures| Some(figures.cost_usd?.mean)),
        tasks,
    };
    comparison.notes = [left_out(&all, &shared), differing(&a, &b), comparison.doubts()].concat();
    comparison
}

fn measured_tasks<'a>(runs: &[&'a RunRecord]) -> BTreeSet<&'a str> {
    runs.iter().filter(|run| run.solved().is_some()).map(|run| run.task.as_str()).collect()
}

fn tally(runs: &[&RunRecord]) -> Tally {
    runs.iter().filter_map(|run| run.solved()).collect()
}

fn tasks(a: &[&RunRecord], b: &[&RunRecord]) -> Vec<TaskPair> {
    let by_task = |runs| groups(runs, |run| &run.task).into_iter();
    // Both sides have the same tasks, sorted.
    let pair = |((task, a), (_, b)): ((&str, _), (_, _))| {
        let (a, b): (Vec<_>, Vec<_>) = (a, b);
        TaskPair { task: task.to_owned(), a: Figures::of("A", &a), b: Figures::of("B", &b) }
    };
    by_task(a).zip(by_task(b)).map(pair).collect()
}

/// What `statistic` makes of the sums of a figure of A and of B and of the count, over the tasks where both have it.
fn estimate(
    tasks: &[TaskPair],
    seed: u64,
    figure: fn(&Figures) -> Option<f64>,
    statistic: fn(f64, f64, f64) -> Option<f64>,
) -> Option<Estimate> {
    let both: Vec<(f64, f64)> = tasks.iter().filter_map(|task| figure(&task.a).zip(figure(&task.b))).collect();
    let of_sample = |sample: &[&(f64, f64)]| {
        let (a, b) = sample.iter().fold((0.0, 0.0), |sums, task| (sums.0 + task.0, sums.1 + task.1));
        statistic(a, b, sample.len() as f64)
    };
    let value = of_sample(&both.iter().collect::<Vec<_>>())?;
    Some(Estimate { value, interval: cluster_bootstrap(&both, seed, of_sample) })
}

fn conclusion(nothing_shared: bool, p: f64, pairs: Pairs, difference: Option<Estimate>) -> Conclusion {
    let Some(interval) = difference.and_then(|difference| difference.interval).filter(|_| p < 0.05) else {
        return if nothing_shared { Conclusion::NothingShared {} } else { Conclusion::NoDifferenceShown {} };
    };
    if interval.low > 0.0 && pairs.only_b > pairs.only_a {
        Conclusion::BBetter {}
    } else if interval.high < 0.0 && pairs.only_a > pairs.only_b {
        Conclusion::ABetter {}
    } else {
        Conclusion::NoDifferenceShown {}
    }
}

impl Pairs {
    /// Pairs by task and number, so that what belongs to a task is on both sides of each pair.
    fn of(a: &[&RunRecord], b: &[&RunRecord]) -> Self {
        let results = |runs: &[&RunRecord]| -> BTreeMap<(String, u32), bool> {
            let result = |run: &&RunRecord| Some(((run.task.clone(), run.number), run.solved()?));
            runs.iter().filter_map(result).collect()
        };
        let (a, b) = (results(a), results(b));
        let mut pairs = Self::default();
        for (run, solved) in a {
            match (solved, b.get(&run)) {
                (true, Some(true)) => pairs.both += 1,
                (true, Some(false)) => pairs.only_a += 1,
                (false, Some(true)) => pairs.only_b += 1,
                (false, Some(false)) => pairs.neither += 1,
                (_, None) => {}
            }
        }
        pairs
    }

    fn count(self) -> u64 {
        self.both + self.only_a + self.only_b + self.neither
    }
}

/// Names the tasks that are in no figure.
fn left_out(all: &[Vec<&RunRecord>; 2], shared: &BTreeSet<&str>) -> Vec<String> {
    let tasks: BTreeSet<&str> = all.iter().flatten().map(|run| run.task.as_str()).collect();
    let left: Vec<&str> = tasks.difference(shared).copied().collect();
    let note = format!("left out, since not measured on both sides: {}", left.join(", "));
    if left.is_empty() { Vec::new() } else { vec![note] }
}

type Aspect = (&'static str, fn(&RunRecord) -> String);

/// Says where the two sets differ in more than what is to be compared, perhaps.
fn differing(a: &[&RunRecord], b: &[&RunRecord]) -> Vec<String> {
    let aspects: [Aspect; 5] = [
        ("agent", |run| word(&run.agent)),
        ("model", |run| run.model.clone()),
        ("endpoint", |run| run.endpoint.clone()),
        ("version", |run| run.version.clone()),
        ("way of starting", |run| word(&run.via)),
    ];
    let note = |(aspect, of): Aspect| {
        let values = |runs: &[&RunRecord]| runs.iter().map(|run| of(run)).collect::<BTreeSet<_>>();
        let (a, b) = (values(a), values(b));
        let listed = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(", ");
        (a != b).then(|| format!("not the same {aspect}: A {}, B {}", listed(a), listed(b)))
    };
    aspects.into_iter().filter_map(note).collect()
}

impl Comparison {
    /// For a terminal.
    pub fn text(&self) -> String {
        self.document().text()
    }

    /// For a file that is read as Markdown.
    pub fn markdown(&self) -> String {
        self.document().markdown()
    }

    /// For programs: the fields of this type.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a comparison has string keys only")
    }

    /// What speaks against believing the figures.
    fn doubts(&self) -> Vec<String> {
        let measured = self.a.measured + self.b.measured;
        let unpaired = measured - 2 * self.pairs.count();
        let within = self.difference.map(|difference| difference.value).zip(self.spread);
        // Both are quotients of small counts, which rounding must not tell apart.
        let within = within.filter(|(difference, spread)| (1e-9..spread + 1e-9).contains(&difference.abs()));
        let small = format!("{measured} runs in total, fewer than {SMALL}: only a large difference could be shown");
        let void = format!("void runs are in no figure: {} of A, {} of B", self.a.void, self.b.void);
        let unpaired_note =
            format!("{unpaired} measured runs have no measured partner of their number, and are in no pair");
        let within_note = within.map(|(difference, spread)| {
            let (difference, spread) = (points(difference.abs()), points(spread));
            format!("the difference of {difference} lies within the spread over repeats of one side, {spread}")
        });
        let notes = [
            (measured < SMALL).then_some(small),
            (self.a.void + self.b.void > 0).then_some(void),
            (unpaired > 0).then_some(unpaired_note),
            within_note,
        ];
        notes.into_iter().flatten().collect()
    }

    fn document(&self) -> Document {
        Document {
            notes: self.notes.clone(),
            tables: vec![self.summary(), figures_table("side", &[self.a.clone(), self.b.clone()]), self.tasks_table()],
        }
    }

    fn summary(&self) -> Table {
        let Pairs { both, only_a, only_b, neither } = self.pairs;
        let conclusion = match self.conclusion {
            Conclusion::ABetter {} => "A solves more",
            Conclusion::BBetter {} => "B solves more",
            Conclusion::NoDifferenceShown {} => "no difference shown",
            Conclusion::NothingShared {} => "nothing to compare: no task was measured on both sides",
        };
        let pairs = format!("both {both}, only A {only_a}, only B {only_b}, neither {neither}");
        let estimate = |estimate: Option<Estimate>, show: fn(f64) -> String| {
            or_nothing(estimate, |Estimate { value, interval }| {
                let interval =
                    or_nothing(interval, |Interval { low, high }| format!("{} to {}", show(low), show(high)));
                format!("{} (95 %: {interval})", show(value))
            })
        };
        let times = |ratio: f64| format!("{ratio:.2}");
        let rows = [
            ("conclusion", conclusion.to_owned()),
            ("points of pass rate, B minus A", estimate(self.difference, |rate| format!("{:+.1}", rate * 100.0))),
            ("spread over repeats", or_nothing(self.spread, points)),
            ("pairs solved by", pairs),
            ("McNemar, exact, over pairs", format!("p = {}", probability(self.mcnemar_p))),
            ("Fisher, exact, over all runs", format!("p = {}", probability(self.fisher_p))),
            ("tokens in, B to A", estimate(self.tokens_in, times)),
            ("tokens out, B to A", estimate(self.tokens_out, times)),
            ("cost, B to A", estimate(self.cost, times)),
        ];
        let rows = rows.map(|(name, figure)| vec![name.to_owned(), figure]).to_vec();
        Table { columns: vec![Column::Left("figure"), Column::Left("value")], rows }
    }

    fn tasks_table(&self) -> Table {
        use Column::{Left, Right};
        let columns = vec![Left("task"), Right("A solved"), Right("B solved"), Right("A turns"), Right("B turns")];
        let row = |task: &TaskPair| {
            let solved = |figures: &Figures| format!("{}/{}", figures.solved, figures.measured);
            let turns = |figures: &Figures| or_nothing(figures.turns, |turns| format!("{:.1}", turns.mean));
            vec![task.task.clone(), solved(&task.a), solved(&task.b), turns(&task.a), turns(&task.b)]
        };
        Table { columns, rows: self.tasks.iter().map(row).collect() }
    }
}

fn points(rate: f64) -> String {
    format!("{:.1} points", rate * 100.0)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::samples::{runs, solved, unsolved, void};

    /// Three runs of each of 20 tasks by an agent that solves a task with chance `rate`, without what is not asked.
    fn chance(rate: f64, random: &mut fastrand::Rng) -> Vec<RunRecord> {
        let mut run = |task: u32, number| {
            let of: fn(&str, u32) -> RunRecord = if random.f64() < rate { solved } else { unsolved };
            RunRecord { usage: None, cost_usd: None, ..of(&format!("task-{task:02}"), number) }
        };
        (1..=20).flat_map(|task| [1, 2, 3].map(|number| run(task, number))).collect()
    }

    /// How many of `pairs` comparisons show a difference.
    fn different(rates: (f64, f64), pairs: u64) -> usize {
        let is_different = |seed: &u64| {
            let mut random = fastrand::Rng::with_seed(*seed);
            let (a, b) = (chance(rates.0, &mut random), chance(rates.1, &mut random));
            compare(&a, &b, *seed).conclusion != Conclusion::NoDifferenceShown {}
        };
        (0..pairs).filter(is_different).count()
    }

    #[test]
    fn an_agent_is_seldom_called_different_from_itself() {
        let count = different((0.6, 0.6), 200);
        assert!(count <= 16, "{count} of 200");
    }

    #[test]
    fn a_large_difference_is_mostly_found() {
        let count = different((0.5, 0.9), 100);
        assert!(count >= 80, "{count} of 100");
    }

    #[test]
    fn the_solution_differs_from_doing_nothing() {
        let tasks = (b'a'..=b't').map(char::from);
        let of = |results: &str| runs(&tasks.clone().map(|task| format!("{task}{results} ")).collect::<String>());
        let comparison = compare(&of("+++"), &of("---"), 1);
        assert_eq!(comparison.conclusion, Conclusion::ABetter {});
        insta::assert_snapshot!(comparison.text());
    }

    fn check(a: &str, b: &str, conclusion: Conclusion, pairs: [u64; 4]) -> Comparison {
        let found = compare(&runs(a), &runs(b), 1);
        let Pairs { both, only_a, only_b, neither } = found.pairs;
        assert_eq!((found.conclusion, [both, only_a, only_b, neither]), (conclusion, pairs), "{a} / {b}");
        found
    }

    const NOT_SHOWN: Conclusion = Conclusion::NoDifferenceShown {};

    #[test]
    fn runs_are_paired_by_task_and_number() {
        check("a++-- b+", "a+-+- b+", NOT_SHOWN, [2, 1, 1, 1]);
        check("a-- b-- c-- d--", "a++ b++ c++ d++", Conclusion::BBetter {}, [0, 0, 8, 0]);
        check("a++ b++ c++ d++", "a-- b-- c-- d--", Conclusion::ABetter {}, [0, 8, 0, 0]);
    }

    #[test]
    fn one_task_says_nothing_of_others() {
        let found = check("a----------", "a++++++++++", NOT_SHOWN, [0, 0, 10, 0]);
        assert_eq!((found.mcnemar_p < 0.05, found.difference), (true, Some(Estimate { value: 1.0, interval: None })));
    }

    #[test]
    fn a_difference_that_only_some_tasks_show_is_not_called_real() {
        let found = check("a-------- b+ c+ d+ e+", "a++++++++ b+ c+ d+ e+", NOT_SHOWN, [4, 0, 8, 0]);
        assert!(found.mcnemar_p < 0.05, "{}", found.mcnemar_p);
    }

    #[test]
    fn only_tasks_that_both_measured_are_compared() {
        let found = check("a+ b- c+ e+", "a+ b0 d+ e-", NOT_SHOWN, [1, 1, 0, 0]);
        assert_eq!((found.a.measured, found.b.measured, found.tasks.len()), (2, 2, 2));
        assert_eq!(found.notes[0], "left out, since not measured on both sides: b, c, d");
    }

    #[test]
    fn nothing_shared_is_no_result() {
        check("a+", "b+", Conclusion::NothingShared {}, [0; 4]);
        check("a+", "a0", Conclusion::NothingShared {}, [0; 4]);
        check("", "", Conclusion::NothingShared {}, [0; 4]);
    }

    /// Checks the notes but those on the size of the sample.
    fn check_notes(a: &[RunRecord], b: &[RunRecord], expected: &[&str]) {
        let mut notes = compare(a, b, 1).notes;
        notes.retain(|note| !note.contains("runs in total"));
        assert_eq!(notes, expected);
    }

    #[test]
    fn eval_05_a_difference_within_the_spread_over_repeats_is_called_so() {
        let within = "the difference of 25.0 points lies within the spread over repeats of one side, 50.0 points";
        check_notes(&runs("a+- b-- c-- d+-"), &runs("a++ b-- c-- d++"), &[within]);
        check_notes(&runs("a+- b-+"), &runs("a++ b++"), &[]);
        check_notes(&runs("a+- b++"), &runs("a-+ b++"), &[]);
    }

    #[test]
    fn what_else_differs_is_warned_of() {
        let other = |run: RunRecord| RunRecord { model: "n".into(), version: "0.2.0".into(), ..run };
        let notes = ["not the same model: A m, B n", "not the same version: A 0.1.0, B 0.2.0"];
        check_notes(&[solved("a", 1)], &[other(solved("a", 1))], &notes);
        let endpoint = RunRecord { endpoint: "http://other".into(), agent: crate::Agent::Nop, ..solved("a", 1) };
        let notes = ["not the same agent: A model, B nop", "not the same endpoint: A http://localhost, B http://other"];
        check_notes(&[solved("a", 1)], &[endpoint], &notes);
    }

    #[test]
    fn eval_01_void_runs_are_named_and_leave_their_pairs() {
        let notes = [
            "void runs are in no figure: 1 of A, 0 of B",
            "1 measured runs have no measured partner of their number, and are in no pair",
        ];
        check_notes(&[solved("a", 1), void("a", 2, "no model")], &[solved("a", 1), solved("a", 2)], &notes);
    }

    #[test]
    fn a_small_sample_is_called_so() {
        let notes =
            |repeats: usize| compare(&runs(&format!("a{}", "+".repeat(repeats))), &runs("a+"), 1).notes.concat();
        assert_eq!([58, 59].map(|repeats| notes(repeats).contains("fewer than 60")), [true, false]);
    }

    #[test]
    fn ratios_weigh_tasks_the_same_on_both_sides() {
        let cheap = |run: RunRecord, cost_usd| RunRecord { cost_usd, ..run };
        let a = [cheap(solved("a", 1), Some(0.02)), cheap(solved("a", 2), Some(0.04)), solved("b", 1)];
        let b = [cheap(solved("a", 1), Some(0.06)), cheap(solved("b", 1), None)];
        let found = compare(&a, &b, 1);
        let value = |estimate: Option<Estimate>| or_nothing(estimate, |found| format!("{:.2}", found.value));
        assert_eq!([found.tokens_in, found.tokens_out, found.cost].map(value), ["1.00", "1.00", "2.00"]);
    }

    #[test]
    fn the_same_seed_gives_the_same_figures() {
        let (a, b) = (runs("a+- b-- c+-"), runs("a++ b+- c--"));
        assert_eq!(compare(&a, &b, 7), compare(&a, &b, 7));
    }
}
