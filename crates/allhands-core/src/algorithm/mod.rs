//! The registry: every algorithm, with its name, source, requirements and build.
//!
//! One table drives selection, tests, `allhands list` and the documentation. An algorithm is one file,
//! `algorithm/<collective>/<name>.rs`, that reads like its paper. An algorithm never chooses another: what
//! serves a call is decided in `choose` alone.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod broadcast;
mod claims;
pub mod compose;
pub mod exscan;
#[cfg(test)]
mod figures;
pub mod gather;
mod key;
pub mod phase;
mod plans;
pub mod reduce;
pub mod reduce_scatter;
mod registration;
mod requirement;
pub mod scan;
pub mod scatter;

pub use claims::Claims;
pub use key::{Key, ParameterError, Values, parse_parameters, print_parameters};
pub use plans::Plans;
pub use registration::{Algorithm, InPlace, Layer, Layers, Sharing};
pub(crate) use registration::{any_order, block_per_rank, keeps_order};
pub use requirement::{Requirement, Unsuitable};

use crate::call::Collective;
use registration::BASE;

/// Every algorithm, by collective and in the order in which tables list them.
pub fn all() -> impl Iterator<Item = &'static Algorithm> {
    Collective::ALL.into_iter().flat_map(of)
}

/// The algorithms of a collective.
pub fn of(collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    let table: &'static [&'static Algorithm] = match collective {
        Collective::Barrier => barrier::ALL,
        Collective::Broadcast => broadcast::ALL,
        Collective::Scatter => scatter::ALL,
        Collective::Gather => gather::ALL,
        Collective::Allgather => allgather::ALL,
        Collective::Alltoall => alltoall::ALL,
        Collective::ReduceScatter => reduce_scatter::ALL,
        Collective::Reduce => reduce::ALL,
        Collective::Allreduce => allreduce::ALL,
        Collective::Scan => scan::ALL,
        Collective::Exscan => exscan::ALL,
    };
    table.iter().copied()
}

/// The algorithm of `collective` called `name`.
#[must_use]
pub fn find(collective: Collective, name: &str) -> Option<&'static Algorithm> {
    of(collective).find(|a| a.name == name)
}
