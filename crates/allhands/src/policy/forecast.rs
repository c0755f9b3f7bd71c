//! The forecast: which algorithm is the fastest between nodes, by simulation with LogGP's times.
//!
//! Every rank simulates the same calls with the same times, in whole picoseconds, so all ranks take the same one.

use super::nodes::serves;
use crate::transport::net::Places;
use crate::transport::net::times::NetworkTimes;
use allhands_core::algorithm::{self, Algorithm, Key as Parameter, Layers, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Facts, Question};
use allhands_core::machine::{Fabrics, Nodes};
use allhands_core::schedule::{Layout, Plan, Shape};
use allhands_core::simulate::{
    Cluster, ClusterTimes, Linear, Moment, Observer, Reach, Work, simulate_observed,
};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The most ranks for which every algorithm is simulated; beyond, that would take longer than a choice may.
pub(super) const MOST_RANKS: u32 = 64;

/// The most segments that a pipeline is tried with.
const MOST_SEGMENTS: u32 = 512;

/// A gain of less than one in so many parts of the time is less than what a forecast errs by: twice the segments are to save more.
const LEAST_GAIN: u64 = 32;

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
    /// knows the lengths, or there are very many ranks.
    pub(crate) fn choose(
        &self,
        question: &Question,
        (nodes, places): (&Nodes, &Places),
    ) -> Option<(&'static Algorithm, Shape)> {
        let facts = Facts::of(question);
        let bytes = size_class(facts.bytes?);
        let call = question.call;
        if call.ranks > MOST_RANKS {
            return None;
        }
        let key = (call.collective, bytes, call.commutative, question.irregular);
        let mut known = self.fastest.borrow_mut();
        let found = known
            .entry(key)
            .or_insert_with(|| fastest(&self.timed(question, (nodes, places), bytes)).cloned());
        let (algorithm, parameters) = found.as_ref()?;
        let shape = algorithm.shape(call, parameters).ok()?;
        serves(algorithm, &shape.clone().on(nodes.clone()), places).then_some((*algorithm, shape))
    }

    /// What everything costs that may serve a call, in picoseconds.
    pub(super) fn timed(
        &self,
        question: &Question,
        (nodes, places): (&Nodes, &Places),
        bytes: u64,
    ) -> Vec<(u64, Named)> {
        let candidates = candidates(question, nodes, places).into_iter();
        let timed = candidates.filter_map(|(named, shape)| {
            let cost_ps = self.cost_ps(named.0, &shape, bytes, places)?;
            Some((cost_ps, named))
        });
        let segmented = self.segmented(question, (nodes, places), bytes);
        timed.chain(segmented).collect()
    }

    /// Every pipeline with the number of segments that is the best for it, in powers of two.
    fn segmented(
        &self,
        question: &Question,
        (nodes, places): (&Nodes, &Places),
        bytes: u64,
    ) -> Vec<(u64, Named)> {
        let call = bare(question);
        let mut all = Vec::new();
        let is_pipeline = |algorithm: &&'static Algorithm| {
            let mut keys = algorithm.keys.iter();
            keys.any(|key| key.name == Parameter::SEGMENTS.name)
        };
        for algorithm in algorithm::of(call.collective).filter(is_pipeline) {
            let time = |segments: u32| {
                let parameters = format!("segments={segments}");
                let shape = algorithm.shape(call, &parameters).ok()?.on(nodes.clone());
                may_serve(algorithm, &shape, question, (nodes, places)).then_some(())?;
                let cost_ps = self.cost_ps(algorithm, &shape, bytes, places)?;
                Some((cost_ps, (algorithm, parameters)))
            };
            let mut best: Option<(u64, Named)> = None;
            for power in 0..=MOST_SEGMENTS.ilog2() {
                let Some(now) = time(1 << power) else {
                    break;
                };
                // Shorter segments come through sooner, until what each one costs weighs more.
                let gain_ps = best
                    .as_ref()
                    .map(|(least_ps, _)| least_ps.saturating_sub(now.0));
                if gain_ps.is_some_and(|gain_ps| gain_ps < now.0 / LEAST_GAIN) {
                    break;
                }
                best = Some(now);
            }
            all.extend(best);
        }
        all
    }

    /// What a call costs, with root 0, in picoseconds: how long it takes, which is no less than what it keeps a rank's processor busy on
    /// the average, as hosts may share processors, and until the first message has come; and a part of that. None if it cannot be
    /// simulated.
    fn cost_ps(
        &self,
        algorithm: &Algorithm,
        shape: &Shape,
        bytes: u64,
        places: &Places,
    ) -> Option<u64> {
        let (time_ps, busy_ps) = self.times_ps(algorithm, shape, bytes, places)?;
        let busy_ps = busy_ps / u64::from(shape.call.ranks);
        let busy_until_ps = busy_ps + self.times.between.latency_ps;
        Some(time_ps.max(busy_until_ps) + busy_ps / BUSY_PART)
    }

    /// How long a call takes, and how long processors are busy with it, all together.
    pub(super) fn times_ps(
        &self,
        algorithm: &Algorithm,
        shape: &Shape,
        bytes: u64,
        places: &Places,
    ) -> Option<(u64, u64)> {
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
        let mut cluster = Cluster::new(&node_of, self.times);
        let mut busy = Busy {
            more_ps: self.more_in_burst_ps,
            node_of: &node_of,
            all_ps: 0,
        };
        let outcome = simulate_observed(&plans, &mut cluster, &mut busy).ok()?;
        Some((outcome.completion_ps(), busy.all_ps))
    }
}

