//! One-to-all broadcast: the root sends the whole vector to every rank at once.
//!
//! One step with p − 1 messages: good where the root's ports are many or the messages tiny.
//!
//! ```text
//! 4 ranks, root 0      0 ─▶ 1   0 ─▶ 2   0 ─▶ 3
//! ```
//!
//! Source: C 4, 5.2, table 2.

use super::BASE;
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::exchange::shifted;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "one-to-all",
    citation: "C table 2",
    summary: "the root sends to all at once",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root) = (b.ranks(), b.root());
    let (input, output) = (b.input(), b.output());
    if b.rank() != root {
        b.recv(root, output);
        return;
    }
    b.copy(input, output);
    for distance in 1..p {
        b.send(shifted(p, root, distance).to, input);
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: others,
        steps: others.min(1),
        volume: u64::from(others),
        work: 0,
    }
}
