//! Allreduces: every rank gets the combination of all vectors.

pub mod recursive_doubling;
