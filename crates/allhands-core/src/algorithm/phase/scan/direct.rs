//! Direct scan: every rank sends its whole vector to all ranks behind it, each of which combines what comes in rank order.

use super::Own;
use crate::algorithm::Claims;
use crate::schedule::{Blocks, Builder, Shape};
use alloc::vec::Vec;

/// Scan of the input into the output.
pub fn scan(b: &mut Builder, own: Own) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    let mut vectors: Vec<Blocks> = (0..rank).map(|_| b.vector()).collect();
    for distance in 1..p {
        if rank + distance < p {
            b.send(rank + distance, input);
        }
        if let Some(from) = rank.checked_sub(distance) {
            b.recv(from, vectors[from as usize]);
        }
    }
    b.step();
    if own == Own::Included {
        vectors.push(input);
    }
    let Some((&first, rest)) = vectors.split_first() else {
        return;
    };
    let mut sum = first;
    for (at, &vector) in rest.iter().enumerate() {
        // The own vector is the last: in place it lies where the result goes.
        let into = match at + 1 == rest.len() {
            true => output,
            false => vector,
        };
        b.reduce(sum, vector, into);
        b.step();
        sum = into;
    }
    b.copy(sum, output);
}

/// One step, in which the first rank sends, and the last receives, as many messages as there are other ranks.
#[must_use]
pub fn claims(shape: &Shape, own: Own) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: others,
        steps: others.min(1),
        volume: u64::from(others),
        work: own.combinations(shape.ranks()),
    }
}
