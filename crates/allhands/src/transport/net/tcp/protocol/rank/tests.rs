//! The rank, frame by frame: parts that come over two connections.

use super::{Action, End, Piece, Rank, Target};
use crate::transport::net::tcp::protocol::frame::{Header, Kind};
use crate::transport::net::tcp::protocol::handshake::{Job, Secret};
use crate::transport::net::tcp::protocol::memory::{Memory, Span};
use crate::transport::net::tcp::protocol::settings::Settings;

mod bounds;
mod line;
mod refused;
mod retired;
mod unasked;
mod watched;
mod windows;

struct Bytes(Vec<u8>);

impl Memory for Bytes {
    fn read(&self, from: Span, into: &mut [u8]) {
        into.copy_from_slice(&self.0[from.address..][..from.bytes]);
    }

    fn write(&mut self, into: Span, from: &[u8]) {
        self.0[into.address..][..into.bytes].copy_from_slice(from);
    }
}

fn settings() -> Settings {
    Settings {
        connections: 2,
        ..Settings::default()
    }
}

fn job((rank, ranks): (u32, u32), settings: &Settings) -> Job {
    Job {
        secret: Secret::new(b"only for this test").unwrap(),
        id: [0; 16],
        rank,
        ranks,
        rails: 1,
        settings: settings.digest(),
    }
}

fn with(rank: u32, settings: Settings) -> Rank<Bytes> {
    with_ranks((rank, 2), settings)
}

fn with_ranks(which: (u32, u32), settings: Settings) -> Rank<Bytes> {
    Rank::new(job(which, &settings), settings, Bytes(vec![0; 100]))
}

/// Everything that a rank has to write to a connection, which is the only one with something.
fn all_of(from: &mut Rank<Bytes>, connection: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(at) = from.transmit() {
        assert_eq!(at, connection);
        bytes.extend(written(from, at));
    }
    bytes
}

/// What a rank has to write to a connection now.
fn written(from: &mut Rank<Bytes>, at: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    from.pieces(at, |piece| match piece {
        Piece::Own(own) => bytes.extend_from_slice(own),
        Piece::Users(_) => panic!("nothing long is sent"),
    });
    from.written(at, bytes.len());
    bytes
}

/// Carries everything that one rank has to write to the other, whose connections have the same numbers.
fn carry(from: &mut Rank<Bytes>, to: &mut Rank<Bytes>) {
    while let Some(at) = from.transmit() {
        let bytes = written(from, at);
        to.arrived(at, &bytes);
    }
}

/// As [`carry`], with what is sent from the memory of its sender.
fn carry_users(from: &mut Rank<Bytes>, to: &mut Rank<Bytes>) {
    while let Some(at) = from.transmit() {
        let (mut bytes, memory) = (Vec::new(), &from.memory);
        from.pieces(at, |piece| match piece {
            Piece::Own(own) => bytes.extend_from_slice(own),
            Piece::Users(span) => bytes.extend_from_slice(&memory.0[span.address..][..span.bytes]),
        });
        from.written(at, bytes.len());
        to.arrived(at, &bytes);
    }
}

/// A rank with two connections from rank 0, which has sent it the first message of tag 1, without bytes.
fn reached() -> Rank<Bytes> {
    pair(settings()).1
}

/// Both ranks, of which rank 0 has sent that message.
fn pair(settings: Settings) -> (Rank<Bytes>, Rank<Bytes>) {
    let (mut zero, mut one) = (with(0, settings), with(1, settings));
    let nothing = Span {
        address: 0,
        bytes: 0,
    };
    zero.send(1, 1, nothing, 0).unwrap();
    for number in 0..2 {
        let Some(Action::Connect { connection, .. }) = zero.action() else {
            panic!("two connections are asked for")
        };
        assert_eq!((connection, one.accepted(&[9; 16])), (number, number));
        zero.connected(connection, &[8; 16]);
    }
    for _ in 0..3 {
        carry(&mut zero, &mut one);
        carry(&mut one, &mut zero);
    }
    assert_eq!(one.report().opened, 2);
    (zero, one)
}

#[test]
fn a_part_that_comes_twice_at_once_does_not_touch_a_message_that_is_over() {
    let mut one = reached();
    let span = Span {
        address: 10,
        bytes: 8,
    };
    let message = one.receive(0, 2, span, 0);
    let header = Header {
        tag: 2,
        length: 8,
        bytes: 8,
        ..Header::new(Kind::Eager)
    };
    let begun = [&header.encode()[..], b"abc"].concat();
    one.arrived(0, &begun);
    assert!(matches!(
        one.target(0),
        Target::Users(Span { bytes: 5, .. })
    ));
    let whole = [&header.encode()[..], b"abcdefgh"].concat();
    one.arrived(1, &whole);
    // The first connection's part goes nowhere now, and so does a third that begins before anybody has asked.
    assert!(matches!(one.target(0), Target::Nowhere(5)));
    one.arrived(1, &begun);
    assert!(matches!(one.target(1), Target::Nowhere(5)));
    assert_eq!(one.test(message), Ok(Some(End::Whole(8))));
    one.memory_mut().0[10..18].fill(0);
    one.arrived(0, b"defgh");
    one.arrived(1, b"defgh");
    one.arrived(1, &whole);
    assert_eq!(one.memory_mut().0, [0; 100]);
}

#[test]
fn what_comes_without_credit_closes_the_connection() {
    let mut one = reached();
    let header = Header {
        tag: 2,
        length: 1 << 20,
        bytes: 16 << 10,
        ..Header::new(Kind::Eager)
    };
    one.arrived(1, &header.encode());
    assert_eq!(one.action(), Some(Action::Close { connection: 1 }));
    let span = Span {
        address: 0,
        bytes: 8,
    };
    let said = one.send(0, 0, span, 0).unwrap_err().to_string();
    let right = "rank 0 is lost: a message of 1048576 bytes came without credit";
    assert_eq!(said, right);
}
