//! All-pairs scan: every rank combines another part of all vectors, and sends each rank its result of that part.

use super::Own;
use crate::algorithm::{Claims, Key};
use crate::pattern::exchange::shifted;
use crate::schedule::{Blocks, Builder, Shape, Units};
use alloc::vec::Vec;

/// A part for each rank in every segment.
#[must_use]
pub fn parts(shape: &Shape) -> u32 {
    shape.ranks() * shape.get(Key::SEGMENTS_AT_ONCE.name)
}

/// Scan of the input into the output, both cut in [`parts`].
pub fn scan(b: &mut Builder, own: Own) {
    match b.get(Key::SEGMENTS_AT_ONCE.name) {
        1 => segment(b, own, 0),
        segments => {
            for at in 0..segments {
                b.strand(|b| segment(b, own, at));
            }
        }
    }
}

/// Scan of one segment.
fn segment(b: &mut Builder, own: Own, at: u32) {
    let (p, rank) = (b.ranks(), b.rank());
    let first = at * p;
    let [input, output] = [b.input(), b.output()].map(|vector| vector.slice(first, p));
    // Nobody needs an exscan's last vector.
    let senders = match own {
        Own::Included => p,
        Own::Excluded => p - 1,
    };
    let part = Units::Run {
        first: first + rank,
        modulo: b.parts(),
    };
    let mut sums: Vec<Blocks> = (0..senders)
        .map(|other| match other == rank {
            true => input.at(rank),
            false => b.scratch(part, 1),
        })
        .collect();
    for distance in 1..p {
        let peers = shifted(p, rank, distance);
        if rank < senders {
            b.send(peers.to, input.at(peers.to));
        }
        if peers.from < senders {
            b.recv(peers.from, sums[peers.from as usize]);
        }
    }
    b.step();
    combine(b, (own, part), output, &mut sums);
    // The first rank has its result already, if it has one.
    for distance in 1..p {
        let peers = shifted(p, rank, distance);
        if let Some(sum) = result(&sums, own, peers.to) {
            b.send(peers.to, sum);
        }
        if rank > 0 {
            b.recv(peers.from, output.at(peers.from));
        }
    }
    match (own, rank) {
        (Own::Included, 0) => b.copy(input, output),
        (Own::Included, _) => {}
        (Own::Excluded, _) => {
            if let Some(sum) = result(&sums, own, rank) {
                b.copy(sum, output.at(rank));
            }
        }
    }
}

/// Combines a part of all vectors, one after the other, each sum in the place of the last vector that it has.
fn combine(b: &mut Builder, (own, part): (Own, Units), output: Blocks, sums: &mut [Blocks]) {
    let rank = b.rank();
    for other in 1..sums.len() {
        let (left, right) = (sums[other - 1], sums[other]);
        let into = match (other as u32 == rank, own) {
            (false, _) => right,
            (true, Own::Included) => output.at(rank),
            (true, Own::Excluded) => b.scratch(part, 1),
        };
        b.reduce(left, right, into);
        b.step();
        sums[other] = into;
    }
}

/// What a rank but the first gets of a part.
fn result(sums: &[Blocks], own: Own, rank: u32) -> Option<Blocks> {
    let last = rank.checked_sub(1)?;
    sums.get(match own {
        Own::Included => rank,
        Own::Excluded => last,
    } as usize)
        .copied()
}

/// Two steps: parts to who combines them, and results back.
#[must_use]
pub fn claims(shape: &Shape, own: Own) -> Claims {
    let (others, segments) = (shape.ranks() - 1, shape.get(Key::SEGMENTS_AT_ONCE.name));
    Claims {
        ports: segments * others,
        steps: 2 * others.min(1),
        volume: u64::from(segments * 2 * others),
        work: u64::from(segments) * own.combinations(shape.ranks()),
    }
}
