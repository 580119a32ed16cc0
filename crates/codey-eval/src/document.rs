//! Tables for people: aligned for a terminal, or as Markdown.

use crate::stats::Interval;

/// What stands for a figure that was not measured.
pub(crate) const NOTHING: &str = "–";

/// Notes and titled tables; tables without rows are not shown.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) notes: Vec<String>,
    pub(crate) tables: Vec<Table>,
}

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A column's head, and where its cells stand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    Left(&'static str),
    Right(&'static str),
}

impl Column {
    fn head(self) -> &'static str {
        match self {
            Self::Left(head) | Self::Right(head) => head,
        }
    }

    fn pad(self, cell: &str, width: usize) -> String {
        match self {
            Self::Left(_) => format!("{cell:<width$}"),
            Self::Right(_) => format!("{cell:>width$}"),
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::Left(_) => "---",
            Self::Right(_) => "---:",
        }
    }
}

impl Document {
    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("! {}\n", one_line(note))).collect();
        self.joined(notes, Table::text)
    }

    /// For a file that is read as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("- **{}**\n", escaped(note))).collect();
        self.joined(notes, Table::markdown)
    }

    fn joined(&self, notes: String, render: fn(&Table) -> String) -> String {
        let tables = self.tables.iter().filter(|table| !table.rows.is_empty()).map(render);
        let parts: Vec<String> = [notes].into_iter().filter(|notes| !notes.is_empty()).chain(tables).collect();
        parts.join("\n")
    }
}

impl Table {
    fn text(&self) -> String {
        let heads = self.columns.iter().map(|column| column.head().to_owned()).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect());
        let rows: Vec<Vec<String>> = [heads].into_iter().chain(rows).collect();
        let width = |place: usize| rows.iter().map(|row| row[place].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&self.columns).zip(&widths);
            let cells: Vec<String> = cells.map(|((cell, column), width)| column.pad(cell, *width)).collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        rows.iter().map(line).collect()
    }

    fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut shown = line(self.columns.iter().map(|column| column.head().to_owned()).collect());
        shown += &line(self.columns.iter().map(|column| column.rule().to_owned()).collect());
        for row in &self.rows {
            shown += &line(row.iter().map(|cell| escaped(cell)).collect());
        }
        shown
    }
}

/// The text with nothing in it that a terminal obeys or that ends a row.
fn one_line(text: &str) -> String {
    text.chars().map(|symbol| if symbol.is_control() { ' ' } else { symbol }).collect()
}

/// The text as a cell: it neither ends the cell nor begins HTML, of which the markers in METRICS.md are a part.
fn escaped(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|")
}

/// The figure as `show` gives it, or a dash.
pub(crate) fn or_nothing<T>(figure: Option<T>, show: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), show)
}

pub(crate) fn percent(rate: f64) -> String {
    format!("{:.1} %", rate * 100.0)
}

pub(crate) fn percents(interval: Interval) -> String {
    format!("{:.1}–{:.1} %", interval.low * 100.0, interval.high * 100.0)
}

/// The figure with commas between groups of three digits, rounded.
pub(crate) fn grouped(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

pub(crate) fn dollars(cost: f64) -> String {
    format!("${cost:.4}")
}

pub(crate) fn time(milliseconds: f64) -> String {
    if milliseconds < 1_000.0 { format!("{milliseconds:.0} ms") } else { format!("{:.1} s", milliseconds / 1_000.0) }
}

/// A probability; small ones by their order.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.001 { format!("{p:.1e}") } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let rows = [["a | b", "1"], ["<!-- eval:end x -->", "–"], ["new\nline \u{1b}[31m", "1,000"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        let empty = Table { columns: vec![Column::Left("nothing")], rows: Vec::new() };
        let full = Table { columns: vec![Column::Left("task"), Column::Right("tokens")], rows };
        Document { notes: vec!["careful".into()], tables: vec![empty, full] }
    }

    #[test]
    fn text_is_aligned_and_has_no_control_characters() {
        let expected = [
            "! careful",
            "",
            "task                 tokens",
            "a | b                     1",
            "<!-- eval:end x -->       –",
            "new line  [31m        1,000",
        ];
        assert_eq!(document().text().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn markdown_cells_end_neither_the_row_nor_the_comment_around_it() {
        let expected = [
            "- **careful**",
            "",
            "| task | tokens |",
            "| --- | ---: |",
            "| a \\| b | 1 |",
            "| &lt;!-- eval:end x --> | – |",
            "| new line  [31m | 1,000 |",
        ];
        assert_eq!(document().markdown().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([7.4, 999.6, 12_345.0, 1_234_567.0].map(grouped), ["7", "1,000", "12,345", "1,234,567"]);
    }
}
