//! Orders, and selling them.

use crate::stock::Stock;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Order {
    pub lines: Vec<(String, u32)>,
}

/// One line of a sale: so many of an item for so much each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sold {
    pub name: String,
    pub count: u32,
    pub each: u64,
}

impl Sold {
    pub fn amount(&self) -> u64 {
        self.each * u64::from(self.count)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sale {
    pub lines: Vec<Sold>,
}

impl Sale {
    pub fn total(&self) -> u64 {
        self.lines.iter().map(Sold::amount).sum()
    }
}

impl Order {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with(mut self, name: &str, count: u32) -> Self {
        self.lines.push((name.to_string(), count));
        self
    }

    /// Sells all lines or, when one of them cannot be sold, none.
    pub fn sell(&self, stock: &mut Stock) -> Option<Sale> {
        let mut left = stock.clone();
        let mut sale = Sale::default();
        for (name, count) in &self.lines {
            let each = left.take(name, *count)?;
            sale.lines.push(Sold { name: name.clone(), count: *count, each });
        }
        *stock = left;
        Some(sale)
    }

    /// What the order would cost, whether or not there is enough in stock.
    pub fn price(&self, stock: &Stock) -> Option<u64> {
        let mut sum = 0;
        for (name, count) in &self.lines {
            sum += stock.find(name)?.price * u64::from(*count);
        }
        Some(sum)
    }
}
