//! The bounds of one run.

use codey_llm::{Price, Usage};
use codey_protocol::{Limit, Limits};

/// What a run took so far.
#[derive(Clone, Debug)]
pub(crate) struct Spent {
    pub(crate) turns: u32,
    pub(crate) usage: Usage,
    /// `None` if a price is unknown, or what a request took.
    pub(crate) cost_usd: Option<f64>,
    /// What the limits go by: the same, with estimates where a server reports nothing.
    counted: Usage,
    counted_usd: f64,
}

impl Spent {
    /// Nothing yet, by a model of this price.
    pub(crate) fn nothing(price: Option<Price>) -> Self {
        Self {
            turns: 0,
            usage: Usage::default(),
            cost_usd: price.map(|_| 0.0),
            counted: Usage::default(),
            counted_usd: 0.0,
        }
    }

    /// Counts a response, at the moment its usage arrives: what the server reports, what that cost if it is known, and
    /// what it counts for limits.
    pub(crate) fn add(&mut self, usage: Usage, cost_usd: Option<f64>, counted: Usage, price: Option<Price>) {
        self.turns += 1;
        self.usage += usage;
        self.counted += counted;
        self.counted_usd += price.map_or(0.0, |price| price.cost_usd(&counted));
        self.cost_usd = self.cost_usd.zip(cost_usd).map(|(sum, cost)| sum + cost);
    }

    /// The bound that forbids a further request.
    pub(crate) fn reached(&self, limits: &Limits) -> Option<Limit> {
        if limits.turns.is_some_and(|bound| self.turns >= bound.get()) {
            return Some(Limit::Turns);
        }
        if limits.tokens_total.is_some_and(|bound| self.counted.total() >= bound.get()) {
            return Some(Limit::Tokens);
        }
        limits.cost_usd.is_some_and(|bound| self.counted_usd >= bound).then_some(Limit::Cost)
    }
}
