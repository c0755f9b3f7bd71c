//! A network of switches and links, a message at a time: the links of a message's route serve it one after another.
//!
//! Every link is a server with a queue, first come, first served. The head of a message moves on after a link's latency as soon
//! as the next link is free (virtual cut-through, with room for whole messages at every switch), and the link is occupied for as
//! long as its rate asks, or until the tail has come, whichever is later. So a message of n bytes on an idle route takes the sum
//! of the latencies and n by the slowest link. Packets are not modelled: messages do not share a link in turns.
//!
//! Where a network has [`Eager`] messages, short ones are copied at both ends, and long ones announced first:
//!
//! ```text
//! sender ─ announcement ─▶ receiver ─ answer ─▶ sender ─ data ─▶ receiver
//! ```
//!
//! as if the receiver had posted it by then, as if processors saw to both at once, and as if neither waited at a link: they are a
//! packet each, which passes between those of others.

use super::links::{Gauges, Link, Place, Use, Watch};
use super::network::{Envelope, Event, Kind, Network, Processor, Work};
use super::queue::{Moment, Queue};
use super::time::Linear;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
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

/// How message-passing software sends what ranks send: short messages at once, long ones when they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eager {
    /// The longest message that goes at once: it is copied where it leaves and where it comes.
    pub to_bytes: u64,
}

/// A message under way.
#[derive(Clone, Copy, Debug, Default)]
struct Transit {
    from: u32,
    to: u32,
    bytes: u64,
    /// Whether it was announced, and has not left yet.
    waits: bool,
    /// When its tail has left the link before.
    tail_ps: Moment,
}

