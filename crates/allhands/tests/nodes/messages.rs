//! Messages between two ranks on nodes: all that threads of one node do with them.

use crate::world::{disorder, in_every_order, network, on_all, places, worlds};
use allhands::{Communicator, Error, TransportError, threads};
use allhands_suite::messages::{self, traffic};
use allhands_suite::stopwatch;
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

#[test]
fn long_messages_wait_for_their_receives() {
    for (seed, node_of) in (0..).zip(worlds()).filter(|(_, world)| world.len() > 1) {
        let body = traffic::long_messages_wait_for_their_receives;
        in_every_order(node_of, seed, body);
    }
}

/// A message that its sender has taken back before it met its receive is an error of that, also if it was on its way, unless it was away
/// by then; the next ones come.
#[test]
fn what_was_taken_back_is_an_error_of_its_receive() {
    let body = what_was_taken_back;
    for seed in 0..4 {
        in_every_order(&[0, 1], seed, body);
    }
}

pub fn what_was_taken_back(comm: &Communicator) -> Result<(), Error> {
    for length in [9000, 40_000, 200_000, 300_000] {
        let mut room = vec![0u8; length];
        if comm.rank() == 0 {
            let mut is_away = false;
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                comm.scope(|scope| {
                    let sent = scope.isend(&room, 1, 1).expect("it begins");
                    // One of more than 256 KB waits for its acknowledgement.
                    is_away = length < 300_000 && sent.test();
                    panic!("as it must");
                })
            }));
            assert!(panicked.is_err());
            comm.send(&[is_away], 1, 2)?;
            (1..100u8).try_for_each(|number| comm.send(&vec![number; length], 1, 1))?;
        } else {
            let mut is_away = [false];
            comm.recv(&mut is_away, 0, 2)?;
            let received = comm.recv(&mut room, 0, 1);
            let is_dropped = matches!(
                received,
                Err(Error::Transport(TransportError::CallDropped { rank: 0 }))
            );
            let is_right = is_dropped || is_away[0] && received.is_ok();
            assert!(is_right, "{length} bytes, {is_away:?}: {received:?}");
            for number in 1..100 {
                comm.recv(&mut room, 0, 1)?;
                assert!(room.iter().all(|byte| *byte == number), "message {number}");
            }
        }
    }
    comm.barrier()
}

/// Runs what takes a moment, even if it goes wrong on some rank.
fn in_time<R>(body: impl FnOnce() -> R) -> R {
    stopwatch::in_time(Duration::from_secs(3), body)
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
