//! Direct allgather: every rank sends its own block to every other rank, k at a time.
//!
//! ⌈(p − 1)/k⌉ steps of one block on each of k ports. Nothing is forwarded, so no step waits for another's data: with a window
//! of k there are no steps, and each message is followed by the next as soon as it is done.
//!
//! ```text
//! 4 ranks, 1 port      i ─▶ i+1      i ─▶ i+2      i ─▶ i+3     (mod 4)
//! ```
//!
//! Source: Q 5.1.2, cost as equation 2.

use super::BASE;
use crate::algorithm::phase::alltoall::direct;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::exchange::{Peers, direct_distances, direct_rounds, shifted};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "direct",
    citation: "Q 5.1.2",
    summary: "each rank sends its block to every other, k at a time",
    keys: &[Key::PORTS, Key::WINDOW],
    settings: &["", "ports=2", "ports=3", "ports=4", "window=4"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank, ports) = (b.ranks(), b.rank(), b.shape().ports());
    let window = b.shape().get(Key::WINDOW.name);
    let (input, output) = (b.input(), b.output());
    b.copy(input, output.at(rank));
    let exchange = |b: &mut Builder, peers: Peers| {
        b.send(peers.to, input);
        b.recv(peers.from, output.at(peers.from));
    };
    if window > 0 {
        direct::windowed(b, (window, 0), exchange);
        return;
    }
    for round in 0..direct_rounds(p, ports) {
        for (port, distance) in direct_distances(p, ports, round).enumerate() {
            b.port(port as u32);
            exchange(b, shifted(p, rank, distance));
        }
        b.step();
    }
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let ports = match shape.get(Key::WINDOW.name) {
        0 => shape.ports(),
        window => window,
    };
    Claims {
        ports,
        steps: direct_rounds(p, ports),
        volume: u64::from(p - 1),
        work: 0,
    }
}
