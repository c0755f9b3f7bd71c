//! A network of switches and links, a message at a time: the links of a message's route serve it one after another.
//!
//! Every link is a server with a queue, first come, first served. The head of a message moves on after a link's latency as soon
//! as the next link is free (virtual cut-through, with room for whole messages at every switch), and the link is occupied for as
//! long as its rate asks, or until the tail has come, whichever is later. So a message of n bytes on an idle route takes the sum
//! of the latencies and n by the slowest link. Packets are not modelled: messages do not share a link in turns.

use super::links::{Gauges, Link, Place, Use, Watch};
use super::network::{Envelope, Event, Network, Processor, Work};
use super::queue::{Moment, Queue};
use super::time::Linear;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// What a message pays at a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// How long it occupies the link.
    pub occupies: Linear,
    /// How long its head takes from the link's start to the next one's, the switch between them included.
    pub latency_ps: u64,
}

/// The links of a network, and which of them lie between two of its hosts.
pub trait Routes {
    /// How many links there are, each in one direction.
    fn links(&self) -> usize;

    /// The number of hosts.
    fn hosts(&self) -> u32;

    /// Link number `hop`, from 0, of the route between two different hosts; none beyond its end.
    fn link(&self, from: u32, to: u32, hop: u32) -> Option<usize>;

    /// What a message pays at a link.
    fn hop(&self, link: usize) -> Hop;

    /// The link's name.
    fn name(&self, link: usize) -> String;

    /// Where it stands, if the network has a shape.
    fn place(&self, link: usize) -> Option<Place> {
        let _ = link;
        None
    }
}

/// A message under way.
#[derive(Clone, Copy, Debug, Default)]
struct Transit {
    from: u32,
    to: u32,
    bytes: u64,
    /// When its tail has left the link before.
    tail_ps: Moment,
}

/// A network with the routes of `R`.
#[derive(Clone, Debug)]
pub struct Routed<R> {
    routes: R,
    processor: Processor,
    /// When each link is free again.
    free_ps: Vec<Moment>,
    /// By the messages' numbers.
    transits: Vec<Transit>,
    watched: Option<Box<Gauges>>,
}

/// The head of a message comes to a link of its route.
#[derive(Clone, Copy, Debug)]
pub struct AtLink {
    number: u32,
    hop: u32,
}

impl<R: Routes> Routed<R> {
    /// A network in which nothing is under way; rank r runs on host r.
    #[must_use]
    pub fn new(routes: R, processor: Processor) -> Routed<R> {
        Routed {
            free_ps: vec![0; routes.links()],
            routes,
            processor,
            transits: Vec::new(),
            watched: None,
        }
    }

    /// A message is at a link of its route; gives when it has left it, or nothing at the end of the route.
    fn pass(
        &mut self,
        AtLink { number, hop }: AtLink,
        ready_ps: Moment,
        queue: &mut Queue<Event<AtLink>>,
    ) -> Option<Moment> {
        let transit = &mut self.transits[number as usize];
        let link = self.routes.link(transit.from, transit.to, hop)?;
        let cost = self.routes.hop(link);
        let free_ps = &mut self.free_ps[link];
        let from_ps = ready_ps.max(*free_ps);
        let to_ps = (from_ps + cost.occupies.of(transit.bytes)).max(transit.tail_ps);
        *free_ps = to_ps;
        transit.tail_ps = to_ps + cost.latency_ps;
        if let Some(gauges) = &mut self.watched {
            let used = Use {
                from_ps,
                to_ps,
                bytes: transit.bytes,
            };
            gauges.note(link, ready_ps, used);
        }
        let hop = hop + 1;
        let event = Event::Inside(AtLink { number, hop });
        queue.push(from_ps + cost.latency_ps, event);
        Some(to_ps)
    }
}

impl<R: Routes> Network for Routed<R> {
    type Event = AtLink;

    fn takes_ps(&self, _: u32, work: Work) -> u64 {
        self.processor.takes_ps(work)
    }

    fn send(
        &mut self,
        at_ps: Moment,
        message: Envelope,
        queue: &mut Queue<Event<AtLink>>,
    ) -> Option<Moment> {
        let Envelope {
            number,
            from,
            to,
            bytes,
            ..
        } = message;
        let transit = Transit {
            from,
            to,
            bytes,
            tail_ps: at_ps,
        };
        let least = number as usize + 1;
        if self.transits.len() < least {
            self.transits.resize(least, Transit::default());
        }
        self.transits[number as usize] = transit;
        // What a rank sends itself is there at once.
        if from == to {
            queue.push(at_ps, Event::Arrived(number));
            return Some(at_ps);
        }
        self.pass(AtLink { number, hop: 0 }, at_ps, queue)
    }

    fn happen(&mut self, head: AtLink, queue: &mut Queue<Event<AtLink>>) {
        let now_ps = queue.now_ps();
        if self.pass(head, now_ps, queue).is_none() {
            let tail_ps = self.transits[head.number as usize].tail_ps;
            queue.push(tail_ps, Event::Arrived(head.number));
        }
    }

    fn watch(&mut self, watch: Watch) {
        self.watched = Some(Box::new(Gauges::new(self.routes.links(), watch)));
    }

    fn links(&self) -> Vec<Link> {
        let loads = self.watched.iter().flat_map(|gauges| gauges.loads());
        let link = |(at, load): (usize, &_)| Link {
            name: self.routes.name(at),
            place: self.routes.place(at),
            load: Clone::clone(load),
        };
        loads.enumerate().map(link).collect()
    }
}
