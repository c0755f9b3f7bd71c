//! Dissemination: in step k each rank tells those that are multiples of radix^k ranks after it, until all have heard of all.

use crate::algorithm::Claims;
use crate::pattern::digits::{moves, steps};
use crate::pattern::exchange::shifted;
use crate::schedule::{Builder, Shape};
use alloc::vec::Vec;

/// In every step each rank tells one that is farther away, `radix` times as far as in the step before.
pub fn tell_all(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (radix, ports) = (b.shape().radix(), b.shape().ports());
    for step in 0..steps(p, radix) {
        let all: Vec<_> = moves(p, radix, step).collect();
        for at_once in all.chunks(ports as usize) {
            for (port, this) in at_once.iter().enumerate() {
                let peers = shifted(p, rank, this.distance);
                b.port(port as u32);
                b.send_token(peers.to);
                b.recv_token(peers.from);
            }
            b.step();
        }
    }
}

/// What it costs.
pub fn claims(shape: &Shape) -> Claims {
    let (p, radix, ports) = (shape.ranks(), shape.radix(), shape.ports());
    let rounds = |step| (moves(p, radix, step).count() as u32).div_ceil(ports);
    Claims {
        ports,
        steps: (0..steps(p, radix)).map(rounds).sum(),
        volume: 0,
        work: 0,
    }
}
