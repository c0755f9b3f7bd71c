//! Gather: the block of rank r reaches the root as block r.

pub mod allgather;
pub mod binomial;
pub mod direct;
pub mod hierarchical;
pub mod shared_memory;
pub mod smp_gather;

use super::{Algorithm, block_per_rank};
use crate::call::Collective;

/// What a gather is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Gather,
    parts: block_per_rank,
    ..super::BASE
};

/// Every gather.
pub const ALL: &[&Algorithm] = &[
    &binomial::ALGORITHM,
    &direct::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
    &smp_gather::ALGORITHM,
    &allgather::ALGORITHM,
];
