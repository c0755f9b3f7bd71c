//! Long messages: each leaves before those that were begun after it, as long as it may leave soon.

use super::{Action, Bytes, Piece, Rank, settings, with_ranks};
use crate::transport::net::tcp::protocol::matching::End;
use crate::transport::net::tcp::protocol::memory::Span;
use crate::transport::net::tcp::protocol::peer::Loss;
use crate::transport::net::tcp::protocol::rank::Message;
use crate::transport::net::tcp::protocol::settings::Settings;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Settings with which 20 bytes are long, and 60 need a grant.
fn short() -> Settings {
    Settings {
        connections: 1,
        copied_bytes: 4,
        unacknowledged_bytes: 10,
        unlined_bytes: 10,
        eager_bytes: 30,
        part_bytes: (1, 15),
        ..settings()
    }
}

fn span(bytes: usize) -> Span {
    Span { address: 0, bytes }
}

/// Rank 0, whose connections 0 and 1 lead to ranks 1 and 2, by their connection 0.
struct Three {
    zero: Rank<Bytes>,
    others: [Rank<Bytes>; 2],
}

impl Three {
    fn new() -> Three {
        let mut three = Three {
            zero: with_ranks((0, 3), short()),
            others: [1, 2].map(|rank| with_ranks((rank, 3), short())),
        };
        for (at, other) in three.others.iter_mut().enumerate() {
            three.zero.send(at as u32 + 1, 1, span(0), 0).unwrap();
            let Some(Action::Connect { connection, .. }) = three.zero.action() else {
                panic!("a connection is asked for")
            };
            assert_eq!((connection, other.accepted(&[9; 16])), (at as u32, 0));
            three.zero.connected(connection, &[8; 16]);
        }
        (0..3).for_each(|_| _ = three.carry());
        three
    }

    /// Carries everything that is to be written; the connections of rank 0 over which bytes of messages went, in order.
    fn carry(&mut self) -> Vec<u32> {
        let mut carried = Vec::new();
        while let Some(at) = self.zero.transmit() {
            let (bytes, is_users) = written(&mut self.zero, at);
            carried.extend(is_users.then_some(at));
            self.others[at as usize].arrived(0, &bytes);
        }
        for (at, other) in self.others.iter_mut().enumerate() {
            while other.transmit().is_some() {
                let (bytes, _) = written(other, 0);
                self.zero.arrived(at as u32, &bytes);
            }
        }
        carried
    }

    /// Begins 60 bytes to rank 2, and then 20 to rank 1.
    fn send_both(&mut self) -> [Message; 2] {
        let long = self.zero.send(2, 2, span(60), 0).unwrap();
        [long, self.zero.send(1, 2, span(20), 0).unwrap()]
    }

    fn receive(&mut self, rank: usize, bytes: usize) -> Message {
        self.others[rank - 1].receive(0, 2, span(bytes), 0)
    }
}

/// What a rank has to write to a connection now, and whether some of it is a message's.
fn written(from: &mut Rank<Bytes>, at: u32) -> (Vec<u8>, bool) {
    let (mut bytes, mut is_users, memory) = (Vec::new(), false, &from.memory);
    from.pieces(at, |piece| match piece {
        Piece::Own(own) => bytes.extend_from_slice(own),
        Piece::Users(span) => {
            is_users = true;
            bytes.extend_from_slice(&memory.0[span.address..][..span.bytes]);
        }
    });
    from.written(at, bytes.len());
    (bytes, is_users)
}

#[test]
fn a_message_that_waits_for_its_grant_is_not_overtaken_by_one_that_needs_none() {
    let mut three = Three::new();
    let [long, short] = three.send_both();
    let others = [three.receive(1, 20), three.receive(2, 60)];
    assert_eq!(three.carry(), [0; 0], "only what announces the first");
    assert_eq!(three.carry(), [1, 1, 1, 1, 0, 0], "by parts of 15 bytes");
    (0..2).for_each(|_| _ = three.carry());
    assert_eq!(three.others[0].test(others[0]), Ok(Some(End::Whole(20))));
    assert_eq!(three.others[1].test(others[1]), Ok(Some(End::Whole(60))));
    assert_eq!(three.zero.test(long), Ok(Some(End::Whole(60))));
    assert_eq!(three.zero.test(short), Ok(Some(End::Whole(20))));
}

#[test]
fn a_receiver_that_is_late_holds_nobody_up_for_long() {
    let mut three = Three::new();
    three.zero.at(MS);
    three.send_both();
    assert_eq!(three.carry(), [0; 0]);
    assert_eq!(three.zero.deadline(), Some(2 * MS));
    three.zero.at(2 * MS);
    assert_eq!(three.carry(), [0, 0]);
    three.receive(2, 60);
    three.carry();
    assert_eq!(three.carry(), [1; 4]);
}

#[test]
fn short_messages_do_not_stand_in_line() {
    let mut three = Three::new();
    three.zero.send(2, 2, span(60), 0).unwrap();
    let short = three.zero.send(1, 2, span(4), 0).unwrap();
    three.carry();
    assert_eq!(three.zero.test(short), Ok(Some(End::Whole(4))));
}

#[test]
fn one_that_is_cancelled_or_whose_peer_is_lost_holds_nobody_up() {
    for is_cancelled in [true, false] {
        let mut three = Three::new();
        let [long, _] = three.send_both();
        three.carry();
        if is_cancelled {
            three.zero.cancel(long);
        } else {
            three.zero.lost(1, Loss::Silent);
        }
        three.zero.at(MS);
        assert_eq!(three.carry(), [0, 0], "{is_cancelled}");
    }
}

#[test]
fn who_leaves_sends_what_stands_in_line() {
    let mut three = Three::new();
    three.send_both();
    three.zero.leave();
    assert_eq!(three.carry(), [0, 0]);
}

#[test]
fn the_next_ones_time_says_how_long_a_grant_is_waited_for() {
    let mut three = Three::new();
    let [long, short] = three.send_both();
    let _ = [three.receive(1, 20), three.receive(2, 60)];
    three.carry();
    // 60 bytes in 120 ms are the most in a second: 20 should take 40 ms.
    three.zero.at(120 * MS);
    three.carry();
    assert_eq!(three.zero.test(long), Ok(Some(End::Whole(60))));
    assert_eq!(three.zero.test(short), Ok(Some(End::Whole(20))));
    three.send_both();
    three.carry();
    let patience = three.zero.deadline().map(|until| until - 120 * MS);
    assert_eq!(patience, Some(10 * MS), "a quarter of 20 bytes' time");
}
