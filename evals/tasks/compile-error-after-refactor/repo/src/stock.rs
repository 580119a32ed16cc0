//! What there is to sell.

use std::collections::BTreeMap;
use std::fmt;

use crate::money::Cents;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub name: String,
    pub price: Cents,
    pub count: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StockError {
    Unknown(String),
    NotEnough { name: String, wanted: u32, there: u32 },
}

impl fmt::Display for StockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StockError::Unknown(name) => write!(f, "there are no {name} here"),
            StockError::NotEnough { name, wanted, there } => {
                write!(f, "{wanted} {name} wanted, but there are only {there}")
            }
        }
    }
}

impl std::error::Error for StockError {}

#[derive(Debug, Clone, Default)]
pub struct Stock {
    items: BTreeMap<String, Item>,
}

impl Stock {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, name: &str, price: Cents, count: u32) {
        let item = Item { name: name.to_string(), price, count };
        self.items.insert(name.to_string(), item);
    }

    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.values()
    }

    pub fn find(&self, name: &str) -> Result<&Item, StockError> {
        self.items.get(name).ok_or_else(|| StockError::Unknown(name.to_string()))
    }

    /// Takes `wanted` of an item out of the stock and says what one costs.
    pub fn take(&mut self, name: &str, wanted: u32) -> Result<Cents, StockError> {
        let there = self.find(name)?.count;
        if there < wanted {
            return Err(StockError::NotEnough { name: name.to_string(), wanted, there });
        }
        let item = self.items.get_mut(name).expect("it was just found");
        item.count -= wanted;
        Ok(item.price)
    }
}
