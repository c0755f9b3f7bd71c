//! Bruck's exchange: every rank gathers what all have, in ⌈log_r p⌉ steps for any p (T 4.1.2, Q 5.1.2).

use crate::pattern::digits::{Gathered, gathered, moves, steps};
use crate::pattern::exchange::shifted;
use crate::schedule::{BlockList, Builder, Shape};

/// The steps: in each, rank i sends what it has, and receives as much from ranks that follow; what the last step lacks is spread over
/// the ports.
///
/// `held` says where the things of so many ranks stand or go, from the rank on that is so far behind this one; `after` is told
/// after each step how many are there.
pub fn gather<B: BlockList>(
    b: &mut Builder,
    held: impl Fn(u32, u32) -> B,
    mut after: impl FnMut(&mut Builder, u32),
) {
    let (p, rank) = (b.ranks(), b.rank());
    let (radix, ports) = (b.shape().radix(), b.shape().ports() as usize);
    for step in 0..steps(p, radix) {
        let all = gathered(p, radix, ports as u32, step);
        for at_once in all.chunks(ports) {
            for (port, message) in at_once.iter().enumerate() {
                let Gathered { distance, blocks } = *message;
                let peers = shifted(p, rank, distance);
                b.port(port as u32);
                b.send(peers.from, held(0, blocks));
                b.recv(peers.to, held(distance, blocks));
            }
            b.step();
        }
        let last = all.last().map_or(1, |last| last.distance + last.blocks);
        after(b, last);
    }
}

/// The rounds of messages of all steps.
pub fn rounds(shape: &Shape) -> u32 {
    let (p, radix, ports) = (shape.ranks(), shape.radix(), shape.ports());
    let rounds = |step| (moves(p, radix, step).count() as u32).div_ceil(ports);
    (0..steps(p, radix)).map(rounds).sum()
}
