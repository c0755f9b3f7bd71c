//! Microbenchmarks: schedules that do nothing for anybody, and by whose times a machine's parameters are known (C 3.3).
//!
//! They are algorithms in all but that: what runs an algorithm runs them, on any transport and on any simulated machine, and a block of the
//! alltoall that they pretend to be is the message. So what they measure are the messages of collectives, wherever gap and contention
//! really occur. They fill no result, `verify` proves nothing of them, and no table lists them; [`find`] knows them by name.

pub mod burst;
pub mod butterfly;
pub mod combinations;
pub mod copies;
pub mod gather;
pub mod gets;
pub mod nothing;
pub mod notices;
pub mod puts;
pub mod reductions;
pub mod relay;
pub mod round_trip;
pub mod scatter;
pub mod steps;
pub mod train;
pub mod turns;

use super::{Algorithm, Key, Values, block_per_rank};
use crate::call::Collective;
use crate::schedule::{Blocks, Builder, Units};

/// What a microbenchmark is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    citation: "C 3.3",
    parts: block_per_rank,
    ..super::BASE
};

/// The peer of rank 0.
const PEER: Key = Key {
    name: "peer",
    values: Values::Range {
        min: 1,
        max: 1 << 20,
    },
    default: 1,
    about: "the rank with which rank 0 has to do, or the first of them",
};

/// How often, or how many.
const MANY: Key = Key {
    name: "many",
    values: Values::Range { min: 1, max: 4096 },
    default: 1,
    about: "how many there are of what is measured",
};

/// Every microbenchmark.
pub const ALL: &[&Algorithm] = &[
    &nothing::ALGORITHM,
    &round_trip::ALGORITHM,
    &train::ALGORITHM,
    &gather::ALGORITHM,
    &scatter::ALGORITHM,
    &butterfly::ALGORITHM,
    &burst::ALGORITHM,
    &turns::ALGORITHM,
    &relay::ALGORITHM,
    &steps::ALGORITHM,
    &notices::ALGORITHM,
    &gets::ALGORITHM,
    &puts::ALGORITHM,
    &copies::ALGORITHM,
    &reductions::ALGORITHM,
    &combinations::ALGORITHM,
];

/// The microbenchmark with this name.
#[must_use]
pub fn find(collective: Collective, name: &str) -> Option<&'static Algorithm> {
    let mut all = ALL.iter().copied();
    all.find(|found| found.collective == collective && found.name == name)
}

/// `MANY`.
fn many(b: &Builder) -> u32 {
    b.get(MANY.name)
}

/// `PEER`, if there are so many ranks; otherwise the last.
fn peer(b: &Builder) -> u32 {
    b.get(PEER.name).min(b.ranks() - 1)
}

/// All messages are as long as any.
const ONE: Units = Units::Run {
    first: 0,
    modulo: 1,
};

/// Room for so many messages.
fn room(b: &mut Builder, blocks: u32) -> Blocks {
    b.scratch(ONE, blocks)
}

/// A window with room for so many messages.
fn window(b: &mut Builder, blocks: u32) -> Blocks {
    b.window(ONE, blocks)
}

/// Rank 0 does something, so often, one after another.
fn alone(b: &mut Builder, does: impl Fn(&mut Builder)) {
    if b.rank() > 0 {
        return;
    }
    for _ in 0..many(b) {
        does(b);
        b.step();
    }
}

#[cfg(test)]
mod tests;
