//! The communicator on nodes: nonblocking, persistent and scoped calls, and what it refuses.

use crate::world::{disorder, in_every_order, network, on_all, worlds};
use allhands::{Communicator, Error, Sum, operation};
use allhands_core::machine::Nodes;
use allhands_suite::communicator as suite;

/// Runs on every world, in order and in disorder.
fn everywhere(body: fn(&Communicator) -> Result<(), Error>) {
    for node_of in worlds() {
        in_every_order(node_of, 1, body);
    }
}

#[test]
fn several_requests_end_in_any_order() {
    everywhere(suite::several_requests_end_in_any_order);
}

#[test]
fn long_blocks_are_gathered() {
    everywhere(suite::long_blocks_are_gathered);
}

#[test]
fn what_is_gathered_or_scattered_may_be_shorter() {
    everywhere(suite::what_is_gathered_or_scattered_may_be_shorter);
}

#[test]
fn a_dropped_request_is_waited_for_and_a_leaked_one_harms_nobody() {
    everywhere(suite::a_dropped_request_is_waited_for_and_a_leaked_one_harms_nobody);
}

#[test]
fn a_persistent_call_starts_many_times_with_new_data() {
    everywhere(suite::a_persistent_call_starts_many_times_with_new_data);
}

#[test]
fn a_scope_waits_for_its_calls_even_when_it_panics() {
    everywhere(suite::a_scope_waits_for_its_calls_even_when_it_panics);
}

#[test]
fn mistakes_are_named_and_leave_the_communicator_usable() {
    let two = &[0, 1];
    on_all(
        two,
        &network(two),
        suite::mistakes_are_named_and_leave_the_communicator_usable,
    );
}

/// Calls of one shape under way at once, whose messages have nothing but their tags to tell them apart.
#[test]
fn calls_under_way_at_once_do_not_mix() {
    for (seed, node_of) in (0..).zip(worlds()) {
        on_all(node_of, &disorder(node_of.len(), seed), |comm| {
            for round in 0..5 {
                let start = |salt: u64| {
                    let mine = vec![salt * 100 + round; 7 + 300 * (salt as usize % 3)];
                    comm.start(mine, |v| {
                        operation::allreduce_in_place(v, &Sum).algorithm("recursive-doubling")
                    })
                };
                let requests: Result<Vec<_>, Error> = (0..6).map(start).collect();
                for (salt, request) in (0..).zip(requests?) {
                    let right = (salt * 100 + round) * comm.size() as u64;
                    assert!(request.wait()?.iter().all(|sum| *sum == right));
                }
            }
            Ok::<(), Error>(())
        });
    }
}

#[test]
fn a_progress_thread_ends_calls_that_nobody_waits_for() {
    everywhere(suite::a_progress_thread_ends_calls_that_nobody_waits_for);
}

#[test]
fn few_tags_are_enough_for_many_calls_and_too_many_at_once_are_named() {
    let node_of = &[0, 1, 1];
    let tags = |tags| disorder(3, 3).with_tags(tags);
    on_all(node_of, &tags(256), |comm| {
        for call in 0..50u64 {
            let mut sum = [call + comm.rank() as u64];
            comm.allreduce_in_place(&mut sum, Sum)?;
            assert_eq!(sum, [3 * call + 3]);
        }
        Ok::<(), Error>(())
    });
    on_all(node_of, &tags(256), |comm| {
        let start = || {
            comm.start(vec![1u8; 50_000], |v| {
                operation::allreduce_in_place(v, &Sum).algorithm("recursive-doubling")
            })
        };
        // Rank 0 makes its calls only when the others have, so that none of them has ended; a leader begins two at most.
        let requests: Vec<_> = (0..3).map(|_| start()).collect();
        let failed = requests
            .into_iter()
            .map(|r| r.and_then(|request| request.wait()));
        let said: Vec<String> = failed
            .filter_map(|r| r.err())
            .map(|e| e.to_string())
            .collect();
        match said.first() {
            Some(said) if said.contains("more than 2 calls under way") => Ok(()),
            Some(said) if said.contains("stopped") || said.contains("dropped") => Ok(()),
            // Whoever was slow may have ended the first before it began the third.
            None => Ok(()),
            Some(said) => Err(said.clone()),
        }
    });
}

#[test]
fn what_reaches_into_other_nodes_is_refused_on_every_rank() {
    let node_of = &[0, 0, 1, 1];
    on_all(node_of, &network(node_of), |comm| {
        let refused = |name: &str| {
            let mut sum = [comm.rank()];
            let called = operation::allreduce_in_place(&mut sum, &Sum).algorithm(name);
            let error = comm.run(called).expect_err("it is refused");
            assert!(error.communicator_usable(), "{error}");
            error.to_string()
        };
        let apart = "needs memory that all ranks share, and they are on several nodes";
        assert_eq!(
            refused("shared-memory"),
            format!("allreduce shared-memory: {apart}")
        );
        assert_eq!(
            refused("hierarchical:inter=shared-memory"),
            format!("allreduce hierarchical: {apart}")
        );
        let allowed = |name: &str| {
            let mut sum = [comm.rank()];
            comm.run(operation::allreduce_in_place(&mut sum, &Sum).algorithm(name))?;
            assert_eq!(sum, [6]);
            Ok::<(), Error>(())
        };
        allowed("hierarchical")?;
        comm.set_nodes(Nodes::one())?;
        assert_eq!(
            refused("hierarchical"),
            "allreduce hierarchical: needs memory that the ranks of a node share, and some of nodes one have ranks that share none"
        );
        allowed("hierarchical:intra=tree")?;
        comm.set_nodes("1,1,2".parse()?)?;
        allowed("hierarchical")
    });
}