/// A network with the routes of `R`.
#[derive(Clone, Debug)]
pub struct Routed<R> {
    routes: R,
    processor: Processor,
    eager: Option<Eager>,
    /// How many messages from one rank to another are announced and not under way: others between the two wait behind them.
    announced: BTreeMap<(u32, u32), u32>,
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
            eager: None,
            announced: BTreeMap::new(),
            transits: Vec::new(),
            watched: None,
        }
    }

    /// The same network, whose short messages are copied and whose long ones are announced.
    #[must_use]
    pub fn with_eager(self, eager: Option<Eager>) -> Routed<R> {
        Routed { eager, ..self }
    }

    /// Whether a message of this length is longer than those that go at once.
    fn is_long(&self, bytes: u64) -> bool {
        self.eager.is_some_and(|eager| bytes > eager.to_bytes)
    }

    /// How long two hosts take to announce a message and to answer.
    fn handshake_ps(&self, from: u32, to: u32) -> u64 {
        let way_ps = |from, to| {
            let hops = (0..).map_while(|hop| self.routes.link(from, to, hop));
            let [latency_ps, longest_ps] = hops.map(|link| self.routes.hop(link)).fold(
                [0, 0],
                |[latency_ps, longest_ps]: [u64; 2], hop| {
                    let longest_ps = longest_ps.max(hop.occupies.of(0));
                    [latency_ps + hop.latency_ps, longest_ps]
                },
            );
            latency_ps + longest_ps
        };
        let seen_ps = self.processor.receive.of(0) + self.processor.send.of(0);
        way_ps(from, to) + way_ps(to, from) + 2 * seen_ps
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
        let own_ps = self.processor.takes_ps(work);
        match work {
            Work::Send { bytes, .. } | Work::Receive { bytes, .. }
                if self.eager.is_some() && !self.is_long(bytes) =>
            {
                own_ps + self.processor.copy.of(bytes)
            }
            _ => own_ps,
        }
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
            kind,
            ..
        } = message;
        let behind = self.announced.get(&(from, to)).is_some_and(|all| *all > 0);
        let announced = kind == Kind::Message && from != to && (self.is_long(bytes) || behind);
        let transit = Transit {
            from,
            to,
            bytes,
            waits: announced,
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
        let head = AtLink { number, hop: 0 };
        if !announced {
            return self.pass(head, at_ps, queue);
        }
        *self.announced.entry((from, to)).or_default() += 1;
        let asked_ps = at_ps + self.handshake_ps(from, to);
        self.transits[number as usize].tail_ps = asked_ps;
        queue.push(asked_ps, Event::Inside(head));
        // Its sender may use its memory when the data have gone.
        None
    }

    fn happen(&mut self, head: AtLink, queue: &mut Queue<Event<AtLink>>) {
        let now_ps = queue.now_ps();
        let transit = &mut self.transits[head.number as usize];
        let asked_for = core::mem::take(&mut transit.waits);
        let pair = (transit.from, transit.to);
        match self.pass(head, now_ps, queue) {
            None => {
                let tail_ps = self.transits[head.number as usize].tail_ps;
                queue.push(tail_ps, Event::Arrived(head.number));
            }
            Some(left_ps) if asked_for => {
                queue.push(left_ps, Event::Sent(head.number));
                let waiting = self.announced.entry(pair).or_default();
                *waiting = waiting.saturating_sub(1);
            }
            Some(_) => {}
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

#[cfg(test)]
mod tests {
    use super::super::queue::Queue;
    use super::super::{FatTree, FatTreeRoutes, Level};
    use super::*;

    const COPY_FS: u64 = 500;
    const EAGER: Eager = Eager { to_bytes: 100 };

    /// Two hosts at a switch, with links of 1 ps a byte and 10 ps.
    fn network() -> FatTree {
        let linear = |fixed_ps, per_byte_fs| Linear {
            fixed_ps,
            per_byte_fs,
        };
        let hop = Hop {
            occupies: linear(0, 1000),
            latency_ps: 10,
        };
        let levels = vec![Level {
            down: 2,
            up: 1,
            hop,
        }];
        let processor = Processor {
            send: linear(3, 0),
            receive: linear(4, 0),
            copy: linear(0, COPY_FS),
            ..Processor::default()
        };
        let routes = FatTreeRoutes::new(levels).expect("it is right");
        FatTree::new(routes, processor).with_eager(Some(EAGER))
    }

    /// When messages of these lengths, sent at once from one host to the other, arrive, and by their numbers in which order.
    fn arrivals(all: &[u64]) -> Vec<(u32, Moment)> {
        let (mut network, mut queue) = (network(), Queue::default());
        for (number, bytes) in (0..).zip(all) {
            let message = Envelope {
                number,
                from: 0,
                to: 1,
                bytes: *bytes,
                kind: Kind::Message,
                carrier: None,
                port: 0,
                agreement: false,
                exchanged: false,
            };
            network.send(0, message, &mut queue);
        }
        let mut arrived = Vec::new();
        while let Some(event) = queue.pop() {
            match event {
                Event::Inside(head) => network.happen(head, &mut queue),
                Event::Arrived(number) => arrived.push((number, queue.now_ps())),
                Event::Sent(_) | Event::Wake(_) => {}
            }
        }
        arrived
    }

    #[test]
    fn long_messages_are_announced_and_short_ones_copied() {
        assert_eq!(arrivals(&[100]), [(0, 2 * 10 + 100)]);
        // Three times the way, and twice what processors take of a message.
        assert_eq!(arrivals(&[101]), [(0, 3 * 2 * 10 + 2 * 7 + 101)]);
        let busy_ps = |bytes| network().takes_ps(0, Work::Send { to: 1, bytes });
        assert_eq!((busy_ps(100), busy_ps(101)), (3 + 50, 3));
    }

    #[test]
    fn a_short_message_waits_for_a_long_one_before_it() {
        let order: Vec<u32> = arrivals(&[1000, 1])
            .iter()
            .map(|(number, _)| *number)
            .collect();
        assert_eq!(order, [0, 1]);
        assert_eq!(arrivals(&[1, 1000])[0].0, 0);
    }
}
