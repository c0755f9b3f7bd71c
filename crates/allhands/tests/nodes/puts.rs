//! Puts into windows of other nodes: the SMP-aware all-gathers of Q 5.2.2, whose leaders put and raise flags.

use crate::world::{disorder, few_are_enough, in_every_order, network, on_all, places};
use allhands::{Communicator, Error, operation, threads};
use allhands_suite::stopwatch::in_time;
use std::time::Duration;

/// Nodes of two, four and three ranks, of one, one alone, of different sizes, and not in order.
const SHAPES: [&[u32]; 8] = [
    &[0, 0, 1, 1],
    &[0, 0, 1, 1, 2, 2, 3, 3],
    &[0, 0, 0, 0, 1, 1, 1, 1],
    &[0, 0, 0, 1, 1, 1, 2, 2, 2],
    &[0, 0, 0, 0],
    &[0, 1, 2, 3],
    &[3, 3, 3, 1, 2, 2],
    &[0, 1, 0, 1],
];

fn shapes() -> impl Iterator<Item = &'static [u32]> {
    let step = if few_are_enough() { 3 } else { 1 };
    SHAPES.into_iter().step_by(step)
}

/// All that put, with what else changes their schedules.
const PUTTING: [&str; 6] = [
    "smp-direct",
    "smp-bruck:between=puts",
    "smp-direct:ports=2",
    "smp-bruck:ports=2,between=puts,overlap=all",
    "smp-direct:overlap=all",
    "smp-bruck:ports=2,radix=5",
];

/// What a rank gives in a round.
fn value(rank: usize, round: usize, at: usize) -> u64 {
    (rank * 1_000_000_007 + round * 97 + at * 31) as u64
}

fn given(comm: &Communicator, round: usize, elements: usize) -> Vec<u64> {
    (0..elements)
        .map(|at| value(comm.rank(), round, at))
        .collect()
}

fn assert_gathered(comm: &Communicator, gathered: &[u64], round: usize, what: &str) {
    let elements = gathered.len() / comm.size();
    let right = |at: usize| value(at / elements, round, at % elements);
    let wrong = gathered
        .iter()
        .enumerate()
        .find(|(at, it)| **it != right(*at));
    assert_eq!(wrong, None, "rank {}, round {round} of {what}", comm.rank());
}

fn gather(comm: &Communicator, by: &str, round: usize, elements: usize) -> Result<(), Error> {
    let mine = given(comm, round, elements);
    let mut all = vec![0; elements * comm.size()];
    comm.run(operation::allgather(&mine, &mut all).algorithm(by))?;
    assert_gathered(comm, &all, round, by);
    Ok(())
}

#[test]
fn every_block_comes_to_every_window_again_and_again() {
    for (seed, shape) in (0..).zip(shapes()) {
        in_every_order(shape, seed, |comm| {
            for by in PUTTING {
                // To beyond what is sent without an acknowledgement.
                for elements in [0, 1, 7, 1000, 9000] {
                    for round in 0..5 {
                        gather(comm, by, round, elements)?;
                    }
                }
            }
            Ok::<(), Error>(())
        });
    }
}

#[test]
fn calls_under_way_at_once_have_windows_of_their_own() {
    for (seed, shape) in (1..).zip(shapes()) {
        in_every_order(shape, seed, |comm| {
            let other = comm.dup()?;
            for round in 0..4 {
                let of = [comm, &other];
                let mut requests = Vec::new();
                for salt in 0..4 {
                    let (comm, elements) = (of[salt / 2], [3, 700][salt % 2]);
                    let mine = given(comm, round + salt, elements);
                    let buffers = (mine, vec![0; elements * comm.size()]);
                    let by = PUTTING[salt % 2];
                    requests.push(comm.start(buffers, move |(mine, all)| {
                        operation::allgather(mine, all).algorithm(by)
                    })?);
                }
                // The last first, so that all go on at once.
                for (salt, request) in requests.into_iter().enumerate().rev() {
                    let (_, all) = request.wait()?;
                    assert_gathered(of[salt / 2], &all, round + salt, "a request");
                }
            }
            Ok::<(), Error>(())
        });
    }
}

