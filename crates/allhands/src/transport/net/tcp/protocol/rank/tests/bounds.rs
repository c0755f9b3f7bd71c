//! Bounds: a peer that has proved itself and announces more than any does is lost, with the reason.

use super::*;
use crate::transport::net::tcp::protocol::frame::NOTICE_BYTES;
use crate::transport::net::tcp::protocol::handshake::{Handshake, Step};

const NOTHING: Span = Span {
    address: 0,
    bytes: 0,
};

/// What a rank says of its peer when it is lost.
fn said(rank: &mut Rank<Bytes>) -> String {
    let sent = rank.send(0, 0, NOTHING, 0);
    sent.expect_err("the peer is lost").to_string()
}

/// Has a rank of these settings read headers, and payloads of zeros, until its peer is lost; after how many.
fn read(one: &mut Rank<Bytes>, headers: impl Iterator<Item = Header>) -> usize {
    for (count, header) in headers.enumerate() {
        let payload = vec![0; header.bytes as usize];
        one.arrived(0, &[&header.encode()[..], &payload].concat());
        if one.action() == Some(Action::Close { connection: 0 }) {
            return count;
        }
        // What it has to say comes to nobody.
        while let Some(at) = one.transmit() {
            one.blocked(at);
        }
    }
    panic!("it bears all that")
}

fn few() -> Settings {
    Settings {
        announced: 10,
        part_bytes: (4, 100),
        ..settings()
    }
}

#[test]
fn who_announces_too_many_messages_is_lost() {
    let (_, mut one) = pair(few());
    // What was asked for counts no more.
    for _ in 0..5 {
        one.receive(0, 3, NOTHING, 0);
    }
    let ready = |number| Header {
        tag: 3,
        number,
        length: 1 << 40,
        ..Header::new(Kind::Ready)
    };
    assert_eq!(read(&mut one, (0..).map(ready)), 15);
    assert_eq!(
        said(&mut one),
        "rank 0 is lost: more than 10 messages are announced that nobody has asked for"
    );
    // Only the receives are left, to fail, and one message that is whole.
    assert_eq!(one.messages_under_way(), 6);
}

#[test]
fn who_grants_too_many_messages_is_lost() {
    let (_, mut one) = pair(few());
    let grant = |number| Header {
        tag: 3,
        number,
        ..Header::new(Kind::Grant)
    };
    assert_eq!(read(&mut one, (0..).map(grant)), 10);
    assert_eq!(
        said(&mut one),
        "rank 0 is lost: more than 10 messages are granted that nobody has sent"
    );
}

#[test]
fn who_gives_too_many_notices_is_lost() {
    let notice = |number| Header {
        number,
        length: NOTICE_BYTES as u64,
        bytes: NOTICE_BYTES as u32,
        ..Header::new(Kind::Notice)
    };
    let (_, mut one) = pair(few());
    assert_eq!(read(&mut one, (0..).map(notice)), 1024);
    let right = "rank 0 is lost: more than 1024 notices came at once";
    assert_eq!(said(&mut one), right);
    // Heard or not, each leaves a gap before it.
    let (_, mut one) = pair(few());
    let gaps = (0..).map(|number| notice(2 * number + 1));
    assert_eq!(read(&mut one, gaps), 512);
    assert_eq!(said(&mut one), right);
}

#[test]
fn parts_that_are_too_short_or_too_scattered_end_a_rank() {
    let part = |offset, bytes| Header {
        tag: 2,
        length: 1 << 40,
        offset,
        bytes,
        ..Header::new(Kind::Granted)
    };
    let (_, mut one) = pair(few());
    one.receive(0, 2, NOTHING, 0);
    assert_eq!(
        read(&mut one, [part(0, 4), part(9, 3)].into_iter()),
        1,
        "a part of 4 bytes is long enough"
    );
    assert_eq!(
        said(&mut one),
        "rank 0 is lost: 3 bytes at 9 are a part of a message of 1099511627776; parts have 4 at least"
    );
    let (_, mut one) = pair(few());
    one.receive(0, 2, NOTHING, 0);
    let scattered = (0..).map(|at| part(5 * at, 4));
    assert_eq!(read(&mut one, scattered), 1 << 16);
    assert_eq!(
        said(&mut one),
        "rank 0 is lost: the parts of a message of 1099511627776 bytes leave more than 65536 gaps"
    );
}

