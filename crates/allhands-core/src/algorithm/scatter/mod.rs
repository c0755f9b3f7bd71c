//! Scatter: the root's block r reaches rank r.

pub mod binomial;
pub mod direct;
pub mod hierarchical;
pub mod shared_memory;

use super::Algorithm;

/// Every scatter.
pub const ALL: &[&Algorithm] = &[
    &binomial::ALGORITHM,
    &direct::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
];
