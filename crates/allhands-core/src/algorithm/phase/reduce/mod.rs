//! Reductions: the combination of all vectors to one rank.

pub mod k_nomial;
