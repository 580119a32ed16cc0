//! A picture of a report.

use crate::document::{grouped, or_nothing, percent};
use crate::figures::{Figures, Mean};
use crate::report::Report;

/// Height of a row, in pixels like all lengths here.
const ROW: usize = 22;
/// Above the first row.
const TOP: usize = 76;
/// Where the pass rates begin; names end before it.
const RATES: usize = 250;
/// How wide a rate of 100 % is.
const RATES_WIDTH: usize = 260;
/// Where the turns begin.
const TURNS: usize = 690;
/// How long the longest bar of turns is.
const TURNS_WIDTH: usize = 100;
const WIDTH: usize = 960;
/// Most characters of a task's name that fit.
const LONGEST_NAME: usize = 32;
/// Most characters that fit into a line of its own.
const LONGEST_LINE: usize = 125;

/// On a background of its own, so that it can be read on pages of any colour.
const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:bold;font-size:15px}\
.end{text-anchor:end}.middle{text-anchor:middle}.back{fill:#ffffff}.grid{stroke:#d0d7de}.mark{fill:#0969da}\
.range{stroke:#0969da;stroke-width:2}.bar{fill:#8c959f}";

/// An SVG: for each task its pass rate with the 95 % interval, and its mean turns with tokens in and out.
pub fn plot(report: &Report) -> String {
    let rows = report.tasks.len() + 1;
    let (height, bottom) = (TOP + rows * ROW + 16, TOP + rows * ROW);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        title = escaped(&report.total.pass()),
    );
    svg += &text(16, 26, "title", &format!("pass@1 {}", report.total.pass()));
    svg += &text(16, 46, "start", &shortened(&report.subjects.join("; "), LONGEST_LINE));
    for fourth in 0..=4 {
        let x = RATES + RATES_WIDTH * fourth / 4;
        svg += &line("grid", (x, TOP), (x, bottom));
        svg += &text(x, TOP - 8, "middle", &format!("{} %", fourth * 25));
    }
    svg += &text(TURNS, TOP - 8, "start", "mean turns · tokens in / out");
    let most = report.tasks.iter().filter_map(|task| task.turns).map(|turns| turns.mean).fold(1.0, f64::max);
    for (place, figures) in report.tasks.iter().chain([&report.total]).enumerate() {
        svg += &row(TOP + place * ROW + ROW / 2, figures, most);
    }
    svg += "</svg>\n";
    svg
}

/// A row around the height `y`; `most` turns are the longest bar.
fn row(y: usize, figures: &Figures, most: f64) -> String {
    let base = y + 4;
    let mut shown = text(RATES - 14, base, "end", &shortened(&figures.name, LONGEST_NAME));
    let at = |rate: f64| RATES + length(rate, RATES_WIDTH);
    if let Some((rate, interval)) = figures.rate.zip(figures.interval) {
        shown += &line("range", (at(interval.low), y), (at(interval.high), y));
        shown += &format!("<circle class=\"mark\" cx=\"{}\" cy=\"{y}\" r=\"4\"/>\n", at(rate));
    }
    let void = if figures.void > 0 { format!(", {} void", figures.void) } else { String::new() };
    let rate = format!("{} {}/{}{void}", or_nothing(figures.rate, percent), figures.solved, figures.measured);
    shown += &text(RATES + RATES_WIDTH + 8, base, "start", &rate);
    let long = length(figures.turns.map_or(0.0, |turns| turns.mean / most), TURNS_WIDTH);
    let (top, high) = (y - 6, 12);
    shown += &format!("<rect class=\"bar\" x=\"{TURNS}\" y=\"{top}\" width=\"{long}\" height=\"{high}\"/>\n");
    let mean = |figure: Option<Mean>, show: fn(f64) -> String| or_nothing(figure, |figure| show(figure.mean));
    let turns = mean(figures.turns, |turns| format!("{turns:.1}"));
    let (tokens_in, tokens_out) = (mean(figures.tokens_in, grouped), mean(figures.tokens_out, grouped));
    shown + &text(TURNS + long + 6, base, "start", &format!("{turns} · {tokens_in} / {tokens_out}"))
}

fn length(part: f64, whole: usize) -> usize {
    (part * whole as f64).round() as usize
}

fn line(class: &str, (x1, y1): (usize, usize), (x2, y2): (usize, usize)) -> String {
    format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\n")
}

fn text(x: usize, y: usize, class: &str, content: &str) -> String {
    format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>\n", escaped(content))
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// The text as XML may hold it.
fn escaped(text: &str) -> String {
    let plain = text.replace(|symbol: char| symbol.is_control() || matches!(symbol, '\u{fffe}' | '\u{ffff}'), " ");
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{runs, solved, void};

    /// The elements in the order in which they end, after a check that each does.
    fn elements(svg: &str) -> Vec<String> {
        let (mut open, mut closed) = (Vec::new(), Vec::new());
        for tag in svg.split('<').skip(1) {
            let (tag, content) = tag.split_once('>').expect("a tag ends");
            assert!(
                !content.contains('>')
                    && !content.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").contains('&')
            );
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            let name = tag.split_whitespace().next().unwrap();
            if let Some(name) = name.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name));
                closed.push(name.to_owned());
            } else if tag.ends_with('/') {
                closed.push(name.to_owned());
            } else {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        closed
    }

    fn check_elements(runs: &[crate::RunRecord], name: &str, count: usize) {
        let svg = plot(&Report::of(runs));
        assert_eq!(elements(&svg).iter().filter(|found| *found == name).count(), count, "{svg}");
    }

    #[test]
    fn a_plot_shows_rates_intervals_turns_and_tokens() {
        insta::assert_snapshot!(plot(&Report::of(&runs("a+++ b+-- c0-0 d000"))));
    }

    #[test]
    fn each_measured_task_and_the_total_have_a_mark() {
        check_elements(&runs("a++ b+- c00"), "circle", 3);
        check_elements(&runs("a0"), "circle", 0);
        check_elements(&[], "svg", 1);
    }

    #[test]
    fn names_cannot_break_the_picture() {
        check_elements(&[solved("<a & \"b\"> \u{1b}\u{ffff}", 1), void(&"long ".repeat(50), 1, "")], "circle", 2);
    }
}
