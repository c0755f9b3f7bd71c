//! Properties on real bytes, among processes: every algorithm and setting against a serial definition.

use crate::world::{self, this_test};
use allhands::Communicator;
use allhands_core::algorithm::{self, Requirement};
use allhands_core::machine::Fabrics;
use allhands_suite::property::{Lengths, cases, few_are_enough};
use proptest::prelude::{Just, Strategy};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Every algorithm and setting, on cases that every rank picks alike: all of them with one communicator.
fn try_all(comm: &Communicator) -> Result<(), String> {
    let ranks = comm.size();
    let mut seed = [7; 32];
    seed[0] = ranks as u8;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    // Ranks beyond the cores take turns, so many of them take long.
    let (short, long) = match ranks {
        _ if few_are_enough() => (3, 4),
        1..=5 => (12, 8),
        6..=9 => (6, 5),
        _ => (3, 4),
    };
    // No real transport has the hardware of a machine.
    let real = algorithm::all().filter(|a| a.fabrics() == Fabrics::default());
    for algorithm in real {
        if algorithm.requires.contains(&Requirement::PowerOfTwo) && !ranks.is_power_of_two() {
            continue;
        }
        for setting in algorithm.settings {
            for (number, lengths) in [(short, Lengths::Short), (long, Lengths::AlsoLong)] {
                let cases = cases(algorithm, setting, Just(ranks).boxed(), lengths);
                for _ in 0..number {
                    let tree = cases.new_tree(&mut runner).map_err(|e| e.to_string())?;
                    let case = tree.current();
                    let checked = case.check(comm, 1);
                    checked.map_err(|what| format!("{case:?}: {what}"))?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn every_algorithm_does_what_the_serial_definition_says() {
    let all: Vec<u32> = (1..=17).collect();
    let ranks = match few_are_enough() {
        true => &[1, 2, 3, 5, 8],
        false => all.as_slice(),
    };
    for &ranks in ranks {
        world::run(this_test!(), ranks, |comm| try_all(&comm));
    }
}
