//! Allreduces: every rank gets the combination of all vectors.

pub mod binary_blocks;
pub mod recursive_doubling;
