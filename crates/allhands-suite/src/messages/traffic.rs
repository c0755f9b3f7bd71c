//! Traffic: messages of many ranks at random, of which each rank knows all, so that whoever receives one knows what it must be.

use super::content;
use allhands::{Communicator, Error, MessageError, Source, Tag};

/// A message, as all ranks know of it.
#[derive(Clone, Copy, Debug)]
struct Message {
    from: usize,
    to: usize,
    tag: u32,
    elements: usize,
    number: u32,
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most
    }
}

impl Message {
    fn any(chance: &mut Chance, ranks: u64, number: u32) -> Message {
        let elements = match chance.below(10) {
            0 => 0,
            1..=4 => chance.below(20),
            5..=6 => chance.below(500),
            7..=8 => chance.below(5000),
            _ => chance.below(60_000),
        };
        Message {
            from: chance.below(ranks) as usize,
            to: chance.below(ranks) as usize,
            tag: chance.below(3) as u32,
            elements: elements as usize,
            number,
        }
    }

    fn content(&self) -> Vec<u32> {
        let mixed = |i: u32| i.wrapping_mul(0x9e37_79b9) ^ self.number;
        (0..self.elements as u32).map(mixed).collect()
    }
}

/// What a receive wants of the messages that are left, so that it gets the first of `one`'s source that it takes.
fn wanted(chance: &mut Chance, one: &Message) -> (Source, Tag) {
    let source = match chance.below(4) {
        0 => Source::Any,
        _ => Source::Rank(one.from),
    };
    let tag = match chance.below(3) {
        0 => Tag::Any,
        _ => Tag::Is(one.tag),
    };
    (source, tag)
}

/// Receives all messages to this rank, in any order that their matching allows, while it sends its own.
pub fn random_messages_are_all_received(comm: &Communicator, seed: u64) -> Result<(), Error> {
    const MESSAGES: u32 = 150;
    let (rank, ranks) = (comm.rank(), comm.size());
    let mut chance = Chance(seed);
    let all: Vec<Message> = (0..MESSAGES)
        .map(|number| Message::any(&mut chance, ranks as u64, number))
        .collect();
    let mut chance = Chance(seed ^ (rank as u64 + 1) << 32);
    let mut sending: Vec<Message> = all
        .iter()
        .copied()
        .filter(|m| m.from == rank)
        .rev()
        .collect();
    let mut left: Vec<Message> = all.iter().copied().filter(|m| m.to == rank).collect();
    let mut sent = Vec::new();
    while !(sending.is_empty() && left.is_empty()) {
        // Nobody waits before it has sent all of its own: others may wait for these.
        if !sending.is_empty() && (left.is_empty() || chance.below(2) == 0) {
            if let Some(message) = sending.pop() {
                sent.push(comm.isend(message.content(), message.to, message.tag)?);
            }
            continue;
        }
        let one = left[chance.below(left.len() as u64) as usize];
        let (source, tag) = wanted(&mut chance, &one);
        if !sending.is_empty() && comm.iprobe(source, tag)?.is_none() {
            continue;
        }
        let mut room = vec![0; 60_000];
        let status = comm.recv(&mut room, source, tag)?;
        let takes =
            |m: &Message| m.from == status.source && (tag == Tag::Any || tag == Tag::Is(m.tag));
        let first = left.iter().position(takes).expect("a message to this rank");
        let first = left.remove(first);
        assert_eq!(
            (status.tag, status.elements::<u32>()),
            (first.tag, first.elements)
        );
        assert_eq!(room[..first.elements], first.content(), "{first:?}");
    }
    sent.into_iter()
        .try_for_each(|request| request.wait().map(drop))?;
    comm.barrier()
}

/// The same with receives that are posted beforehand, and end in any order.
pub fn random_receives_are_all_met(comm: &Communicator, seed: u64) -> Result<(), Error> {
    const MESSAGES: u32 = 120;
    let (rank, ranks) = (comm.rank(), comm.size());
    let mut chance = Chance(seed);
    let all: Vec<Message> = (0..MESSAGES)
        .map(|number| Message::any(&mut chance, ranks as u64, number))
        .collect();
    let to_me = all.iter().filter(|m| m.to == rank);
    let from_me = all.iter().filter(|m| m.from == rank);
    let mut receives = Vec::new();
    for message in to_me {
        let room = vec![0u32; message.elements];
        receives.push((message, comm.irecv(room, message.from, message.tag)?));
    }
    let mut sent = Vec::new();
    for message in from_me {
        sent.push(comm.isend(message.content(), message.to, message.tag)?);
    }
    while !receives.is_empty() {
        let at = chance.below(receives.len() as u64) as usize;
        let (message, mut receive) = receives.swap_remove(at);
        if chance.below(2) == 0 && !receive.test() {
            receives.push((message, receive));
            continue;
        }
        let (room, status) = receive.wait()?;
        assert_eq!((status.source, status.tag), (message.from, message.tag));
        assert_eq!(room, message.content(), "{message:?}");
    }
    sent.into_iter()
        .try_for_each(|request| request.wait().map(drop))?;
    comm.barrier()
}

/// Many long messages come that nobody has asked for, while a call goes on, and are received in an order of their own: backwards, by
/// receives that they do not fit, and by any.
pub fn long_messages_wait_for_their_receives(comm: &Communicator) -> Result<(), Error> {
    const MESSAGES: usize = 90;
    let (rank, ranks) = (comm.rank(), comm.size());
    let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let message = |from: usize, tag: usize| content(from + tag, 1100 + 60 * tag);
    for _ in 0..3 {
        let start = |tag| comm.isend(message(rank, tag), right, tag as u32);
        let sent = (0..MESSAGES).map(start).collect::<Result<Vec<_>, _>>()?;
        comm.barrier()?;
        let mut room = vec![0u64; 1100 + 60 * MESSAGES];
        for tag in (0..MESSAGES).rev().filter(|tag| tag.is_multiple_of(3)) {
            let status = comm.recv(&mut room, left, tag as u32)?;
            let length = status.elements::<u64>();
            assert_eq!(room[..length], message(left, tag), "message {tag}");
        }
        for tag in [40, 10, 61] {
            let mut short = vec![9u64; 1000];
            let error = comm.recv(&mut short, left, tag).expect_err("it is longer");
            let is_right = matches!(error, Error::Message(MessageError::TooLong { .. }));
            assert!(is_right && short.iter().all(|it| *it == 9), "{error}");
        }
        for tag in [41, 11, 62] {
            let error = comm.recv(&mut vec![0f64; 9000], left, tag);
            let error = error.expect_err("it has no floats");
            let is_right = matches!(error, Error::Message(MessageError::ElementsDiffer { .. }));
            assert!(is_right, "{error}");
        }
        let is_left =
            |tag: &usize| !tag.is_multiple_of(3) && ![40, 10, 61, 41, 11, 62].contains(tag);
        for tag in (0..MESSAGES).filter(is_left) {
            let seen = comm.probe(Source::Any, Tag::Any)?;
            let status = comm.recv(&mut room, Source::Any, Tag::Any)?;
            assert_eq!((status.source, status.tag), (left, tag as u32));
            assert_eq!(status, seen);
            let length = status.elements::<u64>();
            assert_eq!(room[..length], message(left, tag), "message {tag}");
        }
        for request in sent {
            request.wait()?;
        }
    }
    comm.barrier()
}