#[test]
fn who_makes_ever_more_connections_is_lost() {
    let (_, mut one) = pair(few());
    let zero = job((0, 2), &few());
    for connection in 2..100 {
        let at = one.accepted(&[connection as u8; 16]);
        let (mut handshake, hello) = Handshake::ask(&zero, 1, 0, &[7; 16]);
        one.arrived(at, hello.bytes());
        let mut challenge = Vec::new();
        one.pieces(at, |piece| match piece {
            Piece::Own(own) => challenge.extend_from_slice(own),
            Piece::Users(_) => panic!("nothing is sent"),
        });
        one.written(at, challenge.len());
        let step = handshake.take(&zero, &mut &challenge[..]);
        let Ok(Step::Done {
            reply: Some(last), ..
        }) = step
        else {
            panic!("{step:?}")
        };
        one.arrived(at, last.bytes());
        if let Some(action) = one.action() {
            assert_eq!((connection, action), (68, Action::Close { connection: at }));
            let right = "rank 0 is lost: it has made more than 68 connections over one rail";
            assert_eq!(said(&mut one), right);
            return;
        }
    }
    panic!("it bears all that")
}

#[test]
fn who_takes_everything_and_says_nothing_is_lost() {
    let (_, mut one) = pair(Settings {
        connections: 2,
        part_bytes: (1 << 20, 1 << 20),
        // What was written is let go.
        resends: false,
        ..settings()
    });
    for number in 0.. {
        let long = Span {
            address: 0,
            bytes: 64 << 20,
        };
        if let Err(lost) = one.send(0, 4, long, 0) {
            let right = "rank 0 is lost: it has acknowledged nothing of 107";
            assert!(lost.to_string().starts_with(right), "{lost}");
            assert!((32..34).contains(&number), "{number}");
            return;
        }
        let grant = Header {
            tag: 4,
            number,
            ..Header::new(Kind::Grant)
        };
        one.arrived(0, &grant.encode());
        while let Some(at) = one.transmit() {
            let mut bytes = 0;
            one.pieces(at, |piece| match piece {
                Piece::Own(own) => bytes += own.len(),
                Piece::Users(span) => bytes += span.bytes,
            });
            one.written(at, bytes);
        }
    }
}

#[test]
fn a_short_message_that_is_taken_back_arrives_and_gives_its_credit_back() {
    let (mut zero, mut one) = pair(Settings {
        copied_bytes: 0,
        part_bytes: (10, 10),
        ..settings()
    });
    zero.memory_mut().0[..40].fill(3);
    let span = Span {
        address: 0,
        bytes: 40,
    };
    // Once when nothing of it is away, and once when a part of it is.
    for half in [false, true] {
        let sent = zero.send(1, 2, span, 0).expect("rank 1 is there");
        if half {
            let at = zero.transmit().expect("it goes at once");
            let mut bytes = Vec::new();
            let mut users = 0;
            zero.pieces(at, |piece| match piece {
                Piece::Own(own) if users == 0 => bytes.extend_from_slice(own),
                Piece::Own(_) => {}
                Piece::Users(span) => {
                    users += 1;
                    if users == 1 {
                        bytes.resize(bytes.len() + span.bytes, 3);
                    }
                }
            });
            bytes.truncate(bytes.len() - 4);
            zero.written(at, bytes.len());
            one.arrived(at, &bytes);
        }
        zero.cancel(sent);
        zero.memory_mut().0[..40].fill(9);
        carry(&mut zero, &mut one);
        let received = one.receive(
            0,
            2,
            Span {
                address: 50,
                ..span
            },
            0,
        );
        assert_eq!(one.test(received), Ok(Some(End::Whole(40))), "{half}");
        assert_eq!(one.memory_mut().0[50..90], [3; 40]);
        zero.memory_mut().0[..40].fill(3);
        let (spent, credit) = (zero.credit(1).spent, one.credit(0));
        // But for the message that nobody has asked for.
        let kept = 64;
        assert_eq!((spent, spent), (credit.taken, credit.returned + kept));
        assert_eq!(
            (zero.messages_under_way(), one.messages_under_way()),
            (1, 1)
        );
    }
}
