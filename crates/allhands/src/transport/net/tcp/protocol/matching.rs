//! Matching: which receive a message is for, and what becomes of messages that nobody has asked for yet.
//!
//! The n-th message from a rank with a tag is for the n-th receive from that rank with that tag. Both have the number n, so a
//! message finds its receive by its number, in whatever order frames come over several connections.

use super::buffers::{Buffer, Buffers};
use super::frame::{FrameError, Header, Kind};
use super::memory::Span;
use super::slots::Slots;
use super::stripe::Extents;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// What a message that nobody asked for counts besides its bytes.
pub const KEPT_BYTES: u64 = 64;

/// How far numbers may run ahead of the receives.
const MOST_AHEAD: u64 = 1 << 32;

/// How many gaps the parts of a message may leave that are here.
const MOST_GAPS: u32 = 1 << 16;

/// A tag and a number: all that tells messages from one rank to another apart.
pub type Key = (u32, u64);

/// A map whose keys are numbers that peers of the same job choose.
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// Mixes numbers into a hash in a few instructions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All of it is away, or here: so many bytes.
    Whole(usize),
    /// It was longer than there was room for.
    TooLong,
    /// It is of a call with another signature.
    Differs,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Nobody has asked for it.
    Unknown,
    /// To the memory of its receive.
    Memory(Span),
    /// Nobody wants it any more.
    Nowhere,
}

/// A message that comes, or for which a receive waits.
#[derive(Debug)]
pub struct Incoming {
    /// Whose it is.
    pub peer: u32,
    /// Its tag and number.
    pub key: Key,
    /// Where it goes.
    pub destination: Destination,
    /// Its length, when a frame has said it.
    pub length: Option<u64>,
    /// The signature of the call that sends it, and of the one that receives it; 0 says nothing.
    pub signatures: (u64, u64),
    /// Where it lands, if nobody had asked for it when it began to come.
    pub kept: Option<Buffer>,
    /// Which of its parts are here, if it comes in several.
    received: Extents,
    /// Whether all of it is here.
    pub is_whole: bool,
    /// Whether it was granted.
    pub is_granted: bool,
    /// Whether it waits at its sender, and nobody has asked for it.
    is_announced: bool,
    /// Whether its sender has paid with credit, which is to be given back.
    pub is_paid: bool,
    /// How it ended, when its receive is complete.
    pub end: Option<End>,
}

impl Incoming {
    /// Where `bytes` bytes at `offset` go, if they go to the receive's memory.
    #[must_use]
    pub fn span(&self, offset: u64, bytes: usize) -> Option<Span> {
        match (self.destination, self.length) {
            _ if self.differs() => None,
            (Destination::Memory(span), Some(length)) if length <= span.bytes as u64 => {
                Some(span.part(offset as usize, bytes))
            }
            _ => None,
        }
    }

    /// Which of its parts are here, in their order; nothing is said of one that came as a whole.
    #[must_use]
    pub fn landed(&self) -> &[(u64, u64)] {
        self.received.all()
    }

    /// Whether it is of another call than its receive.
    #[must_use]
    pub fn differs(&self) -> bool {
        let (theirs, ours) = self.signatures;
        theirs != ours && theirs != 0 && ours != 0
    }

    /// What it costs of the sender's credit.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.length.unwrap_or(0).saturating_add(KEPT_BYTES)
    }
}

/// The receives from one rank and its messages.
#[derive(Debug, Default)]
pub struct Matching {
    /// How many receives there were, by tag.
    posted: Map<u32, u64>,
    /// Those under way, and messages that wait for theirs.
    under_way: Map<Key, u32>,
    /// How many of them were announced, and nobody has asked for them.
    announced: u32,
    /// How many were granted before anything was said of them.
    granted_ahead: u32,
    spare: Vec<Extents>,
}

/// Where a frame belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// To this message.
    Here(u32),
    /// To one that is whole already, or is not wanted.
    Stale,
}

impl Matching {
    /// Notes a receive; the message that it is for, which may be there already.
    pub fn post(
        &mut self,
        all: &mut Slots<Incoming>,
        peer: u32,
        tag: u32,
        (into, signature): (Span, u64),
    ) -> u32 {
        let posted = self.posted.entry(tag).or_default();
        let key = (tag, *posted);
        *posted += 1;
        let at = self.find_or_add(all, peer, key);
        if let Some(incoming) = all.get_mut(at) {
            incoming.destination = Destination::Memory(into);
            incoming.signatures.1 = signature;
            self.announced -= u32::from(std::mem::take(&mut incoming.is_announced));
        }
        at
    }

    /// Notes that a message waits at its sender.
    ///
    /// # Errors
    /// If that are more than `most` of which nobody has asked for any.
    pub fn announce(&mut self, incoming: &mut Incoming, most: u32) -> Result<(), FrameError> {
        if incoming.destination == Destination::Unknown && !incoming.is_announced {
            if self.announced >= most {
                return Err(FrameError::Announced { most });
            }
            incoming.is_announced = true;
            self.announced += 1;
        }
        Ok(())
    }

    /// How many messages are announced that nobody has asked for.
    #[must_use]
    pub fn announced(&self) -> u32 {
        self.announced
    }

    /// Notes that a message is granted.
    pub fn grant(&mut self, incoming: &mut Incoming) {
        incoming.is_granted = true;
        self.granted_ahead += u32::from(incoming.length.is_none());
    }

