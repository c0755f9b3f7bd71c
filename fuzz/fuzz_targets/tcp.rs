//! What comes over TCP: headers, handshakes, and frames of a peer that has proved itself, each refused or taken, never a panic.
#![no_main]

use allhands::net::tcp::protocol::frame::{HEADER_BYTES, Header};
use allhands::net::tcp::protocol::handshake::{Handshake, Job, Secret, Step};
use allhands::net::tcp::protocol::rank::{Action, Piece, Rank, Target};
use allhands::net::tcp::protocol::{Memory, Settings, Span};
use libfuzzer_sys::fuzz_target;

/// Messages of the fuzzed rank: all of them in one piece of memory.
struct Arena(Vec<u8>);

const ARENA_BYTES: usize = 4096;

impl Memory for Arena {
    fn read(&self, from: Span, into: &mut [u8]) {
        into.copy_from_slice(&self.0[from.address..from.address + from.bytes]);
    }

    fn write(&mut self, into: Span, from: &[u8]) {
        self.0[into.address..into.address + into.bytes].copy_from_slice(from);
    }
}

fn job(rank: u32) -> Job {
    Job {
        secret: Secret::new(b"known to all here").expect("it is long enough"),
        id: [3; 16],
        rank,
        ranks: 3,
        rails: 1,
        settings: settings().digest(),
    }
}

fn settings() -> Settings {
    Settings {
        tags: 8,
        eager_bytes: 100,
        unexpected_bytes: 2000,
        announced: 10,
        copied_bytes: 50,
        part_bytes: (16, 64),
        acknowledged_bytes: 200,
        ..Settings::default()
    }
}

fuzz_target!(|bytes: &[u8]| {
    header(bytes);
    handshakes(bytes);
    frames(bytes);
});

/// What is read of a header is written the same.
fn header(bytes: &[u8]) {
    let Some(encoded) = bytes.first_chunk::<HEADER_BYTES>() else {
        return;
    };
    match Header::decode(encoded) {
        Ok(header) => assert_eq!(&header.encode(), encoded),
        Err(error) => drop(error.to_string()),
    }
}

/// Nobody gets in who does not know the secret, at either end.
fn handshakes(bytes: &[u8]) {
    let (asks, _) = Handshake::ask(&job(0), 1, 0, &[1; 16]);
    let listens = Handshake::listen(&[2; 16]);
    for (mut handshake, job) in [(asks, job(0)), (listens, job(1))] {
        let mut rest = bytes;
        while !rest.is_empty() {
            match handshake.take(&job, &mut rest) {
                Ok(Step::More | Step::Reply { .. }) => {}
                Ok(Step::Done { .. }) => panic!("a stranger is let in"),
                Err(error) => {
                    let _ = error.to_string();
                    break;
                }
            }
        }
    }
}

/// Takes what one rank has to write over its connection to the other.
fn carry(from: &mut Rank<Arena>, at: u32, to: &mut Rank<Arena>, there: u32) {
    while from.transmit().is_some() {
        let mut written = Vec::new();
        let mut spans = Vec::new();
        from.pieces(at, |piece| match piece {
            Piece::Own(own) => written.extend_from_slice(own),
            Piece::Users(span) => spans.push(span),
        });
        assert!(spans.is_empty(), "nothing long is sent");
        from.written(at, written.len());
        to.arrived(there, &written);
    }
}

/// A rank with some messages under way reads anything from a peer that it knows.
fn frames(bytes: &[u8]) {
    let make = |rank| Rank::new(job(rank), settings(), Arena(vec![0; ARENA_BYTES]));
    let (mut peer, mut rank) = (make(0), make(1));
    let span = |address, bytes| Span { address, bytes };
    let _ = peer.send(1, 7, span(0, 0), 0);
    let Some(Action::Connect { connection, .. }) = peer.action() else {
        panic!("a connection is asked for")
    };
    let here = rank.accepted(&[4; 16]);
    peer.connected(connection, &[5; 16]);
    carry(&mut peer, connection, &mut rank, here);
    carry(&mut rank, here, &mut peer, connection);
    carry(&mut peer, connection, &mut rank, here);
    assert_eq!(rank.report().opened, 1);
    let first = rank.receive(0, 0, span(0, 1000), 0);
    let second = rank.receive(0, 0, span(1000, 10), 7);
    let third = rank.receive(0, 1, span(1010, 0), 7);
    let _ = rank.send(0, 2, span(2000, 1000), 0);
    let _ = rank.send(0, 3, span(3000, 60), 0);
    // Windows, one of which is there no more, and what is put into the one whose end is that of all memory.
    let withdrawn = rank.expose(span(3100, 100), 2);
    let window = rank.expose(span(ARENA_BYTES - 300, 300), 2);
    rank.withdraw(withdrawn.expect("it is the first"));
    let attends = rank.attend(0);
    read(&mut rank, here, bytes);
    while let Some(raised) = rank.raised() {
        assert!(Some(raised.window) == window && raised.flag < 2);
    }
    let _ = rank.test(attends);
    rank.cancel(attends);
    // Its own five, those that were announced, those that the credit of 2000 bytes pays for, and one that is refused.
    assert!(rank.messages_under_way() <= 5 + 10 + 2000 / 64 + 1);
    rank.cancel(first);
    for message in [second, third] {
        if let Ok(None) | Err(_) = rank.test(message) {
            rank.cancel(message);
        }
    }
    let notices = std::iter::from_fn(|| rank.hear()).count();
    assert!(notices <= 1024);
    let late = rank.receive(0, 1, span(0, 500), 7);
    let _ = rank.test(late);
}

/// Reads as a driver does: what has its place goes there.
fn read(rank: &mut Rank<Arena>, at: u32, bytes: &[u8]) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let taken = match rank.target(at) {
            Target::Protocol | Target::Nowhere(_) => {
                let taken = rest.len().min(1 + usize::from(rest[0]));
                rank.arrived(at, &rest[..taken]);
                rest = &rest[taken..];
                continue;
            }
            Target::Own(own) => {
                let taken = own.len().min(rest.len());
                own[..taken].copy_from_slice(&rest[..taken]);
                taken
            }
            Target::Users(span) => {
                let taken = span.bytes.min(rest.len());
                let (now, memory) = (&rest[..taken], rank.memory_mut());
                memory.write(span.part(0, taken), now);
                taken
            }
        };
        rank.landed(at, taken);
        rest = &rest[taken..];
    }
}
