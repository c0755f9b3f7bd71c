//! Levels of a machine: what messages take between ranks of a node, or of two, as tables over their lengths.
//!
//! ```text
//! sender     os(m)│
//! port            │ g(m) │ g(m) of the next
//! L(m)            └──────────────────────▶│
//! receiver                                │or(m)
//! ```
//!
//! That is the extended PLogP model (C 3.1) with its terms apart: L(m) is without what processors do, so that these may be busy with
//! other messages meanwhile; and what several messages under way wait for one another (C's contention) is a resource that each of
//! them has for a while.

use super::network::{Kind, Work};
use super::plogp::Curve;

/// What messages take between ranks that are so far from one another.
pub trait ClusterLevel {
    /// Whether a long message is longer on its way than its gap says, so that a short one behind it could pass it.
    const LENGTH_DELAYS: bool = false;

    /// Whether what two ranks exchange takes other times than what goes one way.
    const TELLS_EXCHANGES: bool = false;

    /// How long a processor is busy with its part of `work`, which has to do with another rank, in picoseconds.
    fn takes_ps(&self, work: Work) -> u64;

    /// How long one is busy with `work` that has to do with nobody else, in picoseconds, if that is no line over the length.
    fn alone_ps(&self, _work: Work) -> Option<u64> {
        None
    }

    /// How long one is busy to combine so many bytes with what comes from another rank, besides to take that in, in picoseconds, if that is
    /// not what it takes to combine its own.
    fn combine_ps(&self, _bytes: u64) -> Option<u64> {
        None
    }

    /// From the moment at which a message has its sender's port to that at which it comes to its receiver's, in picoseconds.
    fn latency_ps(&self, kind: Kind, bytes: u64) -> u64;

    /// As [`takes_ps`](ClusterLevel::takes_ps), of a message that two ranks exchange.
    fn exchanged_takes_ps(&self, work: Work) -> u64 {
        self.takes_ps(work)
    }

    /// As [`latency_ps`](ClusterLevel::latency_ps), of a message that two ranks exchange.
    fn exchanged_latency_ps(&self, bytes: u64) -> u64 {
        self.latency_ps(Kind::Message, bytes)
    }

    /// How long it has each port, in picoseconds.
    fn gap_ps(&self, kind: Kind, bytes: u64) -> u64;

    /// The same of a message that follows another one of the same two ranks there.
    fn gap_again_ps(&self, kind: Kind, bytes: u64) -> u64 {
        self.gap_ps(kind, bytes)
    }

    /// How long it has what all messages of the level share, at each of its ends, in picoseconds; 0 where they share nothing.
    fn shared_ps(&self, _kind: Kind, _bytes: u64) -> u64 {
        0
    }

    /// The same of one that comes while another of the same two ranks still waits for it, or has it.
    fn shared_again_ps(&self, kind: Kind, bytes: u64) -> u64 {
        self.shared_ps(kind, bytes)
    }

    /// Whether such a message is interleaved with others that come to its port at once, instead of taking turns with them.
    fn interleaves(&self, _bytes: u64) -> bool {
        false
    }

    /// How long it takes to wake a rank that waits, while no other rank of the level can be woken, in picoseconds; 0 where none sleeps.
    fn wake_ps(&self, _kind: Kind) -> u64 {
        0
    }
}

/// A level whose times are tables over lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curves {
    /// os(m): how long a processor is busy to send.
    pub send: Curve,
    /// or(m): how long one is to receive.
    pub receive: Curve,
    /// L(m): from the moment at which the sender's processor has done its part to that at which the receiver's can begin.
    pub latency: Curve,
    /// g(m): how long a message has each port; at most L(m), which covers it.
    pub gap: Curve,
    /// The same of one that follows another one of the same two ranks; at most g(m), and the same where there is none.
    pub gap_again: Option<Curve>,
    /// How long one has what all of the level share, at each end.
    pub shared: Curve,
    /// How long it takes to wake a rank that waits, one after another, in picoseconds.
    pub wake_ps: u64,
    /// Whether messages of more than a packet that come to a port at once are interleaved there, instead of taking turns.
    pub interleaves: bool,
    /// What two ranks take that exchange messages, from the start to the end of both; none: as long as what goes one way.
    pub exchange: Option<Curve>,
    /// γ(m) of what comes from another rank, besides what its coming takes; none: as of a rank's own.
    pub combine: Option<Curve>,
    /// What is done to windows, where these are memory that the ranks share; elsewhere it goes in messages.
    pub window: Option<WindowCurves>,
    /// What ranks do alone, where that is known by length.
    pub alone: Option<AloneCurves>,
}

