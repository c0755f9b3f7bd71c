//! Direct allgather: every rank sends its own block to every other rank, k at a time.
//!
//! ⌈(p − 1)/k⌉ steps of one block on each of k ports. Nothing is forwarded, so no step waits for another's data.
//!
//! ```text
//! 4 ranks, 1 port      i ─▶ i+1      i ─▶ i+2      i ─▶ i+3     (mod 4)
//! ```
//!
//! Source: Q 5.1.2, cost as equation 2.

use crate::algorithm::{Algorithm, Claims, InPlace, Key, block_per_rank, keeps_order};
use crate::call::Collective;
use crate::pattern::exchange::{direct_distances, direct_rounds, shifted};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    name: "direct",
    citation: "Q 5.1.2",
    summary: "each rank sends its block to every other, k at a time",
    requires: &[],
    keys: &[Key::PORTS],
    settings: &["", "ports=2", "ports=3", "ports=4"],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: block_per_rank,
    build,
    claims,
};

fn build(b: &mut Builder) {
    let (p, rank, ports) = (b.ranks(), b.rank(), b.shape().ports());
    let (input, output) = (b.input(), b.output());
    b.copy(input, output.at(rank));
    for round in 0..direct_rounds(p, ports) {
        for (port, distance) in direct_distances(p, ports, round).enumerate() {
            let peers = shifted(p, rank, distance);
            b.port(port as u32);
            b.send(peers.to, input);
            b.recv(peers.from, output.at(peers.from));
        }
        b.step();
    }
}

fn claims(shape: &Shape) -> Claims {
    let (p, ports) = (shape.ranks(), shape.ports());
    Claims {
        ports,
        steps: direct_rounds(p, ports),
        volume: u64::from(p - 1),
        work: 0,
    }
}
