//! Shared-memory gather: all ranks copy their blocks into the root's window at once and raise a flag; the root copies out.
//!
//! A rank may write only when the root's flag says that it has copied the blocks of the call before out; all watch that one
//! flag, with a credit for the first call. So a call cannot overwrite what an earlier one has not yet taken, whoever the next
//! root is. The root's own block needs no window (figure 7's optimisation for node 0).
//!
//! With segments the pieces of the blocks go through two places of the window in turn, each with counters of its own.
//!
//! ```text
//! 3 ranks, root 0      1: watch empty@0 for 1, put block 1, ↑ full@0   2: likewise      0: wait for 2, copy out, ↑ empty@0
//! ```
//!
//! Source: Q 4.2, 5.2.1, figure 7.

use super::BASE;
use crate::algorithm::phase::shared_memory::pieces;
use crate::algorithm::phase::shared_memory::window::{self, Turns};
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::schedule::{Builder, Shape};
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2, figure 7",
    summary: "all ranks put their blocks into the root's window at once",
    requires: &[Requirement::Window, Requirement::AllCounts],
    keys: &[pieces::SEGMENTS],
    settings: &["", "segments=8"],
    parts: pieces::parts,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let (places, segments) = (pieces::places(b), b.get("segments"));
    let window = window::slots(b, places * p);
    // Only the root reads, so it gives its window back to all at once.
    let turns: Vec<Turns> = (0..places)
        .map(|_| Turns::new(b, [root, root], 1))
        .collect();
    let (input, output) = (b.input(), b.output());
    if rank == root {
        b.copy(input, output.slice(root * segments, segments));
    }
    for segment in (0..segments).filter(|_| p > 1) {
        let number = segment % places;
        let (place, turns) = (window.slice(number * p, p), turns[number as usize]);
        if rank != root {
            turns.take(b);
            b.put(root, input.at(segment), place.at(rank));
            turns.filled(b);
            b.step();
            continue;
        }
        turns.wait_full(b, p - 1);
        for of in pieces::all_but(b, root) {
            let from = place.slice(of.start, of.len() as u32);
            b.copy(from, pieces::piece(b, segment, output, of));
        }
        turns.give_back(b);
    }
}

fn claims(shape: &Shape) -> Claims {
    let (others, segments) = (shape.ranks() - 1, shape.get("segments"));
    // The put and its flag are one message; nobody waits in this call for the flag that gives the window back last.
    Claims {
        ports: others,
        steps: segments * others.min(1),
        volume: u64::from(others) * u64::from(segments),
        work: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Call, Collective};
    use crate::verify::verify_consecutive;

    #[test]
    fn a_call_overwrites_nothing_that_an_earlier_one_has_not_taken() {
        let settings = |ranks| ["", "segments=2", "segments=3"].map(move |text| (ranks, text));
        for (ranks, text) in (1..=8).flat_map(settings) {
            for (first, second) in (0..ranks).flat_map(|r| (0..ranks).map(move |s| (r, s))) {
                let [first, second] = [first, second].map(|root| {
                    let call = Call {
                        root,
                        ..Call::new(Collective::Gather, ranks)
                    };
                    ALGORITHM.shape(call, text).expect("it has such a setting")
                });
                let proof = verify_consecutive((&ALGORITHM, &first), (&ALGORITHM, &second));
                assert_eq!(proof, Ok(()), "{first:?}, then {second:?}");
            }
        }
    }

    #[test]
    fn a_credit_too_many_is_caught() {
        let call = Call::new(Collective::Gather, 3);
        let shape = ALGORITHM.shape(call, "").expect("it has defaults");
        let mut schedules = ALGORITHM.world(&shape);
        // A credit too many lets a rank put again before the root has copied.
        for schedule in &mut schedules {
            schedule.credits[1] = 2;
        }
        let proof = crate::verify::verify_world(&call, &schedules, true);
        assert_eq!(
            proof.map_err(|failure| failure.law),
            Err(crate::symbolic::Law::Window)
        );
    }
}
