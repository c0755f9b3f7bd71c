//! Two chains: a reduction in one window in which half of the segments go by the even ranks first, the others by the odd ones.
//!
//! Where ranks take turns on two cores, even and odd ones are often on one core each: then a sum goes from core to core once, in
//! the middle of its chain, and once more to be read, and both cores work on one chain each.
//!
//! ```text
//! 4 ranks      first half: 0 copies in, 2 ⊕ own, 1 ⊕ own, 3 ⊕ own      second half: 1, 3, 0, 2      all: get, ↑ read@0
//! ```
//!
//! Our own arrangement of the windows and flags of Q 4.2.

use crate::algorithm::Claims;
use crate::algorithm::phase::shared_memory::window;
use crate::pattern::parity_chain::ParityChain;
use crate::schedule::{Blocks, Builder, Shape, Side};
use core::ops::Range;

/// The window and the flags of one call.
struct Flow {
    window: Blocks,
    /// Raised at a rank by the one before it in a chain.
    added: [u16; 2],
    /// Raised at rank 0 for each segment that has been everywhere.
    full: u16,
    /// Raised at rank 0 by all who have read.
    read: u16,
}

/// Combines all vectors, in the order of the chains, for everyone.
pub fn allreduce(b: &mut Builder) {
    let (p, rank, segments) = (b.ranks(), b.rank(), b.parts());
    let (input, output) = (b.input(), b.output());
    if p == 1 {
        b.copy(input, output);
        return;
    }
    let flow = Flow {
        window: window::slots(b, segments),
        added: [b.flag(0), b.flag(0)],
        full: b.flag(0),
        read: b.flag(p),
    };
    let half = segments.div_ceil(2);
    let shares = [0..half, half..segments];
    // Each begins with the chain in which it is among the first.
    for chain in [rank % 2, 1 - rank % 2] {
        flow.add(b, chain, shares[chain as usize].clone());
    }
    b.watch(0, flow.full, segments);
    b.step();
    for segment in 0..segments {
        b.get_from(0, flow.window.at(segment), output.at(segment));
        b.step();
    }
    b.notify(0, flow.read);
    b.step();
}

impl Flow {
    /// Adds this rank's vector to the segments of a chain.
    fn add(&self, b: &mut Builder, chain: u32, segments: Range<u32>) {
        let (ranks, rank, input) = (b.ranks(), b.rank(), b.input());
        let order = ParityChain::new(ranks, chain);
        let (place, added) = (order.place(rank), self.added[chain as usize]);
        if place == 0 && !segments.is_empty() {
            b.watch(0, self.read, ranks);
            b.step();
        }
        for segment in segments {
            let (own, slot) = (input.at(segment), self.window.at(segment));
            if place > 0 {
                b.watch(rank, added, 1);
                b.step();
                b.put_reduce(0, Side::Right, own, slot);
            } else {
                b.put(0, own, slot);
            }
            b.step();
            match place + 1 < ranks {
                true => b.notify(order.rank(place + 1), added),
                false => b.notify(0, self.full),
            }
            b.step();
        }
    }
}

/// What it costs: all others put each segment into rank 0's window and get each from there, and a rank that begins no chain adds to
/// all of them; of two ranks each begins one. Steps are a limit, as they depend on how much of the chains runs side by side.
#[must_use]
pub fn claims(shape: &Shape) -> Claims {
    let (others, segments) = (shape.ranks() - 1, shape.get("segments"));
    Claims {
        ports: others,
        steps: if others > 0 {
            2 * others + 3 * segments + 2
        } else {
            0
        },
        volume: u64::from(others) * u64::from(segments),
        work: match others {
            0 => 0,
            1 => segments.div_ceil(2).into(),
            _ => segments.into(),
        },
    }
    .with_steps_at_most()
}
