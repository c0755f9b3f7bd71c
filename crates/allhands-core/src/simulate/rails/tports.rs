//! Tports: a message is announced, and its receiver's interface, which has it matched, fetches it.
//!
//! ```text
//! sender ─ announcement ─▶ receiver ─ fetch ─▶ sender ─ data ─▶ receiver
//! ```
//!
//! As if the receiver had posted it by then. Source: Q 3.1, which says that these messages have two sides; that long ones go like
//! this is assumed.

use super::{Passing, Rails};
use crate::simulate::network::Event;
use crate::simulate::queue::{Moment, Queue};
use alloc::vec::Vec;

impl Rails {
    /// A message without data leaves `rank` at `at_ps`; gives when it comes to a bus of another.
    pub(super) fn crosses_ps(&mut self, rank: u32, at_ps: Moment) -> Moment {
        let bus = (self.node(rank), rank % self.times.rails);
        self.take_bus(bus, at_ps, 0)[0] + self.times.latency_ps
    }

    /// An announcement comes in, and out goes that the message is fetched.
    pub(super) fn announced(&mut self, number: u32, queue: &mut Queue<Event<Passing>>) {
        let (from, to) = self.under_way[number as usize].ranks;
        let bus = (self.node(to), from % self.times.rails);
        let [_, there_ps] = self.take_bus(bus, queue.now_ps(), 0);
        let come_ps = self.crosses_ps(to, there_ps);
        queue.push(come_ps, Event::Inside(Passing::Fetched(number)));
    }

    /// That a message is fetched comes in, and out it goes.
    pub(super) fn fetched(&mut self, number: u32, queue: &mut Queue<Event<Passing>>) {
        let passage = &self.under_way[number as usize];
        let (from, to) = passage.ranks;
        let all = (0..).zip(&passage.parts_bytes);
        let parts: Vec<(u32, u64)> = all
            .filter_map(|(rail, bytes)| Some((rail, (*bytes)?)))
            .collect();
        let bus = (self.node(from), to % self.times.rails);
        let [_, there_ps] = self.take_bus(bus, queue.now_ps(), 0);
        let [_, left_ps] = self.leave(there_ps, number, &parts, queue);
        queue.push(left_ps, Event::Sent(number));
    }
}
