//! Scan: rank r gets the reduction of the vectors of ranks 0 to r.

pub mod all_pairs;
pub mod direct;
pub mod linear;
pub mod recursive_doubling;

use super::Algorithm;
use crate::call::Collective;

/// What a scan is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Scan,
    ..super::BASE
};

/// Every scan.
pub const ALL: &[&Algorithm] = &[
    &recursive_doubling::ALGORITHM,
    &linear::ALGORITHM,
    &direct::ALGORITHM,
    &all_pairs::ALGORITHM,
];
