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

use super::grid::{DIRECTIONS, Grid, NOBODY, Way};
use super::settings::{CHUNK_BYTES, TorusSettings};
use super::{Signal, Step};
use crate::simulate::links::{Gauges, Use, Watch};
use crate::simulate::queue::{Moment, Queue};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// No packet.
pub(super) const NONE: u32 = u32::MAX;

/// Virtual channels of a link: two to choose on, one to escape.
const CHANNELS: usize = 3;

/// The channel to escape.
const ESCAPE: usize = 2;

/// A node's first queue for packets of its own.
const OWN: usize = DIRECTIONS * CHANNELS;

/// The buffers of packets that came from other nodes, as bits.
const OTHERS: u32 = (1 << OWN) - 1;

/// Places for a node's buffers, more than there are.
const BUFFERS: usize = 32;

/// Places for a node's links, more than there are: those to its neighbours, then from each incoming one to its processors.
const LINKS: usize = 16;

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Behind it in its buffer, or among those that wait for a processor.
    pub(super) next: u32,
    /// What it is a part of.
    pub(super) message: u32,
    /// The buffer to which it goes, or where it lies.
    buffer: u32,
    hops: [i8; 3],
    pub(super) chunks: u8,
    /// The links that bring it nearer, as bits; none where it is to be taken out.
    wants: u8,
    /// Whether it leaves copies at the nodes that it passes.
    copies: bool,
}

/// A queue of packets with a bounded length, first in, first out.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    first: u32,
    last: u32,
    /// Chunks for which there is room, as who sends into it knows.
    room: u16,
    /// Chunks of the packet that leaves it now.
    leaving: u8,
    /// The link on which it leaves.
    link: u8,
    /// The copy that it leaves here.
    copy: u32,
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
    buffers: Vec<Buffer>,
    /// By node, the links that are busy, as bits.
    busy: Vec<u16>,
    /// By node and link, the buffers whose first packet waits for it, as bits.
    waiting: Vec<u32>,
    /// By node and link, the buffer that it serves next, of equally long ones.
    turns: Vec<u8>,
    /// By node and incoming link, chunks for which there is room until a processor takes them in.
    room: Vec<[u16; 8]>,
    packets: Vec<Packet>,
    /// The first of the packets that are over, linked by `next`.
    over: u32,
    /// What a full packet takes, in chunks.
    slot: u16,
    /// What a buffer holds, in chunks.
    most: u16,
    adaptive: bool,
    queues: usize,
    hop_ps: u64,
    chunk_ps: u64,
    /// Packets that have gone over a link.
    pub(super) hops: u64,
    /// What links do, by node and direction, if somebody watches.
    pub(super) watched: Option<Box<Gauges>>,
}

impl Router {
    pub(super) fn new(settings: &TorusSettings) -> Router {
        let chunks = |bytes: u32| (bytes / CHUNK_BYTES) as u16;
        let grid = Grid::new(settings.torus);
        let nodes = grid.nodes() as usize;
        let slot = chunks(settings.packet_bytes);
        let buffer = |at: usize| Buffer {
            first: NONE,
            last: NONE,
            room: match at {
                OWN.. => chunks(settings.injection_bytes),
                // Full packets only.
                _ if at % CHANNELS == ESCAPE => chunks(settings.buffer_bytes) / slot * slot,
                _ => chunks(settings.buffer_bytes),
            },
            leaving: 0,
            link: 0,
            copy: NONE,
        };
        let of_node: Vec<Buffer> = (0..BUFFERS).map(buffer).collect();
        Router {
            grid,
            buffers: of_node.repeat(nodes),
            busy: vec![0; nodes],
            waiting: vec![0; nodes * LINKS],
            turns: vec![0; nodes * LINKS],
            room: vec![[chunks(settings.reception_bytes); 8]; nodes],
            packets: Vec::new(),
            over: NONE,
            slot,
            most: chunks(settings.buffer_bytes),
            adaptive: settings.adaptive,
            queues: settings.injection_queues as usize,
            hop_ps: settings.hop_ps,
            chunk_ps: settings.chunk_ps,
            hops: 0,
            watched: None,
        }
    }

