//! The fast path's tests: it takes what it is meant for, and every plan that has one gives the bytes that the interpreter gives.

use super::*;
use crate::transport::endpoint::state::request::Buffers;
use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::{AlignedBytes, Combine};
use allhands_core::algorithm::{self, Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::{Layout, Space};
use std::sync::Arc;

pub(super) mod trace;

const ELEMENT: usize = 8;

/// Whether a few cases are enough, as all of them run in the checked build of `cargo xtask test`.
fn few_are_enough() -> bool {
    std::env::var_os("ALLHANDS_SUITE").is_some_and(|value| value == "few")
}

/// Ranks and elements of a call; the first ones are what is enough where a few are.
const SIZES: [(u32, usize); 11] = [
    (2, 1),
    (2, 128),
    (2, 500),
    (3, 170),
    (5, 2),
    (2, 0),
    (2, 5),
    (3, 1),
    (3, 4),
    (4, 9),
    (8, 3),
];
const FEW: usize = 5;

/// The plans of all ranks, if the algorithm serves the call.
fn plans(algorithm: &Algorithm, setting: &str, call: Call, elements: usize) -> Option<Vec<Plan>> {
    let shape = algorithm.shape(call, setting).ok()?;
    algorithm.admits(&shape).ok()?;
    let layout = match call.collective {
        Collective::Gather | Collective::Scatter | Collective::Allgather | Collective::Alltoall => {
            Layout::Regular(elements)
        }
        _ => Layout::Even(elements),
    };
    let plan = |rank| {
        let schedule = algorithm.schedule(&shape, rank);
        Plan::lower(&schedule, &shape.call, &layout, ELEMENT).ok()
    };
    (0..call.ranks).map(plan).collect()
}

/// x, y ↦ 3 x + y: not commutative, nor associative, so that sides and order are seen.
unsafe fn mix(_: *const (), left: *const u8, right: *const u8, out: *mut u8, count: usize) {
    for at in 0..count {
        // SAFETY: the caller promises runs of so many elements, aligned for them.
        unsafe {
            let (left, right) = (*left.cast::<u64>().add(at), *right.cast::<u64>().add(at));
            *out.cast::<u64>().add(at) = left.wrapping_mul(3).wrapping_add(right);
        }
    }
}

/// What ranks have after some calls of a plan with a fast path, each a word of every call's output; and how many calls went
/// all along it.
fn outputs(plans: &[Plan], by_fast_path: bool) -> (Vec<Vec<u8>>, usize) {
    const CALLS: u8 = 5;
    let segment = SharedSegment::new(plans.len() as u32).unwrap();
    let take = |rank: usize, plan: &Plan| {
        let mut endpoint = Endpoint::new(Arc::clone(&segment), rank as u32).unwrap();
        let stamp = Stamp::default();
        let mut request = RequestState::new(&endpoint, plan, 0, &stamp).unwrap();
        let (mut cursor, mut all, mut along) = (Cursor::new(plan), Vec::new(), 0);
        if !by_fast_path {
            request.fast_path = None;
        }
        let bytes = |space: Space| plan.space_bytes[space.index()];
        for call in 0..CALLS {
            let (input, output) = (bytes(Space::Input), bytes(Space::Output));
            let (input, output) = (AlignedBytes::zeroed(input), AlignedBytes::zeroed(output));
            for (buffer, salt) in [(&input, 1), (&output, 101)] {
                for at in 0..buffer.len() {
                    let value = at * 7 + rank * 31 + salt + usize::from(call);
                    // SAFETY: within the buffer, which is ours.
                    unsafe { buffer.address().add(at).write(value as u8) };
                }
            }
            let buffers = Buffers {
                input: input.address(),
                output: output.address(),
            };
            // SAFETY: `mix` keeps to its runs; the buffers are as long as the plan says and live until the call is over, and
            // the plan is that of a registered algorithm.
            unsafe {
                let combine = Combine::new(ELEMENT, mix, std::ptr::null());
                endpoint
                    .begin(&mut request, &stamp, buffers, Some(combine))
                    .unwrap();
            }
            match endpoint.hurry(&mut request, plan, &mut cursor) {
                Status::Done => along += 1,
                Status::Pending => endpoint.wait(&mut request, plan, &mut cursor).unwrap(),
            }
            // SAFETY: the call is over, and the buffer initialized.
            let done = unsafe { std::slice::from_raw_parts(output.address(), output.len()) };
            all.extend_from_slice(done);
        }
        (all, along)
    };
    let take = &take;
    std::thread::scope(|scope| {
        let ranks = plans.iter().enumerate();
        let threads: Vec<_> = ranks
            .map(|(rank, plan)| scope.spawn(move || take(rank, plan)))
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap());
        let (all, along): (Vec<_>, Vec<_>) = ended.unzip();
        (all, along.into_iter().sum())
    })
}

