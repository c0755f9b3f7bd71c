//! All-pairs allreduce: every rank sends each part straight to the rank that combines it, which sends the result straight to all.
//!
//! Twice p − 1 messages, at once or in a window: as little volume and work as a ring, at the latency of two messages, where the network
//! has a way from each to each. Parts are combined in rank order.
//!
//! ```text
//! 3 ranks      i ─▶ i+1, i+2 (mod 3): parts i+1, i+2      then i ─▶ i+1, i+2: part i, combined
//! ```
//!
//! Source: Cowan and others: MSCCLang: Microsoft collective communication language, 2023.

use super::BASE;
use crate::algorithm::phase::alltoall::direct;
use crate::algorithm::phase::reduce_scatter::direct::reduce_scatter;
use crate::algorithm::{Algorithm, Claims, Key, block_per_rank};
use crate::schedule::{Blocks, Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "all-pairs",
    citation: "Cowan and others 2023",
    summary: "each part straight to the rank that combines it, and from there straight to all",
    keys: &[Key::WINDOW],
    settings: &["", "window=4"],
    parts: block_per_rank,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (rank, input, output) = (b.rank(), b.input(), b.output());
    reduce_scatter(b, input, output.at(rank));
    b.step();
    allgather(b, output);
}

/// Everyone sends the part that it has combined to all, who receive it in the same place.
fn allgather(b: &mut Builder, vector: Blocks) {
    let rank = b.rank();
    direct::exchange(
        b,
        |b, from| b.recv(from, vector.at(from)),
        |b, to| b.send(to, vector.at(rank)),
    );
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    let (ports, steps) = direct::exchange_claims(shape);
    // The strands of a window are counted as if those of both phases ran at once.
    let phases = match shape.get(Key::WINDOW.name) {
        0 => 1,
        _ => 2,
    };
    Claims {
        ports: phases * ports,
        steps: 2 * steps,
        volume: u64::from(2 * others),
        work: u64::from(others),
    }
}
