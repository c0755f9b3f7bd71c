//! Standard exchange: groups of k + 1 ranks at distance 1, k + 1, (k + 1)², … exchange all they have over k ports.
//!
//! log_(k+1) p steps for powers of k + 1; correction steps spread what a group misses otherwise. With one port it is recursive
//! doubling.
//!
//! ```text
//! 9 ranks, 2 ports      (0 1 2) (3 4 5) (6 7 8)      (0 3 6) (1 4 7) (2 5 8)
//! ```
//!
//! Source: Q 5.1.2, figure 4, equations 3 and 4.

use super::BASE;
use crate::algorithm::phase::allgather::circle::among_all;
use crate::algorithm::phase::allgather::recursive_multiplying;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "standard-exchange",
    citation: "Q 5.1.2",
    summary: "groups of ports + 1 exchange all they have; recursive multiplying",
    keys: &[Key::PORTS],
    settings: &["", "ports=2", "ports=3", "ports=4"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output, rank) = (b.input(), b.output(), b.rank());
    b.copy(input, output.at(rank));
    let radix = b.shape().ports() + 1;
    among_all(b, input, output, |b, all| {
        recursive_multiplying::allgather(b, all, radix)
    });
}

fn claims(shape: &Shape) -> Claims {
    recursive_multiplying::claims(shape.ranks(), shape.ports() + 1)
}
