//! Prefixes: what all ranks do together before an algorithm begins, which its key `prefix` says.
//!
//! An agreement tells every rank what all have chosen, so that none begins another algorithm than the others; its flags, of which
//! each is the conjunction of what has come so far, ride on messages without data. A barrier keeps packets from ranks that have not
//! entered yet and have no memory for them. Each is a barrier, inlined: the one on lines where it is said where the ranks are on a
//! torus, and dissemination, which agrees as well, since a flag may enter a conjunction twice.
//!
//! ```text
//! prefix=agreement-barrier      flags: i ─▶ i+1, i ─▶ i+2, i ─▶ i+4 …      lines: all tell all      then the algorithm itself
//! ```
//!
//! Source: B 2.3.

use crate::algorithm::phase::barrier::dissemination;
use crate::algorithm::phase::torus::grid::DEPOSIT;
use crate::algorithm::phase::torus::lines;
use crate::algorithm::{Claims, Key, Values};
use crate::call::{Call, Collective};
use crate::machine::{Fabrics, Nodes};
use crate::parameters::Parameters;
use crate::schedule::{Builder, Group, Reserved, Schedule, Shape};
use alloc::vec::Vec;

/// `prefix`: what comes first.
pub const PREFIX: Key = Key {
    name: "prefix",
    values: Values::Names(&["none", "barrier", "agreement", "agreement-barrier"]),
    default: 0,
    about: "what all ranks do first: agree on the algorithm, meet so that no packet comes early, or both",
};

/// A part of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Agreement,
    Barrier,
}

/// The parts that are asked for, in their order.
fn parts(shape: &Shape) -> Vec<Part> {
    let asked = shape.get(PREFIX.name);
    let part = |bit: u32, part| (asked & bit > 0).then_some(part);
    let parts = [part(2, Part::Agreement), part(1, Part::Barrier)];
    parts.into_iter().flatten().collect()
}

/// A barrier that serves a part.
struct Barrier {
    build: fn(&mut Builder),
    claims: fn(&Shape) -> Claims,
}

/// The barrier that serves a part, and its call.
fn barrier(shape: &Shape, part: Part) -> (Barrier, Shape) {
    let found = match (part, shape.torus) {
        (Part::Barrier, Some(_)) => Barrier {
            build: lines::tell_all,
            claims: |shape| lines::claims(shape, false),
        },
        (Part::Barrier, None) | (Part::Agreement, _) => Barrier {
            build: dissemination::tell_all,
            claims: dissemination::claims,
        },
    };
    let mut parameters = Parameters::new();
    parameters.set(DEPOSIT.name, DEPOSIT.default);
    let own = Shape {
        call: Call::new(Collective::Barrier, shape.ranks()),
        parameters,
        nodes: Nodes::one(),
        fabrics: Fabrics::default(),
        torus: shape.torus,
    };
    (found, own)
}

/// Does what the key asks for.
pub fn emit(b: &mut Builder) {
    let nothing = b.input().slice(0, 0);
    let group = Group {
        rank: &|rank| rank,
        input: &|_| Vec::from([nothing]),
        output: &|_| Vec::from([nothing]),
        units: &|_| Vec::new(),
    };
    for part in parts(b.shape()) {
        let (found, shape) = barrier(b.shape(), part);
        let mut own = Builder::new(shape, b.rank(), 1, false);
        (found.build)(&mut own);
        let schedule = own.finish();
        let inline = |b: &mut Builder| b.inline(&schedule, &group, &Reserved::default());
        match part {
            Part::Agreement => b.agreement(inline),
            Part::Barrier => inline(b),
        }
    }
}

/// The prefix of a rank's part alone: nothing if the call asks for none.
#[must_use]
pub fn alone(shape: &Shape, rank: u32) -> Schedule {
    let mut b = Builder::new(shape.clone(), rank, 1, false);
    emit(&mut b);
    b.finish()
}

/// Holds a strand back until strand 0 has done the prefix, of which and of what came before it are so many items; if there is one.
pub fn hold(b: &mut Builder, items: Option<usize>) {
    if let Some(items) = items {
        b.await_strand(0, items);
        b.step();
    }
}

/// What [`hold`] waits for: the items of strand 0 so far.
pub fn items(b: &mut Builder) -> Option<usize> {
    if parts(b.shape()).is_empty() {
        return None;
    }
    b.step();
    Some(b.items(0)).filter(|items| *items > 0)
}