/// For how many picoseconds processors are busy, all together, while all of them are.
#[derive(Debug)]
struct Busy<'a> {
    /// How much longer with a message to or from another node than if they were not.
    more_ps: u64,
    node_of: &'a [u32],
    all_ps: u64,
}

impl Observer for Busy<'_> {
    fn works(&mut self, rank: u32, work: Work, from_ps: Moment, to_ps: Moment) {
        let node = |rank: u32| self.node_of[rank as usize];
        let is_between = work.peer().is_some_and(|peer| node(peer) != node(rank));
        self.all_ps += to_ps - from_ps + u64::from(is_between) * self.more_ps;
    }
}

/// What costs the least, or, of what costs hardly more, an exchange with a window: that its rounds wait for nobody, and hosts
/// and queues have little at a time, no forecast shows. Between 13 hosts it takes 6 to 12 % less for 1 and 4 MB.
pub(super) fn fastest(timed: &[(u64, Named)]) -> Option<&Named> {
    let least_ps = timed.iter().map(|(cost_ps, _)| *cost_ps).min()?;
    let is_near = |(cost_ps, _): &&(u64, Named)| *cost_ps - least_ps <= least_ps / LEAST_GAIN;
    let has_window = |parameters: &str| parameters.contains(Parameter::WINDOW.name);
    // The first of equals: the order of the registry is the same everywhere.
    let near = timed.iter().filter(is_near);
    let chosen = near.min_by_key(|(cost_ps, (_, parameters))| (!has_window(parameters), *cost_ps));
    chosen.map(|(_, named)| named)
}

/// Sizes that are taken for the same: they agree in their first three binary digits.
pub(super) fn size_class(bytes: u64) -> u64 {
    let spare = (u64::BITS - bytes.leading_zeros()).saturating_sub(3);
    bytes >> spare << spare
}

/// The call as it is simulated: with root 0.
fn bare(question: &Question) -> Call {
    Call {
        root: 0,
        in_place: false,
        ..question.call
    }
}

/// Whether an algorithm can serve a call on nodes, and may be worth it.
fn may_serve(
    algorithm: &Algorithm,
    shape: &Shape,
    question: &Question,
    (nodes, places): (&Nodes, &Places),
) -> bool {
    let needs = |requirement| algorithm.requires.contains(&requirement);
    let possible = !needs(Requirement::Torus) && algorithm.fabrics() == Fabrics::default();
    let exchanges =
        question.irregular && (needs(Requirement::AllCounts) || needs(Requirement::PassingCounts));
    let mut sizes = nodes.innermost(question.call.ranks).into_iter();
    let layers = !needs(Requirement::Nodes) || sizes.any(|size| size > 1);
    possible && !exchanges && layers && serves(algorithm, shape, places)
}

