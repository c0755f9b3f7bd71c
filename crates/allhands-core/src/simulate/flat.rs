//! The flat network: every pair of ranks is equally far, and only the ranks' own ports are shared.
//!
//! LogGP's (C 3.1): a message occupies its sender's port for `gap`, travels for `latency_ps`, and occupies its receiver's port
//! for as long; with no latency and the gap α + nβ it is Hockney's (T 3), single-ported and full duplex. How long is a matter
//! of its [`Times`]: [`LogGp`], or [`PLogP`](super::PLogP) with tables over sizes.

use super::links::{Gauges, Link, Place, Use, Watch};
use super::network::{Envelope, Event, Network, Processor, Work};
use super::observer::Observer;
use super::queue::{Moment, Queue};
use super::time::Linear;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// How long things take on a flat network.
pub trait Times {
    /// How long a processor is busy with `work`, in picoseconds.
    fn takes_ps(&self, work: Work) -> u64;

    /// How long a message occupies a port, in picoseconds.
    fn gap_ps(&self, bytes: u64) -> u64;

    /// How much of the gap the processors of sender and receiver work themselves, in picoseconds.
    #[inline]
    fn inside_gap_ps(&self, bytes: u64) -> (u64, u64) {
        let _ = bytes;
        (0, 0)
    }
}

/// LogGP's times: the gap grows with the length, and processors work before and after it.
#[derive(Clone, Copy, Debug)]
pub struct LogGp {
    gap: Linear,
    processor: Processor,
}

impl Times for LogGp {
    #[inline]
    fn takes_ps(&self, work: Work) -> u64 {
        self.processor.takes_ps(work)
    }

    #[inline]
    fn gap_ps(&self, bytes: u64) -> u64 {
        self.gap.of(bytes)
    }
}

/// A flat network.
#[derive(Clone, Debug)]
pub struct Flat<T = LogGp> {
    latency_ps: u64,
    times: T,
    /// When the ports of each rank, out and in, are free again.
    ports: Vec<[Moment; 2]>,
    /// The length of each message that is under way, by its number.
    lengths: Vec<u64>,
    watched: Option<Box<Gauges>>,
}

impl Flat {
    /// A network between `ranks` ranks in which nothing is under way, with LogGP's times.
    #[must_use]
    pub fn new(ranks: u32, latency_ps: u64, gap: Linear, processor: Processor) -> Flat {
        Flat::with_times(ranks, latency_ps, LogGp { gap, processor })
    }
}

impl<T: Times> Flat<T> {
    /// A network between `ranks` ranks in which nothing is under way.
    #[must_use]
    pub fn with_times(ranks: u32, latency_ps: u64, times: T) -> Flat<T> {
        Flat {
            latency_ps,
            times,
            ports: vec![[0; 2]; ranks as usize],
            lengths: Vec::new(),
            watched: None,
        }
    }

    /// A message of `bytes` bytes that is ready at `ready_ps` occupies a port as soon as that is free; gives when that begins,
    /// and when it is over.
    #[inline]
    fn occupy(&mut self, rank: u32, side: usize, ready_ps: Moment, bytes: u64) -> (Moment, Moment) {
        let free_ps = &mut self.ports[rank as usize][side];
        let from_ps = ready_ps.max(*free_ps);
        let to_ps = from_ps + self.times.gap_ps(bytes);
        *free_ps = to_ps;
        if let Some(gauges) = &mut self.watched {
            let used = Use {
                from_ps,
                to_ps,
                bytes,
            };
            gauges.note(2 * rank as usize + side, ready_ps, used);
        }
        (from_ps, to_ps)
    }
}

/// The first byte of a message comes to its receiver.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    to: u32,
    number: u32,
}

impl<T: Times> Network for Flat<T> {
    type Event = Head;

    #[inline]
    fn takes_ps(&self, _: u32, work: Work) -> u64 {
        self.times.takes_ps(work)
    }

    #[inline]
    fn send(
        &mut self,
        at_ps: Moment,
        message: Envelope,
        queue: &mut Queue<Event<Head>>,
    ) -> Option<Moment> {
        let Envelope {
            number,
            from,
            to,
            bytes,
            ..
        } = message;
        let least = number as usize + 1;
        if self.lengths.len() < least {
            self.lengths.resize(least, 0);
        }
        self.lengths[number as usize] = bytes;
        let (early_ps, _) = self.times.inside_gap_ps(bytes);
        // What the network sends by itself, such as the answer to a get, no processor has begun.
        let ready_ps = at_ps.saturating_sub(early_ps).max(queue.now_ps());
        let (from_ps, to_ps) = self.occupy(from, 0, ready_ps, bytes);
        let head = Head { to, number };
        queue.push(from_ps + self.latency_ps, Event::Inside(head));
        Some(to_ps)
    }

    #[inline]
    fn look_at<O: Observer>(&self, head: Head, stage: usize) {
        if stage == 0 {
            O::soon(&self.ports[head.to as usize], |port| port[1] as usize);
            O::soon(&self.lengths[head.number as usize], |bytes| *bytes as usize);
        }
    }

    #[inline]
    fn look_at_rank<O: Observer>(&self, rank: u32) {
        O::soon(&self.ports[rank as usize], |port| port[0] as usize);
    }

    #[inline]
    fn happen(&mut self, head: Head, queue: &mut Queue<Event<Head>>) {
        let Head { to, number } = head;
        let bytes = self.lengths[number as usize];
        let (_, to_ps) = self.occupy(to, 1, queue.now_ps(), bytes);
        let (_, late_ps) = self.times.inside_gap_ps(bytes);
        queue.push(to_ps - late_ps, Event::Arrived(number));
    }

    fn watch(&mut self, watch: Watch) {
        self.watched = Some(Box::new(Gauges::new(2 * self.ports.len(), watch)));
    }

    fn links(&self) -> Vec<Link> {
        let loads = self.watched.iter().flat_map(|gauges| gauges.loads());
        let link = |(at, load): (usize, &_)| Link {
            name: format!("rank {} {}", at / 2, ["out", "in"][at % 2]),
            place: Some(Place {
                at: vec![at as u32 / 2],
                dimension: None,
                forward: at % 2 == 0,
            }),
            load: Clone::clone(load),
        };
        loads.enumerate().map(link).collect()
    }
}
