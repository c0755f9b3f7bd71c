//! Shared-memory gather: all ranks copy their blocks into the root's window at once and raise a flag; the root copies out.
//!
//! A rank may write only when it holds the root's credit, which it spends; the root gives it back when it has copied the
//! block out. So a call cannot overwrite what an earlier one has not yet taken, whoever the next root is. The root's own block
//! needs no window (figure 7's optimisation for node 0).
//!
//! ```text
//! 3 ranks, root 0      1: spend, put block 1, ↑ arrived@0   2: likewise      0: wait 2, copy out, ↑ credit@1, ↑ credit@2
//! ```
//!
//! Source: Q 4.2, 5.2.1, figure 7.

use crate::algorithm::{Algorithm, Claims, InPlace, Requirement, block_per_rank, keeps_order};
use crate::call::Collective;
use crate::schedule::{Builder, Shape, Units};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Gather,
    name: "shared-memory",
    citation: "Q 4.2, figure 7",
    summary: "all ranks put their blocks into the root's window at once",
    requires: &[Requirement::Window, Requirement::AllCounts],
    keys: &[],
    settings: &[""],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: block_per_rank,
    build,
    claims,
};

fn build(b: &mut Builder) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let window = b.window(
        Units::Run {
            first: 0,
            modulo: p,
        },
        p,
    );
    // Flag r is the credit for the window of rank r; every rank starts with one for each.
    let credits: alloc::vec::Vec<u16> = (0..p).map(|_| b.flag(1)).collect();
    let arrived = b.flag(0);
    let (input, output, credit) = (b.input(), b.output(), credits[root as usize]);
    if rank != root {
        b.wait(credit, 1);
        b.step();
        b.put(root, input, window.at(rank));
        b.notify(root, arrived);
        return;
    }
    b.copy(input, output.at(root));
    b.wait(arrived, p - 1);
    b.step();
    for others in [(0, root), (root + 1, p - root - 1)] {
        b.copy(
            window.slice(others.0.min(p), others.1),
            output.slice(others.0.min(p), others.1),
        );
    }
    b.step();
    for other in (0..p).filter(|r| *r != root) {
        b.notify(other, credit);
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    // The put and its flag are one message; nobody waits in this call for the credits that go back.
    Claims {
        ports: others,
        steps: others.min(1),
        volume: u64::from(others),
        work: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Call;
    use crate::verify::verify_consecutive;

    #[test]
    fn a_call_overwrites_nothing_that_an_earlier_one_has_not_taken() {
        for ranks in 1..=8 {
            for (first, second) in (0..ranks).flat_map(|r| (0..ranks).map(move |s| (r, s))) {
                let [first, second] = [first, second].map(|root| {
                    let call = Call {
                        root,
                        ..Call::new(Collective::Gather, ranks)
                    };
                    ALGORITHM.shape(call, "").expect("it has no parameters")
                });
                let proof = verify_consecutive((&ALGORITHM, &first), (&ALGORITHM, &second));
                assert_eq!(proof, Ok(()), "{first:?}, then {second:?}");
            }
        }
    }

    #[test]
    fn a_credit_too_many_is_caught() {
        let call = Call::new(Collective::Gather, 3);
        let shape = ALGORITHM.shape(call, "").expect("it has no parameters");
        let mut schedules = ALGORITHM.world(&shape);
        // A credit too many lets a rank put again before the root has copied.
        for schedule in &mut schedules {
            schedule.credits[0] = 2;
        }
        let proof = crate::verify::verify_world(&call, &schedules, true);
        assert_eq!(
            proof.map_err(|failure| failure.law),
            Err(crate::symbolic::Law::Window)
        );
    }
}
