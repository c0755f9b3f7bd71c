//! The forecast: which algorithm is the fastest between nodes, by simulation with LogGP's times.
//!
//! Every rank simulates the same calls with the same times, in whole picoseconds, so all ranks take the same one.

mod candidates;
mod claimed;

use super::nodes::serves;
use crate::transport::net::Places;
use crate::transport::net::times::NetworkTimes;
use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::Collective;
use allhands_core::choose::{Facts, Question};
use allhands_core::machine::Nodes;
use allhands_core::schedule::{Layout, Plan, Shape};
use allhands_core::simulate::{
    Cluster, ClusterTimes, Linear, Moment, Observer, Reach, Work, simulate_observed,
};
pub(super) use candidates::size_class;
use candidates::{Window, bare, candidates, is_pipeline, may_serve, window};
pub(super) use claimed::flat;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The most ranks for which every algorithm is simulated; beyond, that would take longer than a choice may, and what they claim decides.
pub(super) const MOST_RANKS: u32 = 64;

/// The most segments that a pipeline is tried with.
const MOST_SEGMENTS: u32 = 512;

/// How much a pipeline may look at in a simulation, so that a choice among 64 ranks takes no more than about a second.
const MOST_LOOKS: u64 = 1 << 21;

/// A gain of less than one in so many parts of the time is less than what a forecast errs by: twice the segments are to save more.
const LEAST_GAIN: u64 = 32;

/// Costs that differ by less than one in so many parts are taken for equal.
const EQUAL_PART: u64 = 256;

/// One in so many parts of what a processor is busy with a call counts as time besides: it is lost for what the program does next.
const BUSY_PART: u64 = 8;

/// Inside a node, where choices between nodes are compared: an assumption about memory that ranks share, a tenth of a
/// microsecond a message and 10 GB/s, not a measurement.
const INSIDE: Reach = Reach {
    latency_ps: 100_000,
    overhead_ps: 50_000,
    long_overhead_ps: 50_000,
    short_bytes: u64::MAX,
    gap: Linear {
        fixed_ps: 0,
        per_byte_fs: 100_000,
    },
};

fn picoseconds(ns: f64) -> u64 {
    (ns * 1e3).clamp(0.0, 1e15).round() as u64
}

/// What everything takes on a cluster with these times.
fn of_cluster(times: &NetworkTimes) -> ClusterTimes {
    let by_byte = |ns: f64| Linear {
        fixed_ps: 0,
        per_byte_fs: (ns * 1e6).clamp(0.0, 1e12).round() as u64,
    };
    ClusterTimes {
        between: Reach {
            latency_ps: picoseconds(times.latency_ns),
            overhead_ps: picoseconds(times.overhead_ns),
            long_overhead_ps: picoseconds(times.long_overhead_ns),
            short_bytes: NetworkTimes::SHORT_BYTES,
            gap: Linear {
                fixed_ps: picoseconds(times.gap_ns),
                ..by_byte(times.byte_ns)
            },
        },
        inside: INSIDE,
        copy: INSIDE.gap,
        reduce: by_byte(times.reduce_byte_ns),
        shared_ps: 0,
    }
}

/// What was forecast.
#[derive(Debug)]
pub(crate) struct Forecast {
    pub(crate) measured: NetworkTimes,
    times: ClusterTimes,
    /// How much longer a processor is busy with a message to another node while all nodes send.
    more_in_burst_ps: u64,
    /// The fastest, with its parameters, by what decides.
    fastest: RefCell<BTreeMap<Key, Option<Named>>>,
}

