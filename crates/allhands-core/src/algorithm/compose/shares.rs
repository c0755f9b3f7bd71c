//! Shares: where a node has several leaders, each for a share of the data, these go through the phases side by side.

use crate::pattern::division::Division;
use crate::schedule::Builder;
use alloc::vec::Vec;

/// Does `body` for every share of the data: where there are several, side by side, after all that was said before and before
/// all that is said after.
pub fn each_share(
    b: &mut Builder,
    nodes: &Division,
    mut body: impl FnMut(&mut Builder, &Division),
) {
    if nodes.shares() == 1 {
        return body(b, nodes);
    }
    b.step();
    let before = b.items(0);
    let mut strand = |b: &mut Builder, share| {
        b.strand(|b| {
            if before > 0 {
                b.await_strand(0, before);
                b.step();
            }
            body(b, &nodes.of_share(share));
        })
    };
    let strands: Vec<usize> = (0..nodes.shares()).map(|share| strand(b, share)).collect();
    for strand in strands {
        b.await_strand(strand, b.items(strand));
    }
    b.step();
}
