//! The ports of all nodes: for each direction, in one line of the cache, the buffers of what comes in that way, the link that leads
//! on that way, and how much room there is beyond it.
//!
//! So a packet that goes straight on touches one line of each node. The room of a buffer is written down at both of its ends: who
//! sends into it counts it as tokens, who empties it goes by it to serve the longest queue.

use super::super::grid::{DIRECTIONS, Grid, NOBODY};
use super::super::settings::{CHUNK_BYTES, TorusSettings};
use super::NONE;
use alloc::vec::Vec;

/// Virtual channels of a link: two to choose on, one to escape.
pub(super) const CHANNELS: usize = 3;

/// The channel to escape.
pub(super) const ESCAPE: usize = 2;

/// Numbers for the buffers of a port; one is not used.
const OF_PORT: usize = 4;

/// A node's ports: one for each direction, and two with queues for packets that start there.
pub(super) const PORTS: usize = 8;

/// Numbers for a node's buffers.
pub(super) const BUFFERS: usize = PORTS * OF_PORT;

/// A node's first queue for packets of its own.
pub(super) const OWN: usize = DIRECTIONS * OF_PORT;

/// The buffers of packets that came from other nodes, as bits.
const OTHERS: u32 = (1 << OWN) - 1;

/// All ports of all nodes, and what is the same for all of them.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    /// By node: one for each direction, and last those of what starts there.
    all: Vec<[Port; PORTS]>,
    /// What a full packet takes, in chunks.
    slot: u16,
    /// What a buffer holds, in chunks.
    most: u16,
    adaptive: bool,
    /// The dimensions that are rings, as bits.
    wraps: u8,
    queues: usize,
}

/// What links ask of the packet that stands first in a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    /// The links that bring it nearer, as bits; none where it is to be taken out.
    pub(super) wants: u8,
    /// Its length in chunks, and [`COPIES`].
    pub(super) length: u8,
}

/// In a packet's length: it leaves copies at the nodes that it passes.
pub(super) const COPIES: u8 = 1 << 7;

impl Head {
    #[inline]
    pub(super) fn chunks(self) -> u8 {
        self.length & !COPIES
    }

    #[inline]
    pub(super) fn copies(self) -> bool {
        self.length & COPIES != 0
    }
}

/// The buffers of what comes in along a direction, first in, first out, and the links that lead on along it, and to the
/// processors. A port with queues for packets that start here has no links.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// The first packet of each buffer.
    pub(super) first: [u32; CHANNELS],
    pub(super) last: [u32; CHANNELS],
    /// Chunks for which there is room, as who sends into it knows.
    pub(super) room: [u16; CHANNELS],
    /// Of the first packet, once it asks for links, and then of the one that leaves, until it has left.
    pub(super) head: [Head; CHANNELS],
    /// The link on which a packet leaves a buffer now, and [`COPIED`]; [`NOT`] if none does.
    pub(super) link: [u8; CHANNELS],
    /// The buffers of the node whose first packet waits for the link, as bits.
    waiting: u32,
    /// Chunks for which there is room in each channel's buffer at the link's other end.
    pub(super) tokens: [u16; CHANNELS],
    /// Chunks for which there is room until a processor takes them in.
    pub(super) reception: u16,
    /// Who is at the link's other end, and who sends what comes in; the node itself where nobody is.
    pub(super) next: u16,
    pub(super) before: u16,
    /// The buffers of this port whose first packet waits for the link to the processors, as bits.
    inwards: u8,
    /// The links that are busy, as bits: [`ONWARDS`] and [`INWARDS`].
    busy: u8,
    /// The buffer that each of both links serves next, of equally long ones.
    turns: [u8; 2],
}

const _: () = assert!(size_of::<Port>() == 64);

/// In a buffer's `link`: the packet that leaves it leaves a copy here.
pub(super) const COPIED: u8 = 1 << 7;

/// A buffer's `link` when no packet leaves it.
pub(super) const NOT: u8 = COPIED - 1;

/// A link to another node, and one to the processors.
const ONWARDS: usize = 0;
const INWARDS: usize = 1;

/// The port of a link, and which of both it is.
#[inline]
fn of_link(link: usize) -> (usize, usize) {
    match link {
        ..DIRECTIONS => (link, ONWARDS),
        _ => (link - DIRECTIONS, INWARDS),
    }
}

/// The port of a buffer, and its number there.
#[inline]
pub(super) fn of_buffer(own: usize) -> (usize, usize) {
    (own / OF_PORT % PORTS, own % OF_PORT)
}

/// The number of a buffer: of a channel of a direction.
#[inline]
pub(super) fn buffer(direction: usize, channel: usize) -> usize {
    direction * OF_PORT + channel
}

/// The number of a queue for packets that start at a node.
fn queue(number: usize) -> usize {
    OWN + number / CHANNELS * OF_PORT + number % CHANNELS
}

