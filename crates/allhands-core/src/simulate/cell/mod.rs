//! Cells: eight SPEs on an element interconnect bus, two such chips on a blade, and blades under further levels (C 2, 3, 6).
//!
//! ```text
//! SPU ─ issues ─▶ MFC ─ a bus request of 128 B ─▶ command bus ─ snooped ─▶ data bus ─▶ local store
//!                  └── as long as some are left, and few enough under way     └─▶ BIF ─▶ data bus ─▶ local store
//! ```
//!
//! A message is what C 3.2 describes: its sender puts the data's address to the receiver, which gets the data and puts an
//! acknowledgement; then it is over for both (C 4: a round takes L(m) + L(1), data and ACK). One without data is a notification, a put
//! of 16 bytes. Puts, gets and notifications of windows are single DMA commands.
//!
//! What this leaves out: a receiver gets the data as soon as it has the address, though it may not have come to that receive yet; the
//! SPU's time for the gets and acknowledgements of messages delays these, and not what else the SPU does; commands of the other
//! chip take no turns on the command bus; main memory.

mod chip;
mod dma;
mod eib;
mod helpers;
mod levels;
#[cfg(test)]
mod tests;

use super::network::{Envelope, Event, Kind, Network, Processor, Work};
use super::queue::{Moment, Queue};
use super::time::Linear;
use crate::schedule::Plan;
use alloc::vec;
use alloc::vec::Vec;
pub use dma::DmaEvent;
use dma::{Dma, Transfer};
use eib::SPES;
use helpers::Helpers;
pub use levels::Level;
use levels::Levels;

/// What a machine of Cells is made of. Times are in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Chips of a blade.
    pub chips: u32,
    /// A bus cycle: a ring carries 16 bytes, and the command bus takes one request.
    pub cycle_ps: u64,
    /// From the SPU's command to the first bus request.
    pub mfc_ps: u64,
    /// The command phase of a request: issue and snoop responses.
    pub command_ps: u64,
    /// From the end of the data's way on the bus to when it is there; the hops come on top, a cycle each.
    pub deliver_ps: u64,
    /// Bus requests that an SPE's controller has under way at most.
    pub outstanding: u32,
    /// The command phase of a request to the other chip.
    pub bif_command_ps: u64,
    /// What the BIF takes to carry data, each way, on top of what it is occupied for.
    pub bif_latency_ps: u64,
    /// What a request's data occupies the BIF for, each way.
    pub bif: Linear,
    /// What the SPUs take; `send` is what issuing a DMA command takes.
    pub processor: Processor,
    /// What is above a blade, from there up.
    pub levels: Vec<Level>,
}

/// Ranks on the SPEs of Cells: eight on a chip, from the first chip on (C 5.1).
#[derive(Clone, Debug)]
pub struct Cell {
    hardware: Hardware,
    dma: Dma,
    levels: Levels,
    helpers: Helpers,
    /// When each SPU can issue the next command of a message's protocol.
    issue_free_ps: Vec<Moment>,
    /// By number of the message.
    messages: Vec<Message>,
    /// What is on its way to each rank, in the order in which it was sent.
    inbound: Vec<Vec<Inbound>>,
}

/// Something inside the machine.
#[derive(Clone, Copy, Debug)]
pub enum CellEvent {
    /// On a blade.
    Blade(DmaEvent),
    /// A message is at a link above its blade.
    Link {
        /// The message.
        number: u32,
        /// The number of the link on its way.
        link: u32,
    },
}

/// The part of a message's protocol that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// The sender puts the address.
    Address,
    /// The receiver gets the data.
    Data,
    /// The receiver puts an acknowledgement.
    Acknowledgement,
    /// Its sender's only command.
    #[default]
    Put,
    /// Its receiver's only command: what a rank gets from another's window.
    Get,
}

