//! Ring allreduce: a reduce-scatter, then a ring allgather.
//!
//! 2(p − 1) steps of 1/p of the vector: minimal volume and work for any number of ranks, but a latency that grows with it. The
//! reduce-scatter is pairwise, as the paper has it, or with `reduce-scatter=ring` also between neighbours alone, what others
//! call the ring. With `segments` the vector goes in pieces side by side, each by a ring of its own: while a rank combines one, or waits for
//! one, another one is on its way. Segments are for long vectors, and those go between neighbours alone: then nobody hears from two
//! at once. 25 MB among 4 hosts of 200 Mbit/s, in two segments: pairwise 1730 to 2006 ms in three runs, between neighbours 1595 to 1596.
//!
//! ```text
//! 4 ranks      i ─▶ i+1, i ─▶ i+2, i ─▶ i+3: parts to combine      then 3 times i ─▶ i+1: results
//! ```
//!
//! Source: T 5.3; Patarasuk and Yuan 2009 for neighbours alone.

use super::BASE;
use crate::algorithm::phase::allgather::{self, circle::among_all};
use crate::algorithm::phase::reduce_scatter;
use crate::algorithm::{Algorithm, Claims, Key, any_order};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "ring",
    citation: "T 5.3; Patarasuk and Yuan 2009",
    summary: "pairwise or ring reduce-scatter, then a ring allgather",
    keys: &[Key::REDUCE_SCATTER, Key::SEGMENTS_AT_ONCE],
    settings: &[
        "",
        "reduce-scatter=ring",
        "reduce-scatter=ring,segments=2",
        "reduce-scatter=ring,segments=3",
    ],
    ordered: any_order,
    parts: |shape| shape.ranks() * shape.get(Key::SEGMENTS_AT_ONCE.name),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    match b.get(Key::SEGMENTS_AT_ONCE.name) {
        1 => segment(b, 0),
        segments => {
            for at in 0..segments {
                b.strand(|b| segment(b, at));
            }
        }
    }
}

/// One segment, in which every rank has a block.
fn segment(b: &mut Builder, at: u32) {
    let (p, rank) = (b.ranks(), b.rank());
    let [input, output] = [b.input(), b.output()].map(|vector| vector.slice(at * p, p));
    let own = output.at(rank);
    reduce_scatter::ring::reduce_scatter_by_key(b, input, output);
    among_all(b, own, output, allgather::ring::allgather);
}

fn claims(shape: &Shape) -> Claims {
    let (others, segments) = (shape.ranks() - 1, shape.get(Key::SEGMENTS_AT_ONCE.name));
    Claims {
        ports: segments,
        steps: 2 * others,
        volume: u64::from(2 * others * segments),
        work: u64::from(others * segments),
    }
}
