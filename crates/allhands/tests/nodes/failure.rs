//! Mistakes and mishaps on nodes: every rank gets an error that says what happened, within a second.

use crate::world::{disorder, network, on_all, places};
use allhands::operator::{Max, Sum};
use allhands::transport::TransportError;
use allhands::{Communicator, Error, operation, threads};
use allhands_suite::communicator as suite;
use allhands_suite::stopwatch;
use std::time::Duration;

/// Runs what takes a moment, even if it goes wrong on some rank.
fn in_time<R>(body: impl FnOnce() -> R) -> R {
    stopwatch::in_time(Duration::from_secs(1), body)
}

/// Runs on ranks, one of which must panic.
fn panics(node_of: &[u32], body: fn(&Communicator) -> Result<(), Error>) -> String {
    let network = network(node_of);
    let ended = in_time(|| threads::run_on_nodes(&places(node_of), &network, |comm| body(&comm)));
    ended.expect_err("a rank panics").to_string()
}

/// Every rank is told of one of [`suite::DIFFERING`] in one of these ways.
fn differing(node_of: &[u32], which: usize, words: &[&str]) {
    in_time(|| {
        on_all(node_of, &network(node_of), |comm| {
            let said = suite::told_of_differing(comm, which, 9);
            let told = words.iter().any(|words| said.contains(words));
            assert!(told, "'{said}' says nothing of {words:?}");
            Ok::<(), Error>(())
        });
    });
}

/// Ranks of a node compare their calls, those of different nodes too, unless a length shows it first.
#[test]
fn ranks_that_call_differently_are_told_what_differs() {
    for (which, (words, _)) in suite::DIFFERING.into_iter().enumerate() {
        let lengths = words.starts_with("length");
        let words = match lengths {
            true => &[words, "counts of the two do not fit"][..],
            false => &[words],
        };
        differing(&[0, 0, 1, 1], which, words);
        differing(&[0, 1, 2, 3], which, words);
        differing(&[0, 1, 0, 1], which, words);
    }
}

#[test]
fn a_rank_that_leaves_or_panics_is_named() {
    for node_of in [[0, 1, 2], [0, 1, 1], [0, 1, 0], [0, 0, 1]] {
        in_time(|| {
            on_all(
                &node_of,
                &network(&node_of),
                suite::a_rank_that_leaves_is_named,
            )
        });
        let said = panics(&node_of, suite::a_rank_that_panics_is_named);
        assert_eq!(said, "rank 2 panicked");
    }
}

#[test]
fn a_panic_in_an_operator_is_an_error_on_the_others() {
    for node_of in [[0, 1, 2], [0, 1, 1], [0, 1, 0], [0, 0, 1]] {
        let said = panics(
            &node_of,
            suite::a_panic_in_an_operator_is_an_error_on_the_others,
        );
        assert!(said.contains("panicked"), "{said}");
    }
}

/// The error that was found first, whoever tells of it.
fn origin(error: Error) -> TransportError {
    match error {
        Error::Transport(TransportError::Poisoned { error, .. }) => *error,
        Error::Transport(error) => error,
        other => panic!("another error: {other}"),
    }
}

/// Rank 0 sends rank 1 another number of bytes than rank 1 expects; who notices says so, and all others hear of it.
fn lengths_differ(node_of: &[u32], sent: usize, expected: usize) {
    let network = disorder(node_of.len(), 4);
    let ran = threads::run_on_nodes(&places(node_of), &network, |comm| {
        let ranks = comm.size();
        let (mut send, mut receive) = (vec![1; ranks], vec![1; ranks]);
        match comm.rank() {
            0 => send[1] = sent,
            1 => receive[0] = expected,
            _ => {}
        }
        let input = vec![7u8; send.iter().sum()];
        let mut output = vec![0u8; receive.iter().sum()];
        let call = operation::alltoall_v(&input, &send, &mut output, &receive);
        comm.run(call.algorithm("scattered"))
            // Whoever had ended its part hears of it in the next call.
            .and_then(|()| comm.barrier())
    });
    for (rank, result) in ran.expect("nobody panics").into_iter().enumerate() {
        let said = origin(result.expect_err("every rank fails"));
        let right = match said {
            TransportError::TooLong {
                rank: 1,
                other: 0,
                expected: bytes,
            } => sent > expected && bytes == expected,
            TransportError::Length {
                rank: 1,
                other: 0,
                expected: bytes,
                received,
            } => (bytes, received) == (expected, sent),
            _ => false,
        };
        assert!(right, "rank {rank}: {said}");
    }
}

#[test]
fn lengths_that_do_not_fit_are_an_error_on_every_rank() {
    for node_of in [[0, 1, 2], [0, 1, 1], [0, 1, 0], [0, 0, 1]] {
        for (sent, expected) in [(5, 3), (3, 5), (40_000, 30_000), (2, 50_000)] {
            in_time(|| lengths_differ(&node_of, sent, expected));
        }
    }
}

/// Calls whose messages fit one another in number and length: only their signatures show that they differ.
#[test]
fn calls_that_differ_only_in_what_is_computed_are_an_error_on_every_rank() {
    for node_of in [&[0, 1][..], &[0, 0, 1, 1], &[0, 1, 2]] {
        let ran = in_time(|| {
            threads::run_on_nodes(&places(node_of), &network(node_of), |comm| {
                let mut values = [comm.rank() as i32; 1000];
                match comm.rank() == 0 {
                    true => comm.allreduce_in_place(&mut values, Max),
                    false => comm.allreduce_in_place(&mut values, Sum),
                }
                // Whoever had ended its part hears of it in the next call.
                .and_then(|()| comm.barrier())
            })
        });
        for result in ran.expect("nobody panics") {
            let said = origin(result.expect_err("every rank fails")).to_string();
            let words = [
                "operator max on rank 0 and sum on rank",
                "and max on rank 0",
            ];
            assert!(words.iter().any(|words| said.contains(words)), "{said}");
        }
    }
}

/// Two roots that send and end, each of its own call, are found out by the next message, of whatever call.
#[test]
fn a_call_that_differed_before_is_found_by_the_next_message() {
    let node_of = [0, 1];
    let ran = in_time(|| {
        threads::run_on_nodes(&places(&node_of), &network(&node_of), |comm| {
            comm.broadcast(&mut [0u8; 4], comm.rank())?;
            comm.allreduce_in_place(&mut [0u8; 9], Sum)
        })
    });
    for result in ran.expect("nobody panics") {
        let said = origin(result.expect_err("both fail")).to_string();
        assert!(said.contains("make different calls: root "), "{said}");
    }
}
