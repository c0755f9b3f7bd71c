//! The registry: the tables of all collectives as one, by which everything downstream finds an algorithm.

use super::{
    Algorithm, allgather, allreduce, alltoall, barrier, broadcast, exscan, gather, microbenchmark,
    reduce, reduce_scatter, scan, scatter,
};
use crate::call::Collective;

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

/// The algorithm of `collective` called `name`; or the [microbenchmark](super::microbenchmark), which no table lists.
#[must_use]
pub fn find(collective: Collective, name: &str) -> Option<&'static Algorithm> {
    let registered = of(collective).find(|a| a.name == name);
    registered.or_else(|| microbenchmark::find(collective, name))
}
