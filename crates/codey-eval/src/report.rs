//! What a set of runs shows.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::document::{Column, Document, NOTHING, Table, dollars, grouped, or_nothing, percent, time};
use crate::figures::{Figures, Mean, PassAll, Spread, ToolFigures, figures_table};
use crate::record::{RunRecord, Verdict};

/// Figures of a set of runs. Rates are from 0 to 1; void runs are in no figure but their own count.
///
/// `None` is a figure that nothing measured, never a zero.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What is to be known before a figure is believed.
    pub notes: Vec<String>,
    /// Who ran, one line each.
    pub subjects: Vec<String>,
    /// All runs.
    pub total: Figures,
    /// How likely all repeats of a task are solved.
    pub pass_all: Option<PassAll>,
    /// How the repeats differ from each other.
    pub spread: Option<Spread>,
    /// By task, sorted.
    pub tasks: Vec<Figures>,
    /// By category, sorted.
    pub categories: Vec<Figures>,
    /// By tool, sorted.
    pub tools: Vec<ToolFigures>,
    /// Runs that measured nothing, by reason.
    pub void: Vec<VoidRuns>,
    /// Measured runs that changed files which the solution leaves alone.
    pub collateral: Vec<Collateral>,
    /// Measured runs that changed no file and solved nothing.
    pub empty: Vec<RunName>,
}

/// Runs that measured nothing for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VoidRuns {
    /// Why.
    pub reason: String,
    /// Which.
    pub runs: Vec<RunName>,
}

/// A run that changed files which the solution leaves alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collateral {
    /// Which.
    #[serde(flatten)]
    pub run: RunName,
    /// The files.
    pub files: Vec<String>,
}

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RunName {
    /// The task.
    pub task: String,
    /// Which repeat, from 1.
    pub number: u32,
}