/// An algorithm and its parameters.
pub(super) type Named = (&'static Algorithm, String);

/// What a call is forecast to take with an algorithm.
#[derive(Debug)]
pub(super) struct Timed {
    pub(super) named: Named,
    /// How long it takes, in picoseconds.
    pub(super) time_ps: u64,
    /// How long a rank's processor is busy, on the average, while all are, in picoseconds.
    pub(super) busy_ps: u64,
    /// What is compared, in picoseconds: the time, and a part of what processors are busy besides.
    pub(super) cost_ps: u64,
    /// What goes between nodes in all.
    sent_bytes: u64,
    shape: Shape,
    /// What is under way at a time, where others wait because of it.
    window: Option<Window>,
}

/// Collective, size class, whether the operator commutes, whether blocks differ in length.
type Key = (Collective, u64, bool, bool);

impl Forecast {
    pub(crate) fn new(times: &NetworkTimes) -> Forecast {
        Forecast {
            measured: *times,
            times: of_cluster(times),
            more_in_burst_ps: picoseconds(times.burst_overhead_ns - times.overhead_ns),
            fastest: RefCell::default(),
        }
    }

    /// The same times, for another communicator.
    pub(crate) fn another(&self) -> Forecast {
        Forecast {
            fastest: RefCell::default(),
            ..*self
        }
    }

    /// The same times, for other nodes.
    pub(crate) fn forget(self) -> Forecast {
        Forecast {
            fastest: RefCell::default(),
            ..self
        }
    }

    /// The fastest algorithm for a call on nodes, whose ranks share memory in their places; none where it cannot be told: where not every rank
    /// knows the lengths.
    pub(crate) fn choose(
        &self,
        question: &Question,
        (nodes, places): (&Nodes, &Places),
    ) -> Option<(&'static Algorithm, Shape)> {
        let facts = Facts::of(question);
        let bytes = size_class(facts.bytes?);
        let call = question.call;
        let key = (call.collective, bytes, call.commutative, question.irregular);
        let mut known = self.fastest.borrow_mut();
        let found = known.entry(key).or_insert_with(|| {
            if call.ranks > MOST_RANKS {
                return self.claimed(question, (nodes, places), bytes);
            }
            let timed = self.timed(question, (nodes, places), bytes);
            let fastest = self.fastest(&timed, (bytes, places));
            fastest.map(|timed| timed.named.clone())
        });
        let (algorithm, parameters) = found.as_ref()?;
        let shape = algorithm.shape(call, parameters).ok()?;
        serves(algorithm, &shape.clone().on(nodes.clone()), places).then_some((*algorithm, shape))
    }

    /// What everything costs that may serve a call.
    pub(super) fn timed(
        &self,
        question: &Question,
        (nodes, places): (&Nodes, &Places),
        bytes: u64,
    ) -> Vec<Timed> {
        let candidates = candidates(question, nodes, places).into_iter();
        let timed = candidates.filter_map(|(named, shape)| self.time(named, shape, bytes, places));
        let segmented = self.segmented(question, (nodes, places), bytes);
        timed.chain(segmented).collect()
    }

    /// Every pipeline with the number of segments that is the best for it, in powers of two.
    fn segmented(
        &self,
        question: &Question,
        (nodes, places): (&Nodes, &Places),
        bytes: u64,
    ) -> Vec<Timed> {
        let call = bare(question);
        let mut all = Vec::new();
        for algorithm in algorithm::of(call.collective).filter(|found| is_pipeline(found)) {
            let time = |segments: u32| {
                let parameters = format!("segments={segments}");
                let shape = algorithm.shape(call, &parameters).ok()?.on(nodes.clone());
                may_serve(algorithm, &shape, question, (nodes, places)).then_some(())?;
                // A look at a rank is one at all of its messages.
                let ports = u64::from((algorithm.claims)(&shape).ports);
                let looks = ports.pow(2) * u64::from(call.ranks * segments);
                (looks <= MOST_LOOKS).then_some(())?;
                self.time((algorithm, parameters), shape, bytes, places)
            };
            all.extend(best_power(time, |timed| timed.cost_ps));
        }
        all
    }

    /// What a call costs, with root 0; none if it cannot be simulated.
    fn time(&self, named: Named, shape: Shape, bytes: u64, places: &Places) -> Option<Timed> {
        let (time_ps, busy) = self.times_ps(named.0, &shape, bytes, (0, places))?;
        let busy_ps = busy.all_ps / u64::from(shape.call.ranks);
        Some(Timed {
            time_ps,
            busy_ps,
            sent_bytes: busy.all_bytes / 2,
            cost_ps: time_ps + busy_ps / BUSY_PART,
            window: window(named.0, &shape),
            named,
            shape,
        })
    }

    /// What costs the least, or, of what costs hardly more, what has the least window that is wide enough: that its rounds
    /// wait for nobody, and hosts and queues have little at a time, no forecast shows.
    ///
    /// One is wide enough if it takes hardly longer than the others, too, where every message is as late as a peer is that first has to
    /// send all of its own, or all of a step. Between 13 hosts of 200 Mbit/s and 500 us, of whole vectors, a window of 4 takes 6 to 12 % less than none
    /// for 1 and 4 MB, one of 8 takes 4 to 8 % less than one of 4 for 128 KB, and one of 4 takes 10 to 30 % more than none for 32 and
    /// 64 KB, as it is too narrow. A ring in two segments, which are a window of 2, takes 4 to 8 % less than `all-pairs` with one of 4 for 1 to
    /// 8 MB among 8 and 13 such hosts, and 15 % less for 25 MB.
    pub(super) fn fastest<'a>(
        &self,
        timed: &'a [Timed],
        (bytes, places): (u64, &Places),
    ) -> Option<&'a Timed> {
        // The first of equals: the order of the registry is the same everywhere.
        let fastest = timed.iter().min_by_key(|timed| timed.cost_ps)?;
        let near = timed
            .iter()
            .filter(|timed| timed.cost_ps <= hardly_more(fastest.cost_ps));
        if near.clone().all(|timed| timed.window.is_none()) {
            // Of equals the one that sends the least has the least to be wrong about: what goes by way of others waits for them, and of several
            // long messages that leave a host together, all come late. 4 MB from one of 13 hosts: 197 ms by a tree, 158 without.
            let equal = near
                .filter(|timed| timed.cost_ps <= fastest.cost_ps + fastest.cost_ps / EQUAL_PART);
            return equal.min_by_key(|timed| (timed.sent_bytes, timed.cost_ps));
        }
        let late = near.filter_map(|timed| {
            let by_ps = fastest.busy_ps / 2 / timed.window.map_or(1, |window| window.steps.into());
            let late = self.times_ps(timed.named.0, &timed.shape, bytes, (by_ps, places));
            Some((late?.0, timed))
        });
        let late: Vec<(u64, &Timed)> = late.collect();
        let least_ps = late.iter().map(|(late_ps, _)| *late_ps).min()?;
        let wide_enough = late
            .into_iter()
            .filter(|(late_ps, timed)| timed.window.is_none() || *late_ps <= hardly_more(least_ps));
        let messages = |timed: &Timed| timed.window.map_or(u32::MAX, |window| window.messages);
        let chosen = wide_enough.min_by_key(|(_, timed)| (messages(timed), timed.cost_ps));
        chosen.map(|(_, timed)| timed)
    }

    /// How long a call takes in which every message between nodes comes late by so many picoseconds, and what processors are busy with.
    fn times_ps(
        &self,
        algorithm: &Algorithm,
        shape: &Shape,
        bytes: u64,
        (late_ps, places): (u64, &Places),
    ) -> Option<(u64, AllBusy)> {
        const ELEMENT_BYTES: usize = 4;
        let call = shape.call;
        let elements = (bytes as usize).div_ceil(ELEMENT_BYTES);
        let layout = Layout::regular(call.collective, elements);
        let plan = |rank| {
            let schedule = algorithm.schedule(shape, rank);
            Plan::lower(&schedule, &call, &layout, ELEMENT_BYTES)
        };
        let plans: Vec<Plan> = (0..call.ranks).map(plan).collect::<Result<_, _>>().ok()?;
        let node_of: Vec<u32> = (0..call.ranks).map(|rank| places.node(rank)).collect();
        let mut times = self.times;
        times.between.latency_ps += late_ps;
        // While all nodes send, a message waits for one of each other node.
        let others = node_of.iter().max().copied().unwrap_or(0);
        times.shared_ps = self.more_in_burst_ps / u64::from(others.max(1));
        let mut cluster = Cluster::new(&node_of, times);
        let mut busy = Busy {
            between: times.between,
            more_ps: self.more_in_burst_ps,
            node_of: &node_of,
            all: AllBusy::default(),
        };
        let outcome = simulate_observed(&plans, &mut cluster, &mut busy).ok()?;
        Some((outcome.completion_ps(), busy.all))
    }
}

