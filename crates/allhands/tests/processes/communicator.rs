//! The communicator from the outside, among processes: the same calls and the same mistakes as among threads.

use crate::world::{self, Telling, World, this_test, unless_told};
use allhands::launch::How;
use allhands::{Communicator, Error};
use allhands_suite::communicator as suite;
use std::time::Duration;

/// The code with which a process ends whose test has panicked.
const PANICKED: How = How::Exited(101);

/// Runs on several numbers of processes, all of which must end well.
fn on_all(test: &str, numbers: &[u32], body: fn(&Communicator) -> Result<(), Error>) {
    for ranks in numbers {
        world::run(test, *ranks, |comm| body(&comm));
    }
}

/// Runs on 3 processes, some of which, `panicking`, must panic, and the others end well.
fn some_panic(
    test: &str,
    body: fn(&Communicator) -> Result<(), Error>,
    panicking: impl Fn(usize) -> bool,
) {
    let world = World::start((test, ""), 3, Telling::How, |world| {
        unless_told(world, "panicked", body)
    });
    let Some(mut world) = world else { return };
    let ends = world.ends(Duration::from_secs(10));
    let wrong = |rank: &usize| match ends[*rank].how {
        PANICKED => !panicking(*rank),
        how => how.is_failure(),
    };
    world.report((0..3).filter(wrong).collect());
    assert!(
        ends.iter().any(|end| end.how == PANICKED),
        "nobody panicked"
    );
}

#[test]
fn several_requests_end_in_any_order() {
    let body = suite::several_requests_end_in_any_order;
    on_all(this_test!(), &[1, 2, 5, 9], body);
}

#[test]
fn a_progress_thread_ends_calls_that_nobody_waits_for() {
    let body = suite::a_progress_thread_ends_calls_that_nobody_waits_for;
    on_all(this_test!(), &[1, 2, 5], body);
}

#[test]
fn long_blocks_are_gathered() {
    on_all(this_test!(), &[1, 2, 5], suite::long_blocks_are_gathered);
}

#[test]
fn what_is_gathered_or_scattered_may_be_shorter() {
    let body = suite::what_is_gathered_or_scattered_may_be_shorter;
    on_all(this_test!(), &[1, 2, 3, 5], body);
}

#[test]
fn long_messages_come_again_and_again() {
    let body = suite::long_messages::long_messages_come_again_and_again;
    on_all(this_test!(), &[2, 3], body);
}

#[test]
fn long_messages_are_exchanged_again_and_again() {
    let body = suite::long_messages::long_messages_are_exchanged_again_and_again;
    on_all(this_test!(), &[2, 3], body);
}

#[test]
fn long_blocks_are_sent_and_copied() {
    on_all(
        this_test!(),
        &[1, 2, 5],
        suite::long_messages::long_blocks_are_sent_and_copied,
    );
}

#[test]
fn more_than_caches_hold_is_exchanged() {
    let body = suite::long_messages::more_than_caches_hold_is_exchanged;
    on_all(this_test!(), &[1, 2, 5], body);
}

#[test]
fn a_dropped_request_is_waited_for_and_a_leaked_one_harms_nobody() {
    let body = suite::a_dropped_request_is_waited_for_and_a_leaked_one_harms_nobody;
    on_all(this_test!(), &[1, 3, 6], body);
}

#[test]
fn a_persistent_call_starts_many_times_with_new_data() {
    let body = suite::a_persistent_call_starts_many_times_with_new_data;
    on_all(this_test!(), &[1, 4, 17], body);
}

#[test]
fn a_scope_waits_for_its_calls_even_when_it_panics() {
    let body = suite::a_scope_waits_for_its_calls_even_when_it_panics;
    on_all(this_test!(), &[1, 2, 5], body);
}

#[test]
fn split_and_dup_make_communicators_of_their_own() {
    let body = suite::split_and_dup_make_communicators_of_their_own;
    on_all(this_test!(), &[7], body);
}

#[test]
fn communicators_come_and_go() {
    on_all(this_test!(), &[1, 4, 7], suite::communicators_come_and_go);
}

#[test]
fn rows_and_columns_of_a_grid() {
    let body = suite::splits::rows_and_columns_of_a_grid;
    on_all(this_test!(), &[1, 4, 7], body);
}

#[test]
fn who_has_no_colour_gets_no_communicator() {
    let body = suite::splits::who_has_no_colour_gets_no_communicator;
    on_all(this_test!(), &[1, 4], body);
}

#[test]
fn copies_of_copies_outlive_what_they_were_made_of() {
    let body = suite::splits::copies_of_copies_outlive_what_they_were_made_of;
    on_all(this_test!(), &[1, 5], body);
}

#[test]
fn what_is_sent_to_who_has_dropped_harms_nobody() {
    let body = suite::splits::what_is_sent_to_who_has_dropped_harms_nobody;
    on_all(this_test!(), &[4], body);
}

#[test]
fn errors_name_ranks_as_their_communicator_does() {
    let body = suite::splits::errors_name_ranks_as_their_communicator_does;
    on_all(this_test!(), &[4], body);
}

#[test]
fn ranks_drop_in_orders_of_their_own() {
    let body = suite::splits::ranks_drop_in_orders_of_their_own;
    on_all(this_test!(), &[4], body);
}

#[test]
fn a_fault_in_one_leaves_the_others_usable() {
    let body = suite::splits::a_fault_in_one_leaves_the_others_usable;
    on_all(this_test!(), &[4], body);
}

#[test]
fn a_communicator_moves_to_another_thread() {
    let body = suite::a_communicator_moves_to_another_thread;
    on_all(this_test!(), &[2], body);
}

#[test]
fn ranks_that_call_differently_are_told_what_differs() {
    for which in 0..suite::DIFFERING.len() {
        let name = (this_test!(), &*format!(", case {which}"));
        let (differs, _) = suite::DIFFERING[which];
        let world = World::start(name, 4, Telling::How, |world| {
            unless_told(world, differs, |comm| -> Result<(), Error> {
                suite::ranks_that_call_differently_are_told_what_differs(comm, which);
                Ok(())
            })
        });
        if let Some(world) = world {
            world.end_well();
        }
    }
}

#[test]
fn a_rank_that_leaves_is_named() {
    let world = World::start((this_test!(), ""), 3, Telling::How, |world| {
        unless_told(world, "rank 1 left", suite::a_rank_that_leaves_is_named)
    });
    if let Some(world) = world {
        world.end_well();
    }
}

#[test]
fn a_rank_that_panics_is_named() {
    let body = suite::a_rank_that_panics_is_named;
    some_panic(this_test!(), body, |rank| rank == 2);
}

#[test]
fn a_panic_in_an_operator_is_an_error_on_the_others() {
    let body = suite::a_panic_in_an_operator_is_an_error_on_the_others;
    some_panic(this_test!(), body, |_| true);
}

#[test]
fn mistakes_are_named_and_leave_the_communicator_usable() {
    let body = suite::mistakes_are_named_and_leave_the_communicator_usable;
    on_all(this_test!(), &[2], body);
}