impl Report {
    /// The figures of these runs, whatever their order.
    pub fn of(runs: &[RunRecord]) -> Self {
        let mut runs: Vec<&RunRecord> = runs.iter().collect();
        runs.sort_by_key(|run| (&run.task, run.number));
        let measured: Vec<&RunRecord> = runs.iter().copied().filter(|run| run.solved().is_some()).collect();
        let is_empty = |run: &&&RunRecord| run.changed.is_empty() && run.solved() == Some(false);
        let subjects: BTreeSet<String> = runs.iter().map(|run| subject(run)).collect();
        Self {
            notes: notes(&runs, &measured, subjects.len()),
            subjects: subjects.into_iter().collect(),
            total: Figures::of("all", &runs),
            pass_all: PassAll::of(&runs),
            spread: Spread::of(&runs),
            tasks: Figures::by(&runs, |run| &run.task),
            categories: Figures::by(&runs, |run| &run.category),
            tools: ToolFigures::by_name(&measured),
            void: void(&runs),
            collateral: collateral(&measured),
            empty: measured.iter().filter(is_empty).map(|run| RunName::of(run)).collect(),
        }
    }

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
        serde_json::to_string_pretty(self).expect("a report has string keys only")
    }

    fn document(&self) -> Document {
        let tables = vec![
            self.summary(),
            figures_table("task", &self.tasks),
            figures_table("category", &self.categories),
            self.tools_table(),
            self.runs_table(),
        ];
        Document { notes: self.notes.clone(), tables }
    }

    fn summary(&self) -> Table {
        let total = &self.total;
        let mean = |figure: Option<Mean>, show: fn(f64) -> String| or_nothing(figure, |mean| total.mean(mean, show));
        let count = |figure: f64| format!("{figure:.1}");
        let rows = [
            ("runs of", self.subjects.join("; ")),
            ("pass@1", total.pass()),
            ("void runs", total.void.to_string()),
            ("pass^k", or_nothing(self.pass_all, |all| all.text(self.tasks.len()))),
            ("spread over repeats", or_nothing(self.spread.as_ref(), Spread::text)),
            ("turns", mean(total.turns, count)),
            ("turns, solved only", mean(total.turns_solved, count)),
            ("tokens in", mean(total.tokens_in, grouped)),
            ("of them cached", mean(total.tokens_cached, grouped)),
            ("tokens out", mean(total.tokens_out, grouped)),
            ("cost", mean(total.cost_usd, dollars)),
            ("wall time", mean(total.wall_ms, time)),
            ("waiting for the model", mean(total.model_ms, time)),
            ("in tools", mean(total.tools_ms, time)),
            ("requests tried again", mean(total.retries, count)),
            ("cache breaks", mean(total.cache_breaks, count)),
            ("folds", mean(total.folds, count)),
            ("edits that succeeded", or_nothing(self.tool("edit"), ToolFigures::succeeded)),
            ("runs with collateral damage", total.part(self.collateral.len())),
            ("runs unsolved without a change", total.part(self.empty.len())),
        ];
        let rows = rows.map(|(name, figure)| vec![name.to_owned(), figure]).to_vec();
        Table { columns: vec![Column::Left("figure (means are of a run)"), Column::Left("value")], rows }
    }

    fn tool(&self, name: &str) -> Option<&ToolFigures> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    fn tools_table(&self) -> Table {
        use Column::{Left, Right};
        let columns =
            vec![Left("tool"), Right("calls"), Right("errors"), Right("error rate"), Right("a call"), Left("codes")];
        let row = |tool: &ToolFigures| {
            let codes = tool.codes.iter().take(3).map(|code| format!("{} {}", code.count, code.code));
            vec![
                tool.name.clone(),
                tool.calls.to_string(),
                tool.errors.to_string(),
                or_nothing(tool.error_rate, percent),
                or_nothing(tool.mean_ms, time),
                codes.collect::<Vec<_>>().join(", "),
            ]
        };
        Table { columns, rows: self.tools.iter().map(row).collect() }
    }

    /// The runs that somebody should look at.
    fn runs_table(&self) -> Table {
        let name = |run: &RunName| format!("{} #{}", run.task, run.number);
        let names = |runs: &[RunName]| runs.iter().map(name).collect::<Vec<_>>().join(", ");
        let void = self.void.iter().map(|void| vec![format!("void: {}", void.reason), names(&void.runs)]);
        let damage =
            |damage: &Collateral| vec![format!("collateral damage: {}", damage.files.join(", ")), name(&damage.run)];
        let empty = (!self.empty.is_empty()).then(|| vec!["unsolved without a change".into(), names(&self.empty)]);
        let rows = void.chain(self.collateral.iter().map(damage)).chain(empty).collect();
        Table { columns: vec![Column::Left("what happened"), Column::Left("runs")], rows }
    }
}

/// What is to be said before all figures.
fn notes(runs: &[&RunRecord], measured: &[&RunRecord], subjects: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if measured.is_empty() {
        notes.push(format!("nothing was measured: {} runs, all void", runs.len()));
    } else if measured.iter().all(|run| run.changed.is_empty())
        && measured.iter().any(|run| run.solved() == Some(false))
    {
        let count = measured.len();
        notes.push(format!(
            "ALL PATCHES ARE EMPTY: none of {count} measured runs changed a file. Look at a transcript before you \
             believe the rate: the harness may have lost the work"
        ));
    }
    if subjects > 1 {
        notes.push(format!("runs of {subjects} different subjects are counted together"));
    }
    notes
}

/// Who did a run, one line.
fn subject(run: &RunRecord) -> String {
    let RunRecord { model, endpoint, version, .. } = run;
    format!("{} {model} at {endpoint} via {}, codey {version}", word(&run.agent), word(&run.via))
}

/// The word that stands for a value in records.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => NOTHING.to_owned(),
    }
}

impl RunName {
    fn of(run: &RunRecord) -> Self {
        Self { task: run.task.clone(), number: run.number }
    }
}

