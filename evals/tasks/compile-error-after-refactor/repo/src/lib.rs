//! The till of a market stall; see README.md.

pub mod money;
pub mod order;
pub mod parse;
pub mod receipt;
pub mod report;
pub mod stock;
