//! Retired tags: whoever sends with them neither waits nor pays, and nothing of it is taken for what comes later.

use super::*;
use crate::transport::net::tcp::protocol::rank::Message;

/// Rooms in a rank's memory: what is sent, and what is received.
const SENT: Span = Span {
    address: 0,
    bytes: 20,
};
const RECEIVED: Span = Span {
    address: 50,
    bytes: 20,
};

fn little() -> Settings {
    Settings {
        eager_bytes: 10,
        copied_bytes: 10,
        unexpected_bytes: 200,
        announced: 4,
        ..settings()
    }
}

/// Carries everything between both, also what lies in their memory.
fn carry_all(all: &mut (Rank<Bytes>, Rank<Bytes>)) {
    for _ in 0..20 {
        carry_memory(&mut all.0, &mut all.1);
        carry_memory(&mut all.1, &mut all.0);
    }
}

fn carry_memory(from: &mut Rank<Bytes>, to: &mut Rank<Bytes>) {
    while let Some(at) = from.transmit() {
        let (mut bytes, memory) = (Vec::new(), from.memory_mut().0.clone());
        from.pieces(at, |piece| match piece {
            Piece::Own(own) => bytes.extend_from_slice(own),
            Piece::Users(span) => bytes.extend_from_slice(&memory[span.address..][..span.bytes]),
        });
        from.written(at, bytes.len());
        to.arrived(at, &bytes);
    }
}

fn send(zero: &mut Rank<Bytes>, tag: u32, bytes: usize) -> Message {
    zero.send(1, tag, SENT.part(0, bytes), 0).unwrap()
}

#[test]
fn who_sends_with_retired_tags_neither_waits_nor_pays() {
    let mut all = pair(little());
    // Some came before, of which two wait at their sender.
    let sent = [8, 8, 20, 20].map(|bytes| send(&mut all.0, 5, bytes));
    carry_all(&mut all);
    all.1.retire(4..8);
    carry_all(&mut all);
    for message in sent {
        assert!(matches!(all.0.test(message), Ok(Some(End::Whole(_)))));
    }
    for round in 0..100 {
        let (short, long) = (send(&mut all.0, 4, 8), send(&mut all.0, 7, 20));
        carry_all(&mut all);
        for message in [short, long] {
            let end = all.0.test(message);
            assert!(matches!(end, Ok(Some(End::Whole(_)))), "{round}: {end:?}");
        }
    }
    // The message that nobody has asked for has other tags.
    assert_eq!(all.1.messages_under_way(), 1);
    // Tags beside these are as they were.
    for tag in [3, 8] {
        all.0.memory_mut().0[..20].fill(tag as u8);
        let sent = send(&mut all.0, tag, 20);
        let received = all.1.receive(0, tag, RECEIVED, 0);
        carry_all(&mut all);
        assert_eq!(all.0.test(sent), Ok(Some(End::Whole(20))));
        assert_eq!(all.1.test(received), Ok(Some(End::Whole(20))));
        assert_eq!(all.1.memory_mut().0[50..70], [tag as u8; 20]);
    }
}

#[test]
fn tags_that_are_used_again_begin_anew() {
    let mut all = pair(little());
    for round in 1..5_u8 {
        // More than is received, and grants for more than is sent.
        let ahead = all.0.receive(1, 9, RECEIVED, 0);
        for _ in 0..round {
            send(&mut all.0, 9, 8);
        }
        let received = all.1.receive(0, 9, RECEIVED, 0);
        carry_all(&mut all);
        assert_eq!(all.1.test(received), Ok(Some(End::Whole(8))));
        all.0.cancel(ahead);
        all.1.retire(8..16);
        send(&mut all.0, 9, 8);
        all.0.retire(8..16);
        carry_all(&mut all);
        all.0.readmit(8..16);
        all.1.readmit(8..16);
        all.0.memory_mut().0[..20].fill(round);
        let sent = send(&mut all.0, 9, 20);
        let received = all.1.receive(0, 9, RECEIVED, 0);
        let back = all.1.send(0, 9, SENT, 0).unwrap();
        let came = all.0.receive(1, 9, RECEIVED, 0);
        carry_all(&mut all);
        assert_eq!(all.0.test(sent), Ok(Some(End::Whole(20))));
        assert_eq!(all.1.test(received), Ok(Some(End::Whole(20))));
        assert_eq!(all.1.memory_mut().0[50..70], [round; 20]);
        assert_eq!(all.1.test(back), Ok(Some(End::Whole(20))));
        assert_eq!(all.0.test(came), Ok(Some(End::Whole(20))));
        all.0.retire(8..16);
        all.1.retire(8..16);
        all.0.readmit(8..16);
        all.1.readmit(8..16);
    }
    assert_eq!(all.1.messages_under_way(), 1);
}

/// What was thrown away may be sent again over another connection, and is thrown away once more.
#[test]
fn what_comes_twice_costs_nobody() {
    let (_, mut one) = pair(little());
    one.retire(4..8);
    let header = Header {
        tag: 5,
        length: 8,
        bytes: 8,
        ..Header::new(Kind::Eager)
    };
    for _ in 0..50 {
        one.arrived(0, &[&header.encode()[..], b"abcdefgh"].concat());
    }
    let credit = one.credit(0);
    assert_eq!(
        (credit.taken - 64, credit.tolerated),
        (credit.returned, 200)
    );
    // It may have too much credit now, and is let be: twice as much as the bound is not refused, and more is.
    let unasked = (0..).map(|number| Header {
        tag: 9,
        number,
        ..header
    });
    let come = unasked.take_while(|header| {
        one.arrived(0, &[&header.encode()[..], b"abcdefgh"].concat());
        one.action().is_none()
    });
    assert_eq!(come.count(), 4);
}

#[test]
fn who_announces_ever_more_with_retired_tags_is_lost() {
    let (_, mut one) = pair(little());
    one.retire(4..8);
    let mut count = 0;
    while one.action().is_none() {
        let header = Header {
            tag: 5,
            number: count,
            length: 100,
            ..Header::new(Kind::Ready)
        };
        one.arrived(0, &header.encode());
        while let Some(at) = one.transmit() {
            one.blocked(at);
        }
        count += 1;
        assert!(count < 100_000, "it bears all that");
    }
}
