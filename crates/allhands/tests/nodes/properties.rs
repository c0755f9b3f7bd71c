//! Properties on real bytes, on nodes: every algorithm and setting that serves them, against a serial definition.

use crate::world::{HAS_WINDOWS, IS_DISORDERLY, disorder, few_are_enough, network, on_all, worlds};
use allhands::Communicator;
use allhands::bootstrap::Bootstrap;
use allhands::policy::NetworkTimes;
use allhands_core::algorithm::{self, Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Fabrics;
use allhands_suite::property::{Case, Lengths, cases};
use proptest::prelude::Just;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The algorithms and settings that serve so many ranks where nothing is reached but a node's own memory, and windows if there are some.
fn serving(ranks: usize) -> impl Iterator<Item = (&'static Algorithm, &'static str)> {
    let served = move |algorithm: &&Algorithm| {
        let power = algorithm.requires.contains(&Requirement::PowerOfTwo);
        algorithm.fabrics() == Fabrics::default() && (!power || ranks.is_power_of_two())
    };
    let settings =
        |algorithm: &'static Algorithm| algorithm.settings.iter().map(move |s| (algorithm, *s));
    let reaches = |(algorithm, setting): &(&'static Algorithm, &'static str)| {
        let shape = algorithm.shape(Call::new(algorithm.collective, 4), setting);
        let shape = shape.expect("a registered setting");
        algorithm
            .admits_apart(&shape, HAS_WINDOWS, |_| true)
            .is_ok()
    };
    algorithm::all()
        .filter(served)
        .flat_map(settings)
        .filter(reaches)
}

/// Cases that every rank picks alike, all of them with one communicator.
fn try_random(comm: &Communicator, number: usize) -> Result<(), String> {
    let ranks = comm.size();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[ranks as u8; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for (algorithm, setting) in serving(ranks) {
        for lengths in [Lengths::Short, Lengths::AlsoLong] {
            let cases = cases(algorithm, setting, Just(ranks).boxed(), lengths);
            for _ in 0..number {
                let tree = cases.new_tree(&mut runner).map_err(|e| e.to_string())?;
                let mut case = tree.current();
                case.order_on(&comm.nodes());
                let checked = case.check_here(comm, 1);
                checked.map_err(|what| format!("{case:?}: {what}"))?;
            }
        }
    }
    Ok(())
}

/// The roots that are tried: all, or the first and one in the middle.
fn roots(algorithm: &Algorithm, ranks: usize) -> Vec<usize> {
    match algorithm.collective.rooted() {
        true if few_are_enough() => (0..ranks).step_by(ranks.div_ceil(2)).collect(),
        true => (0..ranks).collect(),
        false => vec![0],
    }
}

/// Counts around what changes the shape of a call, or those beyond it.
fn counts(ranks: usize) -> Vec<usize> {
    match few_are_enough() {
        true => vec![0, ranks - 1, 1000],
        false => vec![0, 1, ranks - 1, ranks + 1, 1000],
    }
}

/// Every root, with counts around what changes the shape of a call; in each variant: apart, in place, irregular, and all types.
fn try_all(comm: &Communicator, variants: &[usize]) -> Result<(), String> {
    let ranks = comm.size();
    for (algorithm, setting) in serving(ranks) {
        for root in roots(algorithm, ranks) {
            for elements in counts(ranks) {
                for &variant in variants {
                    let mut case = Case::new((algorithm, setting), ranks, root, elements, variant);
                    case.order_on(&comm.nodes());
                    let checked = case.check_here(comm, 1);
                    checked.map_err(|what| format!("{case:?}: {what}"))?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn every_algorithm_does_what_the_serial_definition_says() {
    let number = if few_are_enough() { 1 } else { 4 };
    for node_of in worlds() {
        on_all(node_of, &network(node_of), |comm| try_random(comm, number));
    }
}

#[test]
fn every_algorithm_does_it_in_disorder() {
    let (seeds, number) = match few_are_enough() {
        // The same calls would be made as in order, as few are.
        _ if !IS_DISORDERLY => return,
        true => (1, 1),
        false => (2, 2),
    };
    for (seed, node_of) in (0..seeds).flat_map(|s| worlds().map(move |node_of| (s, node_of))) {
        on_all(node_of, &disorder(node_of.len(), seed), |comm| {
            try_random(comm, number)
        });
    }
}

#[test]
fn every_root_and_count_in_every_variant() {
    let all: Vec<usize> = (0..10).collect();
    let variants = if few_are_enough() {
        &[0, 1, 2][..]
    } else {
        &all
    };
    for node_of in worlds() {
        // Many ranks take turns on few cores.
        let variants = if node_of.len() > 8 {
            &[0, 3][..]
        } else {
            variants
        };
        on_all(node_of, &network(node_of), |comm| try_all(comm, variants));
    }
}

/// A network of a microsecond and 1 GB/s, and one of half a millisecond and 25 MB/s; or nobody knows.
const TIMES: [Option<NetworkTimes>; 3] = [
    None,
    Some(NetworkTimes {
        latency_ns: 1000.0,
        overhead_ns: 200.0,
        long_overhead_ns: 400.0,
        burst_overhead_ns: 200.0,
        gap_ns: 100.0,
        byte_ns: 1.0,
        reduce_byte_ns: 0.2,
    }),
    Some(NetworkTimes {
        latency_ns: 5e5,
        overhead_ns: 5000.0,
        long_overhead_ns: 9000.0,
        burst_overhead_ns: 90_000.0,
        gap_ns: 1000.0,
        byte_ns: 40.0,
        reduce_byte_ns: 0.2,
    }),
];

#[test]
fn what_policies_choose_is_right() {
    for (node_of, times) in worlds().flat_map(|n| TIMES.map(|times| (n, times))) {
        on_all(node_of, &disorder(node_of.len(), 9), |comm| {
            comm.set_network_times(times);
            for elements in [0, 1, 100, 20_000] {
                let (rank, ranks) = (comm.rank() as u64, comm.size() as u64);
                let mut sums = vec![rank + 1; elements];
                comm.allreduce_in_place(&mut sums, allhands::Sum)?;
                assert!(sums.iter().all(|sum| *sum == ranks * (ranks + 1) / 2));
                let mut blocks = vec![0; elements * comm.size()];
                comm.allgather(&vec![rank; elements], &mut blocks)?;
                let right = (0..ranks).flat_map(|rank| std::iter::repeat_n(rank, elements));
                assert!(blocks.iter().copied().eq(right.clone()));
                let mine = vec![rank; elements * comm.size()];
                comm.alltoall(&mine, &mut blocks)?;
                assert!(blocks.iter().copied().eq(right));
                let root = comm.size() / 2;
                let mut vector = vec![rank; elements];
                comm.broadcast(&mut vector, root)?;
                assert!(vector.iter().all(|from| *from == root as u64));
                comm.barrier()?;
            }
            Ok::<(), allhands::Error>(())
        });
    }
}

#[test]
fn there_is_something_for_every_collective() {
    for collective in Collective::ALL {
        let found = serving(13).filter(|(algorithm, _)| algorithm.collective == collective);
        assert!(found.count() > 0, "{collective}");
    }
    assert!(serving(13).any(|(algorithm, _)| algorithm.name == "hierarchical"));
    assert!(!serving(13).any(|(algorithm, _)| algorithm.name.contains("shared")));
}
