//! Messages between two ranks that are processes: what threads do with them, and ranks that are killed.

use crate::world::{self, Telling, World, this_test, unless_told};
use allhands::launch::How;
use allhands::{Communicator, Error, Source, Tag};
use allhands_suite::messages::{self, traffic};
use std::time::Duration;

/// Runs on several numbers of processes, all of which must end well.
fn on_all(test: &str, numbers: &[u32], body: impl Fn(&Communicator) -> Result<(), Error>) {
    for ranks in numbers {
        world::run(test, *ranks, |comm| body(&comm));
    }
}

macro_rules! everywhere {
    ($($body:ident),* $(,)?) => {$(
        #[test]
        fn $body() {
            on_all(this_test!(), &[1, 2, 5], messages::$body);
        }
    )*};
}

everywhere! {
    messages_of_every_length_go_round,
    who_sends_waits_and_who_receives_too,
    anybody_may_send_to_anybody,
    what_is_not_wanted_yet_is_no_obstacle,
    who_does_not_receive_keeps_little,
    a_message_that_cannot_come_is_an_error,
    a_message_that_does_not_fit_is_gone_and_the_rest_stays,
    what_is_no_value_is_an_error,
    a_rank_may_send_to_itself,
    a_message_is_seen_before_it_is_received,
    messages_and_calls_take_one_another_further,
    dropped_requests_harm_nobody,
    a_scope_ends_its_messages_even_when_it_panics,
}

#[test]
fn random_messages_are_all_received() {
    on_all(this_test!(), &[2, 5], |comm| {
        (0..4).try_for_each(|seed| traffic::random_messages_are_all_received(comm, seed))
    });
}

#[test]
fn random_receives_are_all_met() {
    on_all(this_test!(), &[2, 5], |comm| {
        (0..4).try_for_each(|seed| traffic::random_receives_are_all_met(comm, seed))
    });
}

#[test]
fn parts_of_a_communicator_have_messages_of_their_own() {
    on_all(this_test!(), &[5], |comm| {
        for turn in 0..3 {
            let part = comm.split(Some(comm.rank() as u32 % 2), 0)?;
            let part = part.expect("every rank has a colour");
            messages::messages_of_every_length_go_round(&part)?;
            traffic::random_messages_are_all_received(&part, turn)?;
        }
        comm.barrier()
    });
}

#[test]
fn who_has_left_is_missed_by_those_who_wait_for_it() {
    let body = messages::who_has_left_is_missed_by_those_who_wait_for_it;
    let world = World::start((this_test!(), ""), 4, Telling::How, |world| {
        unless_told(world, "rank 1 left", body)
    });
    if let Some(world) = world {
        world.end_well();
    }
}

#[test]
fn nobody_waits_for_ever_for_a_call_that_does_not_come() {
    let body = messages::nobody_waits_for_ever_for_a_call_that_does_not_come;
    let world = World::start((this_test!(), ""), 3, Telling::How, |world| {
        unless_told(world, "left", body)
    });
    if let Some(world) = world {
        world.end_well();
    }
}

#[test]
fn who_panics_is_named() {
    let world = World::start((this_test!(), ""), 3, Telling::How, |world| {
        unless_told(world, "rank 1 panicked", messages::who_panics_is_named)
    });
    let Some(mut world) = world else { return };
    let ends = world.ends(Duration::from_secs(10));
    // A test that has panicked ends its process so.
    assert_eq!(ends[1].how, How::Exited(101));
    world.report(
        [0, 2]
            .into_iter()
            .filter(|rank| ends[*rank].how.is_failure())
            .collect(),
    );
}

/// A rank waits for a message.
type Wait = fn(&Communicator) -> Result<(), Error>;

/// What the others wait for when rank 2 is killed.
const WAITS: [Wait; 6] = [
    |comm| comm.recv(&mut [0u8], 2, 0).map(drop),
    |comm| comm.recv(&mut [0u8], Source::Any, Tag::Any).map(drop),
    |comm| comm.send(&vec![1u8; 1 << 20], 2, 0),
    |comm| comm.probe(2, Tag::Any).map(drop),
    |comm| {
        let mut request = comm.irecv([0u8; 9], 2, 1)?;
        while !request.test() {
            std::thread::yield_now();
        }
        request.wait().map(drop)
    },
    // Of a rank that lives, and waits itself.
    |comm| {
        comm.recv(&mut [0u8], if comm.rank() == 0 { 1 } else { 0 }, 0)
            .map(drop)
    },
];

#[test]
fn a_rank_that_is_killed_is_named_by_those_who_wait_for_messages() {
    for (number, wait) in WAITS.into_iter().enumerate() {
        for telling in [Telling::How, Telling::Nothing] {
            let part = format!(", wait {number}, {telling:?}");
            let body = |world: Result<Communicator, Error>| -> Result<(), Error> {
                let comm = world?;
                comm.barrier()?;
                if comm.rank() == 2 {
                    std::thread::sleep(Duration::from_millis(20));
                    // SAFETY: a signal to this very process.
                    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
                }
                let error = wait(&comm).expect_err("rank 2 is dead");
                assert!(error.to_string().contains("rank 2 "), "{error}");
                assert!(!error.communicator_usable());
                assert!(comm.barrier().is_err());
                Ok(())
            };
            let world = World::start((this_test!(), &part), 3, telling, body);
            let Some(mut world) = world else { continue };
            let ends = world.ends(Duration::from_secs(10));
            let died = ends[2].at;
            let late = |rank: &usize| {
                ends[*rank].at.saturating_duration_since(died)
                    > Duration::from_secs(1) + world.held_up()
            };
            let failed = |rank: &usize| ends[*rank].how.is_failure() || late(rank);
            let wrong = (0..2).filter(failed).collect();
            world.report(wrong);
            assert_eq!(ends[2].how, How::Killed(9));
        }
    }
}
