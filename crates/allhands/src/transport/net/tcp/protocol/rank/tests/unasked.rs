//! Long messages that nobody has asked for: what is there moves when they are.

use super::{pair, settings};
use crate::transport::net::tcp::protocol::frame::{Header, Kind};
use crate::transport::net::tcp::protocol::matching::End;
use crate::transport::net::tcp::protocol::memory::Span;
use crate::transport::net::tcp::protocol::rank::Target;
use crate::transport::net::tcp::protocol::settings::Settings;

/// Settings with which a few bytes are long, and parts short.
fn short() -> Settings {
    Settings {
        copied_bytes: 4,
        part_bytes: (1, 100),
        ..settings()
    }
}

/// A part of the first message with tag 2, of 60 bytes.
fn part(offset: usize, bytes: usize) -> Vec<u8> {
    let header = Header {
        tag: 2,
        length: 60,
        offset: offset as u64,
        bytes: bytes as u32,
        ..Header::new(Kind::Eager)
    };
    let content = (offset..offset + bytes).map(|at| at as u8 + 1);
    header.encode().into_iter().chain(content).collect()
}

#[test]
fn what_has_landed_moves_to_the_receive_and_the_rest_goes_there() {
    let (_, mut one) = pair(short());
    let (first, second) = (part(0, 20), part(40, 20));
    // One part is here, of a second one five bytes are, and a third one has not begun.
    one.arrived(1, &second);
    one.arrived(0, &first[..first.len() - 15]);
    assert!(one.unasked(0).is_some(), "nobody has asked for it");
    assert_eq!(one.unasked(1), None, "nothing comes there");
    assert!(matches!(one.target(0), Target::Own(left) if left.len() == 15));
    let span = Span {
        address: 10,
        bytes: 80,
    };
    let message = one.receive(0, 2, span, 0);
    assert_eq!((one.unasked(0), one.report().moved), (None, 1));
    let memory = one.memory_mut();
    assert_eq!(memory.0[10..16], [1, 2, 3, 4, 5, 0]);
    assert_eq!(memory.0[50..70], second[second.len() - 20..]);
    let rest = Span {
        address: 15,
        bytes: 15,
    };
    assert!(matches!(one.target(0), Target::Users(span) if span == rest));
    one.arrived(1, &part(20, 20));
    assert_eq!(one.test(message), Ok(None));
    one.arrived(0, &first[first.len() - 15..]);
    assert_eq!(one.test(message), Ok(Some(End::Whole(60))));
    let right: Vec<u8> = (1..=60).collect();
    assert_eq!(one.memory_mut().0[10..70], right);
    assert_eq!(one.memory_mut().0[70..], [0; 30]);
}

#[test]
fn what_does_not_fit_its_late_receive_goes_on_apart() {
    let (_, mut one) = pair(short());
    let all = part(0, 60);
    one.arrived(0, &all[..all.len() - 30]);
    let span = Span {
        address: 10,
        bytes: 59,
    };
    let message = one.receive(0, 2, span, 0);
    assert_eq!(one.report().moved, 0);
    one.arrived(0, &all[all.len() - 30..]);
    assert_eq!(one.test(message), Ok(Some(End::TooLong)));
    assert_eq!(one.memory_mut().0, [0; 100]);
}

#[test]
fn a_quarter_of_the_credit_is_left_to_others() {
    let settings = Settings {
        eager_bytes: 50,
        unexpected_bytes: 800,
        ..short()
    };
    let (mut zero, _) = pair(settings);
    assert!(!zero.goes_unasked(1, 51), "it is longer than any that does");
    let span = Span {
        address: 0,
        bytes: 50,
    };
    let mut gone = 0;
    while zero.goes_unasked(1, 50) {
        zero.send(1, 2, span, 0).unwrap();
        gone += 1;
    }
    // The first message cost 64 bytes, and each of these costs 114.
    assert_eq!(gone, 4);
    zero.send(1, 3, span, 0).unwrap();
    assert_eq!(zero.report().waited, 0, "others go on");
}
