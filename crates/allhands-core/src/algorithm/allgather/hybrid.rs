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

/// The blocks of positions and of the ranks that folded onto them.
fn blocks_of(folding: &Folding, output: Blocks, range: &Range<u32>) -> Vec<Blocks> {
    let (kept, extra) = (folding.kept(), folding.extra());
    let guests = range.start.min(extra)..range.end.min(extra);
    let own = output.slice(range.start, range.end - range.start);
    alloc::vec![
        own,
        output.slice(
            (kept + guests.start).min(output.count()),
            guests.end - guests.start
        )
    ]
}

fn build(b: &mut Builder) {
    let folding = Folding::to_power(b.ranks(), 2, Fold::High);
    let (input, output, rank) = (b.input(), b.output(), b.rank());
    let position = match folding.role(rank) {
        Role::Leaves { host } => {
            b.send(host, input);
            b.step();
            b.recv(
                host,
                [
                    output.slice(0, rank),
                    output.slice(rank, output.count() - rank),
                ],
            );
            return;
        }
        Role::Stays { new_rank, guests } => {
            b.copy(input, output.at(rank));
            if let Some(guest) = guests.first() {
                b.recv(guest, output.at(guest));
            }
            new_rank
        }
    };
    b.step();
    let size = folding.kept();
    let group = hybrid::group_size(size, b.get("x"));
    let ranks = Hybrid {
        size,
        position,
        rank_at: &|position| folding.actual(position),
        group,
    };
    hybrid::allgather(
        b,
        &ranks,
        &|range| blocks_of(&folding, output, &range),
        &blocks_of(&folding, output, &(0..size)),
    );
    if position < folding.extra() {
        b.send(position + size, output);
    }
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
