//! The torus: a mesh or torus of nodes that pass packets on to their neighbours, as BlueGene/L's (B 2.1).
//!
//! ```text
//! processor ─▶ queues ─▶ router ─▶ link ─▶ router ─▶ … ─▶ router ─▶ processor
//!   puts in packets     buffers with tokens, 3 channels a link        takes them in
//! ```
//!
//! A message is cut into packets, each of which takes its sender's processor some time to put in, the links of its way, and its
//! receiver's processor to take in. So the parts of a long message overlap. A rank's messages take turns.

mod grid;
mod links;
mod order;
mod posted;
mod processors;
mod router;
mod settings;
#[cfg(test)]
mod tests;

use super::links::{Link, Watch};
use super::network::{Envelope, Event, Network, Work};
use super::observer::Observer;
use super::queue::{Moment, Queue};
use crate::machine::Fabric;
use alloc::vec::Vec;
use order::Order;
use processors::{Doing, Processors};
use router::{Left, Router};
pub use settings::{Beginning, NetworkError, TorusSettings, Tree};

/// What happens inside a torus.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A packet is at the end of a buffer.
    Arrive {
        /// The buffer, among those of its node.
        own: u8,
        /// The node.
        node: u16,
        /// The packet.
        packet: u32,
    },
    /// The packet that goes from a buffer has left it.
    Leave {
        /// The buffer, among those of its node.
        own: u8,
        /// The node.
        node: u16,
    },
    /// The processor of a rank is done with a packet, or has something to do.
    Turn(u32),
}

// All events are moved about, so they are small.
const _: () = assert!(size_of::<Signal>() == 8);

/// An event of a world on a torus.
type Signal = Event<Step>;

/// A mesh or torus.
#[derive(Clone, Debug)]
pub struct TorusNetwork {
    settings: TorusSettings,
    router: Router,
    processors: Processors,
    order: Order,
}

impl TorusNetwork {
    /// A torus for a call of `ranks` ranks, in which nothing is under way.
    ///
    /// # Errors
    /// [`NetworkError`] when a setting is wrong or the torus has another number of ranks.
    pub fn new(settings: TorusSettings, ranks: u32) -> Result<TorusNetwork, NetworkError> {
        settings.check()?;
        let there = settings.ranks();
        if there != u64::from(ranks) {
            return Err(NetworkError::Ranks {
                there,
                asked: ranks,
            });
        }
        Ok(TorusNetwork {
            settings,
            router: Router::new(&settings),
            processors: Processors::new(&settings),
            order: Order::new(ranks),
        })
    }

    /// How many times a packet has gone over a link.
    #[must_use]
    pub fn hops(&self) -> u64 {
        self.router.hops
    }

    fn node(&self, rank: u32) -> u32 {
        rank / self.settings.ranks_per_node
    }

    /// A processor ends what it does with a packet, and begins the next.
    fn turn(&mut self, rank: u32, queue: &mut Queue<Signal>) {
        match self.processors.end(rank) {
            Doing::Nothing => {}
            Doing::Puts { packet, last_of } => {
                self.router.start(packet, queue);
                if let Some(number) = last_of {
                    let now_ps = queue.now_ps();
                    queue.push(now_ps, Event::Sent(number));
                    for copy in self.processors.left_behind(number) {
                        queue.push(now_ps, Event::Sent(copy));
                    }
                }
            }
            Doing::Takes(packet) => {
                let number = self.router.packet(packet).message;
                self.router.take(packet, queue);
                if let Some(pair) = self.processors.taken(number) {
                    self.hand_over(number, pair, queue);
                }
            }
        }
        self.processors.begin(rank, &mut self.router, queue);
    }

    fn hand_over(&mut self, number: u32, pair: (u32, u32), queue: &mut Queue<Signal>) {
        let now_ps = queue.now_ps();
        let messages = &mut self.processors.messages;
        self.order.complete(messages, (number, pair), |number| {
            queue.push(now_ps, Event::Arrived(number));
        });
    }
}

