//! The flat network: every pair of ranks is equally far, and only the ranks' own ports are shared.
//!
//! LogGP's (C 3.1): a message occupies its sender's port for `gap`, travels for `latency_ps`, and occupies its receiver's port
//! for as long; with no latency and the gap α + nβ it is Hockney's (T 3), single-ported and full duplex.

use super::network::{Envelope, Event, Network, Processor, Work};
use super::queue::{Moment, Queue};
use super::time::Linear;
use alloc::vec;
use alloc::vec::Vec;

/// A flat network between `ranks` ranks.
#[derive(Clone, Debug)]
pub struct Flat {
    latency_ps: u64,
    gap: Linear,
    processor: Processor,
    /// When the ports of each rank, out and in, are free again.
    ports: Vec<[Moment; 2]>,
    /// How long each message that is under way occupies a port, by its number.
    occupied_ps: Vec<u64>,
}

impl Flat {
    /// A network in which nothing is under way.
    #[must_use]
    pub fn new(ranks: u32, latency_ps: u64, gap: Linear, processor: Processor) -> Flat {
        Flat {
            latency_ps,
            gap,
            processor,
            ports: vec![[0; 2]; ranks as usize],
            occupied_ps: Vec::new(),
        }
    }
}

/// The first byte of a message comes to its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    to: u32,
    number: u32,
}

impl Network for Flat {
    type Event = Head;

    #[inline]
    fn takes_ps(&self, _: u32, work: Work) -> u64 {
        self.processor.takes_ps(work)
    }

    #[inline]
    fn send(
        &mut self,
        at_ps: Moment,
        message: Envelope,
        queue: &mut Queue<Event<Head>>,
    ) -> Option<Moment> {
        let Envelope { number, to, .. } = message;
        let occupied_ps = self.gap.of(message.bytes);
        let least = number as usize + 1;
        if self.occupied_ps.len() < least {
            self.occupied_ps.resize(least, 0);
        }
        self.occupied_ps[number as usize] = occupied_ps;
        let port = &mut self.ports[message.from as usize][0];
        let start_ps = at_ps.max(*port);
        *port = start_ps + occupied_ps;
        queue.push(
            start_ps + self.latency_ps,
            Event::Inside(Head { to, number }),
        );
        Some(*port)
    }

    #[inline]
    fn happen(&mut self, head: Head, queue: &mut Queue<Event<Head>>) {
        let port = &mut self.ports[head.to as usize][1];
        let start_ps = queue.now_ps().max(*port);
        *port = start_ps + self.occupied_ps[head.number as usize];
        queue.push(*port, Event::Arrived(head.number));
    }
}