/// The most that is hardly more.
fn hardly_more(ps: u64) -> u64 {
    ps + ps / LEAST_GAIN
}

/// What is made with the number of segments that costs the least, of powers of two until one gains nothing or cannot be made.
fn best_power<T>(make: impl Fn(u32) -> Option<T>, cost: impl Fn(&T) -> u64) -> Option<T> {
    let mut best: Option<T> = None;
    for power in 0..=MOST_SEGMENTS.ilog2() {
        let Some(now) = make(1 << power) else {
            break;
        };
        // Shorter segments come through sooner, until what each one costs weighs more.
        let gain = best
            .as_ref()
            .map(|best| cost(best).saturating_sub(cost(&now)));
        match gain.is_some_and(|gain| gain < cost(&now) / LEAST_GAIN) {
            // Where two segments are always under way, two in all go like one.
            true if power == 1 => {}
            true => break,
            false => best = Some(now),
        }
    }
    best
}

/// What processors are busy with, all together.
#[derive(Clone, Copy, Debug, Default)]
struct AllBusy {
    /// For how many picoseconds, while all of them are.
    all_ps: u64,
    /// The bytes of messages between nodes, at both of their ends.
    all_bytes: u64,
}

/// Adds up what processors are busy with.
#[derive(Debug)]
struct Busy<'a> {
    /// With a message to or from another node if they were not.
    between: Reach,
    /// How much longer than that.
    more_ps: u64,
    node_of: &'a [u32],
    all: AllBusy,
}

impl Observer for Busy<'_> {
    fn works(&mut self, rank: u32, work: Work, from_ps: Moment, to_ps: Moment) {
        let node = |rank: u32| self.node_of[rank as usize];
        self.all.all_ps += match work.peer().filter(|peer| node(*peer) != node(rank)) {
            Some(_) => {
                self.all.all_bytes += work.bytes();
                self.between.overhead_of(work.bytes()) + self.more_ps
            }
            None => to_ps - from_ps,
        };
    }
}

#[cfg(test)]
mod tests;
