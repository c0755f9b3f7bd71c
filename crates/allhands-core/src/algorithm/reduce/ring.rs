//! Ring reduce: a reduce-scatter, then every rank sends its part of the result straight to the root.
//!
//! 2(p − 1) steps of 1/p of the vector: minimal work for any number of ranks. The reduce-scatter is pairwise, as the paper has it, or with
//! `reduce-scatter=ring` between neighbours alone.
//!
//! ```text
//! 4 ranks, root 0      i ─▶ i+1, i ─▶ i+2, i ─▶ i+3: parts to combine      1 ─▶ 0      2 ─▶ 0      3 ─▶ 0
//! ```
//!
//! Source: T 5.3; Patarasuk and Yuan 2009 for neighbours alone.

use super::BASE;
use crate::algorithm::phase::reduce_scatter::ring;
use crate::algorithm::{Algorithm, Claims, Key, any_order, block_per_rank};
use crate::pattern::exchange::shifted;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "ring",
    citation: "T 5.3; Patarasuk and Yuan 2009",
    summary: "pairwise or ring reduce-scatter, then each rank sends its part to the root",
    keys: &[Key::REDUCE_SCATTER],
    settings: &["", "reduce-scatter=ring"],
    ordered: any_order,
    parts: block_per_rank,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, rank, input) = (b.ranks(), b.root(), b.rank(), b.input());
    let result = if rank == root { b.output() } else { b.vector() };
    ring::reduce_scatter_by_key(b, input, result);
    if rank != root {
        b.step();
        b.send(root, result.at(rank));
        return;
    }
    for distance in 1..p {
        let from = shifted(p, root, distance).to;
        b.step();
        b.recv(from, result.at(from));
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: 1,
        steps: 2 * others,
        volume: u64::from(2 * others),
        work: u64::from(others),
    }
}
