//! Messages between two ranks on nodes: all that threads of one node do with them.

use crate::world::{disorder, in_every_order, network, on_all, places, worlds};
use allhands::{Communicator, Error, threads};
use allhands_suite::messages::{self, traffic};
use allhands_suite::stopwatch::Stopwatch;
use std::time::Duration;

/// Runs on every world, in order and in disorder.
fn everywhere(body: fn(&Communicator) -> Result<(), Error>) {
    for (seed, node_of) in (0..).zip(worlds()) {
        in_every_order(node_of, seed, body);
    }
}

#[test]
fn messages_of_every_length_go_round() {
    everywhere(messages::messages_of_every_length_go_round);
}

#[test]
fn who_sends_waits_and_who_receives_too() {
    everywhere(messages::who_sends_waits_and_who_receives_too);
}

#[test]
fn anybody_may_send_to_anybody() {
    everywhere(messages::anybody_may_send_to_anybody);
}

#[test]
fn what_is_not_wanted_yet_is_no_obstacle() {
    everywhere(messages::what_is_not_wanted_yet_is_no_obstacle);
}

#[test]
fn who_does_not_receive_keeps_little() {
    everywhere(messages::who_does_not_receive_keeps_little);
}

#[test]
fn a_message_that_cannot_come_is_an_error() {
    for node_of in [&[0, 1][..], &[0, 1, 0]] {
        on_all(
            node_of,
            &network(node_of),
            messages::a_message_that_cannot_come_is_an_error,
        );
    }
}

#[test]
fn a_message_that_does_not_fit_is_gone_and_the_rest_stays() {
    everywhere(messages::a_message_that_does_not_fit_is_gone_and_the_rest_stays);
}

#[test]
fn what_is_no_value_is_an_error() {
    everywhere(messages::what_is_no_value_is_an_error);
}

#[test]
fn a_rank_may_send_to_itself() {
    everywhere(messages::a_rank_may_send_to_itself);
}

#[test]
fn a_message_is_seen_before_it_is_received() {
    everywhere(messages::a_message_is_seen_before_it_is_received);
}

#[test]
fn messages_and_calls_take_one_another_further() {
    everywhere(messages::messages_and_calls_take_one_another_further);
}

#[test]
fn dropped_requests_harm_nobody() {
    everywhere(messages::dropped_requests_harm_nobody);
}

#[test]
fn a_scope_ends_its_messages_even_when_it_panics() {
    everywhere(messages::a_scope_ends_its_messages_even_when_it_panics);
}

#[test]
fn random_messages_are_all_received() {
    for (seed, node_of) in (0..).zip(worlds()) {
        on_all(node_of, &network(node_of), |comm| {
            traffic::random_messages_are_all_received(comm, seed)
        });
        on_all(node_of, &disorder(node_of.len(), seed), |comm| {
            traffic::random_messages_are_all_received(comm, 100 + seed)
        });
    }
}

#[test]
fn random_receives_are_all_met() {
    for (seed, node_of) in (0..).zip(worlds()) {
        on_all(node_of, &network(node_of), |comm| {
            traffic::random_receives_are_all_met(comm, seed)
        });
        on_all(node_of, &disorder(node_of.len(), seed), |comm| {
            traffic::random_receives_are_all_met(comm, 100 + seed)
        });
    }
}

/// Runs what takes a moment, even if it goes wrong on some rank.
fn in_time<R>(body: impl FnOnce() -> R) -> R {
    let watch = Stopwatch::start();
    let result = body();
    let taken = watch.elapsed();
    assert!(taken < Duration::from_secs(3), "took {taken:?}");
    result
}

#[test]
fn who_has_left_is_missed_by_those_who_wait_for_it() {
    for node_of in [&[0, 1, 2][..], &[0, 1, 0], &[0, 0, 1, 1, 0]] {
        let body = messages::who_has_left_is_missed_by_those_who_wait_for_it;
        in_time(|| on_all(node_of, &network(node_of), body));
    }
}

#[test]
fn nobody_waits_for_ever_for_a_call_that_does_not_come() {
    for node_of in [&[0, 1][..], &[0, 1, 0], &[0, 0, 1, 1, 0]] {
        let body = messages::nobody_waits_for_ever_for_a_call_that_does_not_come;
        in_time(|| on_all(node_of, &network(node_of), body));
    }
}

#[test]
fn who_panics_is_named() {
    for node_of in [&[0, 1, 2][..], &[0, 1, 0], &[0, 0, 1, 1, 0]] {
        let ended = in_time(|| {
            threads::run_on_nodes(&places(node_of), &network(node_of), |comm| {
                messages::who_panics_is_named(&comm)
            })
        });
        assert_eq!(
            ended.expect_err("a rank panics").to_string(),
            "rank 1 panicked"
        );
    }
}
