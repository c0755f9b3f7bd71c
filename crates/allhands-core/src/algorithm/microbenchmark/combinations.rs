//! Combinations: as a round trip, but that what comes is combined with what its receiver has: besides twice the way, twice γ(m) of that.
//!
//! ```text
//! 0: input ──▶ peer: input + what comes ──▶ scratch
//!              peer: input ──▶ 0: input + what comes ──▶ scratch
//! ```
//!
//! Source: C 3.1, γ, of operands that lie where messages leave them: ranks that share memory combine what they read.

use super::round_trip::trips;
use super::{BASE, MANY, PEER};
use crate::algorithm::Algorithm;
use crate::call::Collective;
use crate::schedule::{Builder, Side};

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    name: "microbenchmark-combinations",
    summary: "rank 0 and a peer send to one another, and combine what comes",
    keys: &[PEER, MANY],
    parts: |_| 1,
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (room, input) = (b.vector(), b.input());
    trips(
        b,
        |b, other| b.send(other, input),
        |b, other| b.recv_reduce(other, Side::Right, input, room),
    );
}
