//! Gather-broadcast barrier: tokens go up a binomial tree and down again.
//!
//! 2⌈lg p⌉ steps, but only p − 1 messages each way.
//!
//! ```text
//! 4 ranks      up: 3 ─▶ 2, 1 ─▶ 0      2 ─▶ 0      down: 0 ─▶ 2      0 ─▶ 1, 2 ─▶ 3
//! ```
//!
//! Source: C 5.1, table 1.

use super::BASE;
use crate::algorithm::phase::barrier::tree;
use crate::algorithm::phase::tree::Group;
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "gather-broadcast",
    citation: "C table 1",
    summary: "tokens go up a binomial tree and down again",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let group = Group::binomial(b.ranks(), b.rank(), &|rank| rank);
    tree::up(b, &group);
    tree::down(b, &group);
}

fn claims(shape: &Shape) -> Claims {
    Claims {
        ports: 1,
        steps: 2 * ceil_log2(shape.ranks()),
        volume: 0,
        work: 0,
    }
}