fn chunks(bytes: u32) -> u16 {
    (bytes / CHUNK_BYTES) as u16
}

impl Ports {
    /// Nodes in which nothing is under way.
    pub(super) fn new(settings: &TorusSettings, grid: &Grid) -> Ports {
        let (most, slot) = (chunks(settings.buffer_bytes), chunks(settings.packet_bytes));
        // To escape, full packets only.
        let tokens = [most, most, most / slot * slot];
        let port = |port: usize, node: u32| Port::new((settings, grid), tokens, (port, node));
        let of_node = |node| core::array::from_fn(|at| port(at, node));
        Ports {
            all: (0..grid.nodes()).map(of_node).collect(),
            slot,
            most,
            adaptive: settings.adaptive,
            wraps: (0..3).map(|d| u8::from(grid.wraps(d)) << d).sum(),
            queues: settings.injection_queues as usize,
        }
    }

    /// The number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.all.len()
    }

    /// A port of a node.
    #[inline]
    pub(super) fn at(&self, node: usize, port: usize) -> &Port {
        &self.all[node][port % PORTS]
    }

    /// A port of a node, for a change.
    #[inline]
    pub(super) fn at_mut(&mut self, node: usize, port: usize) -> &mut Port {
        &mut self.all[node][port % PORTS]
    }

    #[inline]
    fn wraps(&self, dimension: usize) -> bool {
        self.wraps >> dimension & 1 != 0
    }

    /// The links on which the first packet of a buffer may leave it.
    #[inline]
    fn links(&self, head: Head, own: usize) -> u16 {
        let wants = u16::from(head.wants);
        match wants {
            0 => 1 << (DIRECTIONS + own / OF_PORT),
            _ if self.adaptive => wants,
            _ => wants & wants.wrapping_neg(),
        }
    }

    /// What a packet of so many chunks takes of a channel's buffer. To escape there is room for full packets only, as small
    /// ones would cut it into pieces of no use.
    #[inline]
    pub(super) fn taken(&self, channel: usize, chunks: u8) -> u16 {
        match channel {
            ESCAPE => self.slot,
            _ => u16::from(chunks),
        }
    }

    /// The queue that has most room for packets that start at a node, the first of those that have as much, and its room.
    #[inline]
    pub(super) fn roomiest(&self, node: usize) -> (usize, u16) {
        let (mut best, mut most) = (OWN, 0);
        for number in 0..self.queues {
            let own = queue(number);
            let (port, at) = of_buffer(own);
            let room = self.at(node, port).room[at];
            if room > most {
                (best, most) = (own, room);
            }
        }
        (best, most)
    }

    /// The link and the channel on which the first packet of a buffer goes now, if it can: where most room is. Otherwise it
    /// waits for all links that bring it nearer.
    #[inline]
    pub(super) fn ask(&mut self, node: usize, own: usize, head: Head) -> Option<(usize, usize)> {
        let links = self.links(head, own);
        let (mut rest, mut best, mut most) = (links, None, 0);
        while rest != 0 {
            let link = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            // What starts here goes behind what waits.
            if self.is_busy(node, link) || (own >= OWN && self.at(node, link).waiting != 0) {
                continue;
            }
            if let Some((channel, room)) = self.channel(node, own, head, link) {
                // One to escape on only where there is no other.
                let room = if channel == ESCAPE { 1 } else { room + 1 };
                if room > most {
                    (best, most) = (Some((link, channel)), room);
                }
            }
        }
        if best.is_none() {
            self.wait(node, own, links, true);
        }
        best
    }

    /// The buffer that a link serves, and on which channel; then its first packet waits no more. Packets under way come before
    /// those that start here, without which rule a loaded torus carries half of what it can.
    #[inline]
    pub(super) fn serve(&mut self, node: usize, link: usize) -> Option<(usize, usize)> {
        let waiting = self.waiting(node, link);
        if waiting == 0 || self.is_busy(node, link) {
            return None;
        }
        let under_way = self.longest(node, link, waiting & OTHERS);
        let next = under_way.or_else(|| self.longest(node, link, waiting & !OTHERS));
        let (own, channel) = next?;
        let (port, way) = of_link(link);
        self.at_mut(node, port).turns[way] = ((own + 1) % BUFFERS) as u8;
        let (port, at) = of_buffer(own);
        let links = self.links(self.at(node, port).head[at], own);
        self.wait(node, own, links, false);
        Some((own, channel))
    }

    /// Of the buffers of `waiting` whose packet can go over a link: to another node, of packets under way, the longest, and of
    /// equally long ones who is next; otherwise who is next.
    #[inline]
    fn longest(&self, node: usize, link: usize, waiting: u32) -> Option<(usize, usize)> {
        let (port, way) = of_link(link);
        let turn = u32::from(self.at(node, port).turns[way]);
        let in_turn = way == INWARDS || waiting & OTHERS == 0;
        let mut waiting = waiting.rotate_right(turn);
        let (mut longest, mut least) = (None, u16::MAX);
        while waiting != 0 {
            let own = (waiting.trailing_zeros() + turn) as usize % BUFFERS;
            waiting &= waiting - 1;
            let (port, at) = of_buffer(own);
            let waits = self.at(node, port);
            let (room, head) = (waits.room[at], waits.head[at]);
            if room >= least {
                continue;
            }
            if let Some((channel, _)) = self.channel(node, own, head, link) {
                longest = Some((own, channel));
                if in_turn {
                    break;
                }
                least = room;
            }
        }
        longest
    }

    /// The channel on which a packet may go over a link now, with the room there.
    #[inline]
    fn channel(&self, node: usize, own: usize, head: Head, link: usize) -> Option<(usize, u16)> {
        let chunks = u16::from(head.chunks());
        let (port, way) = of_link(link);
        if way == INWARDS {
            let room = self.at(node, port).reception;
            return (room >= chunks).then_some((0, room));
        }
        if head.copies() && own < OWN && self.at(node, of_buffer(own).0).reception < chunks {
            return None;
        }
        let room = self.at(node, port).tokens;
        // What starts here leaves room for another packet that is under way.
        let least = (chunks + self.slot).min(self.most);
        if own >= OWN && room[0].max(room[1]) < least {
            return None;
        }
        if self.adaptive {
            let channel = usize::from(room[1] > room[0]);
            if room[channel] >= chunks {
                return Some((channel, room[channel]));
            }
        }
        // Along x, then y, then z: the lowest bit.
        if head.wants.trailing_zeros() as usize != link {
            return None;
        }
        let stays = own == buffer(link, ESCAPE) || !self.wraps(link / 2);
        let least = if stays { self.slot } else { 2 * self.slot };
        (room[ESCAPE] >= least).then_some((ESCAPE, room[ESCAPE]))
    }

    #[inline]
    fn is_busy(&self, node: usize, link: usize) -> bool {
        let (port, way) = of_link(link);
        self.at(node, port).busy & (1 << way) != 0
    }

    /// A link is busy from now on.
    #[inline]
    pub(super) fn begin(&mut self, node: usize, link: usize) {
        let (port, way) = of_link(link);
        self.at_mut(node, port).busy |= 1 << way;
    }

    /// A link is free.
    #[inline]
    pub(super) fn end(&mut self, node: usize, link: usize) {
        let (port, way) = of_link(link);
        self.at_mut(node, port).busy &= !(1 << way);
    }

    /// The buffers whose first packet waits for a link, as bits.
    #[inline]
    pub(super) fn waiting(&self, node: usize, link: usize) -> u32 {
        match of_link(link) {
            (port, ONWARDS) => self.at(node, port).waiting,
            (port, _) => u32::from(self.at(node, port).inwards) << (port * OF_PORT),
        }
    }

    /// The first packet of a buffer waits for some links, or waits for them no more.
    #[inline]
    fn wait(&mut self, node: usize, own: usize, links: u16, waits: bool) {
        if links >= 1 << DIRECTIONS {
            let (port, at) = of_buffer(own);
            let inwards = &mut self.at_mut(node, port).inwards;
            *inwards = *inwards & !(1 << at) | u8::from(waits) << at;
            return;
        }
        let mut links = links;
        while links != 0 {
            let port = links.trailing_zeros() as usize;
            let waiting = &mut self.at_mut(node, port).waiting;
            *waiting = *waiting & !(1 << own) | u32::from(waits) << own;
            links &= links - 1;
        }
    }
}

impl Port {
    /// A port of a node in which nothing is under way, and in whose neighbours' buffers there is so much room.
    fn new(
        (settings, grid): (&TorusSettings, &Grid),
        tokens: [u16; CHANNELS],
        (port, node): (usize, u32),
    ) -> Port {
        let beside = |port| match port {
            ..DIRECTIONS => grid.neighbour(node, port),
            _ => NOBODY,
        };
        let number = |beside| if beside == NOBODY { node } else { beside } as u16;
        Port {
            first: [NONE; CHANNELS],
            last: [NONE; CHANNELS],
            room: match port {
                ..DIRECTIONS => tokens,
                _ => [chunks(settings.injection_bytes); CHANNELS],
            },
            head: [Head::default(); CHANNELS],
            link: [NOT; CHANNELS],
            waiting: 0,
            tokens,
            reception: chunks(settings.reception_bytes),
            next: number(beside(port)),
            before: number(beside(port ^ 1)),
            inwards: 0,
            busy: 0,
            turns: [0; 2],
        }
    }
}