fn void(runs: &[&RunRecord]) -> Vec<VoidRuns> {
    let mut reasons = BTreeMap::<&str, Vec<RunName>>::new();
    for run in runs {
        match &run.verdict {
            Verdict::Void { reason } => reasons.entry(reason).or_default().push(RunName::of(run)),
            Verdict::Solved {} | Verdict::Unsolved { .. } => {}
        }
    }
    reasons.into_iter().map(|(reason, runs)| VoidRuns { reason: reason.to_owned(), runs }).collect()
}

fn collateral(measured: &[&RunRecord]) -> Vec<Collateral> {
    let damaged = measured.iter().filter(|run| !run.collateral.is_empty());
    damaged.map(|run| Collateral { run: RunName::of(run), files: run.collateral.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ToolCounts;
    use crate::samples::{runs, solved, unsolved, void};

    fn tool(calls: u64, errors: &[(&str, u64)], ms: u64) -> ToolCounts {
        ToolCounts { calls, errors: errors.iter().map(|(code, count)| ((*code).to_owned(), *count)).collect(), ms }
    }

    fn with_tools(mut run: RunRecord, tools: &[(&str, ToolCounts)]) -> RunRecord {
        run.tools = tools.iter().map(|(name, counts)| ((*name).to_owned(), counts.clone())).collect();
        run
    }

    /// Three repeats of two tasks, with a bit of everything.
    fn mixed() -> Vec<RunRecord> {
        let edits = tool(4, &[("not_found", 1)], 40);
        vec![
            with_tools(solved("rename", 1), &[("edit", edits.clone()), ("bash", tool(2, &[], 3_000))]),
            with_tools(solved("rename", 2), &[("edit", edits)]),
            RunRecord { turns: 9, collateral: vec!["Cargo.toml".into()], ..unsolved("rename", 3) },
            RunRecord { folds: Some(2), category: "long".into(), cost_usd: None, ..solved("long-horizon", 1) },
            RunRecord { category: "long".into(), changed: Vec::new(), ..unsolved("long-horizon", 2) },
            RunRecord { category: "long".into(), ..void("long-horizon", 3, "no model at <http://localhost>") },
        ]
    }

    #[test]
    fn text_shows_every_figure_and_a_dash_for_what_nothing_measured() {
        insta::assert_snapshot!(Report::of(&mixed()).text());
    }

    #[test]
    fn markdown_shows_the_same() {
        insta::assert_snapshot!(Report::of(&mixed()).markdown());
    }

    #[test]
    fn json_has_null_for_what_nothing_measured() {
        let json: serde_json::Value = serde_json::from_str(&Report::of(&mixed()).json()).unwrap();
        let expected = serde_json::json!([3, 5, {"mean": 2.0, "runs": 1}, null]);
        let total = &json["total"];
        assert_eq!(
            serde_json::json!([total["solved"], total["measured"], total["folds"], total["cache_breaks"]]),
            expected
        );
    }

    #[test]
    fn the_order_of_runs_changes_nothing() {
        let turned: Vec<RunRecord> = mixed().into_iter().rev().collect();
        assert_eq!(Report::of(&turned), Report::of(&mixed()));
    }

    /// Checks solved, measured and void runs, and the rate in per cent.
    fn check_rate(sketch: &str, counts: (u64, u64, u64), rate: &str) {
        let total = Report::of(&runs(sketch)).total;
        assert_eq!((total.solved, total.measured, total.void), counts, "{sketch}");
        assert_eq!(or_nothing(total.rate, percent), rate, "{sketch}");
    }

    #[test]
    fn eval_01_the_pass_rate_is_over_measured_runs_only() {
        check_rate("a+++ b000", (3, 3, 3), "100.0 %");
        check_rate("a++- b--- c000", (2, 6, 3), "33.3 %");
        check_rate("a000", (0, 0, 3), "–");
        check_rate("", (0, 0, 0), "–");
    }

    #[test]
    fn eval_01_void_runs_are_reported_apart_with_both_counts() {
        let failed = [
            void("limited", 1, "429 too many requests"),
            void("broken", 1, "setup.sh: exit 1"),
            void("unchecked", 1, "verify.sh is missing"),
            void("limited", 2, "429 too many requests"),
        ];
        let report = Report::of(&[&failed[..], &[solved("good", 1), unsolved("good", 2)]].concat());
        insta::assert_snapshot!(report.text());
    }

    #[test]
    fn nothing_measured_is_said_before_all_else() {
        assert_eq!(Report::of(&runs("a00 b0")).notes, ["nothing was measured: 3 runs, all void"]);
    }

    /// The start of each note, if each run left this many changed files.
    fn check_empty(sketch: &str, changed: &[usize], notes: &[&str], empty: &[(&str, u32)]) {
        let mut runs = runs(sketch);
        for (run, count) in runs.iter_mut().zip(changed) {
            run.changed = vec!["a.rs".into(); *count];
        }
        let report = Report::of(&runs);
        let starts: Vec<&str> = report.notes.iter().map(|note| note.split(':').next().unwrap()).collect();
        assert_eq!(starts, notes, "{sketch}");
        let found: Vec<_> = report.empty.iter().map(|run| (run.task.as_str(), run.number)).collect();
        assert_eq!(found, empty, "{sketch}");
    }

    #[test]
    fn eval_05_patches_that_are_all_empty_are_flagged() {
        check_empty("a-- b-", &[0, 0, 0], &["ALL PATCHES ARE EMPTY"], &[("a", 1), ("a", 2), ("b", 1)]);
        check_empty("a-- b0", &[0, 0, 0], &["ALL PATCHES ARE EMPTY"], &[("a", 1), ("a", 2)]);
        check_empty("a+- b-", &[0, 0, 0], &["ALL PATCHES ARE EMPTY"], &[("a", 2), ("b", 1)]);
        check_empty("a-- b-", &[0, 1, 0], &[], &[("a", 1), ("b", 1)]);
        // Tasks whose solution is to change nothing.
        check_empty("a++", &[0, 0], &[], &[]);
        check_empty("", &[], &["nothing was measured"], &[]);
    }

    fn check_spread(sketch: &str, expected: &str) {
        let runs = runs(sketch);
        let spread = Spread::of(&runs.iter().collect::<Vec<_>>());
        assert_eq!(or_nothing(spread.as_ref(), Spread::text), expected, "{sketch}");
    }

    #[test]
    fn eval_05_the_spread_is_over_repeats_of_the_same_tasks() {
        check_spread("a++- b+-- c+++ d+++", "50.0–100.0 % (solved 4, 3, 2 of 4 tasks)");
        // A task that was not measured in each repeat would make them differ by which tasks they hold.
        check_spread("a++ b+0 c--", "50.0–50.0 % (solved 1, 1 of 2 tasks)");
        // Most tasks have two repeats.
        check_spread("a+- b-- c+-++", "0.0–66.7 % (solved 2, 0 of 3 tasks)");
        check_spread("a+ b-", "–");
        check_spread("a+0", "–");
        check_spread("", "–");
    }

    fn check_pass_all(sketch: &str, expected: Option<(u64, f64, u64)>) {
        let found = Report::of(&runs(sketch)).pass_all;
        assert_eq!(found.map(|all| (all.repeats, all.rate, all.tasks)), expected, "{sketch}");
    }

    #[test]
    fn pass_to_the_k_is_the_mean_over_tasks_with_enough_measured_runs() {
        check_pass_all("a+++ b++- c--- d+++", Some((3, 0.5, 4)));
        check_pass_all("a+++ b++0", Some((3, 1.0, 1)));
        check_pass_all("a++ b++ c++--", Some((2, (2.0 + 1.0 / 6.0) / 3.0, 3)));
        check_pass_all("a0 b0", None);
        check_pass_all("", None);
    }

    #[test]
    fn different_subjects_in_one_report_are_warned_of() {
        let runs = [solved("a", 1), RunRecord { model: "other".into(), ..solved("a", 2) }];
        assert_eq!(Report::of(&runs).notes, ["runs of 2 different subjects are counted together"]);
    }
}
