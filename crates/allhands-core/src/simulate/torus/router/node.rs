//! A node's router: its buffers, its links, and how much room it knows of beyond them, in one block of memory.
//!
//! What a link or a packet at the head of a buffer decides by is all here, so a decision looks at one node alone. The room of a
//! buffer is written down at both of its ends: who sends into it counts it as tokens, who empties it goes by it to serve the
//! longest queue.

use super::super::grid::{DIRECTIONS, Grid, NOBODY};
use super::super::settings::{CHUNK_BYTES, TorusSettings};
use super::NONE;

/// Virtual channels of a link: two to choose on, one to escape.
pub(super) const CHANNELS: usize = 3;

/// The channel to escape.
pub(super) const ESCAPE: usize = 2;

/// A node's first queue for packets of its own.
pub(super) const OWN: usize = DIRECTIONS * CHANNELS;

/// The buffers of packets that came from other nodes, as bits.
pub(super) const OTHERS: u32 = (1 << OWN) - 1;

/// A node's buffers.
pub(super) const BUFFERS: usize = OWN + QUEUES;

/// Queues for packets of its own, at most.
const QUEUES: usize = 6;

/// A node's links: those to its neighbours, then from each incoming one to its processors.
const LINKS: usize = 2 * DIRECTIONS;

/// What is the same for all nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// What a full packet takes, in chunks.
    pub(super) slot: u16,
    /// What a buffer holds, in chunks.
    pub(super) most: u16,
    pub(super) adaptive: bool,
    /// The dimensions that are rings, as bits.
    wraps: u8,
    pub(super) queues: usize,
}

/// What links ask of the packet that stands first in a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    /// The links that bring it nearer, as bits; none where it is to be taken out.
    pub(super) wants: u8,
    pub(super) chunks: u8,
    /// Whether it leaves copies at the nodes that it passes.
    pub(super) copies: bool,
}

/// A queue of packets with a bounded length, first in, first out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) first: u32,
    pub(super) last: u32,
    /// Chunks for which there is room, as who sends into it knows.
    pub(super) room: u16,
    /// Of the first packet, once it asks for links.
    pub(super) head: Head,
    /// Chunks of the packet that leaves it now.
    pub(super) leaving: u8,
    /// The link on which it leaves, and [`COPIED`].
    pub(super) link: u8,
}

/// In a buffer's `link`: the packet that leaves it leaves a copy here.
pub(super) const COPIED: u8 = 1 << 7;

/// A node's router.
#[derive(Clone, Debug)]
#[repr(C, align(128))]
pub(super) struct Node {
    /// The links that are busy, as bits.
    pub(super) busy: u16,
    /// By link, chunks for which there is room in each channel's buffer at its other end.
    pub(super) tokens: [[u16; CHANNELS]; DIRECTIONS],
    /// By incoming link, chunks for which there is room until a processor takes them in.
    pub(super) reception: [u16; DIRECTIONS],
    /// By link, the buffer that it serves next, of equally long ones.
    turns: [u8; LINKS],
    /// By link to a neighbour, the buffers whose first packet waits for it, as bits.
    waiting: [u32; DIRECTIONS],
    /// The buffers whose first packet waits for a link to the processors, as bits.
    inwards: u32,
    /// Who is at the other end of each link; the node itself where nobody is.
    pub(super) neighbours: [u16; DIRECTIONS],
    /// What `room` is of other buffers, of the queues for packets that start here.
    pub(super) queues: [u16; QUEUES],
    pub(super) buffers: [Buffer; BUFFERS],
}

impl Rules {
    pub(super) fn new(settings: &TorusSettings, grid: &Grid) -> Rules {
        Rules {
            slot: chunks(settings.packet_bytes),
            most: chunks(settings.buffer_bytes),
            adaptive: settings.adaptive,
            wraps: (0..3).map(|d| u8::from(grid.wraps(d)) << d).sum(),
            queues: settings.injection_queues as usize,
        }
    }

    #[inline]
    fn wraps(&self, dimension: usize) -> bool {
        self.wraps >> dimension & 1 != 0
    }

