//! Direct scatter: the root sends every block to its rank itself, k at a time.
//!
//! ⌈(p − 1)/k⌉ steps of one block on each of k ports; nothing passes through a third rank.
//!
//! ```text
//! 4 ranks, root 0, 1 port      0 ─▶ 1      0 ─▶ 2      0 ─▶ 3
//! ```
//!
//! Source: Q 5.1.1 (equation 2), mirrored.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::exchange::{direct_distances, direct_rounds, shifted};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "direct",
    citation: "Q 5.1.1 (2)",
    summary: "the root sends each block itself, k at a time",
    keys: &[Key::PORTS],
    settings: &["", "ports=2", "ports=3", "ports=4", "ports=16"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, ports) = (b.ranks(), b.root(), b.shape().ports());
    let (input, output) = (b.input(), b.output());
    if b.rank() != root {
        b.recv(root, output);
        return;
    }
    b.copy(input.at(root), output);
    for round in 0..direct_rounds(p, ports) {
        for (port, distance) in direct_distances(p, ports, round).enumerate() {
            let peer = shifted(p, root, distance).to;
            b.port(port as u32);
            b.send(peer, input.at(peer));
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
