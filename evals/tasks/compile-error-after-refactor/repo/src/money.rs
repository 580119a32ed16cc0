//! Amounts of money.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul};

/// An amount in cents. Adding amounts gives an amount, and so does an amount times a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cents(pub u64);

impl Add for Cents {
    type Output = Cents;

    fn add(self, other: Cents) -> Cents {
        Cents(self.0 + other.0)
    }
}

impl Mul<u32> for Cents {
    type Output = Cents;

    fn mul(self, count: u32) -> Cents {
        Cents(self.0 * u64::from(count))
    }
}

impl Sum for Cents {
    fn sum<I: Iterator<Item = Cents>>(amounts: I) -> Cents {
        amounts.fold(Cents(0), Add::add)
    }
}

impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:02}", self.0 / 100, self.0 % 100))
    }
}
