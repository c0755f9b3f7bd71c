//! Bruck's exchange: blocks travel by the digits of the distance that they have to go.
//!
//! A block is read from its place in the input at its first move and received at its place in the output at its last. In between it lies
//! in the region of the digit by which it came, so that what a step sends is a few strided runs, however many ranks there are.
//!
//! ```text
//! 8 ranks, radix 2, from rank 0 the block that has 6 = 4 + 2 ranks to go      input, by 2 ─▶ region of digit 2, by 4 ─▶ output
//! ```

mod places;
mod runs;

use crate::algorithm::Claims;
use crate::pattern::digits::{Move, blocks_with_digit, moves, steps};
use crate::pattern::exchange::shifted;
use crate::schedule::{Builder, Shape};
use alloc::vec::Vec;
use places::Places;

/// The whole exchange: ⌈log_r p⌉ steps, each for every value of its digit.
pub fn exchange(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (radix, ports) = (b.shape().radix(), b.shape().ports() as usize);
    let mut places = Places::new(b);
    b.copy(b.input().at(rank), b.output().at(rank));
    for step in 0..steps(p, radix) {
        let all: Vec<Move> = moves(p, radix, step).collect();
        places.add_regions(b, &all);
        view(b, &places, step);
        for at_once in all.chunks(ports) {
            for (port, this) in (0..).zip(at_once) {
                let (sent, received) = places.blocks(*this);
                let peers = shifted(p, rank, this.distance);
                b.port(port);
                b.send(peers.to, sent);
                b.recv(peers.from, received);
            }
            b.step();
        }
    }
    view(b, &places, steps(p, radix));
}

/// The paper's buffer before step `step`: row j is the block that stands for displacement j.
fn view(b: &mut Builder, places: &Places, step: u32) {
    let p = b.ranks();
    b.view(|| {
        (0..p)
            .map(|j| Some(places.of_displacement(j, step)))
            .collect()
    });
}

/// What the exchange costs.
pub fn claims(shape: &Shape) -> Claims {
    let (p, radix, ports) = (shape.ranks(), shape.radix(), shape.ports());
    let rounds = |step| (moves(p, radix, step).count() as u32).div_ceil(ports);
    let all = (0..steps(p, radix)).flat_map(|step| moves(p, radix, step));
    let volume = all
        .map(|this| u64::from(blocks_with_digit(p, radix, this)))
        .sum();
    Claims {
        ports,
        steps: (0..steps(p, radix)).map(rounds).sum(),
        volume,
        work: 0,
    }
}
