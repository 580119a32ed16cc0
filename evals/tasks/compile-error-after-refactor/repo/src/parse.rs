//! Orders and price lists as people write them.

use crate::order::Order;
use crate::stock::Stock;

/// `4 apples, 1 honey` as an order.
pub fn order(text: &str) -> Result<Order, String> {
    let mut order = Order::new();
    for part in text.split(',') {
        let part = part.trim();
        let (count, name) = part.split_once(' ').ok_or_else(|| format!("{part:?}: a count and a name are needed"))?;
        let count = count.parse().map_err(|_| format!("{count:?} is not a count"))?;
        order = order.with(name.trim(), count);
    }
    Ok(order)
}

/// `1.20` in cents; there must be two digits behind the point.
pub fn amount(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is not an amount");
    let (whole, rest) = text.split_once('.').ok_or_else(bad)?;
    if rest.len() != 2 {
        return Err(bad());
    }
    let whole: u64 = whole.parse().map_err(|_| bad())?;
    let rest: u64 = rest.parse().map_err(|_| bad())?;
    Ok(whole * 100 + rest)
}

/// Lines like `apples 1.20 30` as a stock.
pub fn stock(text: &str) -> Result<Stock, String> {
    let mut stock = Stock::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [name, price, count] = fields[..] else {
            return Err(format!("{line:?}: name, price and count are needed"));
        };
        let count = count.parse().map_err(|_| format!("{count:?} is not a count"))?;
        let price: u64 = amount(price)?;
        stock.add(name, price, count);
    }
    Ok(stock)
}
