//! What is simulated against what the papers' formulas say, and every algorithm to its end.

mod networks;
mod observers;

use super::*;
use crate::algorithm::{self, Algorithm};
use crate::call::{Call, Collective};
use crate::machine::Nodes;
use crate::schedule::{Layout, Shape};

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

#[test]
fn a_message_that_nobody_receives_is_named() {
    let mut plans = named(Collective::Broadcast, "binomial", 2, 10);
    plans[1].ops.clear();
    plans[1].items.clear();
    plans[1]
        .strands
        .iter_mut()
        .for_each(|strand| *strand = (0, 0));
    let mut network = Flat::new(2, 0, Linear::default(), Processor::default());
    let error = simulate(&plans, &mut network).unwrap_err();
    assert_eq!(error, SimulateError::Unexpected { from: 0, to: 1 });
}
