//! Mutualcast: the root sends each rank another part of the vector, and each passes its part on to all others.
//!
//! Every rank sends about as much as the root does, so a long vector takes the time of one transfer, at the latency of two
//! messages, where the network has a way from each to each. Parts are cut in segments that are passed on while the next come.
//!
//! ```text
//! 4 ranks, root 0      0 ─▶ 1: a  0 ─▶ 2: b  0 ─▶ 3: c      then 1 ─▶ 2, 3: a   2 ─▶ 3, 1: b   3 ─▶ 1, 2: c
//! ```
//!
//! Source: Li, Chou, Zhang: Mutualcast: an efficient mechanism for one-to-many content distribution, 2005.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::exchange::shifted;
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "mutualcast",
    citation: "Li, Chou, Zhang 2005",
    summary: "the root sends each rank another part, which that rank passes on to all others",
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1"],
    parts: |shape| shape.get("segments") * receivers(shape.ranks()),
    build,
    claims,
    ..BASE
};

/// How many ranks receive; one, if the root is alone.
fn receivers(p: u32) -> u32 {
    p.max(2) - 1
}

fn build(b: &mut Builder) {
    let (p, root, n) = (b.ranks(), b.root(), receivers(b.ranks()));
    let (input, output) = (b.input(), b.output());
    let rank_of = |receiver| absolute(receiver + 1, root, p);
    let place = relative(b.rank(), root, p);
    let further = n as i32;
    if place == 0 {
        b.copy(input, output);
        b.step();
    }
    b.repeat(b.get("segments"), 0, |b| {
        let Some(me) = place.checked_sub(1) else {
            for receiver in 0..p - 1 {
                b.send(rank_of(receiver), input.at(receiver).advancing(further));
            }
            return;
        };
        let own = output.at(me).advancing(further);
        b.recv(root, own);
        for distance in 1..n {
            let peers = shifted(n, me, distance);
            b.recv(
                rank_of(peers.from),
                output.at(peers.from).advancing(further),
            );
            b.send(rank_of(peers.to), own);
        }
    });
}

fn claims(shape: &Shape) -> Claims {
    let (others, segments) = (shape.ranks() - 1, shape.get("segments"));
    Claims {
        ports: others,
        steps: others.min(1) * segments + u32::from(others > 1),
        volume: u64::from(others * segments),
        work: 0,
    }
}
