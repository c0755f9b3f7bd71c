//! Combining-tree broadcast: the root's vector goes up the tree and down to all, and nothing is combined with it.
//!
//! The tree's arithmetic is idle; packets follow one another, so the vector moves at the tree's bandwidth.
//!
//! ```text
//!  root ──▶ tree ──▶ all ranks
//! ```
//!
//! Source: B 4.

use super::BASE;
use crate::algorithm::phase::torus::prefix;
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::machine::Fabric;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "combining-tree",
    citation: "B 4",
    summary: "up the machine's tree and down to all",
    requires: &[Requirement::Fabric(Fabric::Tree)],
    keys: &[prefix::PREFIX],
    settings: &["", "prefix=agreement"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    prefix::emit(b);
    let (input, output) = (b.input(), b.output());
    if b.rank() == b.root() {
        b.copy(input, output);
        b.combine_for_others(Fabric::Tree, input);
    } else {
        b.combine_others(Fabric::Tree, output);
    }
}

fn claims(shape: &Shape) -> Claims {
    let own = Claims {
        ports: 1,
        steps: 1,
        volume: 1,
        work: 0,
    };
    prefix::claims(shape, own)
}
