use stall::money::Cents;
use stall::order::{Order, Sale, Sold};
use stall::stock::{Stock, StockError};
use stall::{parse, receipt, report};

fn stock() -> Stock {
    parse::stock("pears 0.05 7\n\nwalnuts 12.00 3\nplums 12.00 1\n").unwrap()
}

fn unknown(name: &str) -> StockError {
    StockError::Unknown(name.to_string())
}

#[test]
fn unknown_items_are_an_error_everywhere() {
    let mut stock = stock();
    let order = Order::new().with("pears", 1).with("figs", 1);
    assert_eq!(order.sell(&mut stock), Err(unknown("figs")));
    assert_eq!(order.price(&stock), Err(unknown("figs")));
    assert_eq!(report::worth_of(&stock, "figs"), Err(unknown("figs")));
    assert_eq!(stock.find("pears").unwrap().count, 7);
}

#[test]
fn amounts_are_cents_everywhere() {
    let mut stock = stock();
    let order = Order::new().with("pears", 3).with("walnuts", 2);
    assert_eq!(order.price(&stock), Ok(Cents(2415)));
    assert_eq!(Order::new().with("pears", 1000).price(&stock), Ok(Cents(5000)));
    assert_eq!(report::worth_of(&stock, "walnuts"), Ok(Cents(3600)));
    assert_eq!(report::total_worth(&stock), Cents(35 + 3600 + 1200));
    assert_eq!(parse::amount("1.05"), Ok(Cents(105)));
    let sale = order.sell(&mut stock).unwrap();
    let first = Sold { name: "pears".into(), count: 3, each: Cents(5) };
    assert_eq!(sale.lines[0], first);
    assert_eq!(first.amount(), Cents(15));
    assert_eq!(Sale::default().total(), Cents(0));
    assert_eq!(stock.find("walnuts").unwrap().count, 1);
}

#[test]
fn texts_are_as_before() {
    let stock = stock();
    assert_eq!(report::expensive(&stock, Cents(5)), ["plums 12.00", "walnuts 12.00", "pears 0.05"]);
    assert_eq!(report::expensive(&stock, Cents(6)), ["plums 12.00", "walnuts 12.00"]);
    let sale = Sale { lines: vec![Sold { name: "pears".into(), count: 1, each: Cents(5) }] };
    assert_eq!(receipt::print(&sale), "1 pears                   0.05\ntotal                     0.05\n");
}

#[test]
fn errors_of_parsing_are_as_before() {
    assert_eq!(parse::amount("1.5"), Err("\"1.5\" is not an amount".to_string()));
    assert_eq!(parse::order("apples").unwrap_err(), "\"apples\": a count and a name are needed");
    assert_eq!(parse::stock("pears 0.05 x").unwrap_err(), "\"x\" is not a count");
}