/// Everything that serves a call on nodes, with root 0.
fn candidates(question: &Question, nodes: &Nodes, places: &Places) -> Vec<(Named, Shape)> {
    let call = bare(question);
    let mut all = Vec::new();
    for algorithm in algorithm::of(call.collective) {
        for parameters in settings(algorithm) {
            let Ok(shape) = algorithm.shape(call, &parameters) else {
                continue;
            };
            let shape = shape.on(nodes.clone());
            if may_serve(algorithm, &shape, question, (nodes, places)) {
                all.push(((algorithm, parameters), shape));
            }
        }
    }
    all
}

/// The registered settings, and, of what is made of others, everything that may serve the leaders.
fn settings(algorithm: &Algorithm) -> Vec<String> {
    let leaders = algorithm.layers.map_or(&[][..], |layers| layers.leaders);
    let named = leaders
        .iter()
        .map(|found| format!("{}={}", Layers::INTER, found.name));
    let registered = algorithm.settings.iter().map(ToString::to_string);
    registered.chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands_core::simulate::simulate;

    /// About a cluster of 200 Mbit/s and 500 µs.
    const SLOW: NetworkTimes = NetworkTimes {
        latency_ns: 500_000.0,
        overhead_ns: 5_000.0,
        long_overhead_ns: 5_000.0,
        burst_overhead_ns: 5_000.0,
        gap_ns: 1_000.0,
        byte_ns: 40.0,
        reduce_byte_ns: 0.1,
    };

    fn chosen(collective: Collective, bytes: u64, nodes: &str) -> (String, f64) {
        let nodes: Nodes = nodes.parse().unwrap();
        let ranks = nodes.sizes(0).iter().sum();
        let question = Question::new(Call::new(collective, ranks), bytes);
        let (forecast, places) = (Forecast::new(&SLOW), Places::of(&nodes, ranks));
        let (algorithm, shape) = forecast.choose(&question, (&nodes, &places)).unwrap();
        let times_ps = forecast.times_ps(algorithm, &shape.clone().on(nodes), bytes, &places);
        let inter = algorithm.named(&shape, "inter").unwrap_or("");
        let name = format!("{} {inter}", algorithm.name);
        (name.trim().to_string(), times_ps.unwrap().0 as f64 / 1e6)
    }

    #[test]
    fn long_vectors_come_near_the_bound() {
        const MB: u64 = 1 << 20;
        // L + 2 (p−1)/p mG, and L + (p−1)/p mG of all blocks together.
        for (nodes, ranks) in [("8x1", 8.0), ("13x1", 13.0)] {
            let (name, time_us) = chosen(Collective::Allreduce, 4 * MB, nodes);
            let bound_us = 500.0 + 2.0 * (ranks - 1.0) / ranks * 4.0 * MB as f64 * 0.04;
            assert!(time_us < 1.15 * bound_us, "{name}: {time_us} of {bound_us}");
            let (name, time_us) = chosen(Collective::Allgather, MB, nodes);
            let bound_us = 500.0 + (ranks - 1.0) * MB as f64 * 0.04;
            assert!(time_us < 1.1 * bound_us, "{name}: {time_us} of {bound_us}");
        }
    }

    #[test]
    fn a_pipeline_has_as_many_segments_as_are_best_for_it() {
        const MB: u64 = 1 << 20;
        // Two messages and one transfer of the vector; no registered number of segments comes as near.
        for bytes in [MB, 4 * MB, 16 * MB] {
            let (name, time_us) = chosen(Collective::Broadcast, bytes, "13x1");
            let bound_us = 1000.0 + bytes as f64 * 0.04 - 500.0 / 12.0;
            assert!(time_us < 1.1 * bound_us, "{name}: {time_us} of {bound_us}");
        }
    }

    #[test]
    fn long_exchanges_keep_a_window_and_short_ones_go_at_once() {
        const LONG: u64 = 320 << 10;
        let window = |collective, bytes| {
            let question = Question::new(Call::new(collective, 13), bytes);
            let (nodes, places) = (Nodes::even(13, 1), Places::of(&Nodes::even(13, 1), 13));
            let forecast = Forecast::new(&SLOW);
            let (algorithm, shape) = forecast.choose(&question, (&nodes, &places)).unwrap();
            let has_key = |key: &Parameter| key.name == Parameter::WINDOW.name;
            let found = algorithm.keys.iter().find(|key| has_key(key));
            found.map_or(0, |key| shape.get(key.name))
        };
        for (collective, bytes) in [
            (Collective::Alltoall, LONG),
            (Collective::Allgather, LONG),
            (Collective::ReduceScatter, 13 * LONG),
            (Collective::Allreduce, 13 * LONG),
        ] {
            assert_eq!(window(collective, bytes), 4, "{collective:?}");
            assert_eq!(window(collective, 8), 0, "{collective:?}");
        }
    }

    #[test]
    fn where_messages_cost_processors_much_there_are_few() {
        let busy = NetworkTimes {
            burst_overhead_ns: 70_000.0,
            ..SLOW
        };
        let count = |times: &NetworkTimes| {
            let question = Question::new(Call::new(Collective::Broadcast, 13), 64 << 10);
            let nodes = Nodes::even(13, 1);
            let places = Places::of(&nodes, 13);
            let forecast = Forecast::new(times);
            let (algorithm, shape) = forecast.choose(&question, (&nodes, &places)).unwrap();
            let layout = Layout::regular(Collective::Broadcast, 16 << 10);
            let plan = |rank| {
                Plan::lower(&algorithm.schedule(&shape, rank), &shape.call, &layout, 4).unwrap()
            };
            let plans: Vec<Plan> = (0..13).map(plan).collect();
            let node_of: Vec<u32> = (0..13).collect();
            let outcome = simulate(&plans, &mut Cluster::new(&node_of, of_cluster(times)));
            outcome.unwrap().messages
        };
        assert!(count(&busy) < count(&SLOW));
    }

    #[test]
    fn what_is_chosen_follows_the_times() {
        /// About processors that share a fast switch.
        const FAST: NetworkTimes = NetworkTimes {
            latency_ns: 1_000.0,
            overhead_ns: 300.0,
            long_overhead_ns: 900.0,
            burst_overhead_ns: 300.0,
            gap_ns: 100.0,
            byte_ns: 1.0,
            reduce_byte_ns: 0.1,
        };
        let named = |times: &NetworkTimes, collective, bytes| {
            let question = Question::new(Call::new(collective, 8), bytes);
            let nodes = Nodes::even(8, 1);
            let places = Places::of(&nodes, 8);
            let forecast = Forecast::new(times);
            let (algorithm, shape) = forecast.choose(&question, (&nodes, &places)).unwrap();
            let layout = Layout::regular(collective, bytes as usize / 4);
            let schedule = algorithm.schedule(&shape, 1);
            let plan = Plan::lower(&schedule, &shape.call, &layout, 4).unwrap();
            (algorithm.name, plan.kinds().count())
        };
        // A message costs as much as 12 KB there, and as 1 KB here.
        for collective in [
            Collective::Allreduce,
            Collective::Broadcast,
            Collective::ReduceScatter,
        ] {
            let mut sizes = (10..=20).map(|power| 1 << power);
            let differs =
                |bytes| named(&SLOW, collective, bytes) != named(&FAST, collective, bytes);
            assert!(sizes.any(differs), "{collective}");
        }
    }

    #[test]
    fn nodes_of_several_ranks_send_through_few() {
        let (name, _) = chosen(Collective::Allreduce, 8, "4x4");
        assert!(name.starts_with("hierarchical"), "{name}");
        let (name, _) = chosen(Collective::Barrier, 0, "4x4");
        assert!(name.starts_with("hierarchical"), "{name}");
    }

    #[test]
    fn a_size_class_is_a_quarter_wide_at_most() {
        assert_eq!(
            [0, 1, 7, 8, 9, 10, 1000].map(size_class),
            [0, 1, 7, 8, 8, 10, 896]
        );
        for bytes in 1..5000u64 {
            let class = size_class(bytes);
            assert!(class <= bytes && bytes - class <= class / 4);
        }
    }

    #[test]
    fn what_cannot_be_told_is_left_to_rules() {
        let forecast = Forecast::new(&SLOW);
        let is_left = |question, ranks| {
            let nodes = Nodes::even(ranks, 1);
            let places = Places::of(&nodes, ranks);
            forecast.choose(question, (&nodes, &places)).is_none()
        };
        let call = Call::new(Collective::Gather, 4);
        let hidden = Question {
            irregular: true,
            ..Question::new(call, 0)
        };
        assert!(is_left(&hidden, 4));
        let many = Question::new(Call::new(Collective::Gather, 1000), 8);
        assert!(is_left(&many, 1000));
    }
}
