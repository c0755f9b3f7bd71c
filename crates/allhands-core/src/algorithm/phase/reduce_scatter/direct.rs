//! Direct reduce-scatter: every block goes straight to its rank, which combines all that come.

use crate::algorithm::phase::alltoall::direct::exchange;
use crate::schedule::{Blocks, Builder, Units};
use alloc::vec::Vec;

/// Reduce-scatter: everyone sends block i of `input` to rank i, who combines all of them in rank order into `sum`.
pub fn reduce_scatter(b: &mut Builder, input: Blocks, sum: Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    let unit = Units::Run {
        first: rank,
        modulo: p,
    };
    let operands: Vec<Blocks> = (0..p)
        .map(|other| match other == rank {
            true => input.at(rank),
            false => b.scratch(unit, 1),
        })
        .collect();
    let strands = exchange(
        b,
        |b, from| b.recv(from, operands[from as usize]),
        |b, to| b.send(to, input.at(to)),
    );
    for strand in strands {
        b.await_strand(strand, b.items(strand));
    }
    b.step();
    let mut left = operands[0];
    for (other, &right) in operands.iter().enumerate().skip(1) {
        // Until the last one the sum stays in scratch, as in place the own operand lies where it is to go.
        let into = match other as u32 {
            last if last == p - 1 => sum,
            own if own == rank => left,
            _ => right,
        };
        b.reduce(left, right, into);
        b.step();
        left = into;
    }
    b.copy(left, sum);
}