    /// How many messages are granted of which nothing was said yet.
    #[must_use]
    pub fn granted_ahead(&self) -> u32 {
        self.granted_ahead
    }

    fn find_or_add(&mut self, all: &mut Slots<Incoming>, peer: u32, key: Key) -> u32 {
        let spare = &mut self.spare;
        *self.under_way.entry(key).or_insert_with(|| {
            all.insert(Incoming {
                peer,
                key,
                destination: Destination::Unknown,
                length: None,
                signatures: (0, 0),
                kept: None,
                received: spare.pop().unwrap_or_default(),
                is_whole: false,
                is_granted: false,
                is_announced: false,
                is_paid: false,
                end: None,
            })
        })
    }

    /// The message that a frame speaks of.
    ///
    /// # Errors
    /// What is wrong with the frame.
    pub fn find(
        &mut self,
        all: &mut Slots<Incoming>,
        peer: u32,
        header: &Header,
    ) -> Result<Found, FrameError> {
        let key = (header.tag, header.number);
        let expected = self.posted.get(&header.tag).copied().unwrap_or(0);
        if header.number < expected && !self.under_way.contains_key(&key) {
            return Ok(Found::Stale);
        }
        if header.number - header.number.min(expected) > MOST_AHEAD {
            let number = header.number;
            return Err(FrameError::Number { number, expected });
        }
        let at = self.find_or_add(all, peer, key);
        let Some(incoming) = all.get_mut(at) else {
            return Ok(Found::Stale);
        };
        let length = header.length;
        match incoming.length {
            Some(earlier) if earlier != length => Err(FrameError::Length { earlier, length }),
            earlier => {
                self.granted_ahead -= u32::from(earlier.is_none() && incoming.is_granted);
                incoming.length = Some(length);
                incoming.signatures.0 = header.signature;
                Ok(Found::Here(at))
            }
        }
    }

    /// Takes a message out that is over.
    pub fn remove(&mut self, all: &mut Slots<Incoming>, at: u32, buffers: &mut Buffers) {
        let Some(mut incoming) = all.remove(at) else {
            return;
        };
        self.under_way.remove(&incoming.key);
        self.announced -= u32::from(incoming.is_announced);
        self.granted_ahead -= u32::from(incoming.is_granted && incoming.length.is_none());
        if let Some(kept) = incoming.kept.take() {
            buffers.give(kept);
        }
        incoming.received.clear();
        self.spare.push(incoming.received);
    }

    /// Takes a receive back for which nothing has come, nor been promised, if no later one with its tag was noted: the message
    /// is for the next receive then. Else its message will come and go nowhere.
    pub fn cancel(&mut self, all: &mut Slots<Incoming>, at: u32, buffers: &mut Buffers) {
        let Some(incoming) = all.get_mut(at) else {
            return;
        };
        let (tag, number) = incoming.key;
        incoming.destination = Destination::Nowhere;
        let is_over = incoming.is_whole;
        let is_untouched = incoming.length.is_none() && !incoming.is_granted;
        let posted = self.posted.entry(tag).or_default();
        if is_untouched && *posted == number + 1 {
            *posted = number;
            self.remove(all, at, buffers);
        } else if is_over {
            self.remove(all, at, buffers);
        }
    }

    /// Forgets how many messages there were with these tags, of which none is here.
    pub fn forget(&mut self, tags: &Range<u32>) {
        self.posted.retain(|tag, _| !tags.contains(tag));
    }

    /// All messages, here or not.
    pub fn under_way(&self) -> impl Iterator<Item = u32> {
        self.under_way.values().copied()
    }
}

/// Notes that a part has landed; whether the message is whole by that.
///
/// # Errors
/// If the parts that are here leave too many gaps.
pub fn land(incoming: &mut Incoming, header: &Header) -> Result<bool, FrameError> {
    if incoming.is_whole {
        return Ok(false);
    }
    let (begin, end) = (header.offset, header.offset + u64::from(header.bytes));
    incoming.is_whole = if end - begin == header.length {
        true
    } else {
        incoming.received.insert(begin, end);
        if incoming.received.count() > MOST_GAPS as usize {
            let (length, most) = (header.length, MOST_GAPS);
            return Err(FrameError::Scattered { length, most });
        }
        incoming.received.covers(0, header.length)
    };
    Ok(incoming.is_whole)
}

/// Makes a message ready for a part of it: if nobody has asked for it, it needs a buffer. What its sender pays for it now.
///
/// # Errors
/// If it comes unasked, and the sender has not so much credit.
pub fn admit(
    incoming: &mut Incoming,
    header: &Header,
    credit: u64,
    buffers: &mut Buffers,
) -> Result<u64, FrameError> {
    let mut cost = 0;
    if header.kind == Kind::Eager && !incoming.is_paid {
        cost = incoming.cost();
        incoming.is_paid = true;
    }
    let is_unpaid =
        cost > credit || (incoming.destination == Destination::Unknown && !incoming.is_paid);
    if is_unpaid {
        let length = header.length;
        return Err(FrameError::Unpaid { length });
    }
    if incoming.destination == Destination::Unknown && incoming.kept.is_none() {
        incoming.kept = Some(buffers.take(header.length as usize));
    }
    Ok(cost)
}
