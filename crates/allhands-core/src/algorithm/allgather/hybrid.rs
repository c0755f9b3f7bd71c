//! Hybrid-x-y allgather: x − 1 rounds of binomial gather, recursive doubling among the p'/2^(x−1) ranks that then have data, x − 1 rounds of
//! binomial broadcast.
//!
//! Few messages cross between distant ranks, at the price of 2(x − 1) more rounds. Ranks beyond the next lower power of two p' give their
//! block to a lower rank first and get everything from it at the end (C 4).
//!
//! ```text
//! 8 ranks, x = 2      1▶0 3▶2 5▶4 7▶6      0⇄2 4⇄6      0⇄4 2⇄6      0▶1 2▶3 4▶5 6▶7
//! ```
//!
//! Source: C 5.3, table 3, figure 6.

use super::BASE;
use crate::algorithm::phase::allgather::hybrid::{self, Hybrid};
use crate::algorithm::{Algorithm, Claims, Key, Values};
use crate::pattern::fold::{Fold, Folding, Role};
use crate::pattern::math::floor_log2;
use crate::schedule::{Blocks, Builder, Shape};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hybrid",
    citation: "C 5.3",
    summary: "hybrid-x-y: binomial gather in groups, recursive doubling among leaders, binomial broadcast",
    keys: &[Key {
        name: "x",
        values: Values::Range { min: 1, max: 32 },
        default: 2,
        about: "the round in which recursive doubling starts; at most lg p' + 1",
    }],
    settings: &["", "x=1", "x=3", "x=5"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let folding = Folding::to_power(b.ranks(), 2, Fold::High);
    let (input, output, size) = (b.input(), b.output(), folding.kept());
    let (position, guest) = match folding.role(b.rank()) {
        Role::Leaves { host } => return be_served(b, host),
        Role::Stays { new_rank, guests } => (new_rank, guests.first()),
    };
    b.copy(input, output.at(b.rank()));
    if let Some(guest) = guest {
        b.recv(guest, output.at(guest));
    }
    b.step();
    let ranks = Hybrid {
        size,
        position,
        rank_at: &|position| folding.actual(position),
        group: hybrid::group_size(size, b.get("x")),
    };
    let blocks = |positions| blocks_of(&folding, output, &positions);
    hybrid::allgather(b, &ranks, &blocks, &blocks(0..size));
    if let Some(guest) = guest {
        b.send(guest, output);
    }
}

/// A rank beyond the power of two gives its block to `host` and gets everything from it at the end.
fn be_served(b: &mut Builder, host: u32) {
    let (rank, output) = (b.rank(), b.output());
    b.send(host, b.input());
    b.step();
    let rest = output.slice(rank, output.count() - rank);
    b.recv(host, [output.slice(0, rank), rest]);
}

/// The blocks of positions and of the ranks that folded onto them.
fn blocks_of(folding: &Folding, output: Blocks, range: &Range<u32>) -> Vec<Blocks> {
    let (kept, extra) = (folding.kept(), folding.extra());
    let guests = range.start.min(extra)..range.end.min(extra);
    let first = (kept + guests.start).min(output.count());
    vec![
        output.slice(range.start, range.end - range.start),
        output.slice(first, guests.end - guests.start),
    ]
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let folding = Folding::to_power(p, 2, Fold::High);
    let (size, extra) = (folding.kept(), folding.extra());
    let group = hybrid::group_size(size, shape.get("x"));
    let count = |range: Range<u32>| {
        u64::from(range.end - range.start + range.end.min(extra) - range.start.min(extra))
    };
    let volume = |position| {
        let (sent, received) = hybrid::allgather_blocks(size, group, position, &count);
        let guest = u64::from(position < extra);
        (sent + guest * u64::from(p)).max(received + guest)
    };
    // Who folded receives everything at the end, its own block too.
    let folded = if extra > 0 { u64::from(p) } else { 0 };
    let folds = if extra > 0 { 2 } else { 0 };
    let steps = floor_log2(size) + floor_log2(group) + folds;
    Claims {
        ports: 1,
        steps,
        volume: (0..size).map(volume).max().unwrap_or(0).max(folded),
        work: 0,
    }
}
