//! The routers of all nodes: buffers with tokens, links that are given in turn, and where a packet goes next.
//!
//! Every node has six incoming links with three virtual channels each, two on which packets choose among the shortest ways and one to
//! escape, and queues into which its processors put packets. What stands first in a buffer asks for the links that bring it nearer;
//! a link takes it when the next buffer has room for all of it (virtual cut-through). As accounts of BlueGene/L's router say, a packet
//! joins the shortest queue, and a link serves the longest: where one dimension of a torus is full, those who are on it would
//! otherwise starve behind those who turn into it, and fill the buffers that lead there. The escape channel goes along x, then y,
//! then z, and a packet enters one of its rings only where room for another one remains: so something can always move, and nothing
//! locks (the bubble rule). There room is counted in full packets, as small ones would cut it into pieces of no use.

mod ahead;
mod ports;

use super::grid::{DIRECTIONS, Grid, Way};
use super::settings::{CHUNK_BYTES, MOST_CHUNKS, TorusSettings};
use super::{Signal, Step};
use crate::simulate::links::{Gauges, Use, Watch};
use crate::simulate::queue::{Moment, Queue};
use alloc::boxed::Box;
use alloc::vec::Vec;
use ports::{BUFFERS, COPIED, COPIES, Head, NOT, OWN, Ports, buffer, of_buffer};

/// No packet.
pub(super) const NONE: u32 = u32::MAX;

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Behind it in its buffer, or among those that wait for a processor.
    pub(super) next: u32,
    /// What it is a part of.
    pub(super) message: u32,
    /// The buffer to which it goes, or where it lies: of its node, and the node before it.
    buffer: u32,
    hops: [i8; 3],
    /// Its length, and [`COPIES`].
    length: u8,
}

const _: () = assert!(MOST_CHUNKS < COPIES as u32 && size_of::<Packet>() == 16);

/// In the number of a buffer, its node's comes before so many bits of its own.
const OWN_BITS: u32 = 5;

const _: () = assert!(BUFFERS <= 1 << OWN_BITS);

/// A buffer's number, of its node's and its own.
fn numbered(node: usize, own: usize) -> u32 {
    (node << OWN_BITS | own) as u32
}

/// What became of a packet that has left a buffer.
pub(super) enum Left {
    /// It is on its way.
    Further,
    /// It is on its way from the node where it started, which has room for another one.
    Started(u32),
    /// It lies at this node for a processor to take it in.
    There(u32),
}

/// All routers.
#[derive(Clone, Debug)]
pub(super) struct Router {
    pub(super) grid: Grid,
    ports: Ports,
    packets: Vec<Packet>,
    /// The first of the packets that are over, linked by `next`.
    over: u32,
    /// The copy that a packet leaves behind in its buffer, where there is one.
    copies: Vec<[u32; BUFFERS]>,
    hop_ps: u64,
    chunk_ps: u64,
    /// Packets that have gone over a link.
    pub(super) hops: u64,
    /// What links do, by node and direction, if somebody watches.
    pub(super) watched: Option<Box<Gauges>>,
}

impl Packet {
    pub(super) fn chunks(&self) -> u8 {
        self.length & !COPIES
    }

    /// What links ask of it.
    #[inline]
    fn head(&self) -> Head {
        Head {
            wants: wants(self.hops),
            length: self.length,
        }
    }

    /// The node and the buffer there.
    #[inline]
    fn place(&self) -> (usize, usize) {
        let at = self.buffer as usize;
        (at >> OWN_BITS, at & ((1 << OWN_BITS) - 1))
    }

    /// The node at which it lies.
    pub(super) fn node(&self) -> u32 {
        self.place().0 as u32
    }
}

impl Router {
    pub(super) fn new(settings: &TorusSettings) -> Router {
        let grid = Grid::new(settings.torus);
        Router {
            ports: Ports::new(settings, &grid),
            grid,
            packets: Vec::new(),
            over: NONE,
            copies: Vec::new(),
            hop_ps: settings.hop_ps,
            chunk_ps: settings.chunk_ps,
            hops: 0,
            watched: None,
        }
    }

    pub(super) fn watch(&mut self, watch: Watch) {
        let links = self.ports.nodes() * DIRECTIONS;
        self.watched = Some(Box::new(Gauges::new(links, watch)));
    }

