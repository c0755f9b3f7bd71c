//! Butterfly: so many pairs of ranks exchange a message at once: what more of them take is contention, C(m, n).
//!
//! ```text
//! 0 ◀─▶ peer    1 ◀─▶ peer+1    2 ◀─▶ peer+2
//! ```
//!
//! Source: C 3.3, BIF-n, which compares n messages across the chips with two.

use super::{BASE, MANY, PEER, many, peer};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-butterfly",
    summary: "many pairs of ranks exchange messages at once",
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (peer, rank) = (peer(b), b.rank());
    let pairs = many(b).min(peer).min(b.ranks() - peer);
    let (input, output) = (b.input(), b.output());
    let other = match rank {
        _ if rank < pairs => rank + peer,
        _ if (peer..peer + pairs).contains(&rank) => rank - peer,
        _ => return,
    };
    b.send(other, input.at(other));
    b.recv(other, output.at(other));
}