impl Network for TorusNetwork {
    type Event = Step;

    #[inline]
    fn takes_ps(&self, _: u32, work: Work) -> u64 {
        match work {
            Work::Copy { bytes } => self.settings.copy.of(bytes),
            Work::Reduce { bytes } | Work::Combine { bytes, .. } => self.settings.reduce.of(bytes),
            // What messages take is taken packet by packet.
            Work::Send { .. }
            | Work::Put { .. }
            | Work::Get { .. }
            | Work::Notify { .. }
            | Work::Receive { .. } => 0,
        }
    }

    #[inline]
    fn free_ps(&mut self, rank: u32) -> Option<&mut Moment> {
        Some(self.processors.free_ps(rank))
    }

    fn deposits(&self) -> bool {
        true
    }

    fn meeting_ps(&self, fabric: Fabric, bytes: u64, converted: bool) -> Option<u64> {
        match fabric {
            Fabric::Tree => Some(self.settings.tree?.meeting_ps(bytes, converted)),
            Fabric::Interrupt => self.settings.interrupt_ps,
        }
    }

    #[inline]
    fn posted(&mut self, rank: u32, from: u32) {
        self.processors.posted.post(rank, from);
    }

    fn send(&mut self, _: Moment, message: Envelope, queue: &mut Queue<Signal>) -> Option<Moment> {
        let (from, to) = (self.node(message.from), self.node(message.to));
        if from == to {
            let time_ps = self.settings.copy.of(message.bytes);
            let free_ps = self.processors.free_ps(message.from);
            *free_ps = queue.now_ps().max(*free_ps) + time_ps;
            queue.push(*free_ps, Event::Arrived(message.number));
            return Some(*free_ps);
        }
        let way = self.router.grid.way(from, to);
        let left_behind = message
            .carrier
            .is_some_and(|carrier| self.processors.leave_behind(message, carrier, way));
        if !left_behind {
            self.processors.send(message, way, queue);
        }
        let pair = (message.from, message.to);
        self.order
            .sent(&mut self.processors.messages, message.number, pair);
        None
    }

    fn watch(&mut self, watch: Watch) {
        self.router.watch(watch);
    }

    fn links(&self) -> Vec<Link> {
        let gauges = self.router.watched.as_deref();
        gauges.map_or_else(Vec::new, |gauges| links::all(&self.router.grid, gauges))
    }

    #[inline]
    fn look_at<O: Observer>(&self, step: Step, stage: usize) {
        match step {
            Step::Arrive { own, node, packet } => {
                let place = place(node, own);
                self.router.look_at_arrival::<O>(place, packet, stage);
            }
            Step::Leave { own, node } => self.router.look_at_leaving::<O>(place(node, own), stage),
            Step::Turn(rank) => {
                let packet = self.processors.look_at_turn::<O>(rank, stage);
                let message = self
                    .router
                    .look_at_turn::<O>((self.node(rank), packet), stage);
                self.processors.look_at_message::<O>(message);
            }
        }
    }

    #[inline]
    fn look_at_rank<O: Observer>(&self, rank: u32) {
        self.processors.look_at_rank::<O>(rank);
    }

    #[inline]
    fn happen(&mut self, step: Step, queue: &mut Queue<Signal>) {
        match step {
            Step::Arrive { own, node, packet } => {
                self.router.arrive(place(node, own), packet, queue);
            }
            Step::Leave { own, node } => match self.router.leave(place(node, own), queue) {
                Left::Further => {}
                Left::Started(node) => self.processors.room(node, queue),
                Left::There(packet) => self.processors.there(packet, &mut self.router, queue),
            },
            Step::Turn(rank) => self.turn(rank, queue),
        }
    }
}

/// Where a buffer is: its node, and which of the node's it is.
fn place(node: u16, own: u8) -> (usize, usize) {
    (usize::from(node), usize::from(own))
}