    /// The links on which the first packet of a buffer may leave it.
    #[inline]
    pub(super) fn links(&self, head: Head, own: usize) -> u16 {
        let wants = u16::from(head.wants);
        match wants {
            0 => 1 << (DIRECTIONS + own / CHANNELS),
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
}

fn chunks(bytes: u32) -> u16 {
    (bytes / CHUNK_BYTES) as u16
}

impl Node {
    /// A node in which nothing is under way.
    pub(super) fn new(settings: &TorusSettings, grid: &Grid, number: u32) -> Node {
        let (most, slot) = (chunks(settings.buffer_bytes), chunks(settings.packet_bytes));
        // Full packets only.
        let room = [most, most, most / slot * slot];
        let neighbour = |direction| match grid.neighbour(number, direction) {
            NOBODY => number as u16,
            next => next as u16,
        };
        Node {
            busy: 0,
            tokens: [room; DIRECTIONS],
            reception: [chunks(settings.reception_bytes); DIRECTIONS],
            turns: [0; LINKS],
            waiting: [0; DIRECTIONS],
            inwards: 0,
            neighbours: core::array::from_fn(neighbour),
            queues: [chunks(settings.injection_bytes); QUEUES],
            buffers: core::array::from_fn(|own| Buffer {
                first: NONE,
                last: NONE,
                room: room[own % CHANNELS],
                head: Head::default(),
                leaving: 0,
                link: 0,
            }),
        }
    }

    /// The buffers whose first packet waits for a link, as bits.
    #[inline]
    pub(super) fn waiting(&self, link: usize) -> u32 {
        match link {
            ..DIRECTIONS => self.waiting[link],
            _ => self.inwards & ((1 << CHANNELS) - 1) << ((link - DIRECTIONS) * CHANNELS),
        }
    }

    /// The first packet of a buffer waits for some links.
    #[inline]
    pub(super) fn wait(&mut self, own: usize, links: u16) {
        self.each(links, |waiting| *waiting |= 1 << own);
    }

    /// It does so no more.
    #[inline]
    fn wait_no_more(&mut self, own: usize, links: u16) {
        self.each(links, |waiting| *waiting &= !(1 << own));
    }

    #[inline]
    fn each(&mut self, links: u16, change: impl Fn(&mut u32)) {
        let mut links = links;
        if links >= 1 << DIRECTIONS {
            return change(&mut self.inwards);
        }
        while links != 0 {
            change(&mut self.waiting[links.trailing_zeros() as usize]);
            links &= links - 1;
        }
    }

    /// The link and the channel on which the first packet of a buffer goes now, if it can: where most room is.
    #[inline]
    pub(super) fn best(&self, rules: &Rules, own: usize, head: Head) -> Option<(usize, usize)> {
        let mut free = rules.links(head, own) & !self.busy;
        let (mut best, mut most) = (None, 0);
        while free != 0 {
            let link = free.trailing_zeros() as usize;
            free &= free - 1;
            // What starts here goes behind what waits.
            if own >= OWN && self.waiting[link] != 0 {
                continue;
            }
            if let Some((channel, room)) = self.channel(rules, own, head, link) {
                // One to escape on only where there is no other.
                let room = if channel == ESCAPE { 1 } else { room + 1 };
                if room > most {
                    (best, most) = (Some((link, channel)), room);
                }
            }
        }
        best
    }

    /// The buffer that a link serves, and on which channel; then its first packet waits no more. Packets under way come before
    /// those that start here, without which rule a loaded torus carries half of what it can.
    #[inline]
    pub(super) fn next(&mut self, rules: &Rules, link: usize) -> Option<(usize, usize)> {
        let waiting = self.waiting(link);
        if waiting == 0 || self.busy & (1 << link) != 0 {
            return None;
        }
        let under_way = self.longest(rules, link, waiting & OTHERS);
        let next = under_way.or_else(|| self.longest(rules, link, waiting & !OTHERS));
        let (own, channel) = next?;
        self.turns[link] = ((own + 1) % u32::BITS as usize) as u8;
        let links = rules.links(self.buffers[own].head, own);
        self.wait_no_more(own, links);
        Some((own, channel))
    }

    /// Of the buffers of `waiting` whose packet can go over a link: to another node, of packets under way, the longest, and of
    /// equally long ones who is next; otherwise who is next.
    #[inline]
    fn longest(&self, rules: &Rules, link: usize, waiting: u32) -> Option<(usize, usize)> {
        let turn = u32::from(self.turns[link]);
        let in_turn = link >= DIRECTIONS || waiting & OTHERS == 0;
        let mut waiting = waiting.rotate_right(turn);
        let (mut longest, mut least) = (None, u16::MAX);
        while waiting != 0 {
            let own = ((waiting.trailing_zeros() + turn) % u32::BITS) as usize;
            waiting &= waiting - 1;
            let buffer = &self.buffers[own];
            if buffer.room >= least {
                continue;
            }
            if let Some((channel, _)) = self.channel(rules, own, buffer.head, link) {
                longest = Some((own, channel));
                if in_turn {
                    break;
                }
                least = buffer.room;
            }
        }
        longest
    }

    /// The channel on which a packet may go over a link now, with the room there.
    #[inline]
    fn channel(&self, rules: &Rules, own: usize, head: Head, link: usize) -> Option<(usize, u16)> {
        let chunks = u16::from(head.chunks);
        if link >= DIRECTIONS {
            let room = self.reception[link - DIRECTIONS];
            return (room >= chunks).then_some((0, room));
        }
        if head.copies && own < OWN && self.reception[own / CHANNELS] < chunks {
            return None;
        }
        let room = self.tokens[link];
        // What starts here leaves room for another packet that is under way.
        let least = (chunks + rules.slot).min(rules.most);
        if own >= OWN && room[0].max(room[1]) < least {
            return None;
        }
        if rules.adaptive {
            let channel = usize::from(room[1] > room[0]);
            if room[channel] >= chunks {
                return Some((channel, room[channel]));
            }
        }
        // Along x, then y, then z: the lowest bit.
        if head.wants.trailing_zeros() as usize != link {
            return None;
        }
        let stays = own == link * CHANNELS + ESCAPE || !rules.wraps(link / 2);
        let least = if stays { rules.slot } else { 2 * rules.slot };
        (room[ESCAPE] >= least).then_some((ESCAPE, room[ESCAPE]))
    }

    /// The queue that has most room for packets that start here, the first of those that have as much.
    #[inline]
    pub(super) fn roomiest(&self, rules: &Rules) -> (usize, u16) {
        let mut best = (0, self.queues[0]);
        for (at, room) in self.queues.iter().enumerate().take(rules.queues).skip(1) {
            if *room > best.1 {
                best = (at, *room);
            }
        }
        best
    }
}
