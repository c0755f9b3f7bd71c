//! Refused connections: a rank that has left may have said so, and one that has not is lost.

use super::*;
use crate::transport::net::tcp::protocol::peer::Loss;
use std::time::Duration;

const SPAN: Span = Span {
    address: 0,
    bytes: 8,
};

/// The connections that a rank asks for at a time, all of which are refused; how many there were.
fn refused(one: &mut Rank<Bytes>, now: Duration) -> usize {
    one.at(now);
    let mut all = Vec::new();
    while let Some(action) = one.action() {
        if let Action::Connect { connection, .. } = action {
            all.push(connection);
        }
    }
    for at in &all {
        one.lost(*at, Loss::Refused);
    }
    all.len()
}

#[test]
fn who_refuses_again_and_again_is_lost_in_half_a_second() {
    let mut one = with(1, settings());
    let message = one.receive(0, 1, SPAN, 0);
    let mut attempts = 0;
    while one.test(message) == Ok(None) {
        let now = one.deadline().expect("something is due");
        assert!(now < Duration::from_millis(500), "after {attempts}");
        attempts += refused(&mut one, now);
    }
    assert_eq!(one.test(message).unwrap_err().loss, Loss::Refused);
    assert_eq!(attempts, 6);
}

#[test]
fn what_a_rank_has_said_before_it_left_is_read_before_it_is_taken_for_lost() {
    let (mut zero, mut one) = (with(0, settings()), with(1, settings()));
    let message = zero.receive(1, 1, SPAN, 0);
    // The other one has its connection in the meantime, and all that it says is on its way.
    one.send(0, 1, SPAN, 0).unwrap();
    let Some(Action::Connect { connection, .. }) = one.action() else {
        panic!("a connection is asked for")
    };
    one.connected(connection, &[8; 16]);
    let accepted = zero.accepted(&[9; 16]);
    carry(&mut one, &mut zero);
    carry(&mut zero, &mut one);
    one.leave();
    let last = all_of(&mut one, connection);
    assert!(one.is_drained());
    // Nobody listens by now.
    let due = zero.deadline().expect("a connection is due");
    assert_eq!(refused(&mut zero, due), 2);
    assert_eq!(zero.test(message), Ok(None));
    zero.arrived(accepted, &last);
    zero.lost(accepted, Loss::Closed);
    assert_eq!(zero.test(message), Ok(Some(End::Whole(8))));
}