#[derive(Clone, Copy, Debug, Default)]
struct Message {
    from: u32,
    to: u32,
    bytes: u64,
    phase: Phase,
    /// DMA commands of this phase that are not over.
    commands: u32,
    /// Whether the network tells the sender when it may use its memory again.
    tells: bool,
    /// Whether it arrives after all that its sender sent its receiver before.
    in_order: bool,
    /// The numbers of its first link above a blade and of the one behind its last.
    links: (u32, u32),
}

#[derive(Clone, Copy, Debug)]
struct Inbound {
    from: u32,
    number: u32,
    there: bool,
}

type Events = Queue<Event<CellEvent>>;

impl Cell {
    /// A machine in which nothing is under way, with as many chips as `ranks` ranks need.
    #[must_use]
    pub fn new(ranks: u32, hardware: Hardware) -> Cell {
        Cell {
            dma: Dma::new(ranks.div_ceil(SPES)),
            levels: Levels::new(&hardware.levels, ranks),
            helpers: Helpers::idle(ranks),
            hardware,
            issue_free_ps: vec![0; ranks as usize],
            messages: Vec::new(),
            inbound: vec![Vec::new(); ranks as usize],
        }
    }

    /// The same machine when it is to run these plans: helpers exchange by themselves what the ranks would only hand on.
    #[must_use]
    pub fn with_helpers(self, plans: &[Plan]) -> Cell {
        let crosses = |a, b| self.levels.helpers(a, b) > 0;
        let helpers = Helpers::of(plans, crosses);
        Cell { helpers, ..self }
    }

    fn on_one_blade(&self, a: u32, b: u32) -> bool {
        let ranks = self.hardware.chips * SPES;
        a / ranks == b / ranks
    }

    /// An SPU issues a command of a message's protocol as soon as it can; gives when it has.
    fn issue(&mut self, rank: u32, now_ps: Moment) -> Moment {
        let free_ps = &mut self.issue_free_ps[rank as usize];
        *free_ps = now_ps.max(*free_ps) + self.hardware.processor.send.of(0);
        *free_ps
    }

    /// A phase of a message begins: a controller is given its commands, which are issued from `at_ps` on.
    fn begin(&mut self, at_ps: Moment, number: u32, phase: Phase, queue: &mut Events) {
        let message = &mut self.messages[number as usize];
        message.phase = phase;
        let Message { from, to, .. } = *message;
        let (owner, ends, bytes) = match phase {
            Phase::Address => (from, (from, to), 0),
            Phase::Put => (from, (from, to), message.bytes),
            Phase::Data | Phase::Get => (to, (from, to), message.bytes),
            Phase::Acknowledgement => (to, (to, from), 0),
        };
        let transfer = Transfer {
            message: number,
            owner,
            from: ends.0,
            to: ends.1,
            bytes,
        };
        message.commands = self.dma.start(&self.hardware, at_ps, transfer, queue);
    }

    /// A command of a message is over; after the last of a phase comes the next one.
    fn command_over(&mut self, number: u32, queue: &mut Events) {
        let message = &mut self.messages[number as usize];
        message.commands -= 1;
        if message.commands > 0 {
            return;
        }
        let (to, phase) = (message.to, message.phase);
        let next = match phase {
            Phase::Address => Phase::Data,
            Phase::Data => Phase::Acknowledgement,
            Phase::Acknowledgement | Phase::Put | Phase::Get => {
                self.over(number, queue);
                return;
            }
        };
        let at_ps = self.issue(to, queue.now_ps());
        self.begin(at_ps, number, next, queue);
    }

