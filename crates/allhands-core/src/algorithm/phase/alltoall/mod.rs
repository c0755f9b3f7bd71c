//! All-to-alls: a block from every rank to every other.

pub mod bruck;
pub mod direct;