#[test]
fn a_persistent_call_puts_new_data_whenever_it_starts() {
    for (seed, shape) in (2..).zip(shapes()) {
        in_every_order(shape, seed, |comm| {
            let elements = 50;
            let buffers = (vec![0; elements], vec![0; elements * comm.size()]);
            let mut call = comm.persistent(buffers, |(mine, all)| {
                operation::allgather(mine, all).algorithm("smp-bruck")
            });
            for round in 0..20 {
                call.buffers()?
                    .0
                    .copy_from_slice(&given(comm, round, elements));
                call.start()?;
                // Others may be under way meanwhile.
                if round % 5 == 0 {
                    gather(comm, "smp-direct", round, 20)?;
                }
                call.wait()?;
                assert_gathered(comm, &call.buffers()?.1, round, "a persistent call");
            }
            Ok::<(), Error>(())
        });
    }
}

/// Two communicators of the same ranks, used by two threads of each at the same time.
#[test]
fn two_communicators_put_at_the_same_time() {
    for shape in shapes() {
        on_all(shape, &disorder(shape.len(), 1), |comm| {
            let other = comm.dup()?;
            std::thread::scope(|scope| {
                let second = scope.spawn(move || {
                    (0..30).try_for_each(|round| gather(&other, "smp-bruck", round, 300))
                });
                (0..30).try_for_each(|round| gather(comm, "smp-direct", round, 20))?;
                second.join().expect("it ends well")
            })
        });
    }
}

/// Communicators that come and go leave no window behind that others are taken for.
#[test]
fn windows_come_and_go_with_their_communicators() {
    for (seed, shape) in (3..).zip(shapes()) {
        in_every_order(shape, seed, |comm| {
            for round in 0..4 {
                let part = comm.split(Some(u32::from(comm.rank() >= comm.size() / 3)), 0)?;
                let part = part.expect("everybody has a colour");
                gather(&part, "smp-direct", round, 100)?;
                gather(comm, "smp-bruck", round, 10)?;
                gather(&part, "smp-bruck", round, 1)?;
            }
            Ok::<(), Error>(())
        });
    }
}

/// What all ranks are told of calls that differ, by two calls on every rank; whoever ends both hears of it in a third.
fn told(
    node_of: &[u32],
    seed: u64,
    calls: impl Fn(&Communicator) -> Result<(), Error> + Sync,
) -> Vec<String> {
    let networks = disorder(node_of.len(), 3 * seed);
    let ran = in_time(Duration::from_secs(5), || {
        threads::run_on_nodes(&places(node_of), &networks, |comm| {
            for by in ["smp-direct", "smp-bruck"] {
                gather(&comm, by, 0, 40)?;
                gather(&comm, by, 0, 90)?;
            }
            calls(&comm).and_then(|()| comm.barrier())
        })
    });
    let results = ran.expect("nobody panics").into_iter();
    results
        .map(|result: Result<(), Error>| result.expect_err("every rank fails").to_string())
        .collect()
}

fn assert_told(said: &[String], words: &[&str]) {
    for (rank, said) in said.iter().enumerate() {
        let tells = words.iter().any(|words| said.contains(words));
        assert!(tells, "rank {rank} says: {said}");
    }
}

/// Windows that are there already, and new ones: nobody puts into the wrong one, or waits for ever.
#[test]
fn calls_that_differ_are_an_error_on_every_rank() {
    for (seed, node_of) in (0..).zip([&[0, 0, 1, 1][..], &[0, 1, 2], &[0, 1, 1, 2, 2]]) {
        let last = node_of.len() - 1;
        // Of lengths that were called before, and of a new one.
        for (one, other) in [(40, 90), (40, 41), (200, 300)] {
            let said = told(node_of, seed, |comm| {
                let elements = if comm.rank() == last { other } else { one };
                gather(comm, "smp-direct", 1, elements)
            });
            assert_told(&said, &["length", "counts of the two"]);
        }
        for by in ["smp-bruck", "bruck"] {
            let said = told(node_of, seed, |comm| {
                let by = if comm.rank() == 0 { by } else { "smp-direct" };
                gather(comm, by, 1, 40)
            });
            assert_told(&said, &["make different calls: algorithm "]);
        }
    }
}

