//! What counts of solved runs allow to be said.
//!
//! Distributions come from `statrs`. Its own Fisher test is not used: it takes tables within 1e-4 of the observed
//! probability for as likely, where R and SciPy take 1e-7.

use serde::Serialize;
use statrs::distribution::{Binomial, ContinuousCDF as _, Discrete as _, DiscreteCDF as _, Hypergeometric, Normal};

/// Where a figure lies with 95 % confidence; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Measured runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) solved: u64,
    pub(crate) unsolved: u64,
}

impl Tally {
    pub(crate) fn measured(self) -> u64 {
        self.solved + self.unsolved
    }

    /// The part that is solved; `None` of no runs.
    pub(crate) fn rate(self) -> Option<f64> {
        ratio(self.solved as f64, self.measured() as f64)
    }

    /// Wilson's 95 % interval of the rate: the runs as they are, whatever tasks they are of.
    pub(crate) fn wilson(self) -> Option<Interval> {
        let rate = self.rate()?;
        let (count, z) = (self.measured() as f64, Normal::standard().inverse_cdf(0.975));
        let shrink = 1.0 + z * z / count;
        let centre = (rate + z * z / (2.0 * count)) / shrink;
        let half = z / shrink * (rate * (1.0 - rate) / count + z * z / (4.0 * count * count)).sqrt();
        Some(Interval { low: (centre - half).max(0.0), high: (centre + half).min(1.0) })
    }

    /// Estimates without bias how likely `repeats` runs are all solved; `None` of fewer runs.
    ///
    /// Source: Yao and others, "τ-bench" (pass^k).
    pub(crate) fn all_of(self, repeats: u64) -> Option<f64> {
        let chance = |drawn: u64| self.solved.saturating_sub(drawn) as f64 / (self.measured() - drawn) as f64;
        (0 < repeats && repeats <= self.measured()).then(|| (0..repeats).map(chance).product())
    }
}

impl FromIterator<bool> for Tally {
    fn from_iter<I: IntoIterator<Item = bool>>(runs: I) -> Self {
        runs.into_iter().fold(Self::default(), |sum, solved| Self {
            solved: sum.solved + u64::from(solved),
            unsolved: sum.unsolved + u64::from(!solved),
        })
    }
}

/// The quotient, or `None` where it has no value.
pub(crate) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Fisher's exact test, two-sided: how likely, if both had the same chance, is a table as unlikely as this one.
pub(crate) fn fisher_exact(a: Tally, b: Tally) -> f64 {
    let (solved, all) = (a.solved + b.solved, a.measured() + b.measured());
    let table = Hypergeometric::new(all, solved, a.measured()).expect("a part is not larger than the whole");
    // By logarithms: the binomials themselves overflow with some thousand runs.
    let chance = |solved: u64| table.ln_pmf(solved).exp();
    let as_unlikely = chance(a.solved) * (1.0 + 1e-7);
    let possible = solved.saturating_sub(b.measured())..=solved.min(a.measured());
    possible.map(chance).filter(|chance| *chance <= as_unlikely).sum::<f64>().min(1.0)
}

/// McNemar's exact test: how likely, if both had the same chance, is it that pairs differ this much in one direction.
///
/// Takes the pairs that only the one and only the other solved.
pub(crate) fn mcnemar_exact(only_a: u64, only_b: u64) -> f64 {
    let coin = Binomial::new(0.5, only_a + only_b).expect("a half is a probability");
    (2.0 * coin.cdf(only_a.min(only_b))).min(1.0)
}

const RESAMPLES: usize = 10_000;

