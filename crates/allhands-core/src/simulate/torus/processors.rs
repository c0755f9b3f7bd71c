//! The processors of all ranks: they put packets into the network and take them in, one at a time, between whatever else they do.
//!
//! A rank's messages stand in a ring; the first injects a few packets and goes to the end. What the processor does with a message as a
//! whole, it does with its first packet. Taking in and putting in alternate while there is both.

use super::grid::Way;
use super::order::{Place, Placed};
use super::posted::Posted;
use super::router::{NONE, Router};
use super::settings::{CHUNK_BYTES, TorusSettings};
use super::{Signal, Step};
use crate::simulate::network::Envelope;
use crate::simulate::observer::Observer;
use crate::simulate::queue::{Moment, Queue};
use alloc::vec;
use alloc::vec::Vec;

/// What a processor does with a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doing {
    Nothing,
    /// Puts it in; of this message it is the last, if of any.
    Puts {
        packet: u32,
        last_of: Option<u32>,
    },
    /// Takes it in.
    Takes(u32),
}

/// A message under way, in a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Message {
    from: u32,
    to: u32,
    /// Bytes that are yet to be put in.
    left: u64,
    /// Packets that are yet to be taken in.
    packets: u32,
    /// Behind it in its sender's ring.
    next: u32,
    /// The first of those that its packets leave behind, in the list of copies.
    copies: u32,
    bytes: u64,
    way: Way,
    /// Whether its first packet was put in, and taken in.
    begun: [bool; 2],
    /// Whether ranks agree by it on an algorithm.
    agreement: bool,
    place: Place,
}

const _: () = assert!(size_of::<Message>() == 64 && size_of::<Processor>() == 64);

impl Placed for Message {
    #[inline]
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }
}

/// A message that packets of another leave behind. It may be over, and its number another's, before those packets are.
#[derive(Clone, Copy, Debug)]
struct Copy {
    number: u32,
    to: u32,
    next: u32,
}

/// A rank's processor, in a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Processor {
    free_ps: Moment,
    doing: Doing,
    /// Whether its next turn is in the queue of events.
    expected: bool,
    /// Whether the last packet that it dealt with was one that it took in.
    took: bool,
    /// How many packets the first message has put in since it is first.
    turn: u32,
    /// Packets that are there, the first and the last.
    there: [u32; 2],
    /// The ring of messages, the first and the last.
    ring: [u32; 2],
}

/// All processors, and the messages that they send and receive.
#[derive(Clone, Debug)]
pub(super) struct Processors {
    settings: TorusSettings,
    ranks: Vec<Processor>,
    pub(super) messages: Vec<Message>,
    copies: Vec<Copy>,
    pub(super) posted: Posted,
    /// The first place in the list of copies that is free.
    free: u32,
}

impl Processors {
    pub(super) fn new(settings: &TorusSettings) -> Processors {
        let processor = Processor {
            free_ps: settings.start_ps,
            doing: Doing::Nothing,
            expected: false,
            took: false,
            turn: 0,
            there: [NONE; 2],
            ring: [NONE; 2],
        };
        Processors {
            settings: *settings,
            ranks: vec![processor; settings.ranks() as usize],
            messages: Vec::new(),
            copies: Vec::new(),
            posted: Posted::new(settings.match_ps, settings.ranks()),
            free: NONE,
        }
    }

    /// When the processor of `rank` is free.
    pub(super) fn free_ps(&mut self, rank: u32) -> &mut Moment {
        &mut self.ranks[rank as usize].free_ps
    }

    /// A processor has a turn soon; gives a packet that it will deal with, once that is known, or [`NONE`].
    #[inline]
    pub(super) fn look_at_turn<O: Observer>(&self, rank: u32, stage: usize) -> u32 {
        let own = &self.ranks[rank as usize];
        if stage == 0 {
            O::soon(own, |own| own.turn as usize);
            return NONE;
        }
        if stage == 1 {
            self.look_at_message::<O>(own.ring[0]);
        }
        match own.doing {
            Doing::Nothing => own.there[0],
            Doing::Puts { packet, .. } | Doing::Takes(packet) => packet,
        }
    }

    /// A message will be needed soon, if there is one with this number.
    #[inline]
    pub(super) fn look_at_message<O: Observer>(&self, number: u32) {
        if let Some(message) = self.messages.get(number as usize) {
            O::soon(message, |message| message.packets as usize);
        }
    }

    /// A rank will go on soon.
    #[inline]
    pub(super) fn look_at_rank<O: Observer>(&self, rank: u32) {
        O::soon(&self.ranks[rank as usize], |own| own.turn as usize);
        self.posted.look_at::<O>(rank);
    }

