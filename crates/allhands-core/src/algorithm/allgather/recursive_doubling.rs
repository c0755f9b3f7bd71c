//! Recursive-doubling allgather: pairs at distance 1, 2, 4, … exchange all they have.
//!
//! lg p steps for powers of two. Otherwise, where some members of a group have no partner, what they miss is spread through
//! the group in logarithmic further steps: at most 2⌊lg p⌋ in all by the paper; the literal algorithm needs one more for odd p.
//!
//! ```text
//! 8 ranks      0⇄1 2⇄3 4⇄5 6⇄7      0⇄2 1⇄3 4⇄6 5⇄7      0⇄4 1⇄5 2⇄6 3⇄7
//! ```
//!
//! Source: T 4.1.1, figure 1.

use super::BASE;
use crate::algorithm::phase::allgather::circle::among_all;
use crate::algorithm::phase::allgather::recursive_multiplying;
use crate::algorithm::{Algorithm, Claims};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "recursive-doubling",
    citation: "T 4.1.1",
    summary: "pairs at distance 1, 2, 4, … exchange all they have",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output, rank) = (b.input(), b.output(), b.rank());
    b.copy(input, output.at(rank));
    among_all(b, input, output, |b, all| {
        recursive_multiplying::allgather(b, all, 2)
    });
}

fn claims(shape: &Shape) -> Claims {
    recursive_multiplying::claims(shape.ranks(), 2)
}
