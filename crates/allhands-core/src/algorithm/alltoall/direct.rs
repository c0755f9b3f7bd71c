//! Direct alltoall: every rank sends each block to its rank itself, k at a time.
//!
//! ⌈(p − 1)/k⌉ steps with k ports; with one port it is the ring form of the pairwise exchange. With a window of k there are no
//! steps: each message is followed by the next as soon as it is done.
//!
//! ```text
//! 4 ranks, 2 ports      i ─▶ i+1, i+2      i ─▶ i+3     (mod 4)
//! ```
//!
//! Source: Q 5.1.3, cost as equation 2.

use super::BASE;
use crate::algorithm::phase::alltoall::direct;
use crate::algorithm::{Algorithm, Claims, InPlace, Key};
use crate::pattern::exchange::{Peers, direct_distances, direct_rounds, shifted};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "direct",
    citation: "Q 5.1.3",
    summary: "each rank sends each block itself, k at a time",
    keys: &[Key::PORTS, Key::WINDOW],
    settings: &["", "ports=2", "ports=3", "ports=4", "window=4"],
    in_place: InPlace::Staged,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank, ports) = (b.ranks(), b.rank(), b.shape().ports());
    let (window, staged) = (b.shape().get(Key::WINDOW.name), b.items(0));
    let (input, output) = (b.input(), b.output());
    b.copy(input.at(rank), output.at(rank));
    let exchange = |b: &mut Builder, peers: Peers| {
        b.send(peers.to, input.at(peers.to));
        b.recv(peers.from, output.at(peers.from));
    };
    if window > 0 {
        direct::windowed(b, (window, staged), exchange);
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
