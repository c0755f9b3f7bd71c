//! Pairwise reduce-scatter: in step i every rank sends the block of rank + i there and combines what comes from rank − i.
//!
//! p − 1 steps of one block, straight from the input: minimal volume and work.
//!
//! T 4.4 prints this for long vectors whether or not the operator commutes, and what comes to rank r is from r − 1 … 0 and then,
//! round the end, from p − 1 … r + 1: combined as it comes, it is in no order. With `order=ranks` what comes round the end is
//! combined by itself, each on the left of what came before, and stands on the right of the rest at last: the same messages, room
//! for one more block, and one combination later.
//!
//! ```text
//! 4 ranks      i ─▶ i+1: block i+1      i ─▶ i+2: block i+2      i ─▶ i+3: block i+3     (mod 4)
//! rank 1, order=ranks      0 ⊕ 1        3 by itself              2 ⊕ 3; then (0 ⊕ 1) ⊕ (2 ⊕ 3)
//! ```
//!
//! Source: T 4.4, 5.3.

use super::BASE;
use crate::algorithm::phase::reduce_scatter::pairwise;
use crate::algorithm::{Algorithm, Claims, Key, Values};
use crate::pattern::exchange::shifted;
use crate::schedule::{Builder, Shape, Side, Units};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "pairwise",
    citation: "T 4.4, 5.3",
    summary: "in step i the block of rank + i goes there",
    keys: &[ORDER],
    settings: &["", "order=ranks"],
    ordered,
    build,
    claims,
    ..BASE
};

const ORDER: Key = Key {
    name: "order",
    values: Values::Names(&["any", "ranks"]),
    default: 0,
    about: "whether contributions are combined as they come, or in the order of ranks",
};

/// `order=ranks`.
fn ordered(shape: &Shape) -> bool {
    shape.get(ORDER.name) == 1
}

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    if !ordered(b.shape()) {
        return pairwise::reduce_scatter(b, input, output);
    }
    let behind = b.scratch(
        Units::Run {
            first: rank,
            modulo: p,
        },
        u32::from(rank + 1 < p),
    );
    let mut own = input.at(rank);
    for step in 1..p {
        let peers = shifted(p, rank, step);
        b.send(peers.to, input.at(peers.to));
        if peers.from < rank {
            b.recv_reduce(peers.from, Side::Left, own, output);
            own = output;
        } else if peers.from == p - 1 {
            b.recv(peers.from, behind);
        } else {
            b.recv_reduce(peers.from, Side::Left, behind, behind);
        }
        b.step();
    }
    if rank + 1 < p {
        b.reduce(own, behind, output);
    } else {
        b.copy(own, output);
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: 1,
        steps: others,
        volume: u64::from(others),
        work: u64::from(others),
    }
}
