//! The way back: results go from the largest block to the smaller ones, while each gathers.
//!
//! ```text
//! 7 ranks: blocks 0 1 2 3, 4 5, 6      0 ─▶ 4, 1 ─▶ 5, then 2 ─▶ 4, 3 ─▶ 5: quarters      0⇄2 1⇄3, 4 ─▶ 6, then 5 ─▶ 6: halves      0⇄1 2⇄3 4⇄5
//! ```
//!
//! Source: T 5.2.

use crate::algorithm::phase::halving::{Distance, Meeting, meetings};
use crate::algorithm::phase::reduce::binary_blocks::{part, segment};
use crate::algorithm::phase::view;
use crate::pattern::binary_blocks::{Block, block_of, next_larger, next_smaller};
use crate::schedule::{Blocks, Builder};
use core::ops::Range;

/// Gathers the results, which the ranks of the largest block have in their segments of `vector`, on all ranks.
pub(super) fn allgather(b: &mut Builder, vector: Blocks) {
    let (p, rank, slots) = (b.ranks(), b.rank(), b.parts());
    let block = block_of(p, rank);
    let width = slots >> block.exponent;
    let mut have = segment(slots, block, rank);
    if let Some(larger) = next_larger(p, block) {
        get_segment(b, vector, &have, givers(larger, block, rank));
    }
    let taker = taker(p, block, rank);
    let mut gathering = meetings(block.size(), rank - block.first, Distance::Doubling);
    gathering.reverse();
    for (done, meeting) in gathering.into_iter().map(Some).chain([None]).enumerate() {
        if let Some((_, to)) = taker.filter(|taker| taker.0 == done) {
            b.send(to, part(vector, &have));
            b.step();
        }
        if let Some(Meeting { partner, give, .. }) = meeting {
            let peer = block.first + partner;
            let theirs = give.start * width..give.end * width;
            b.send(peer, part(vector, &have));
            b.recv(peer, part(vector, &theirs));
            b.step();
            have = have.start.min(theirs.start)..have.end.max(theirs.end);
            view::rows(b, &[(have.start, &[part(vector, &have)])]);
        }
    }
}

/// The own segment from the next larger block, a half from each of the two.
fn get_segment(b: &mut Builder, vector: Blocks, own: &Range<u32>, givers: [u32; 2]) {
    let middle = own.start.midpoint(own.end);
    let halves = [own.start..middle, middle..own.end];
    for (giver, half) in givers.into_iter().zip(halves) {
        b.recv(giver, part(vector, &half));
        b.step();
        let come = own.start..half.end;
        view::rows(b, &[(come.start, &[part(vector, &come)])]);
    }
}

/// The two ranks of the next larger block from which a rank gets the halves of its segment.
fn givers(larger: Block, block: Block, rank: u32) -> [u32; 2] {
    let low = larger.first + (rank - block.first);
    [low, low + block.size()]
}

/// The rank of the next smaller block to which a rank gives half a segment, and after how many of its meetings.
fn taker(p: u32, block: Block, rank: u32) -> Option<(usize, u32)> {
    let smaller = next_smaller(p, block)?;
    let position = rank - block.first;
    let doublings = (block.exponent - smaller.exponent - 1) as usize;
    (position < 2 * smaller.size()).then(|| (doublings, smaller.first + position % smaller.size()))
}
