//! Messages between two ranks that are threads, and what goes wrong with them.
#![cfg(not(loom))]

use allhands::{Communicator, Error, threads};
use allhands_suite::messages;
use allhands_suite::stopwatch;
use std::time::Duration;

const RANKS: [usize; 4] = [1, 2, 3, 7];

/// Runs on several numbers of threads, all of which must end well.
fn on_all(ranks: &[usize], body: impl Fn(&Communicator) -> Result<(), Error> + Sync) {
    for ranks in ranks {
        let results = threads::run(*ranks, |comm| body(&comm)).expect("no rank panics");
        for (rank, result) in results.into_iter().enumerate() {
            result.unwrap_or_else(|error| panic!("rank {rank} of {ranks}: {error}"));
        }
    }
}

/// Runs what takes a moment, even if it goes wrong on some rank.
fn in_time<R>(body: impl FnOnce() -> R) -> R {
    stopwatch::in_time(Duration::from_secs(1), body)
}

#[test]
fn messages_of_every_length_go_round() {
    on_all(&RANKS, messages::messages_of_every_length_go_round);
}

#[test]
fn who_sends_waits_and_who_receives_too() {
    on_all(&RANKS, messages::who_sends_waits_and_who_receives_too);
}

#[test]
fn anybody_may_send_to_anybody() {
    on_all(&RANKS, messages::anybody_may_send_to_anybody);
}

#[test]
fn what_is_not_wanted_yet_is_no_obstacle() {
    on_all(&RANKS, messages::what_is_not_wanted_yet_is_no_obstacle);
}

#[test]
fn who_does_not_receive_keeps_little() {
    on_all(&RANKS, messages::who_does_not_receive_keeps_little);
}

#[test]
fn a_message_that_cannot_come_is_an_error() {
    on_all(&RANKS, messages::a_message_that_cannot_come_is_an_error);
}

#[test]
fn a_message_that_does_not_fit_is_gone_and_the_rest_stays() {
    let body = messages::a_message_that_does_not_fit_is_gone_and_the_rest_stays;
    on_all(&RANKS, body);
}

#[test]
fn what_is_no_value_is_an_error() {
    on_all(&RANKS, messages::what_is_no_value_is_an_error);
}

#[test]
fn a_rank_may_send_to_itself() {
    on_all(&RANKS, messages::a_rank_may_send_to_itself);
}

#[test]
fn a_message_is_seen_before_it_is_received() {
    on_all(&RANKS, messages::a_message_is_seen_before_it_is_received);
}

#[test]
fn messages_and_calls_take_one_another_further() {
    on_all(
        &RANKS,
        messages::messages_and_calls_take_one_another_further,
    );
}

#[test]
fn dropped_requests_harm_nobody() {
    on_all(&RANKS, messages::dropped_requests_harm_nobody);
}

#[test]
fn a_scope_ends_its_messages_even_when_it_panics() {
    on_all(
        &RANKS,
        messages::a_scope_ends_its_messages_even_when_it_panics,
    );
}

#[test]
fn random_messages_are_all_received() {
    for seed in 0..8 {
        let body =
            |comm: &Communicator| messages::traffic::random_messages_are_all_received(comm, seed);
        on_all(&RANKS, body);
    }
}

#[test]
fn random_receives_are_all_met() {
    for seed in 0..8 {
        let body = |comm: &Communicator| messages::traffic::random_receives_are_all_met(comm, seed);
        on_all(&RANKS, body);
    }
}

#[test]
fn long_messages_wait_for_their_receives() {
    on_all(
        &[2, 3, 7],
        messages::traffic::long_messages_wait_for_their_receives,
    );
}

#[test]
fn communicators_have_messages_of_their_own() {
    on_all(&[3], |comm| {
        let other = comm.dup()?;
        let right = (comm.rank() + 1) % 3;
        comm.send(&[1u8], right, 0)?;
        other.send(&[2u8], right, 0)?;
        let mut one = [0u8];
        other.recv(&mut one, allhands::Source::Any, 0)?;
        assert_eq!(one, [2]);
        comm.recv(&mut one, allhands::Source::Any, 0)?;
        assert_eq!(one, [1]);
        let quiet = comm.dup()?.with_progress_thread()?;
        let sent = quiet.isend(vec![5u64; 100_000], right, 0)?;
        let mut long = vec![0u64; 100_000];
        quiet.recv(&mut long, allhands::Source::Any, 0)?;
        sent.wait()?;
        assert!(long.iter().all(|element| *element == 5));
        comm.barrier()
    });
}

#[test]
fn more_ranks_than_have_rings() {
    on_all(&[40], |comm| {
        messages::messages_of_every_length_go_round(comm)?;
        messages::traffic::random_messages_are_all_received(comm, 5)
    });
}

#[test]
fn who_has_left_is_missed_by_those_who_wait_for_it() {
    in_time(|| {
        on_all(
            &[3, 5],
            messages::who_has_left_is_missed_by_those_who_wait_for_it,
        )
    });
}

#[test]
fn nobody_waits_for_ever_for_a_call_that_does_not_come() {
    in_time(|| {
        on_all(
            &[2, 4],
            messages::nobody_waits_for_ever_for_a_call_that_does_not_come,
        )
    });
}

#[test]
fn who_panics_is_named() {
    let ended = in_time(|| threads::run(4, |comm| messages::who_panics_is_named(&comm)));
    assert_eq!(
        ended.expect_err("a rank panics").to_string(),
        "rank 1 panicked"
    );
}
