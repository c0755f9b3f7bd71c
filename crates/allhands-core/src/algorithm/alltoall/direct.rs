//! Direct all-to-all: every rank sends each block to its rank itself, k at a time.
//!
//! ⌈(p − 1)/k⌉ steps with k ports; with one port it is the ring form of the pairwise exchange.
//!
//! ```text
//! 4 ranks, 2 ports      i ─▶ i+1, i+2      i ─▶ i+3     (mod 4)
//! ```
//!
//! Source: Q 5.1.3, cost as equation 2.

use crate::algorithm::{Algorithm, Claims, InPlace, Key, block_per_rank, keeps_order};
use crate::call::Collective;
use crate::pattern::exchange::{direct_distances, direct_rounds, shifted};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    name: "direct",
    citation: "Q 5.1.3",
    summary: "each rank sends each block itself, k at a time",
    requires: &[],
    keys: &[Key::PORTS],
    settings: &["", "ports=2", "ports=3", "ports=4"],
    in_place: InPlace::Staged,
    ordered: keeps_order,
    parts: block_per_rank,
    build,
    claims,
};

fn build(b: &mut Builder) {
    let (p, rank, ports) = (b.ranks(), b.rank(), b.shape().ports());
    let (input, output) = (b.input(), b.output());
    b.copy(input.at(rank), output.at(rank));
    for round in 0..direct_rounds(p, ports) {
        for (port, distance) in direct_distances(p, ports, round).enumerate() {
            let peers = shifted(p, rank, distance);
            b.port(port as u32);
            b.send(peers.to, input.at(peers.to));
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
