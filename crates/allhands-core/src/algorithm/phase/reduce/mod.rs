//! Reductions: the combination of all vectors to one rank.

pub mod binary_blocks;
pub mod k_nomial;
