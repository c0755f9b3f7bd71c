//! Windows, frame by frame: parts that come twice, late, or to where nothing may be put.

use super::super::Message;
use super::{Bytes, pair, reached, settings};
use crate::transport::net::tcp::protocol::frame::{FrameError, Header, Kind};
use crate::transport::net::tcp::protocol::memory::{Memory, Span};
use crate::transport::net::tcp::protocol::peer::Loss;
use crate::transport::net::tcp::protocol::rank::Rank;

const WINDOW: Span = Span {
    address: 10,
    bytes: 20,
};

fn put(number: u64, place: u64, bytes: u32) -> Header {
    Header {
        number,
        length: u64::from(bytes),
        bytes,
        signature: place,
        ..Header::new(Kind::Put)
    }
}

fn raise(number: u64) -> Header {
    Header {
        number,
        ..Header::new(Kind::Raise)
    }
}

fn there(rank: &mut Rank<Bytes>) -> Vec<u8> {
    let mut there = vec![0; WINDOW.bytes];
    rank.memory_mut().read(WINDOW, &mut there);
    there
}

#[test]
fn a_part_that_comes_twice_at_once_does_not_touch_what_was_seen() {
    let mut one = reached();
    let window = one.expose(WINDOW, 1).unwrap();
    assert_eq!(window, 0);
    let part = put(0, 2, 8).encode();
    one.arrived(0, &[&part[..], b"abc"].concat());
    // The same over another connection, as the sender has given up the first.
    one.arrived(1, &[&part[..], b"abcdefgh"].concat());
    one.arrived(1, &raise(8).encode());
    assert_eq!(one.raised().map(|raised| raised.window), Some(window));
    assert_eq!(&there(&mut one)[..11], b"\0\0abcdefgh\0");
    one.memory_mut().write(WINDOW, &[9; 20]);
    one.arrived(0, b"defgh");
    assert_eq!(there(&mut one), [9; 20]);
    // The connection goes on.
    one.arrived(0, &[&put(9, 0, 1).encode()[..], b"z"].concat());
    assert_eq!(there(&mut one)[0], b'z');
}

#[test]
fn nothing_is_written_to_a_window_that_was_withdrawn_meanwhile() {
    let mut one = reached();
    let window = one.expose(WINDOW, 1).unwrap();
    let part = put(0, 0, 8).encode();
    one.arrived(0, &[&part[..], b"abc"].concat());
    one.withdraw(window);
    one.memory_mut().write(WINDOW, &[9; 20]);
    one.arrived(0, b"defgh");
    one.arrived(0, &[&put(8, 8, 2).encode()[..], b"ij"].concat());
    one.arrived(1, &raise(10).encode());
    assert_eq!(there(&mut one), [9; 20]);
    assert_eq!(one.raised(), None);
    assert_eq!(one.loss(0), None);
}

#[test]
fn who_puts_to_where_there_is_nothing_is_lost() {
    let outside = FrameError::OutsideWindow {
        window: 0,
        place: 19,
        length: 2,
        bytes: 20,
    };
    let flag = FrameError::Flag {
        window: 0,
        flag: 1,
        flags: 1,
    };
    let never = FrameError::Window { window: 1 };
    let of_window = |header| Header { tag: 1, ..header };
    let second = Header {
        offset: 1,
        ..raise(0)
    };
    for (header, error) in [
        (put(0, 19, 2), outside),
        (second, flag),
        (of_window(put(0, 0, 1)), never),
        (of_window(raise(0)), never),
    ] {
        let mut one = reached();
        one.expose(WINDOW, 1).unwrap();
        let attends = one.attend(0);
        assert_eq!(one.test(attends), Ok(None));
        one.arrived(0, &[&header.encode()[..], b"ab"].concat());
        assert_eq!(one.loss(0), Some(Loss::Frame(error)));
        let lost = one.test(attends).unwrap_err();
        assert_eq!((lost.rank, lost.loss), (0, Loss::Frame(error)));
        one.cancel(attends);
        assert_eq!(there(&mut one), [0; 20]);
    }
}

/// A put and a message may have the same numbers: the window's and the tag, and the places in both streams.
#[test]
fn a_put_that_is_taken_back_is_no_message_that_waits() {
    let settings = crate::transport::net::tcp::protocol::settings::Settings {
        eager_bytes: 0,
        copied_bytes: 0,
        ..settings()
    };
    let (mut zero, mut one) = pair(settings);
    one.expose(WINDOW, 1).unwrap();
    one.expose(WINDOW, 1).unwrap();
    one.expose(WINDOW, 1).unwrap();
    let span = Span {
        address: 0,
        bytes: 20,
    };
    let message = zero.send(1, 2, span, 0).unwrap();
    let back = zero.put(1, (2, 0), 0, span).unwrap();
    zero.cancel(back);
    let into = Span {
        address: 40,
        ..span
    };
    let received = one.receive(0, 2, into, 0);
    let wait = |zero: &mut Rank<Bytes>, one: &mut Rank<Bytes>, what: Message| {
        for _ in 0..9 {
            super::carry(one, zero);
            super::carry_users(zero, one);
            if let Ok(Some(end)) = one.test(what) {
                return Some(end);
            }
        }
        None
    };
    assert!(wait(&mut zero, &mut one, received).is_some());
    assert!(zero.test(message).is_ok());
}