/// The 95 % percentile interval of `statistic` over tasks drawn anew, with replacement.
///
/// Whole tasks are drawn because the runs of one are alike. One task says nothing of others: no interval. Resamples in
/// which the statistic has no value are left out.
pub(crate) fn cluster_bootstrap<T>(
    tasks: &[T],
    seed: u64,
    statistic: impl Fn(&[&T]) -> Option<f64>,
) -> Option<Interval> {
    if tasks.len() < 2 {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut sample: Vec<&T> = tasks.iter().collect();
    let resample = |_| {
        sample.fill_with(|| &tasks[random.usize(..tasks.len())]);
        statistic(&sample)
    };
    let mut values: Vec<f64> = (0..RESAMPLES).filter_map(resample).collect();
    values.sort_unstable_by(f64::total_cmp);
    let cut = values.len() / 40;
    Some(Interval { low: *values.get(cut)?, high: *values.get(values.len() - 1 - cut)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally((solved, measured): (u64, u64)) -> Tally {
        Tally { solved, unsolved: measured - solved }
    }

    fn check_wilson(runs: (u64, u64), percent: &str) {
        let Interval { low, high } = tally(runs).wilson().unwrap();
        assert_eq!(format!("{:.1}–{:.1}", low * 100.0, high * 100.0), percent);
    }

    #[test]
    fn wilson_intervals_are_the_published_ones() {
        check_wilson((7, 10), "39.7–89.2");
        check_wilson((20, 30), "48.8–80.8");
        check_wilson((0, 30), "0.0–11.4");
        check_wilson((30, 30), "88.6–100.0");
    }

    #[test]
    fn no_runs_have_no_rate_and_no_interval() {
        let none = Tally::default();
        assert_eq!((none.rate(), none.wilson(), none.all_of(1)), (None, None, None));
        assert_eq!((fisher_exact(none, none), fisher_exact(none, tally((3, 5))), mcnemar_exact(0, 0)), (1.0, 1.0, 1.0));
    }

    fn check_fisher(a: (u64, u64), b: (u64, u64), p: &str) {
        let both = [fisher_exact(tally(a), tally(b)), fisher_exact(tally(b), tally(a))];
        assert_eq!(both.map(|p| format!("{p:.3}")), [p, p], "{a:?} {b:?}");
    }

    #[test]
    fn fisher_gives_the_published_figures() {
        check_fisher((20, 30), (24, 30), "0.382");
        check_fisher((18, 30), (24, 30), "0.158");
        check_fisher((5, 10), (9, 10), "0.141");
        check_fisher((0, 10), (5, 10), "0.033");
        check_fisher((7, 10), (7, 10), "1.000");
        assert_eq!(format!("{:.0e}", fisher_exact(tally((0, 30)), tally((30, 30)))), "2e-17");
    }

    #[test]
    fn fisher_takes_thousands_of_runs() {
        check_fisher((2_000, 4_000), (2_060, 4_000), "0.187");
    }

    fn check_mcnemar(only_a: u64, only_b: u64, p: &str) {
        let both = [mcnemar_exact(only_a, only_b), mcnemar_exact(only_b, only_a)];
        assert_eq!(both.map(|p| format!("{p:.3}")), [p, p], "{only_a} {only_b}");
    }

    #[test]
    fn mcnemar_gives_the_published_figures() {
        check_mcnemar(0, 6, "0.031");
        check_mcnemar(1, 9, "0.021");
        check_mcnemar(5, 15, "0.041");
        check_mcnemar(4, 4, "1.000");
    }

    fn check_all_of(runs: (u64, u64), repeats: u64, expected: Option<f64>) {
        assert_eq!(tally(runs).all_of(repeats), expected, "{runs:?} {repeats}");
    }

    #[test]
    fn pass_to_the_k_counts_the_draws_that_are_all_solved() {
        check_all_of((2, 3), 1, Some(2.0 / 3.0));
        check_all_of((2, 3), 2, Some(1.0 / 3.0));
        check_all_of((2, 3), 3, Some(0.0));
        check_all_of((3, 3), 3, Some(1.0));
        check_all_of((3, 3), 4, None);
        check_all_of((1, 8), 5, Some(0.0));
    }

    /// The interval of the mean.
    fn check_bootstrap(tasks: &[f64], expected: Option<(f64, f64)>) {
        let mean = |sample: &[&f64]| ratio(sample.iter().copied().sum(), sample.len() as f64);
        assert_eq!(cluster_bootstrap(tasks, 1, mean).map(|found| (found.low, found.high)), expected);
    }

    #[test]
    fn bootstrap_finds_the_interval_of_a_mean() {
        check_bootstrap(&[1.0; 5], Some((1.0, 1.0)));
        // Ten coins: the binomial's own 2.5 % and 97.5 % points are 2 and 8.
        check_bootstrap(&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0], Some((0.2, 0.8)));
    }

    #[test]
    fn bootstrap_of_fewer_than_two_tasks_claims_nothing() {
        check_bootstrap(&[], None);
        check_bootstrap(&[1.0], None);
    }

    #[test]
    fn bootstrap_leaves_out_resamples_without_a_value() {
        let of_sums = |sample: &[&(f64, f64)]| {
            ratio(sample.iter().map(|task| task.0).sum(), sample.iter().map(|task| task.1).sum())
        };
        let expected = Some(Interval { low: 0.5, high: 0.5 });
        assert_eq!(cluster_bootstrap(&[(0.0, 0.0), (1.0, 2.0)], 1, of_sums), expected);
        assert_eq!(cluster_bootstrap(&[(0.0, 0.0), (0.0, 0.0)], 1, of_sums), None);
    }
}
