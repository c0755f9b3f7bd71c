//! Turned worlds: schedules for one root that are those for another with all ranks turned round by the distance between the two.
//!
//! Many rooted algorithms name ranks by their distance from the root alone. Then whatever happens for one root happens for another,
//! between other ranks: laws 1 to 5 speak of ranks, blocks and contributions, and hold for both or for neither, and what is counted
//! is the same. That it is so is not taken from the algorithm but looked up in what it has built, operation by operation, and in
//! what the call says of every block. Where contributions are combined in the order of the ranks, which turning breaks, it is not so.

use crate::call::{Alias, Call, Content};
use crate::schedule::{Op, Schedule};

/// Two calls, of which one may be the other with all ranks turned.
#[derive(Clone, Copy)]
pub struct Turn<'a> {
    base: &'a Call,
    turned: &'a Call,
}

impl<'a> Turn<'a> {
    /// The turn from `base` to `turned`; `None` where the calls differ in more than the root, or turning breaks an order.
    #[must_use]
    pub fn new(base: &'a Call, turned: &'a Call) -> Option<Turn<'a>> {
        let same_call = Call {
            root: base.root,
            ..*turned
        } == *base;
        let ordered = base.collective.reduces() && !base.commutative;
        (same_call && !ordered).then_some(Turn { base, turned })
    }

    /// The rank as far from the one root as `rank` is from the other.
    #[must_use]
    pub fn of(self, rank: u32) -> u32 {
        let ranks = self.base.ranks;
        (rank + self.turned.root + ranks - self.base.root) % ranks
    }

    /// Whether the part of the turned rank is what this rank does in the base, and is to do.
    #[must_use]
    pub fn is_same(self, schedule: &Schedule, turned: &Schedule) -> bool {
        let by = |rank| self.of(rank);
        same_part(schedule, turned, by)
            && same_task((self.base, schedule), (self.turned, turned), by)
    }
}

/// Whether one schedule is another with every rank in it turned.
fn same_part(one: &Schedule, other: &Schedule, by: impl Fn(u32) -> u32) -> bool {
    let Schedule {
        rank,
        parts,
        strands,
        ops,
        blocks,
        scratch,
        window,
        flags,
        credits,
        // For pictures only.
        views: _,
    } = one;
    let turned = |op: &Op| {
        let mut op = *op;
        if let Some(peer) = op.kind.peer_mut() {
            *peer = by(*peer);
        }
        op
    };
    by(*rank) == other.rank
        && *parts == other.parts
        && *flags == other.flags
        && *strands == other.strands
        && *blocks == other.blocks
        && *scratch == other.scratch
        && *window == other.window
        && *credits == other.credits
        && ops.iter().map(turned).eq(other.ops.iter().copied())
}

