//! Properties on real bytes: every algorithm and setting against a serial definition, for random ranks, roots, counts,
//! types, operators and placements, on threads.

use allhands::threads;
use allhands_core::algorithm::{self, Algorithm, Requirement};
use allhands_core::machine::Fabrics;
use allhands_suite::property::{Case, Lengths, cases, few_are_enough};
use proptest::prelude::{ProptestConfig, Strategy};
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{TestCaseError, TestRunner};

/// Calls of a case: a call that was made before takes other ways than the first two, which make what they run with.
const CALLS: usize = 4;

fn try_case(case: &Case) -> Result<(), TestCaseError> {
    let fail = |what: String| Err(TestCaseError::fail(what));
    let calls = |comm| case.check(&comm, CALLS);
    match threads::run(case.ranks, calls) {
        Ok(results) => match results.into_iter().find_map(Result::err) {
            Some(what) => fail(what),
            None => Ok(()),
        },
        Err(error) => fail(error.to_string()),
    }
}

fn ranks(algorithm: &Algorithm) -> BoxedStrategy<usize> {
    if algorithm.requires.contains(&Requirement::PowerOfTwo) {
        (0..5u32).prop_map(|e| 1usize << e).boxed()
    } else {
        (1..=17usize).boxed()
    }
}

/// Every algorithm and setting, on cases that proptest picks and shrinks.
#[test]
fn every_algorithm_does_what_the_serial_definition_says() {
    let (short, long) = if few_are_enough() { (4, 2) } else { (32, 4) };
    // No real transport has the hardware of a machine.
    let real = algorithm::all().filter(|a| a.fabrics() == Fabrics::default());
    for algorithm in real {
        for setting in algorithm.settings {
            for (number, lengths) in [(short, Lengths::Short), (long, Lengths::AlsoLong)] {
                let mut runner = TestRunner::new(ProptestConfig {
                    cases: number,
                    failure_persistence: None,
                    ..ProptestConfig::default()
                });
                let cases = cases(algorithm, setting, ranks(algorithm), lengths);
                let tried = runner.run(&cases, |case| try_case(&case));
                if let Err(failure) = tried {
                    panic!("{algorithm:?}:{setting}: {failure}");
                }
            }
        }
    }
}
