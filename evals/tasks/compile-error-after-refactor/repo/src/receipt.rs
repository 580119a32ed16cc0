//! The receipt as text.

use crate::order::Sale;

const WIDTH: usize = 30;

/// One line per item and the total, amounts in a column at the right.
pub fn print(sale: &Sale) -> String {
    let mut text = String::new();
    for line in &sale.lines {
        let what = format!("{} {}", line.count, line.name);
        text.push_str(&row(&what, line.amount()));
    }
    text.push_str(&row("total", sale.total()));
    text
}

fn row(what: &str, cents: u64) -> String {
    let amount = format!("{}.{:02}", cents / 100, cents % 100);
    format!("{what:<width$}{amount:>10}\n", width = WIDTH - 10)
}
