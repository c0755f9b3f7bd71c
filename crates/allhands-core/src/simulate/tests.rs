//! What is simulated against what the papers' formulas say, and every algorithm to its end.

mod networks;
mod observers;

use super::*;
use crate::algorithm::{self, Algorithm};
use crate::call::{Call, Collective};
use crate::machine::{Fabric, Nodes};
use crate::schedule::{Layout, Shape};
use alloc::boxed::Box;
use alloc::vec;

const ALPHA_PS: u64 = 5_000_000;
const BETA_FS: u64 = 8_000;
const GAMMA_FS: u64 = 3_000;

/// The plans of all ranks for `count` elements of 8 bytes: in each block, or in the vector.
pub(super) fn plans(algorithm: &Algorithm, shape: &Shape, count: usize) -> Vec<Plan> {
    let layout = Layout::regular(shape.call.collective, count);
    let schedules = algorithm.world(shape);
    let lower = |s| Plan::lower(s, &shape.call, &layout, 8).expect("it can be lowered");
    schedules.iter().map(lower).collect()
}

/// T 3's machine: α + nβ for a message, γ for each byte that is combined, one port out and one in.
fn hockney(plans: &[Plan]) -> Outcome {
    simulate(plans, &mut hockneys(plans.len() as u32)).expect("it ends")
}

fn hockneys(ranks: u32) -> Flat {
    let gap = Linear {
        fixed_ps: ALPHA_PS,
        per_byte_fs: BETA_FS,
    };
    let processor = Processor {
        reduce: Linear {
            fixed_ps: 0,
            per_byte_fs: GAMMA_FS,
        },
        ..Processor::default()
    };
    Flat::new(ranks, 0, gap, processor)
}

pub(super) fn named(collective: Collective, name: &str, ranks: u32, count: usize) -> Vec<Plan> {
    let algorithm = algorithm::find(collective, name).expect("it is there");
    let shape = algorithm.shape(Call::new(collective, ranks), "");
    plans(algorithm, &shape.expect("the default is right"), count)
}

/// T 4.1's formulas for the ring and for recursive doubling, T 4.5's for allreduce, C 5's for the barrier.
#[test]
fn times_on_hockney_are_those_of_the_papers() {
    let (alpha, beta, gamma) = (ALPHA_PS, BETA_FS * 8 / 1000, GAMMA_FS * 8 / 1000);
    let time = |plans: &[Plan]| hockney(plans).completion_ps();
    for (ranks, lg) in [(2, 1), (4, 2), (8, 3), (16, 4)] {
        let (p, count) = (u64::from(ranks), 100);
        let n = count as u64;
        let ring = named(Collective::Allgather, "ring", ranks, count);
        assert_eq!(time(&ring), (p - 1) * (alpha + n * beta));
        let doubling = named(Collective::Allgather, "recursive-doubling", ranks, count);
        assert_eq!(time(&doubling), lg * alpha + (p - 1) * n * beta);
        let allreduce = named(Collective::Allreduce, "recursive-doubling", ranks, count);
        assert_eq!(time(&allreduce), lg * (alpha + n * beta + n * gamma));
        let barrier = named(Collective::Barrier, "dissemination", ranks, 0);
        assert_eq!(time(&barrier), lg * alpha);
        let pairwise = named(Collective::Alltoall, "pairwise", ranks, count);
        assert_eq!(time(&pairwise), (p - 1) * (alpha + n * beta));
    }
}

/// A message under LogGP: overhead, latency and gap, on both sides.
#[test]
fn a_message_pays_overhead_latency_and_gap() {
    let plans = named(Collective::Broadcast, "binomial", 2, 10);
    let linear = |fixed_ps, per_byte_fs| Linear {
        fixed_ps,
        per_byte_fs,
    };
    let processor = Processor {
        send: linear(100, 0),
        receive: linear(70, 0),
        ..Processor::default()
    };
    let mut network = Flat::new(2, 1000, linear(10, 1000), processor);
    let outcome = simulate(&plans, &mut network).expect("it ends");
    assert_eq!(outcome.ends_ps, [100 + 90, 100 + 1000 + 90 + 70]);
    assert_eq!((outcome.messages, outcome.bytes), (1, 80));
}

