//! Reduce: the reduction of all vectors, on the root.

pub mod binomial;
pub mod k_nomial;

use super::Algorithm;

/// Every reduce.
pub const ALL: &[&Algorithm] = &[&binomial::ALGORITHM, &k_nomial::ALGORITHM];
