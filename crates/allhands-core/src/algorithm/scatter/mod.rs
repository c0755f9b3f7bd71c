//! Scatter: the root's block r reaches rank r.

pub mod binomial;
pub mod direct;
pub mod hierarchical;
pub mod shared_memory;

use super::{Algorithm, block_per_rank};
use crate::call::Collective;

/// What a scatter is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Scatter,
    parts: block_per_rank,
    ..super::BASE
};

/// Every scatter.
pub const ALL: &[&Algorithm] = &[
    &binomial::ALGORITHM,
    &direct::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
];