/// The same two calls, in another order on one node: windows of both are there.
#[test]
fn calls_in_another_order_are_an_error_on_every_rank() {
    for (seed, node_of) in (0..).zip([&[0, 0, 1, 1][..], &[0, 1], &[0, 1, 2]]) {
        let said = told(node_of, seed, |comm| {
            let mut order = [40, 90];
            if comm.rank() == 0 {
                order.reverse();
            }
            order
                .into_iter()
                .try_for_each(|elements| gather(comm, "smp-direct", 1, elements))
        });
        assert_told(&said, &["length", "counts of the two"]);
    }
}

#[test]
fn a_rank_that_leaves_or_panics_is_named_by_those_who_wait_for_its_puts() {
    for (seed, node_of) in (0..).zip([&[0, 1, 2][..], &[0, 0, 1, 1], &[0, 1, 1], &[0, 1, 2]]) {
        in_every_order(node_of, seed, |comm| {
            gather(comm, "smp-direct", 0, 10)?;
            if comm.rank() != 1 {
                let said = gather(comm, "smp-direct", 1, 10).expect_err("rank 1 is gone");
                assert!(said.to_string().contains("rank 1 left"), "{said}");
            }
            Ok::<(), Error>(())
        });
        let ran = threads::run_on_nodes(&places(node_of), &network(node_of), |comm| {
            gather(&comm, "smp-bruck", 0, 10)?;
            match comm.rank() {
                1 => std::panic::resume_unwind(Box::new("on purpose")),
                _ => gather(&comm, "smp-bruck", 1, 10),
            }
        });
        assert_eq!(
            ran.expect_err("a rank panics").to_string(),
            "rank 1 panicked"
        );
    }
}

/// Rank 3 finds that rank 1 has left before rank 2 calls, which then leaves without that call, too: it is not to blame.
#[test]
fn who_leaves_because_another_has_left_is_not_named() {
    for seed in 0..5 {
        in_every_order(&[0, 0, 1, 1], seed, |comm| {
            gather(comm, "smp-direct", 0, 10)?;
            match comm.rank() {
                2 => std::thread::sleep(Duration::from_millis(30)),
                // It calls when rank 2 has left.
                0 => std::thread::sleep(Duration::from_millis(60)),
                _ => {}
            }
            if comm.rank() != 1 {
                let said = gather(comm, "smp-direct", 1, 10).expect_err("rank 1 is gone");
                assert!(said.to_string().contains("rank 1 left"), "{said}");
            }
            Ok::<(), Error>(())
        });
    }
}

/// Who is late finds that all others have left. They have put what it needs; that their windows are free again it has nobody to tell.
#[test]
fn who_is_late_needs_nothing_of_those_who_have_left() {
    for (late, shape) in [(1, &[0, 1, 2][..]), (3, &[3, 3, 3, 1, 2, 2])] {
        in_every_order(shape, late as u64, |comm| {
            let mut calls = PUTTING.map(|by| {
                let buffers = (vec![0; 50], vec![0; 50 * comm.size()]);
                comm.persistent(buffers, move |(mine, all)| {
                    operation::allgather(mine, all).algorithm(by)
                })
            });
            for round in 0..3 {
                for call in &mut calls {
                    call.buffers()?.0.copy_from_slice(&given(comm, round, 50));
                    call.start()?;
                }
                for (call, by) in calls.iter_mut().zip(PUTTING).rev() {
                    // It looks too seldom to keep up.
                    while round == 2 && comm.rank() == late && !call.test() {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    call.wait()?;
                    assert_gathered(comm, &call.buffers()?.1, round, by);
                }
            }
            Ok::<(), Error>(())
        });
    }
}
