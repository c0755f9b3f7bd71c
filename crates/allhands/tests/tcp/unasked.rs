//! Long messages that nobody has asked for, with the settings of a job of few ranks, over one rail and over several.

use crate::messages::what_was_taken_back;
use crate::world::on_all;
use crate::world::settings;
use allhands::net::tcp::{Loopback, Settings};
use allhands::{Communicator, Error};
use allhands_suite::messages::{self, traffic};

/// Runs among a few ranks, of which others keep megabytes that they have not asked for.
fn on_rails(body: fn(&Communicator) -> Result<(), Error>) {
    let Settings {
        eager_bytes,
        unexpected_bytes,
        ..
    } = Settings::of_job(2);
    for (rails, connections, resends) in [(1, 1, true), (1, 2, false), (2, 1, true), (3, 2, true)] {
        let settings = Settings {
            connections,
            resends,
            eager_bytes,
            unexpected_bytes,
            ..settings()
        };
        for node_of in [&[0, 1][..], &[0, 0, 1, 2]] {
            let network = Loopback::new(node_of.len() as u32, rails, settings);
            on_all(node_of, &network.expect("the loopback is there"), body);
        }
    }
}

#[test]
fn messages_of_every_length_go_round() {
    on_rails(messages::messages_of_every_length_go_round);
}

#[test]
fn long_messages_wait_for_their_receives() {
    on_rails(traffic::long_messages_wait_for_their_receives);
}

#[test]
fn a_message_that_does_not_fit_is_gone_and_the_rest_stays() {
    on_rails(messages::a_message_that_does_not_fit_is_gone_and_the_rest_stays);
}

#[test]
fn random_messages_are_all_received() {
    on_rails(|comm| traffic::random_messages_are_all_received(comm, 7));
}

#[test]
fn what_was_taken_back_is_an_error_of_its_receive() {
    let network = Loopback::new(2, 1, Settings::of_job(2));
    let network = network.expect("the loopback is there");
    on_all(&[0, 1], &network, what_was_taken_back);
}