/// What a processor does that has to do with nobody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AloneCurves {
    /// To copy so many bytes.
    pub copy: Curve,
    /// γ(m): to combine two operands of so many bytes each.
    pub reduce: Curve,
}

/// What ranks do to each other's windows by their own processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowCurves {
    /// To write so many bytes.
    pub put: Curve,
    /// To read so many.
    pub get: Curve,
    /// To raise a flag, in picoseconds.
    pub notify_ps: u64,
    /// Until one that is raised is seen, in picoseconds.
    pub notice_ps: u64,
}

impl Curves {
    /// A part of what a message takes one way, as a part of what two take that are exchanged: these are protocols of their own, of which
    /// only the whole is known.
    fn of_exchange(&self, part_ps: u64, bytes: u64) -> u64 {
        let Some(exchange) = &self.exchange else {
            return part_ps;
        };
        let parts = [&self.send, &self.latency, &self.receive].map(|part| part.of(bytes));
        let way_ps = parts.iter().sum::<u64>() + 2 * self.shared.of(bytes);
        match way_ps {
            0 => part_ps,
            _ => (u128::from(part_ps) * u128::from(exchange.of(bytes)) / u128::from(way_ps)) as u64,
        }
    }
}

impl ClusterLevel for Curves {
    const LENGTH_DELAYS: bool = true;
    const TELLS_EXCHANGES: bool = true;

    fn exchanged_takes_ps(&self, work: Work) -> u64 {
        self.of_exchange(self.takes_ps(work), work.bytes())
    }

    fn exchanged_latency_ps(&self, bytes: u64) -> u64 {
        self.of_exchange(self.latency_ps(Kind::Message, bytes), bytes)
    }

    fn takes_ps(&self, work: Work) -> u64 {
        match (work, &self.window) {
            (Work::Put { bytes, .. }, Some(window)) => window.put.of(bytes),
            (Work::Get { bytes, .. }, Some(window)) => window.get.of(bytes),
            (Work::Notify { .. }, Some(window)) => window.notify_ps,
            (Work::Receive { bytes, .. }, _) => self.receive.of(bytes),
            // A request has nothing of what it asks for.
            (Work::Get { .. }, None) => self.send.of(0),
            _ => self.send.of(work.bytes()),
        }
    }

    fn alone_ps(&self, work: Work) -> Option<u64> {
        let alone = self.alone.as_ref()?;
        Some(match work {
            Work::Reduce { bytes } | Work::Combine { bytes, .. } => alone.reduce.of(bytes),
            _ => alone.copy.of(work.bytes()),
        })
    }

    fn combine_ps(&self, bytes: u64) -> Option<u64> {
        Some(self.combine.as_ref()?.of(bytes))
    }

    fn latency_ps(&self, kind: Kind, bytes: u64) -> u64 {
        match (kind, &self.window) {
            (Kind::Notice, Some(window)) => window.notice_ps,
            (Kind::Put | Kind::Request | Kind::Answer, Some(_)) => 0,
            _ => self.latency.of(bytes).saturating_sub(self.gap.of(bytes)),
        }
    }

    fn gap_ps(&self, kind: Kind, bytes: u64) -> u64 {
        match (kind, &self.window) {
            (Kind::Message, _) | (_, None) => self.gap.of(bytes),
            (_, Some(_)) => 0,
        }
    }

    fn gap_again_ps(&self, kind: Kind, bytes: u64) -> u64 {
        let gap_ps = self.gap_ps(kind, bytes);
        let again = self.gap_again.as_ref();
        again.map_or(gap_ps, |again| again.of(bytes).min(gap_ps))
    }

    fn shared_ps(&self, kind: Kind, bytes: u64) -> u64 {
        match (kind, &self.window) {
            (Kind::Message, _) | (_, None) => self.shared.of(bytes),
            (_, Some(_)) => 0,
        }
    }

    fn shared_again_ps(&self, kind: Kind, bytes: u64) -> u64 {
        let shared_ps = self.shared_ps(kind, bytes);
        // A further one of a train has no more at both of its ends together than it takes in all.
        let again = self.gap_again.as_ref();
        again.map_or(shared_ps, |again| shared_ps.min(again.of(bytes) / 2))
    }

    fn interleaves(&self, bytes: u64) -> bool {
        /// Ethernet's: what fits into a packet has nothing that others could come between.
        const PACKET_BYTES: u64 = 1500;
        self.interleaves && bytes > PACKET_BYTES
    }

