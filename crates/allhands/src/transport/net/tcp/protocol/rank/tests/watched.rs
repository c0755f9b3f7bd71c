//! Doubted connections: what a rank does to find out that the system behind one is gone.

use super::*;
use crate::transport::net::tcp::protocol::peer::Loss;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const NOTHING: Span = Span {
    address: 0,
    bytes: 0,
};

/// A rank whose connections to rank 0 are doubted from that time on.
fn doubted() -> Rank<Bytes> {
    let mut one = reached();
    one.at(MS);
    one.doubted(0, true);
    one.doubted(1, true);
    one
}

/// Takes the machine to a time; the connection that it asks for then.
fn asked(one: &mut Rank<Bytes>, now: Duration) -> Option<u32> {
    one.at(now);
    match one.action()? {
        Action::Connect {
            connection,
            peer: 0,
            rail: 0,
        } => Some(connection),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_system_that_answers_is_waited_for() {
    let mut one = doubted();
    assert_eq!(asked(&mut one, 250 * MS), None);
    assert_eq!(one.deadline(), Some(251 * MS));
    let watch = asked(&mut one, 251 * MS).expect("it is asked for");
    one.connected(watch, &[1; 16]);
    // Nothing is said over it, and nothing is believed.
    assert_eq!(one.transmit(), None);
    one.arrived(watch, b"anything");
    assert_eq!(asked(&mut one, 1000 * 1000 * MS), None);
    // The other end looks, and closes what says nothing.
    one.lost(watch, Loss::Closed);
    assert_eq!(asked(&mut one, 1000 * 1000 * MS + 999 * MS), None);
    let watch = asked(&mut one, 1001 * 1000 * MS).expect("it is asked again");
    one.connected(watch, &[1; 16]);
    one.doubted(1, false);
    assert_eq!(one.action(), None);
    one.doubted(0, false);
    assert_eq!(one.action(), Some(Action::Close { connection: watch }));
    assert_eq!(one.report().lost, 0);
}

#[test]
fn a_system_that_answers_nothing_is_lost() {
    for answers_first in [false, true] {
        let mut one = doubted();
        let watch = asked(&mut one, 251 * MS).expect("it is asked for");
        let silent_from = match answers_first {
            // The kernel has found out.
            true => {
                one.connected(watch, &[1; 16]);
                one.at(5000 * MS);
                one.lost(watch, Loss::Silent);
                5000 * MS
            }
            false => 2751 * MS,
        };
        one.at(silent_from - MS);
        let is_there = one.send(0, 0, NOTHING, 0).is_ok();
        assert!(is_there || answers_first);
        one.at(silent_from);
        let said = one.send(0, 0, NOTHING, 0).unwrap_err().to_string();
        assert_eq!(said, "rank 0 is lost: the other end does not answer");
    }
}

#[test]
fn who_cannot_ask_asks_again() {
    let mut one = doubted();
    let watch = asked(&mut one, 251 * MS).expect("it is asked for");
    // The own link is down for a moment.
    one.lost(watch, Loss::Unreachable(101));
    assert_eq!(asked(&mut one, 350 * MS), None);
    let watch = asked(&mut one, 351 * MS).expect("it is asked again");
    one.connected(watch, &[1; 16]);
    one.doubted(0, false);
    one.doubted(1, false);
    one.at(10_000 * MS);
    assert!(one.send(0, 0, NOTHING, 0).is_ok());
    // And for long.
    let mut one = doubted();
    for now in 1..=2751 {
        if let Some(watch) = asked(&mut one, now * MS) {
            one.lost(watch, Loss::Unreachable(101));
        }
        assert_eq!(one.send(0, 0, NOTHING, 0).is_ok(), now < 2751, "{now}");
    }
}

#[test]
fn a_connection_that_was_lost_in_silence_waits_for_its_watch_alone() {
    let mut one = doubted();
    one.send(0, 0, NOTHING, 0).unwrap();
    asked(&mut one, 251 * MS).expect("it is asked for");
    one.at(2000 * MS);
    for at in 0..2 {
        one.lost(at, Loss::Silent);
    }
    one.at(2750 * MS);
    assert!(one.send(0, 0, NOTHING, 0).is_ok());
    one.at(2751 * MS);
    assert!(one.send(0, 0, NOTHING, 0).is_err());
}

#[test]
fn a_slow_host_that_is_heard_is_waited_for() {
    let mut one = doubted();
    let watch = asked(&mut one, 251 * MS).expect("it is asked for");
    one.at(1000 * MS);
    one.answered(1);
    one.at(2800 * MS);
    assert!(
        one.send(0, 0, NOTHING, 0).is_ok(),
        "something came meanwhile"
    );
    assert_eq!(one.action(), Some(Action::Close { connection: watch }));
    assert_eq!(one.action(), None);
    assert!(asked(&mut one, 3800 * MS).is_some());
}

#[test]
fn a_rank_that_has_not_looked_for_long_is_tried_again_when_its_connection_is_lost() {
    let mut zero = with(0, settings());
    zero.send(1, 1, NOTHING, 0).unwrap();
    for at in 0..2 {
        assert!(matches!(zero.action(), Some(Action::Connect { .. })));
        zero.connected(at, &[8; 16]);
    }
    zero.at(60_000 * MS);
    for at in 0..2 {
        zero.lost(at, Loss::Closed);
    }
    assert!(zero.send(1, 1, NOTHING, 0).is_ok());
    zero.at(60_100 * MS);
    assert!(matches!(zero.action(), Some(Action::Connect { .. })));
}