fn has_one(plans: &[Plan]) -> Vec<bool> {
    let segment = SharedSegment::new(plans.len() as u32).unwrap();
    let of = |(rank, plan)| {
        let endpoint = Endpoint::new(Arc::clone(&segment), rank).unwrap();
        let request = RequestState::new(&endpoint, plan, 0, &Stamp::default()).unwrap();
        (endpoint, request.fast_path.is_some())
    };
    // Endpoints stay until all have their requests: a rank that has left opens no windows.
    let all: Vec<(Endpoint, bool)> = (0..).zip(plans).map(of).collect();
    all.into_iter().map(|(_, has)| has).collect()
}

#[test]
fn every_plan_that_has_one_gives_what_the_interpreter_gives() {
    let (mut taken, mut along) = (0, 0);
    let sizes = if few_are_enough() { FEW } else { SIZES.len() };
    for algorithm in algorithm::all() {
        if algorithm.requires.contains(&Requirement::Nodes) {
            continue;
        }
        for setting in algorithm.settings {
            for (ranks, elements) in SIZES[..sizes].iter().copied() {
                let roots = if algorithm.collective.rooted() {
                    ranks.min(2)
                } else {
                    1
                };
                for root in 0..roots {
                    let call = Call {
                        root,
                        ..Call::new(algorithm.collective, ranks)
                    };
                    let Some(plans) = plans(algorithm, setting, call, elements) else {
                        continue;
                    };
                    if !has_one(&plans).contains(&true) {
                        continue;
                    }
                    let (own, went) = outputs(&plans, true);
                    let what = (algorithm.name, setting, call, elements);
                    assert_eq!(own, outputs(&plans, false).0, "{what:?}");
                    taken += 1;
                    along += went;
                }
            }
        }
    }
    assert!(taken > 200 && along > 200, "{taken} plans, {along} calls");
}

#[test]
fn short_calls_of_two_ranks_have_one_and_long_ones_have_none() {
    let cores = std::thread::available_parallelism().unwrap().get();
    for (collective, name) in [
        (Collective::Barrier, "dissemination"),
        (Collective::Broadcast, "binomial"),
        (Collective::Gather, "direct"),
        (Collective::Allgather, "bruck"),
        (Collective::Alltoall, "direct"),
        (Collective::Reduce, "binomial"),
        (Collective::Allreduce, "recursive-doubling"),
        (Collective::Scan, "linear"),
    ] {
        let algorithm = algorithm::find(collective, name).unwrap();
        let of = |elements| plans(algorithm, "", Call::new(collective, 2), elements).unwrap();
        assert_eq!(has_one(&of(1)), [true; 2], "{name}");
        let is_barrier = collective == Collective::Barrier;
        // A kilobyte in a cell or a medium buffer, as much as threads send so; with cores shared what fits a cell.
        assert_eq!(has_one(&of(128)), [true; 2], "{name}");
        assert_eq!(has_one(&of(512)), [cores > 1 || is_barrier; 2], "{name}");
        assert_eq!(has_one(&of(20_000)), [is_barrier; 2], "{name}");
    }
}

#[test]
fn plans_with_windows_have_one_where_ranks_share_cores() {
    let cores = std::thread::available_parallelism().unwrap().get() as u32;
    for (collective, setting) in [
        (Collective::Barrier, ""),
        (Collective::Barrier, "release=root"),
        (Collective::Broadcast, ""),
        (Collective::Allreduce, ""),
    ] {
        let algorithm = algorithm::find(collective, "shared-memory").unwrap();
        for ranks in [2, 8] {
            let plans = plans(algorithm, setting, Call::new(collective, ranks), 1).unwrap();
            let has = vec![ranks > cores; ranks as usize];
            assert_eq!(has_one(&plans), has, "{collective:?} {setting} {ranks}");
        }
    }
}