/// Whether a rank has the same blocks before and is to have the same after a call as another, of contributions that are turned.
fn same_task(
    (call, one): (&Call, &Schedule),
    (other_call, other): (&Call, &Schedule),
    by: impl Fn(u32) -> u32,
) -> bool {
    let counts = |call: &Call, of: &Schedule| {
        [
            call.input_blocks(of.rank, of.parts),
            call.output_blocks(of.rank, of.parts),
        ]
    };
    let [inputs, outputs] = counts(call, one);
    let same = |one: Content, other: Content| {
        one.unit == other.unit
            && match (one.contributions, other.contributions) {
                (None, None) => true,
                (Some((start, end)), Some((other_start, other_end))) => {
                    let all = end - start == call.ranks;
                    end - start == other_end - other_start && (all || by(start) == other_start)
                }
                _ => false,
            }
    };
    let before = |call: &Call, of: &Schedule, at| call.before(of.rank, at, of.parts);
    let after = |call: &Call, of: &Schedule, at| call.after(of.rank, at, of.parts);
    let befores = |at| same(before(call, one, at), before(other_call, other, at));
    let afters = |at| match (after(call, one, at), after(other_call, other, at)) {
        (None, None) => true,
        (Some(one), Some(other)) => same(one, other),
        _ => false,
    };
    let unit = |call: &Call, of: &Schedule, at| call.output_unit(of.rank, at, of.parts);
    let alias = |call: &Call, of: &Schedule| call.alias(of.rank, of.parts);
    let aliases: [Alias; 2] = [alias(call, one), alias(other_call, other)];
    [inputs, outputs] == counts(other_call, other)
        && aliases[0] == aliases[1]
        && (0..inputs).all(befores)
        && (0..outputs).all(|at| unit(call, one, at) == unit(other_call, other, at) && afters(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{self, Algorithm};
    use crate::call::Collective;
    use crate::verify::{verify, verify_roots};
    use alloc::vec::Vec;

    fn is_turned(base: (&Call, &[Schedule]), turned: (&Call, &[Schedule])) -> bool {
        Turn::new(base.0, turned.0).is_some_and(|turn| {
            let same = |one: &Schedule| turn.is_same(one, &turned.1[turn.of(one.rank) as usize]);
            base.1.iter().all(same)
        })
    }

    fn world(algorithm: &Algorithm, call: Call) -> (Call, Vec<Schedule>) {
        let shape = algorithm.shape(call, "").expect("it has defaults");
        (call, algorithm.world(&shape))
    }

    fn found(collective: Collective, name: &str, root: u32) -> (Call, Vec<Schedule>) {
        let algorithm = algorithm::find(collective, name).expect("it is registered");
        let call = Call {
            root,
            ..Call::new(collective, 20)
        };
        world(algorithm, call)
    }

    #[test]
    fn a_turned_world_is_known_and_a_changed_one_is_not() {
        let (call, base) = found(Collective::Broadcast, "mutualcast", 3);
        let (other, mut turned) = found(Collective::Broadcast, "mutualcast", 17);
        assert!(is_turned((&call, &base), (&other, &turned)));
        assert!(!is_turned((&call, &base), (&other, &base)));
        let last = turned[4].ops.len() - 1;
        let peer = turned[4].ops[last].kind.peer_mut().expect("it has a peer");
        *peer = (*peer + 1) % 20;
        assert!(!is_turned((&call, &base), (&other, &turned)));
    }

    #[test]
    fn what_depends_on_more_than_the_distance_from_the_root_is_not_turned() {
        // The root's blocks are in the order of the ranks.
        let (call, base) = found(Collective::Gather, "direct", 0);
        let (other, next) = found(Collective::Gather, "direct", 1);
        assert!(!is_turned((&call, &base), (&other, &next)));
        // Contributions are combined in the order of the ranks.
        let [base, next] = [0, 1].map(|root| {
            let (call, world) = found(Collective::Reduce, "ring", root);
            let commutative = false;
            (
                Call {
                    commutative,
                    ..call
                },
                world,
            )
        });
        assert!(!is_turned((&base.0, &base.1), (&next.0, &next.1)));
    }

    #[test]
    fn proofs_that_are_turned_say_what_whole_ones_say() {
        let ranks = 17;
        let mut turned = 0;
        for algorithm in algorithm::all().filter(|a| a.collective.rooted()) {
            let shape = |root| {
                let call = Call {
                    root,
                    ..Call::new(algorithm.collective, ranks)
                };
                let shape = algorithm.shape(call, "").expect("it has defaults");
                algorithm.everywhere(&shape).pop()
            };
            let shapes: Vec<_> = [0, 5, ranks - 1].into_iter().filter_map(shape).collect();
            for (shape, proof) in shapes.iter().zip(verify_roots(algorithm, &shapes)) {
                turned += u32::from(proof.turned_from.is_some());
                assert_eq!(
                    proof.report,
                    verify(algorithm, shape),
                    "{algorithm:?}: {shape:?}"
                );
            }
        }
        assert!(turned >= 10, "only {turned} are turned");
    }
}
