//! Exscan: rank r gets the reduction of the vectors of the ranks before it.

pub mod all_pairs;
pub mod direct;
pub mod doubling_123;
pub mod linear;
pub mod recursive_doubling;

use super::Algorithm;
use crate::call::Collective;

/// What an exscan is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Exscan,
    ..super::BASE
};

/// Every exscan.
pub const ALL: &[&Algorithm] = &[
    &recursive_doubling::ALGORITHM,
    &doubling_123::ALGORITHM,
    &linear::ALGORITHM,
    &direct::ALGORITHM,
    &all_pairs::ALGORITHM,
];
