//! Reduce-scatters: every rank gets the combination of its block.

pub mod circulant;
pub mod direct;
pub mod pairwise;
pub mod recursive_halving;
pub mod ring;