    /// A message is to be sent.
    pub(super) fn send(&mut self, message: Envelope, way: Way, queue: &mut Queue<Signal>) {
        let number = message.number;
        let message = self.keep(message, way);
        self.line_up(message.from, number);
        self.wake(message.from, queue);
    }

    fn keep(&mut self, message: Envelope, way: Way) -> Message {
        let bytes = message.bytes;
        let at = message.number as usize;
        let message = Message {
            from: message.from,
            to: message.to,
            left: bytes,
            packets: bytes.div_ceil(self.settings.payload()).max(1) as u32,
            next: NONE,
            copies: NONE,
            bytes,
            way,
            // What is not sent yet has no place for copies.
            begun: [true; 2],
            agreement: message.agreement,
            place: Place::default(),
        };
        if at >= self.messages.len() {
            self.messages.resize(at + 1, message);
        }
        // The message that had the number is over, and so are its packets.
        let mut copy = self.messages[at].copies;
        while copy != NONE {
            let next = core::mem::replace(&mut self.copies[copy as usize].next, self.free);
            self.free = core::mem::replace(&mut copy, next);
        }
        self.messages[at] = message;
        self.messages[at].begun = [false; 2];
        message
    }

    /// A message is to be left behind by the packets of `carrier`; whether that can be: these pass there on one line.
    pub(super) fn leave_behind(&mut self, message: Envelope, carrier: u32, way: Way) -> bool {
        let nodes = self.settings.ranks_per_node;
        let Some(of) = self.messages.get(carrier as usize).copied() else {
            return false;
        };
        let passes = |(far, near): (&i8, &i8)| match near {
            0 => *far == 0,
            _ => near.signum() == far.signum() && near.abs() < far.abs(),
        };
        let mut both = of.way.hops.iter().zip(&way.hops);
        let other = self
            .copies(carrier)
            .any(|copy| copy.to / nodes == message.to / nodes);
        let new = of.from == message.from && of.bytes == message.bytes && !of.begun[0];
        if !new || other || !both.all(passes) {
            return false;
        }
        self.keep(message, way);
        let copy = Copy {
            number: message.number,
            to: message.to,
            next: of.copies,
        };
        let place = match self.free {
            NONE => {
                self.copies.push(copy);
                self.copies.len() as u32 - 1
            }
            place => {
                self.free = core::mem::replace(&mut self.copies[place as usize], copy).next;
                place
            }
        };
        let of = &mut self.messages[carrier as usize];
        of.copies = place;
        of.way.either = 0;
        true
    }

    /// The numbers of the messages that the packets of `number` leave behind.
    pub(super) fn left_behind(&self, number: u32) -> impl Iterator<Item = u32> {
        self.copies(number).map(|copy| copy.number)
    }

    fn copies(&self, number: u32) -> impl Iterator<Item = &Copy> {
        let at = |place: u32| self.copies.get(place as usize);
        let first = at(self.messages[number as usize].copies);
        core::iter::successors(first, move |copy| at(copy.next))
    }

    fn line_up(&mut self, rank: u32, number: u32) {
        let ring = &mut self.ranks[rank as usize].ring;
        match ring[0] {
            NONE => ring[0] = number,
            _ => self.messages[ring[1] as usize].next = number,
        }
        ring[1] = number;
        self.messages[number as usize].next = NONE;
    }

    /// A queue of a node has room for another packet.
    pub(super) fn room(&mut self, node: u32, queue: &mut Queue<Signal>) {
        let ranks = self.settings.ranks_per_node;
        for rank in node * ranks..(node + 1) * ranks {
            if self.ranks[rank as usize].ring[0] != NONE {
                self.wake(rank, queue);
            }
        }
    }

    /// A packet waits for its processor, or is a copy for nobody.
    pub(super) fn there(&mut self, packet: u32, router: &mut Router, queue: &mut Queue<Signal>) {
        let (number, node) = (router.packet(packet).message, router.packet(packet).node());
        let copies = self.copies(number).map(|copy| (copy.number, copy.to));
        let here = core::iter::once((number, self.messages[number as usize].to))
            .chain(copies)
            .find(|(_, to)| to / self.settings.ranks_per_node == node);
        let Some((here, _)) = here else {
            router.take(packet, queue);
            return;
        };
        router.packet_mut(packet).message = here;
        let rank = self.messages[here as usize].to;
        let there = &mut self.ranks[rank as usize].there;
        match there[0] {
            NONE => there[0] = packet,
            _ => router.packet_mut(there[1]).next = packet,
        }
        there[1] = packet;
        router.packet_mut(packet).next = NONE;
        self.wake(rank, queue);
    }

    fn wake(&mut self, rank: u32, queue: &mut Queue<Signal>) {
        let processor = &mut self.ranks[rank as usize];
        if !processor.expected {
            processor.expected = true;
            queue.push(processor.free_ps, Signal::Inside(Step::Turn(rank)));
        }
    }

