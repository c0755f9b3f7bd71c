//! Full connections: what a rank does to find out that the system behind one is gone.

use super::*;
use crate::transport::net::tcp::protocol::peer::Loss;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A rank whose connections to rank 0 are full, at that time.
fn full() -> Rank<Bytes> {
    let mut one = reached();
    one.at(MS);
    one.full(0, true);
    one.full(1, true);
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
    let mut one = full();
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
    // One that does not answer may be one of bad luck.
    one.lost(watch, Loss::Silent);
    let watch = asked(&mut one, 1002 * 1000 * MS).expect("it is asked at once");
    one.connected(watch, &[1; 16]);
    one.full(1, false);
    assert_eq!(one.action(), None);
    one.full(0, false);
    assert_eq!(one.action(), Some(Action::Close { connection: watch }));
    assert_eq!(one.report().lost, 0);
}

#[test]
fn a_system_that_answers_nothing_is_lost() {
    for answers_first in [false, true] {
        let mut one = full();
        let watch = asked(&mut one, 251 * MS).expect("it is asked for");
        if answers_first {
            one.connected(watch, &[1; 16]);
            one.lost(watch, Loss::Silent);
        }
        one.at(1751 * MS);
        let watch = std::iter::from_fn(|| one.action()).last();
        assert!(matches!(watch, Some(Action::Connect { .. })), "{watch:?}");
        one.at(3300 * MS);
        let nothing = Span {
            address: 0,
            bytes: 0,
        };
        let said = one.send(0, 0, nothing, 0).unwrap_err().to_string();
        assert_eq!(said, "rank 0 is lost: the other end does not answer");
    }
}

#[test]
fn a_rank_that_has_not_looked_for_long_is_tried_again_when_its_connection_is_lost() {
    let mut zero = with(0, settings());
    let nothing = Span {
        address: 0,
        bytes: 0,
    };
    zero.send(1, 1, nothing, 0).unwrap();
    for at in 0..2 {
        assert!(matches!(zero.action(), Some(Action::Connect { .. })));
        zero.connected(at, &[8; 16]);
    }
    zero.at(60_000 * MS);
    for at in 0..2 {
        zero.lost(at, Loss::Closed);
    }
    assert!(zero.send(1, 1, nothing, 0).is_ok());
    zero.at(60_100 * MS);
    assert!(matches!(zero.action(), Some(Action::Connect { .. })));
}
