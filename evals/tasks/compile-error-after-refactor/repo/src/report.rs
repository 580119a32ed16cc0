//! What the stock is worth.

use crate::stock::{Item, Stock};

fn worth(item: &Item) -> u64 {
    item.price * u64::from(item.count)
}

/// What all there is of one item is worth.
pub fn worth_of(stock: &Stock, name: &str) -> u64 {
    stock.find(name).map(worth).unwrap_or(0)
}

/// What everything is worth.
pub fn total_worth(stock: &Stock) -> u64 {
    stock.items().map(worth).sum()
}

/// The items that cost at least `price` each, most expensive first, then by name.
pub fn expensive(stock: &Stock, price: u64) -> Vec<String> {
    let mut items: Vec<&Item> = stock.items().filter(|item| item.price >= price).collect();
    items.sort_by(|a, b| b.price.cmp(&a.price).then_with(|| a.name.cmp(&b.name)));
    items.iter().map(|item| format!("{} {}.{:02}", item.name, item.price / 100, item.price % 100)).collect()
}