    /// Notes that a packet begins to go over a link.
    #[cold]
    fn note(&mut self, (node, link): (usize, usize), now_ps: Moment, chunks: u8) {
        let waiting = self.ports.waiting(node, link).count_ones();
        if let Some(gauges) = &mut self.watched {
            let used = Use {
                from_ps: now_ps,
                to_ps: now_ps + u64::from(chunks) * self.chunk_ps,
                bytes: u64::from(chunks) * u64::from(CHUNK_BYTES),
            };
            gauges.note(node * DIRECTIONS + link, now_ps, used);
            gauges.note_queue(node * DIRECTIONS + link, waiting);
        }
    }

    pub(super) fn packet(&self, packet: u32) -> &Packet {
        &self.packets[packet as usize]
    }

    /// A packet, for a change.
    pub(super) fn packet_mut(&mut self, packet: u32) -> &mut Packet {
        &mut self.packets[packet as usize]
    }

    /// Makes a packet that `node` is about to put in, and takes room for it; nothing if there is none.
    pub(super) fn make(
        &mut self,
        node: u32,
        message: u32,
        chunks: u8,
        (way, copies): (Way, bool),
    ) -> Option<u32> {
        let node = node as usize;
        let (own, room) = self.ports.roomiest(node);
        if room < u16::from(chunks) {
            return None;
        }
        let (port, at) = of_buffer(own);
        self.ports.at_mut(node, port).room[at] -= u16::from(chunks);
        Some(self.keep(Packet {
            next: NONE,
            message,
            buffer: numbered(node, own),
            hops: way.hops,
            length: chunks | if copies { COPIES } else { 0 },
        }))
    }

    /// Gives a packet a number.
    fn keep(&mut self, packet: Packet) -> u32 {
        if self.over == NONE {
            self.packets.push(packet);
            return self.packets.len() as u32 - 1;
        }
        let number = self.over;
        self.over = self.packets[number as usize].next;
        self.packets[number as usize] = packet;
        number
    }

    /// A packet is at the end of the queue that it was made for.
    pub(super) fn start(&mut self, packet: u32, queue: &mut Queue<Signal>) {
        let place = self.packets[packet as usize].place();
        self.arrive(place, packet, queue);
    }

    /// A packet is at the end of a buffer.
    pub(super) fn arrive(
        &mut self,
        (node, own): (usize, usize),
        packet: u32,
        queue: &mut Queue<Signal>,
    ) {
        let (port, at) = of_buffer(own);
        let here = self.ports.at_mut(node, port);
        let last = core::mem::replace(&mut here.last[at], packet);
        if here.first[at] != NONE {
            self.packets[last as usize].next = packet;
            return;
        }
        here.first[at] = packet;
        if here.link[at] == NOT {
            self.ask((node, own), queue);
        }
    }

    /// A packet has left its buffer, and the link on which it left is free.
    pub(super) fn leave(&mut self, (node, own): (usize, usize), queue: &mut Queue<Signal>) -> Left {
        let (port, at) = of_buffer(own);
        let here = self.ports.at(node, port);
        let (link, before) = (here.link[at], usize::from(here.before));
        let taken = match own {
            ..OWN => self.ports.taken(at, here.head[at].chunks()),
            _ => u16::from(here.head[at].chunks()),
        };
        let here = self.ports.at_mut(node, port);
        here.link[at] = NOT;
        here.room[at] += taken;
        let mut left = match link & COPIED {
            0 => Left::Further,
            _ => Left::There(self.copies[node][own]),
        };
        let link = usize::from(link & !COPIED);
        if link >= DIRECTIONS {
            let packet = here.first[at];
            here.first[at] = self.packets[packet as usize].next;
            left = Left::There(packet);
        }
        let next = here.first[at];
        self.ports.end(node, link);
        self.give(node, link, queue);
        if next != NONE {
            self.ask((node, own), queue);
        }
        if own >= OWN {
            return Left::Started(node as u32);
        }
        self.ports.at_mut(before, port).tokens[at] += taken;
        self.give(before, port, queue);
        left
    }