    /// What a processor has done with a packet is over.
    pub(super) fn end(&mut self, rank: u32) -> Doing {
        let processor = &mut self.ranks[rank as usize];
        processor.expected = false;
        core::mem::replace(&mut processor.doing, Doing::Nothing)
    }

    /// A packet of a message was taken in; gives the sender and the receiver if it was the last.
    pub(super) fn taken(&mut self, number: u32) -> Option<(u32, u32)> {
        let message = &mut self.messages[number as usize];
        message.packets -= 1;
        (message.packets == 0).then_some((message.from, message.to))
    }

    /// A processor begins with another packet, if there is one and it does nothing else.
    pub(super) fn begin(&mut self, rank: u32, router: &mut Router, queue: &mut Queue<Signal>) {
        let now_ps = queue.now_ps();
        let processor = self.ranks[rank as usize];
        if processor.free_ps > now_ps {
            if processor.ring[0] != NONE || processor.there[0] != NONE {
                self.wake(rank, queue);
            }
            return;
        }
        let begun = match processor.took {
            true => self.put(rank, router).or_else(|| self.take(rank, router)),
            false => self.take(rank, router).or_else(|| self.put(rank, router)),
        };
        if let Some((doing, time_ps)) = begun {
            let processor = &mut self.ranks[rank as usize];
            processor.doing = doing;
            processor.took = matches!(doing, Doing::Takes(_));
            processor.free_ps = now_ps + time_ps;
            self.wake(rank, queue);
        }
    }

    /// Begins to take in a packet; says how long that takes.
    fn take(&mut self, rank: u32, router: &mut Router) -> Option<(Doing, u64)> {
        let there = &mut self.ranks[rank as usize].there;
        let packet = there[0];
        if packet == NONE {
            return None;
        }
        there[0] = router.packet(packet).next;
        let packet_bytes = u64::from(router.packet(packet).chunks()) * u64::from(CHUNK_BYTES);
        let message = &mut self.messages[router.packet(packet).message as usize];
        let mut time_ps = self.settings.take.of(packet_bytes);
        if !core::mem::replace(&mut message.begun[1], true) {
            let receive = match message.agreement {
                true => &self.settings.agreement[1],
                false => &self.settings.receive,
            };
            time_ps += receive.of(message.bytes) + self.posted.search_ps(rank, message.from);
        }
        Some((Doing::Takes(packet), time_ps))
    }

    /// Begins to put in a packet of the first message; says how long that takes.
    fn put(&mut self, rank: u32, router: &mut Router) -> Option<(Doing, u64)> {
        let number = self.ranks[rank as usize].ring[0];
        if number == NONE {
            return None;
        }
        let settings = &self.settings;
        let message = &mut self.messages[number as usize];
        let payload = message.left.min(settings.payload());
        let chunks = (payload + u64::from(settings.header_bytes))
            .div_ceil(u64::from(CHUNK_BYTES))
            .max(1);
        let node = rank / settings.ranks_per_node;
        let way = one_of(message.way, number, message.left);
        let packet = router.make(node, number, chunks as u8, (way, message.copies != NONE))?;
        message.left -= payload;
        let last_of = (message.left == 0).then_some(number);
        let mut time_ps = settings.inject.of(chunks * u64::from(CHUNK_BYTES));
        if !core::mem::replace(&mut message.begun[0], true) {
            let send = match message.agreement {
                true => &settings.agreement[0],
                false => &settings.send,
            };
            time_ps += send.of(message.bytes);
        }
        self.turn(rank, last_of.is_some());
        Some((Doing::Puts { packet, last_of }, time_ps))
    }

    /// The first message of a ring has put in a packet, maybe its last.
    fn turn(&mut self, rank: u32, last: bool) {
        let processor = &mut self.ranks[rank as usize];
        let number = processor.ring[0];
        processor.turn += 1;
        if !last && processor.turn < self.settings.packets_a_turn {
            return;
        }
        processor.turn = 0;
        let next = self.messages[number as usize].next;
        if last || next != NONE {
            processor.ring[0] = next;
        }
        if !last && next != NONE {
            self.line_up(rank, number);
        }
    }
}

/// Where both ways round are equally short, one of them, by the message and how much is left of it.
fn one_of(way: Way, number: u32, left: u64) -> Way {
    if way.either == 0 {
        return way;
    }
    let mixed = (u64::from(number) << 32 ^ left).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61;
    let turned = way.either & mixed as u8;
    let mut way = way;
    for (dimension, hops) in way.hops.iter_mut().enumerate() {
        if turned & 1 << dimension != 0 {
            *hops = -*hops;
        }
    }
    way
}
