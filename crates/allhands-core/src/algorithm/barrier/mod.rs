//! Barrier: no rank leaves before every rank has entered.

pub mod combining_tree;
pub mod direct;
pub mod dissemination;
pub mod gather_broadcast;
pub mod global_interrupt;
pub mod hierarchical;
pub mod line_broadcast;
pub mod one_to_all;
pub mod recursive_doubling;
pub mod shared_memory;

use super::Algorithm;
use crate::call::Collective;

/// What a barrier is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Barrier,
    ..super::BASE
};

/// Every barrier.
pub const ALL: &[&Algorithm] = &[
    &dissemination::ALGORITHM,
    &recursive_doubling::ALGORITHM,
    &gather_broadcast::ALGORITHM,
    &one_to_all::ALGORITHM,
    &direct::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
    &line_broadcast::ALGORITHM,
    &combining_tree::ALGORITHM,
    &global_interrupt::ALGORITHM,
];