/// What an algorithm costs that costs `own` without its prefix, which all ranks leave in the same round.
#[must_use]
pub fn claims(shape: &Shape, own: Claims) -> Claims {
    parts(shape).into_iter().fold(own, |all, part| {
        let (found, shape) = barrier(shape, part);
        let first = (found.claims)(&shape);
        Claims {
            ports: all.ports + first.ports,
            steps: all.steps + first.steps,
            ..all
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{self, Algorithm, Requirement};
    use crate::schedule::{Item, Op, OpKind};
    use crate::verify::verify_world;

    /// All algorithms with the key, on all tori with so many ranks, with a prefix.
    fn shapes(ranks: u32, prefix: &str) -> Vec<(&'static Algorithm, Shape)> {
        let keyed = algorithm::all().filter(|a| a.keys.contains(&PREFIX));
        let shapes = keyed.flat_map(|a| {
            let call = Call::new(a.collective, ranks);
            let shape = a.shape(call, prefix).expect("it has the key");
            let shapes = a.everywhere(&shape);
            shapes.into_iter().map(move |shape| (a, shape))
        });
        shapes.collect()
    }

    /// The operations of a strand's items, with whether the item is a pipeline.
    fn items(schedule: &Schedule, strand: usize) -> Vec<(bool, Vec<OpKind>)> {
        let item = |item: &Item| {
            let kinds = |ops: &[Op]| ops.iter().map(|op| op.kind).collect();
            let repeats = matches!(item, Item::Repeat { .. });
            (repeats, kinds(&schedule.ops[item.ops()]))
        };
        schedule.strands[strand].items.iter().map(item).collect()
    }

    /// A prefix alone, as a barrier: when a rank leaves, all have entered.
    #[test]
    fn nobody_goes_on_before_all_have_entered() {
        for prefix in ["barrier", "agreement"] {
            for ranks in [2, 3, 6, 8, 12] {
                for (_, shape) in shapes(ranks, &alloc::format!("prefix={prefix}")) {
                    let world: Vec<Schedule> = (0..ranks).map(|r| alone(&shape, r)).collect();
                    let call = Call::new(Collective::Barrier, ranks);
                    assert!(verify_world(&call, &world, false).is_ok(), "{shape:?}");
                }
            }
        }
        // The check can fail: a world in which nobody waits for anybody is no barrier.
        let idle = |rank| {
            let shape = shapes(2, "")[0].1.clone();
            Builder::new(shape, rank, 1, false).finish()
        };
        let call = Call::new(Collective::Barrier, 2);
        assert!(verify_world(&call, &[idle(0), idle(1)], false).is_err());
    }

    /// With a prefix, strand 0 does it before what it does without one, and every other strand waits for that.
    #[test]
    fn all_of_an_algorithm_comes_after_its_prefix() {
        let mut seen = 0;
        for ranks in [1, 4, 6, 8] {
            let plain = shapes(ranks, "");
            let prefixed = shapes(ranks, "prefix=agreement-barrier");
            for ((a, plain), (_, prefixed)) in plain.iter().zip(&prefixed) {
                for rank in 0..ranks {
                    let (own, whole) = (a.schedule(plain, rank), a.schedule(prefixed, rank));
                    let first = items(&alone(prefixed, rank), 0);
                    let mut expected = first.clone();
                    expected.extend(items(&own, 0));
                    assert_eq!(items(&whole, 0), expected, "{a:?} rank {rank}");
                    for strand in 1..own.strands.len() {
                        let there = items(&whole, strand);
                        let [
                            OpKind::Await {
                                strand: 0,
                                items: done,
                            },
                        ] = there[0].1[..]
                        else {
                            panic!("{a:?}: strand {strand} begins with {:?}", there[0]);
                        };
                        assert!(done as usize >= first.len(), "{a:?}");
                        assert_eq!(there[1..], items(&own, strand), "{a:?} rank {rank}");
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 50, "{seen}");
    }

    #[test]
    fn what_uses_a_torus_and_passes_data_on_it_can_have_a_prefix() {
        let has = |a: &Algorithm| a.keys.contains(&PREFIX);
        for a in algorithm::all().filter(|a| a.requires.contains(&Requirement::DisjointStreams)) {
            assert!(has(a), "{a:?}");
        }
    }
}
