//! Direct phases: every block goes straight to where it is wanted, all at once, each rank starting with the next one.

use crate::pattern::exchange::shifted;
use crate::schedule::{Blocks, Builder, Units};
use alloc::vec::Vec;

/// Reduce-scatter in one step: everyone sends block i of `input` to rank i, who combines all of them in rank order into `sum`.
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
    for distance in 1..p {
        let from = shifted(p, rank, distance).from;
        b.recv(from, operands[from as usize]);
    }
    for distance in 1..p {
        let to = shifted(p, rank, distance).to;
        b.send(to, input.at(to));
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

/// Allgather in one step: everyone sends block `rank` of `vector` to all, who receive it in the same place.
pub fn allgather(b: &mut Builder, vector: Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    for distance in 1..p {
        let from = shifted(p, rank, distance).from;
        b.recv(from, vector.at(from));
    }
    for distance in 1..p {
        b.send(shifted(p, rank, distance).to, vector.at(rank));
    }
    b.step();
}