    fn wake_ps(&self, kind: Kind) -> u64 {
        match (kind, &self.window) {
            (Kind::Message, _) | (_, None) => self.wake_ps,
            (_, Some(_)) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Algorithm;
    use crate::algorithm::microbenchmark::{burst, butterfly, combinations, gets, notices, puts};
    use crate::algorithm::microbenchmark::{gather, round_trip, scatter, train, turns};
    use crate::call::Call;
    use crate::schedule::{Layout, Plan};
    use crate::simulate::{Cluster, ClusterTimes, simulate};
    use alloc::vec;
    use alloc::vec::Vec;

    /// Between 10 and 100 bytes all but the overheads is ten times as much.
    fn level(shared_ps: u64) -> Curves {
        let flat = |ps| Curve::new(vec![(0, ps)]).unwrap();
        let rises = |ps| Curve::new(vec![(10, ps), (100, 10 * ps)]).unwrap();
        Curves {
            send: flat(30),
            receive: flat(50),
            latency: rises(1000),
            gap: rises(400),
            gap_again: None,
            shared: flat(shared_ps),
            wake_ps: 0,
            interleaves: false,
            exchange: None,
            combine: None,
            window: Some(WindowCurves {
                put: rises(7),
                get: rises(9),
                notify_ps: 3,
                notice_ps: 200,
            }),
            alone: Some(AloneCurves {
                copy: rises(2),
                reduce: rises(5),
            }),
        }
    }

    fn time_ps(found: &Algorithm, parameters: &str, bytes: usize, level: &Curves) -> u64 {
        let call = Call::new(found.collective, 4);
        let shape = found.shape(call, parameters).unwrap();
        let layout = Layout::regular(found.collective, bytes);
        let plan = |rank| Plan::lower(&found.schedule(&shape, rank), &call, &layout, 1);
        let plans: Vec<Plan> = (0..4).map(plan).collect::<Result<_, _>>().unwrap();
        let times = ClusterTimes {
            inside: level.clone(),
            between: level.clone(),
            copy: Default::default(),
            reduce: Default::default(),
            shared_ps: 0,
        };
        let outcome = simulate(&plans, &mut Cluster::new(&[0; 4], times));
        outcome.unwrap().completion_ps()
    }

    #[test]
    fn messages_take_what_the_tables_say() {
        let (alone, shares) = (level(0), level(60));
        let trip = |bytes, level| time_ps(&round_trip::ALGORITHM, "", bytes, level);
        assert_eq!(trip(10, &alone), 2 * (30 + 1000 + 50));
        assert_eq!(trip(100, &alone), 2 * (30 + 10_000 + 50));
        assert_eq!(trip(10, &shares), 2 * (30 + 1000 + 50 + 2 * 60));
        let train = |many| time_ps(&train::ALGORITHM, many, 100, &alone);
        // Each is copied before it is sent.
        assert_eq!(train("many=5") - train("many=4"), 4000 + 20);
        // Two pairs are four messages, which leave one after another; the last one that comes is shared once more.
        let pairs = |many| time_ps(&butterfly::ALGORITHM, many, 10, &shares);
        assert_eq!(pairs("peer=2,many=2") - pairs("peer=2,many=1"), 2 * 60);
    }

    #[test]
    fn what_comes_first_may_be_interleaved_with_what_comes_with_it() {
        let mut level = level(0);
        let packets = 2000;
        let [gap_ps, latency_ps] = [&level.gap, &level.latency].map(|of| of.of(packets));
        let time =
            |found, parameters, level: &Curves| time_ps(found, parameters, packets as usize, level);
        let answered_ps = |level: &Curves| time(&turns::ALGORITHM, "peer=1", level);
        let way_ps = 30 + latency_ps + 50;
        assert_eq!(answered_ps(&level), 2 * way_ps + gap_ps);
        let short_ps = |level: &Curves| time_ps(&turns::ALGORITHM, "peer=1", 100, level);
        let by_turns_ps = short_ps(&level);
        level.interleaves = true;
        // Both have come together, so the processor takes both before it answers; the answers go out one after the other.
        assert_eq!(answered_ps(&level), 2 * way_ps + 2 * gap_ps + 50);
        // What fits into a packet comes by turns.
        assert_eq!(short_ps(&level), by_turns_ps);
        // What follows a message of the same two ranks does not overtake it.
        let train_ps = |level: &Curves| time(&train::ALGORITHM, "many=5", level);
        assert_eq!(train_ps(&level), train_ps(&self::level(0)));
        // All together they take as long as by turns, but that the processor takes all of them at the end.
        assert_eq!(
            time(&gather::ALGORITHM, "many=3", &level),
            way_ps + 2 * gap_ps + 2 * 50
        );
    }

    #[test]
    fn what_is_exchanged_may_take_less_than_one_way() {
        let mut level = level(0);
        let one_way_ps = 30 + 1000 + 50;
        let pair = |level: &Curves| time_ps(&butterfly::ALGORITHM, "peer=2", 10, level);
        assert_eq!(pair(&level), one_way_ps);
        level.gap = Curve::new(vec![(0, 0)]).unwrap();
        level.exchange = Some(Curve::new(vec![(0, one_way_ps / 2)]).unwrap());
        assert_eq!(pair(&level), one_way_ps / 2);
        let trip_ps = time_ps(&round_trip::ALGORITHM, "", 10, &level);
        assert_eq!(trip_ps, 2 * one_way_ps);
    }

    #[test]
    fn what_comes_may_be_combined_on_its_way() {
        let mut level = level(0);
        let trip_ps = |level: &Curves| time_ps(&combinations::ALGORITHM, "", 10, level);
        let way_ps = 30 + 1000 + 50;
        // As what a rank has itself.
        assert_eq!(trip_ps(&level), 2 * (way_ps + 5));
        level.combine = Some(Curve::new(vec![(0, 3)]).unwrap());
        assert_eq!(trip_ps(&level), 2 * (way_ps + 3));
    }

    #[test]
    fn what_follows_to_the_same_rank_may_have_the_port_for_less() {
        let mut level = level(0);
        level.gap_again = Some(Curve::new(vec![(0, 150)]).unwrap());
        let time = |found, parameters| time_ps(found, parameters, 10, &level);
        let further_ps = |found| time(found, "many=3") - time(found, "many=2");
        // One that is copied before.
        assert_eq!(further_ps(&train::ALGORITHM), 150 + 2);
        assert_eq!(further_ps(&scatter::ALGORITHM), 400);
        assert_eq!(time(&train::ALGORITHM, "many=1"), 30 + 1000 + 50 + 2);
    }

    #[test]
    fn what_follows_to_the_same_rank_goes_along_with_what_waits() {
        let alone = level(600);
        let mut along = alone.clone();
        along.gap_again = Some(Curve::new(vec![(0, 300)]).unwrap());
        let further_ps = |found, level: &Curves| {
            let time = |parameters| time_ps(found, parameters, 10, level);
            time("many=20") - time("many=19")
        };
        // At both ends, which wait for one another; and by the port, for as long as a further one of a train takes. One that is copied before.
        assert_eq!(further_ps(&train::ALGORITHM, &alone), 2 * 600 + 2);
        assert_eq!(further_ps(&train::ALGORITHM, &along), 300 + 2);
        // What goes to others does not.
        let scatter_ps = |level| {
            let time = |parameters| time_ps(&scatter::ALGORITHM, parameters, 10, level);
            time("many=3") - time("many=2")
        };
        let [alone_ps, along_ps] = [&alone, &along].map(scatter_ps);
        assert_eq!(alone_ps, along_ps);
    }

    #[test]
    fn who_is_awake_is_not_woken_again() {
        let (wake_ps, shared_ps) = (500, 60);
        let sleepy = Curves {
            wake_ps,
            ..level(shared_ps)
        };
        let time = |found, parameters| time_ps(found, parameters, 10, &sleepy);
        let way_ps = 30 + 1000 + 50 + 2 * shared_ps;
        assert_eq!(time(&round_trip::ALGORITHM, ""), 2 * (way_ps + wake_ps));
        // Four ranks are woken one after another.
        let exchange_ps = time(&butterfly::ALGORITHM, "peer=2,many=2");
        assert_eq!(
            exchange_ps,
            way_ps + 3 * shared_ps + 4 * wake_ps - 3 * shared_ps
        );
        // Eight messages more find them awake, or about to be.
        let more_ps = time(&burst::ALGORITHM, "many=3") - time(&burst::ALGORITHM, "many=1");
        assert!(more_ps <= 2 * wake_ps, "{more_ps}");
    }

    #[test]
    fn windows_are_written_and_read_by_those_who_ask() {
        let level = level(60);
        let time = |found: &Algorithm, bytes| time_ps(found, "many=2", bytes, &level);
        // A flag is raised between what one does and what the other does, and each has the copies.
        assert_eq!(time(&puts::ALGORITHM, 100), 2 * 70 + 3 + 200 + 2 * 20);
        assert_eq!(time(&gets::ALGORITHM, 100), 2 * 90 + 3 + 200 + 2 * 20);
        assert_eq!(time(&notices::ALGORITHM, 10), 4 * (3 + 200));
    }
}