    pub(super) fn watch(&mut self, watch: Watch) {
        let links = self.busy.len() * DIRECTIONS;
        self.watched = Some(Box::new(Gauges::new(links, watch)));
    }

    /// Notes that a packet begins to go over a link.
    #[cold]
    fn note(&mut self, (node, link): (usize, usize), now_ps: Moment, chunks: u8) {
        let waiting = self.waiting[node * LINKS + link].count_ones();
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

    /// Makes a packet that `node` is about to put in, and takes room for it; nothing if there is none.
    pub(super) fn make(
        &mut self,
        node: u32,
        message: u32,
        chunks: u8,
        (way, copies): (Way, bool),
    ) -> Option<u32> {
        let first = node as usize * BUFFERS + OWN;
        let queues = &self.buffers[first..first + self.queues];
        let (at, queue) = queues
            .iter()
            .enumerate()
            .max_by_key(|(at, queue)| (queue.room, core::cmp::Reverse(*at)))?;
        if queue.room < u16::from(chunks) {
            return None;
        }
        let buffer = first + at;
        self.buffers[buffer].room -= u16::from(chunks);
        Some(self.keep(Packet {
            next: NONE,
            message,
            buffer: buffer as u32,
            hops: way.hops,
            chunks,
            wants: wants(way.hops),
            copies,
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

    /// A packet is at the end of the buffer to which it went.
    pub(super) fn arrive(&mut self, packet: u32, queue: &mut Queue<Signal>) {
        let at = self.packets[packet as usize].buffer as usize;
        self.packets[packet as usize].next = NONE;
        let buffer = &mut self.buffers[at];
        let last = core::mem::replace(&mut buffer.last, packet);
        if buffer.first != NONE {
            self.packets[last as usize].next = packet;
            return;
        }
        buffer.first = packet;
        if buffer.leaving == 0 {
            self.ask(at, queue);
        }
    }

    /// A packet has left its buffer, and the link on which it left is free.
    pub(super) fn leave(&mut self, at: usize, queue: &mut Queue<Signal>) -> Left {
        let (node, own) = ((at / BUFFERS) as u32, at % BUFFERS);
        let buffer = &mut self.buffers[at];
        let link = usize::from(buffer.link);
        let (chunks, packet) = (u16::from(buffer.leaving), buffer.first);
        buffer.leaving = 0;
        buffer.room += match own {
            ..OWN if own % CHANNELS == ESCAPE => self.slot,
            _ => chunks,
        };
        let mut left = match core::mem::replace(&mut buffer.copy, NONE) {
            NONE => Left::Further,
            copy => Left::There(copy),
        };
        if link >= DIRECTIONS {
            buffer.first = self.packets[packet as usize].next;
            left = Left::There(packet);
        }
        let next = buffer.first;
        self.busy[node as usize] &= !(1 << link);
        self.give(node, link, queue);
        if next != NONE {
            self.ask(at, queue);
        }
        if own >= OWN {
            return Left::Started(node);
        }
        let direction = own / CHANNELS;
        self.give(self.grid.neighbour(node, direction ^ 1), direction, queue);
        left
    }

    /// A processor has taken in a packet: its place is free.
    pub(super) fn take(&mut self, packet: u32, queue: &mut Queue<Signal>) {
        let Packet { buffer, chunks, .. } = self.packets[packet as usize];
        self.packets[packet as usize].next = self.over;
        self.over = packet;
        let (node, own) = (buffer as usize / BUFFERS, buffer as usize % BUFFERS);
        let direction = own / CHANNELS;
        self.room[node][direction] += u16::from(chunks);
        self.give(node as u32, DIRECTIONS + direction, queue);
        // A packet that leaves a copy may have waited for this, too; it goes straight on.
        self.give(node as u32, direction, queue);
    }

    /// The first packet of a buffer goes, or waits for all links that bring it nearer.
    fn ask(&mut self, at: usize, queue: &mut Queue<Signal>) {
        let (node, own) = (at / BUFFERS, at % BUFFERS);
        let packet = self.packets[self.buffers[at].first as usize];
        let links = self.links(&packet, own);
        let mut free = links & !self.busy[node];
        if own >= OWN {
            // What starts here goes behind what waits.
            free &= !self.waited_for(node, free);
        }
        let (mut best, mut most) = (None, 0);
        while free != 0 {
            let link = free.trailing_zeros() as usize;
            free &= free - 1;
            if let Some((channel, room)) = self.channel(node as u32, own, &packet, link) {
                // One to escape on only where there is no other.
                let room = if channel == ESCAPE { 1 } else { room + 1 };
                if room > most {
                    (best, most) = (Some((link, channel)), room);
                }
            }
        }
        match best {
            Some((link, channel)) => self.go(at, link, channel, queue),
            None => self.each(node, links, |waiting| *waiting |= 1 << own),
        }
    }

    /// Those of some links for which a packet waits.
    fn waited_for(&self, node: usize, links: u16) -> u16 {
        let waiting = &self.waiting[node * LINKS..(node + 1) * LINKS];
        let bit = |(link, waiting): (usize, &u32)| u16::from(*waiting != 0) << link;
        links & waiting.iter().enumerate().map(bit).sum::<u16>()
    }

    /// A link serves one of those that wait for it and can go: packets under way before those that start here, without
    /// which rule a loaded torus carries half of what it can.
    fn give(&mut self, node: u32, link: usize, queue: &mut Queue<Signal>) {
        let place = node as usize * LINKS + link;
        let waiting = self.waiting[place];
        if waiting == 0 || self.busy[node as usize] & (1 << link) != 0 {
            return;
        }
        let under_way = waiting & OTHERS;
        if !self.serve(node, link, under_way, queue) {
            self.serve(node, link, waiting & !OTHERS, queue);
        }
    }

    /// A link serves one buffer of `waiting` whose packet can go: to another node, of packets under way, the longest, and of equally
    /// long ones who is next; otherwise who is next. Whether there is one.
    fn serve(&mut self, node: u32, link: usize, waiting: u32, queue: &mut Queue<Signal>) -> bool {
        let place = node as usize * LINKS + link;
        let turn = u32::from(self.turns[place]);
        let in_turn = link >= DIRECTIONS || waiting & OTHERS == 0;
        let mut waiting = waiting.rotate_right(turn);
        let (mut longest, mut least) = (None, u16::MAX);
        while waiting != 0 {
            let own = ((waiting.trailing_zeros() + turn) % u32::BITS) as usize;
            waiting &= waiting - 1;
            let buffer = &self.buffers[node as usize * BUFFERS + own];
            if buffer.room >= least {
                continue;
            }
            let packet = self.packets[buffer.first as usize];
            if let Some((channel, _)) = self.channel(node, own, &packet, link) {
                least = buffer.room;
                longest = Some((own, channel, self.links(&packet, own)));
                if in_turn {
                    break;
                }
            }
        }
        let Some((own, channel, links)) = longest else {
            return false;
        };
        self.turns[place] = ((own + 1) % BUFFERS) as u8;
        self.each(node as usize, links, |waiting| *waiting &= !(1 << own));
        self.go(node as usize * BUFFERS + own, link, channel, queue);
        true
    }

    /// For each of the links of a node that are set.
    #[inline]
    fn each(&mut self, node: usize, links: u16, change: impl Fn(&mut u32)) {
        let mut links = links;
        while links != 0 {
            change(&mut self.waiting[node * LINKS + links.trailing_zeros() as usize]);
            links &= links - 1;
        }
    }

    /// The links on which the first packet of a buffer may leave it.
    #[inline]
    fn links(&self, packet: &Packet, own: usize) -> u16 {
        let wants = u16::from(packet.wants);
        match wants {
            0 => 1 << (DIRECTIONS + own / CHANNELS),
            _ if self.adaptive => wants,
            _ => wants & wants.wrapping_neg(),
        }
    }

    /// The channel on which a packet may go over a link now, with the room there.
    #[inline]
    fn channel(&self, node: u32, own: usize, packet: &Packet, link: usize) -> Option<(usize, u16)> {
        let chunks = u16::from(packet.chunks);
        if link >= DIRECTIONS {
            let room = self.room[node as usize][link - DIRECTIONS];
            return (room >= chunks).then_some((0, room));
        }
        if packet.copies && own < OWN && self.room[node as usize][own / CHANNELS] < chunks {
            return None;
        }
        let next = self.grid.neighbour(node, link) as usize * BUFFERS + link * CHANNELS;
        let room = |channel: usize| self.buffers[next + channel].room;
        // What starts here leaves room for another packet that is under way.
        let least = (chunks + self.slot).min(self.most);
        if own >= OWN && room(0).max(room(1)) < least {
            return None;
        }
        if self.adaptive {
            let channel = usize::from(room(1) > room(0));
            if room(channel) >= chunks {
                return Some((channel, room(channel)));
            }
        }
        // Along x, then y, then z: the lowest bit.
        if packet.wants.trailing_zeros() as usize != link {
            return None;
        }
        let stays = own == link * CHANNELS + ESCAPE || !self.grid.wraps(link / 2);
        let least = if stays { self.slot } else { 2 * self.slot };
        (room(ESCAPE) >= least).then_some((ESCAPE, room(ESCAPE)))
    }

    /// The first packet of a buffer begins to go over a link.
    fn go(&mut self, at: usize, link: usize, channel: usize, queue: &mut Queue<Signal>) {
        let (node, now_ps) = (at / BUFFERS, queue.now_ps());
        let number = self.buffers[at].first;
        let packet = self.packets[number as usize];
        let chunks = packet.chunks;
        (self.buffers[at].leaving, self.buffers[at].link) = (chunks, link as u8);
        self.busy[node] |= 1 << link;
        if link >= DIRECTIONS {
            self.room[node][link - DIRECTIONS] -= u16::from(chunks);
        } else {
            self.buffers[at].first = packet.next;
            if packet.copies && at % BUFFERS < OWN {
                self.copy(at, packet);
            }
            let next = self.grid.neighbour(node as u32, link);
            debug_assert_ne!(next, NOBODY);
            let next = next as usize * BUFFERS + link * CHANNELS + channel;
            let packet = &mut self.packets[number as usize];
            let hops = &mut packet.hops[link / 2];
            *hops -= hops.signum();
            if *hops == 0 {
                packet.wants &= !(1 << link);
            }
            packet.buffer = next as u32;
            self.buffers[next].room -= match channel {
                ESCAPE => self.slot,
                _ => u16::from(chunks),
            };
            self.hops += 1;
            if self.watched.is_some() {
                self.note((node, link), now_ps, chunks);
            }
            let arrives_ps = now_ps + self.hop_ps;
            queue.push(arrives_ps, Signal::Inside(Step::Arrive(number)));
        }
        let occupied_ps = u64::from(chunks) * self.chunk_ps;
        queue.push(now_ps + occupied_ps, Signal::Inside(Step::Leave(at as u32)));
    }

    /// A packet that leaves buffer `at` leaves a copy at its node.
    fn copy(&mut self, at: usize, packet: Packet) {
        let (node, direction) = (at / BUFFERS, at % BUFFERS / CHANNELS);
        self.room[node][direction] -= u16::from(packet.chunks);
        self.buffers[at].copy = self.keep(Packet {
            next: NONE,
            buffer: at as u32,
            ..packet
        });
    }

    /// The node at which a packet lies.
    pub(super) fn node(&self, packet: u32) -> u32 {
        self.packets[packet as usize].buffer / BUFFERS as u32
    }

    /// A packet, for a change.
    pub(super) fn packet_mut(&mut self, packet: u32) -> &mut Packet {
        &mut self.packets[packet as usize]
    }
}

/// The links that bring a packet nearer, as bits.
fn wants(hops: [i8; 3]) -> u8 {
    let bit = |(dimension, hops): (usize, i8)| match hops {
        0 => 0,
        1.. => 1 << (2 * dimension),
        _ => 2 << (2 * dimension),
    };
    hops.into_iter().enumerate().map(bit).sum()
}