    /// A processor has taken in a packet: its place is free.
    pub(super) fn take(&mut self, packet: u32, queue: &mut Queue<Signal>) {
        let over = &mut self.packets[packet as usize];
        let (chunks, (node, own)) = (over.chunks(), over.place());
        over.next = core::mem::replace(&mut self.over, packet);
        let (port, _) = of_buffer(own);
        self.ports.at_mut(node, port).reception += u16::from(chunks);
        self.give(node, DIRECTIONS + port, queue);
        // A packet that leaves a copy may have waited for this, too; it goes straight on.
        self.give(node, port, queue);
    }

    /// The first packet of a buffer goes, or waits for all links that bring it nearer.
    fn ask(&mut self, (node, own): (usize, usize), queue: &mut Queue<Signal>) {
        let (port, at) = of_buffer(own);
        let here = self.ports.at_mut(node, port);
        let head = self.packets[here.first[at] as usize].head();
        here.head[at] = head;
        if let Some(way) = self.ports.ask(node, own, head) {
            self.go((node, own), way, queue);
        }
    }

    /// A link serves one of those that wait for it and can go.
    #[inline]
    fn give(&mut self, node: usize, link: usize, queue: &mut Queue<Signal>) {
        if let Some((own, channel)) = self.ports.serve(node, link) {
            self.go((node, own), (link, channel), queue);
        }
    }

    /// The first packet of a buffer begins to go over a link.
    fn go(
        &mut self,
        (node, own): (usize, usize),
        (link, channel): (usize, usize),
        queue: &mut Queue<Signal>,
    ) {
        let now_ps = queue.now_ps();
        let (port, at) = of_buffer(own);
        let here = self.ports.at_mut(node, port);
        let (number, head) = (here.first[at], here.head[at]);
        here.link[at] = link as u8;
        self.ports.begin(node, link);
        let here = self.ports.at_mut(node, port);
        if link >= DIRECTIONS {
            here.reception -= u16::from(head.chunks());
        } else {
            here.first[at] = self.packets[number as usize].next;
            if head.copies() && own < OWN {
                self.copy((node, own), number);
            }
            let taken = self.ports.taken(channel, head.chunks());
            let leads = self.ports.at_mut(node, link);
            leads.tokens[channel] -= taken;
            let (next, into) = (leads.next, buffer(link, channel));
            debug_assert_ne!(usize::from(next), node);
            self.ports.at_mut(usize::from(next), link).room[channel] -= taken;
            let packet = &mut self.packets[number as usize];
            packet.next = NONE;
            packet.buffer = numbered(usize::from(next), into);
            let hops = &mut packet.hops[link / 2];
            *hops -= hops.signum();
            self.hops += 1;
            if self.watched.is_some() {
                self.note((node, link), now_ps, head.chunks());
            }
            let arrives = Step::Arrive {
                own: into as u8,
                node: next,
                packet: number,
            };
            queue.push(now_ps + self.hop_ps, Signal::Inside(arrives));
        }
        let leaves = Step::Leave {
            own: own as u8,
            node: node as u16,
        };
        let occupied_ps = u64::from(head.chunks()) * self.chunk_ps;
        queue.push(now_ps + occupied_ps, Signal::Inside(leaves));
    }

    /// A packet that leaves a buffer leaves a copy there.
    #[cold]
    fn copy(&mut self, (node, own): (usize, usize), packet: u32) {
        let packet = self.packets[packet as usize];
        let (port, at) = of_buffer(own);
        let here = self.ports.at_mut(node, port);
        here.reception -= u16::from(packet.chunks());
        here.link[at] |= COPIED;
        let copy = self.keep(Packet {
            next: NONE,
            buffer: numbered(node, own),
            ..packet
        });
        if self.copies.is_empty() {
            self.copies.resize(self.ports.nodes(), [NONE; BUFFERS]);
        }
        self.copies[node][own] = copy;
    }
}

/// The links that bring a packet nearer, as bits.
#[inline]
fn wants(hops: [i8; 3]) -> u8 {
    let bit = |(dimension, hops): (usize, i8)| match hops {
        0 => 0,
        1.. => 1 << (2 * dimension),
        _ => 2 << (2 * dimension),
    };
    hops.into_iter().enumerate().map(bit).sum()
}
