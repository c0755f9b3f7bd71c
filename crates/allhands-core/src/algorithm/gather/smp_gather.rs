//! SMP-aware gather: each node gathers in its leader's window, and the leaders send from there, at once or up a tree.
//!
//! The root leads its own node, and copies its ranks' blocks out; what another node has gathered is not copied there.
//!
//! ```text
//! 3 nodes of 2, root 0, tree      1 ─▶ 0, 3 ─▶ 2, 5 ─▶ 4: windows      2 ─▶ 0, 4 ─▶ 0: 2 blocks each
//! ```
//!
//! Source: Q 3.1, 5.2.1 (phases 1 and 2), figure 7.

use super::BASE;
use crate::algorithm::phase::gather::leaders::{self, INTER, Leaders};
use crate::algorithm::phase::gather::smp_gather;
use crate::algorithm::{Algorithm, Key, Requirement};
use crate::schedule::{Blocks, Builder, Units};
use alloc::vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "smp-gather",
    citation: "Q 3.1, 5.2.1",
    summary: "gather in node windows, and from the windows to the root",
    requires: &[
        Requirement::Nodes,
        Requirement::Window,
        Requirement::AllCounts,
    ],
    keys: &[INTER, Key::PORTS],
    settings: &["", "inter=binomial", "inter=binomial,ports=2"],
    sharing: leaders::sharing,
    build,
    claims: smp_gather::claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let leaders = Leaders::new(b);
    let (p, output) = (b.ranks(), b.output());
    if b.rank() == b.root() {
        return leaders.gather(b, &|first, count| output.wrapped(first, count).to_vec());
    }
    if !leaders.node.leads() {
        return leaders.gather(b, &|_, _| vec![]);
    }
    let (start, count) = leaders.below();
    let run = Units::Run {
        first: start,
        modulo: p,
    };
    let below: Blocks = b.scratch(run, count);
    leaders.gather(b, &|first, count| {
        vec![below.slice((first + p - start) % p, count)]
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Call, Collective};
    use crate::machine::Nodes;
    use crate::verify::verify_consecutive;

    #[test]
    fn a_call_overwrites_nothing_that_an_earlier_one_has_not_sent() {
        for (first, second) in (0..5).flat_map(|r| (0..5).map(move |s| (r, s))) {
            let [first, second] = [first, second].map(|root| {
                let call = Call {
                    root,
                    ..Call::new(Collective::Gather, 5)
                };
                let shape = ALGORITHM.shape(call, "inter=binomial");
                shape.expect("it has that key").on(Nodes::of_sizes(&[3, 2]))
            });
            let proof = verify_consecutive((&ALGORITHM, &first), (&ALGORITHM, &second));
            assert_eq!(proof, Ok(()), "{first:?}, then {second:?}");
        }
    }
}