#[test]
fn every_algorithm_ends_and_always_alike() {
    for algorithm in algorithm::all() {
        for setting in algorithm.settings {
            for ranks in [1, 2, 5, 8] {
                let shape = algorithm.shape(Call::new(algorithm.collective, ranks), setting);
                let shape = shape.expect("a registered setting is right");
                let nodes = Nodes::samples(ranks).pop().expect("there is one");
                let shape = shape.on(nodes);
                let shape = shape.on_torus(algorithm.tori(ranks).pop().flatten());
                if algorithm.admits(&shape).is_err() {
                    continue;
                }
                let plans = plans(algorithm, &shape, 9);
                let first = hockney(&plans);
                assert!(
                    ranks == 1 || first.messages >= u64::from(ranks) - 1,
                    "{algorithm:?}"
                );
                assert_eq!(first, hockney(&plans), "{algorithm:?}:{setting}");
            }
        }
    }
}

/// A machine whose ranks meet in a fabric in 1000 ps and so much a byte; its processors send in 10.
struct Meeting;

impl Network for Meeting {
    type Event = ();

    fn takes_ps(&self, _: u32, _: Work) -> u64 {
        10
    }

    fn meeting_ps(&self, fabric: Fabric, bytes: u64, converted: bool) -> Option<u64> {
        (fabric == Fabric::Tree).then_some(1000 + bytes + 5000 * u64::from(converted))
    }

    fn send(&mut self, at_ps: u64, message: Envelope, queue: &mut Queue<Event<()>>) -> Option<u64> {
        queue.push(at_ps, Event::Arrived(message.number));
        Some(at_ps)
    }

    fn happen(&mut self, (): (), _: &mut Queue<Event<()>>) {}
}

/// All wait for the last that gives, who gives nothing is not waited for, and a machine without wires says so.
#[test]
fn ranks_meet_in_hardware() {
    let shape = |collective, name, setting: &str| {
        let algorithm = algorithm::find(collective, name).expect("it is there");
        let shape = algorithm.shape(Call::new(collective, 3), setting);
        let shape = shape.expect("it is right").with(algorithm.fabrics());
        plans(algorithm, &shape, 4)
    };
    let ends = |plans: &[Plan]| simulate(plans, &mut Meeting).map(|outcome| outcome.ends_ps);
    let barrier = shape(Collective::Barrier, "combining-tree", "");
    assert_eq!(ends(&barrier), Ok(vec![1000; 3]));
    let twice = shape(Collective::Allreduce, "combining-tree", "passes=2");
    assert_eq!(ends(&twice), Ok(vec![2 * (6000 + 32); 3]));
    // The root copies its input first, which takes 10.
    let broadcast = shape(Collective::Broadcast, "combining-tree", "");
    assert_eq!(ends(&broadcast), Ok(vec![1000 + 32 + 10; 3]));
    let wires = shape(Collective::Barrier, "global-interrupt", "");
    let fabric = Fabric::Interrupt;
    assert_eq!(ends(&wires), Err(SimulateError::NoFabric { fabric }));
}

#[test]
fn a_message_that_nobody_receives_is_named() {
    let mut plans = named(Collective::Broadcast, "binomial", 2, 10);
    plans[1].ops = Box::default();
    plans[1].items = Box::default();
    plans[1]
        .strands
        .iter_mut()
        .for_each(|strand| *strand = (0, 0));
    let mut network = Flat::new(2, 0, Linear::default(), Processor::default());
    let error = simulate(&plans, &mut network).unwrap_err();
    assert_eq!(error, SimulateError::Unexpected { from: 0, to: 1 });
}
