//! Burst: every rank exchanges a message with each of many others at once: what a further message takes when who it is for is awake already.
//!
//! ```text
//! r ──▶ r+peer, r+2·peer, …    r ◀── r−peer, r−2·peer, …
//! ```
//!
//! Source: after C 3.3, whose butterflies have one message for each rank, before which all of them sleep.

use super::{BASE, MANY, PEER, many, peer};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-burst",
    summary: "every rank exchanges messages with many others at once",
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (stride, rank) = (peer(b), b.rank());
    // A whole number of strides, so that nobody meets itself.
    let places = b.ranks() / stride;
    let many = many(b).min(places - 1);
    if rank >= places * stride {
        return;
    }
    let (input, output) = (b.input(), b.output());
    let (place, within) = (rank / stride, rank % stride);
    let other = |distance: u32| (place + distance) % places * stride + within;
    for distance in 1..=many {
        let (to, from) = (other(distance), other(places - distance));
        b.send(to, input.at(to));
        b.recv(from, output.at(from));
    }
}
