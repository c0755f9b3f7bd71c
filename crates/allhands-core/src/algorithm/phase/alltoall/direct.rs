//! Direct phases: every block goes straight to where it is wanted, each rank starting with the next one.
//!
//! All go at once; or, with a window, so many each way at a time, of which each is followed by the next as soon as it is done.
//! A message's start is then hidden behind the others, as when all go at once, and no round waits for its slowest; but no more
//! is under way than the window, where all at once keep hosts and queues busy with what nobody waits for yet.

use crate::algorithm::Key;
use crate::pattern::exchange::{Peers, direct_rounds, shifted};
use crate::schedule::{Builder, Shape};
use alloc::vec::Vec;

/// Exchanges with the ranks at all distances, where no message waits for another: `recv` and `send` are given the peers.
///
/// All messages wait for what there is so far. Gives the strands that are to be awaited by whoever goes on.
pub fn exchange(
    b: &mut Builder,
    recv: impl Fn(&mut Builder, u32),
    send: impl Fn(&mut Builder, u32),
) -> Vec<usize> {
    let (p, rank, window) = (b.ranks(), b.rank(), b.shape().get(Key::WINDOW.name));
    b.step();
    if window > 0 {
        let before = b.items(0);
        return windowed(b, (window, before), |b, peers| {
            recv(b, peers.from);
            send(b, peers.to);
        });
    }
    for distance in 1..p {
        recv(b, shifted(p, rank, distance).from);
    }
    for distance in 1..p {
        send(b, shifted(p, rank, distance).to);
    }
    b.step();
    Vec::new()
}

/// Exchanges with the ranks at all distances, `window` at a time, a strand for each, when the first strand has done its
/// first `before` items; gives the strands.
///
/// ```text
/// 6 ranks, window 2      i ─▶ i+1, i+3, i+5   beside   i ─▶ i+2, i+4     (mod 6)
/// ```
pub fn windowed(
    b: &mut Builder,
    (window, before): (u32, usize),
    each: impl Fn(&mut Builder, Peers),
) -> Vec<usize> {
    let (p, rank) = (b.ranks(), b.rank());
    let strand = |first: u32| {
        b.strand(|b| {
            if before > 0 {
                b.await_strand(0, before);
                b.step();
            }
            for distance in (first..p).step_by(window as usize) {
                each(b, shifted(p, rank, distance));
                b.step();
            }
        })
    };
    (1..p.min(window + 1)).map(strand).collect()
}

/// The ports and steps of an exchange with all others, with the window that the shape says.
pub fn exchange_claims(shape: &Shape) -> (u32, u32) {
    let others = shape.ranks() - 1;
    match shape.get(Key::WINDOW.name) {
        0 => (others, others.min(1)),
        window => (window.min(others), direct_rounds(others + 1, window)),
    }
}