    /// A message is over: tells its ends, the receiver in order.
    fn over(&mut self, number: u32, queue: &mut Events) {
        let now_ps = queue.now_ps();
        let message = self.messages[number as usize];
        if message.tells {
            queue.push(now_ps, Event::Sent(number));
        }
        if self.levels.helpers(message.from, message.to) > 0 {
            self.helpers.come(message.to);
        }
        if !message.in_order {
            queue.push(now_ps, Event::Arrived(number));
            return;
        }
        let inbound = &mut self.inbound[message.to as usize];
        let mut earlier = false;
        inbound.retain_mut(|entry| {
            entry.there |= entry.number == number;
            let mine = entry.from == message.from;
            let arrives = mine && entry.there && !earlier;
            earlier |= mine && !entry.there;
            if arrives {
                queue.push(now_ps, Event::Arrived(entry.number));
            }
            !arrives
        });
    }

    /// The links of a message that is sent now, the first and one behind the last: all on its way, or those between helpers.
    fn links_of(&mut self, from: u32, to: u32) -> (u32, u32) {
        let (all, helpers) = (self.levels.links(from, to), self.levels.helpers(from, to));
        let [mut first, mut end] = [0, all];
        if helpers > 0 {
            let [starts, ends] = self.helpers.send(from, to);
            first += if starts { helpers } else { 0 };
            end -= if ends { helpers } else { 0 };
        }
        (first as u32, end as u32)
    }

    /// A message is at a link above its blade, or behind the last.
    fn at_link(&mut self, number: u32, link: u32, queue: &mut Events) {
        let Message {
            from,
            to,
            bytes,
            links,
            ..
        } = self.messages[number as usize];
        if link == links.1 {
            self.over(number, queue);
            return;
        }
        let (now_ps, ends) = (queue.now_ps(), (from, to));
        let passed = self.levels.pass(now_ps, ends, bytes, link as usize);
        if link == links.0 {
            // The first helper has it all.
            queue.push(passed.free_ps, Event::Sent(number));
        }
        let link = link + 1;
        let next = Event::Inside(CellEvent::Link { number, link });
        queue.push(passed.there_ps, next);
    }
}

impl Network for Cell {
    type Event = CellEvent;

    #[inline]
    fn takes_ps(&self, _: u32, work: Work) -> u64 {
        self.hardware.processor.takes_ps(work)
    }

    fn send(&mut self, at_ps: Moment, message: Envelope, queue: &mut Events) -> Option<Moment> {
        let Envelope {
            number,
            from,
            to,
            bytes,
            kind,
            ..
        } = message;
        let near = self.on_one_blade(from, to);
        if near && kind == Kind::Request {
            // A get is one command of the one who gets: what it asks for is on its way at once.
            queue.push(at_ps, Event::Arrived(number));
            return Some(at_ps);
        }
        let (phase, tells) = match kind {
            Kind::Message if bytes > 0 => (Phase::Address, true),
            Kind::Put => (Phase::Put, true),
            Kind::Answer => (Phase::Get, false),
            Kind::Message | Kind::Notice | Kind::Request => (Phase::Put, false),
        };
        let in_order = kind != Kind::Answer;
        let least = number as usize + 1;
        if self.messages.len() < least {
            self.messages.resize(least, Message::default());
        }
        let links = self.links_of(from, to);
        self.messages[number as usize] = Message {
            from,
            to,
            bytes,
            tells: tells && near,
            in_order,
            links,
            ..Message::default()
        };
        if in_order {
            let there = false;
            let entry = Inbound {
                from,
                number,
                there,
            };
            self.inbound[to as usize].push(entry);
        }
        if near {
            self.begin(at_ps, number, phase, queue);
            return (!tells).then_some(at_ps);
        }
        let link = self.messages[number as usize].links.0;
        queue.push(at_ps, Event::Inside(CellEvent::Link { number, link }));
        None
    }

    fn happen(&mut self, event: CellEvent, queue: &mut Events) {
        let over = match event {
            CellEvent::Link { number, link } => {
                self.at_link(number, link, queue);
                None
            }
            CellEvent::Blade(event) => self.dma.happen(&self.hardware, event, queue),
        };
        if let Some(number) = over {
            self.command_over(number, queue);
        }
    }
}
