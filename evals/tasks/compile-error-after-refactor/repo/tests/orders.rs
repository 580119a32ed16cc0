use stall::money::Cents;
use stall::order::Order;
use stall::stock::StockError;
use stall::{parse, receipt, report};

const PRICES: &str = "apples 1.20 30\nhoney 6.50 2\n";

#[test]
fn an_order_is_sold_and_printed() {
    let mut stock = parse::stock(PRICES).unwrap();
    let sale = parse::order("4 apples, 1 honey").unwrap().sell(&mut stock).unwrap();
    assert_eq!(sale.total(), Cents(1130));
    assert_eq!(
        receipt::print(&sale),
        "4 apples                  4.80\n\
         1 honey                   6.50\n\
         total                    11.30\n"
    );
}

#[test]
fn an_order_that_cannot_be_sold_says_why() {
    let mut stock = parse::stock(PRICES).unwrap();
    let error = Order::new().with("apples", 1).with("honey", 3).sell(&mut stock).unwrap_err();
    assert_eq!(error, StockError::NotEnough { name: "honey".into(), wanted: 3, there: 2 });
    assert_eq!(stock.find("apples").unwrap().count, 30);
}

#[test]
fn everything_is_worth_something() {
    let stock = parse::stock(PRICES).unwrap();
    assert_eq!(report::total_worth(&stock), Cents(4900));
    assert_eq!(report::expensive(&stock, Cents(200)), ["honey 6.50"]);
}
