//! The table of figures and the bounds on them.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::Subject;

/// How much more a late turn may cost than an early one whose request is as large. 1 would be no growth at all; the rest is
/// for what a message costs beyond its bytes, and for noise.
const GROWTH: f64 = 1.1;

/// What is measured, in the order of printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    Version,
    FirstRequest,
    FirstRequestBytes,
    Turn,
    TurnP95,
    TurnCpu,
    EarlyTurn,
    LateTurn,
    Delta,
    Output,
    HelloMemory,
    TurnsMemory,
    OutputMemory,
}

impl Figure {
    /// Its name, its unit and the most that its minimum may be. Bounds: the project's own, set below the best figure
    /// measured of other agents.
    fn about(self) -> (&'static str, &'static str, Option<f64>) {
        match self {
            Self::Version => ("`codey --version` (floor: /bin/true)", "ms", Some(8.0)),
            Self::FirstRequest => ("start to first request", "ms", Some(40.0)),
            Self::FirstRequestBytes => ("first request", "bytes", Some(8192.0)),
            Self::Turn => ("`bash true` turn, median of a run", "ms", Some(4.0)),
            Self::TurnP95 => ("`bash true` turn, p95 of a run", "ms", None),
            Self::TurnCpu => ("CPU a `bash true` turn, bash included", "ms", Some(2.0)),
            Self::EarlyTurn => ("turns about 20, requests as large as about turn 190", "ms", None),
            Self::LateTurn => ("turns about 190", "ms", None),
            Self::Delta => ("CPU a delta", "µs", Some(5.0)),
            Self::Output => ("CPU of 50 MiB output, the command included", "s", Some(0.15)),
            Self::HelloMemory => ("peak memory, hello", "MB", Some(20.0)),
            Self::TurnsMemory => ("peak memory, 50 turns", "MB", Some(25.0)),
            Self::OutputMemory => ("peak memory, 50 MiB output", "MB", Some(40.0)),
        }
    }
}

/// Every value of every figure.
#[derive(Default)]
pub struct Report {
    values: BTreeMap<Figure, [Vec<f64>; 2]>,
}

impl Report {
    pub fn add(&mut self, figure: Figure, subject: Subject, value: f64) {
        self.values.entry(figure).or_default()[subject as usize].push(value);
    }

    /// Prints a Markdown table.
    ///
    /// # Errors
    /// A minimum is above its bound.
    pub fn print(&self) -> Result<()> {
        println!("| figure | unit | min | median | floor min | floor median | ratio of minima | bound |");
        println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
        let mut broken = Vec::new();
        for (figure, [codey, floor]) in &self.values {
            let (name, unit, bound) = figure.about();
            let (least, middle) = (least(codey), percentile(codey, 50));
            let beside = if floor.is_empty() {
                "– | – | –".to_owned()
            } else {
                let ratio = least / self::least(floor);
                format!("{} | {} | {ratio:.2}", show(self::least(floor)), show(percentile(floor, 50)))
            };
            let limit = bound.map_or_else(|| "–".to_owned(), show);
            println!("| {name} | {unit} | {} | {} | {beside} | {limit} |", show(least), show(middle));
            if bound.is_some_and(|bound| least > bound) {
                broken.push(name);
            }
        }
        let [early, late] = [Figure::EarlyTurn, Figure::LateTurn].map(|figure| least(&self.values[&figure][0]));
        println!(
            "\nLate to early turns, at equal request bytes, by their minima: {:.2} (bound {GROWTH})",
            late / early
        );
        if late / early > GROWTH {
            broken.push("growth with the number of turns");
        }
        ensure!(broken.is_empty(), "above the bound: {}", broken.join(", "));
        Ok(())
    }
}

/// The value that `percent` of the values do not exceed.
pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)]
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn show(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
