//! Communicators out of communicators whose ranks are on several nodes.

use crate::world::{BREAKS_AT_LONG_MESSAGES, in_every_order, network, on_all, worlds};
use allhands::{Communicator, Error, Sum};
use allhands_suite::communicator::{self as suite, splits};

/// Runs on every world, in order and in disorder.
fn everywhere(body: fn(&Communicator) -> Result<(), Error>) {
    for (seed, node_of) in (0..).zip(worlds()) {
        in_every_order(node_of, seed, body);
    }
}

/// Runs on worlds of so many ranks.
fn on<const RANKS: usize>(worlds: &[[u32; RANKS]], body: fn(&Communicator) -> Result<(), Error>) {
    for node_of in worlds {
        on_all(node_of, &network(node_of), body);
    }
}

const OF_FOUR: [[u32; 4]; 3] = [[0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 0, 1]];

#[test]
fn rows_and_columns_of_a_grid() {
    everywhere(splits::rows_and_columns_of_a_grid);
}

#[test]
fn who_has_no_colour_gets_no_communicator() {
    everywhere(splits::who_has_no_colour_gets_no_communicator);
}

#[test]
fn copies_of_copies_outlive_what_they_were_made_of() {
    everywhere(splits::copies_of_copies_outlive_what_they_were_made_of);
}

#[test]
fn ranks_drop_in_orders_of_their_own() {
    everywhere(splits::ranks_drop_in_orders_of_their_own);
}

#[test]
fn communicators_come_and_go() {
    everywhere(suite::communicators_come_and_go);
}

#[test]
fn split_and_dup_make_communicators_of_their_own() {
    let worlds = [
        [0, 1, 2, 3, 4, 5, 6],
        [0, 0, 0, 1, 1, 1, 1],
        [0, 1, 0, 2, 1, 1, 0],
    ];
    on(
        &worlds,
        suite::split_and_dup_make_communicators_of_their_own,
    );
}

#[test]
fn a_communicator_moves_to_another_thread() {
    for _ in 0..20 {
        on(&[[0, 1]], suite::a_communicator_moves_to_another_thread);
    }
}

#[test]
fn what_is_sent_to_who_has_dropped_harms_nobody() {
    on(
        &OF_FOUR,
        splits::what_is_sent_to_who_has_dropped_harms_nobody,
    );
}

#[test]
fn a_fault_in_one_leaves_the_others_usable() {
    on(&OF_FOUR, |comm| {
        splits::faults_leave_others_usable(comm, !BREAKS_AT_LONG_MESSAGES)
    });
}

#[test]
fn errors_name_ranks_as_their_communicator_does() {
    on(
        &OF_FOUR,
        splits::errors_name_ranks_as_their_communicator_does,
    );
}

/// Where there are tags for four communicators, a fifth is refused on every rank, and they are used again.
#[test]
fn as_many_as_the_network_has_tags_for_and_no_more() {
    let node_of = &[0, 1, 1];
    on_all(node_of, &network(node_of).with_tags(1 << 13), |comm| {
        for _ in 0..10 {
            let copies = [comm.dup()?, comm.dup()?, comm.dup()?];
            let refused = comm.dup().expect_err("there are no more");
            assert!(refused.communicator_usable());
            assert_eq!(
                refused.to_string(),
                "no communicator can be made of this one: its network has tags for 4 at a time, and not all ranks have some left"
            );
            for copy in copies.iter().chain([comm]) {
                assert_eq!(copy.allreduce_value(1, Sum)?, 3);
            }
        }
        Ok::<(), Error>(())
    });
}
