//! The times: what a network's messages take between nodes, as LogGP counts it (C 3.1), measured between ranks that have just met.
//!
//! The first rank asks and the first one of another node answers while those of further nodes wait, and then the first ranks of all
//! nodes send at once, as all do in a collective; nobody else takes part:
//!
//! ```text
//! h  half a round trip of a short message: o + L + o
//! o  what a processor is busy with one that it sends; how much more with a long one; and with one while all send (`burst`), if that is more
//! g  a train of short messages, by their number
//! G  what a long message takes more than one of half its length, by the bytes between
//! ```
//!
//! Of a network that cuts messages by rates that it is told, each rail is measured alone before that, and the others with what all ranks
//! have been told.
//!
//! It knows no more of the network than [`Network`](super::Network) says, so an MPI's messages are measured as TCP's are. How long it takes is bounded by
//! the round trip: about 40 of these, and 60 ms of long messages.

#[cfg(target_os = "linux")]
mod burst;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod pair;
mod parameters;

pub use parameters::{NetworkTimes, TimesError};

#[cfg(target_os = "linux")]
use super::{Network, NetworkError};
#[cfg(target_os = "linux")]
use link::Link;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The times.
    pub times: NetworkTimes,
    /// The longest message that is better copied before it is sent, in bytes; 0 where a network lets go of what it sends as soon as it is
    /// away, so that none is.
    pub copied_most: usize,
}

/// Measures a network, of which nothing else uses the first two tags; every rank of `firsts`, which are the first ranks of all nodes in their
/// order, calls this, others may. The first of them has what was measured, which is for it to tell.
///
/// # Errors
/// What keeps the network from working, such as a rank that is lost, or that another rank met with that. Nothing of the measurement
/// is then under way here any more.
#[cfg(target_os = "linux")]
pub fn measure(
    network: &mut dyn Network,
    rank: u32,
    firsts: &[u32],
    oversubscribed: bool,
) -> Result<Option<Measured>, NetworkError> {
    let place = firsts.iter().position(|first| *first == rank);
    let Some(place) = place.filter(|_| firsts.len() > 1) else {
        return Ok(None);
    };
    let mut link = Link::new(network, oversubscribed);
    let measured = measure_by(&mut link, firsts, place);
    if measured.is_err() {
        link.give_up(firsts, rank);
    }
    measured
}

/// Measures each of the rails of a network that [is told](Network::share) their rates, before [`measure`]; every rank of `firsts` calls
/// this. The first of them has what was found: how many bytes each carries in a second. All ranks have equal rails afterwards.
///
/// # Errors
/// As [`measure`].
#[cfg(target_os = "linux")]
pub fn measure_rails(
    network: &mut dyn Network,
    rank: u32,
    firsts: &[u32],
    oversubscribed: bool,
) -> Result<Option<Vec<f64>>, NetworkError> {
    let rails = network.rails();
    let place = firsts.iter().position(|first| *first == rank);
    let Some(place @ (0 | 1)) = place.filter(|_| firsts.len() > 1 && rails > 1) else {
        return Ok(None);
    };
    let mut link = Link::new(network, oversubscribed);
    let measured = match place {
        0 => pair::ask_rails(&mut link, firsts[1], rails).map(Some),
        _ => pair::answer(&mut link, firsts[0]).map(|()| None),
    };
    if measured.is_err() {
        link.end_on(1);
        link.give_up(firsts, rank);
    }
    measured
}

#[cfg(target_os = "linux")]
fn measure_by(
    link: &mut Link<'_>,
    firsts: &[u32],
    place: usize,
) -> Result<Option<Measured>, NetworkError> {
    let measured = match place {
        0 => Some(pair::ask(link, firsts[1])?),
        1 => pair::answer(link, firsts[0]).map(|()| None)?,
        _ => None,
    };
    let latency_ns = measured.map_or(0.0, |measured| measured.times.latency_ns);
    let busy_ns = burst::overhead_ns(link, firsts, place, latency_ns)?;
    Ok(measured.map(|measured| measured.with_all_busy(busy_ns)))
}

#[cfg(target_os = "linux")]
impl Measured {
    /// The same, with what a message keeps a processor busy while all send, if that is more.
    fn with_all_busy(self, busy_ns: f64) -> Measured {
        let times = NetworkTimes {
            burst_overhead_ns: busy_ns.max(self.times.overhead_ns),
            ..self.times
        };
        Measured { times, ..self }
    }
}

#[cfg(all(test, target_os = "linux", not(loom)))]
mod tests {
    use super::*;
    use crate::transport::net::{Notice, Threads};

    /// Measures among threads, each of which is the first rank of a node but for those of `silent`, which say no more than that they do not.
    fn measured(ranks: u32, silent: &[u32]) -> Vec<Result<Option<Measured>, NetworkError>> {
        let (threads, firsts) = (Threads::new(ranks), (0..ranks).collect::<Vec<_>>());
        let run = |rank: u32| {
            let mut network = threads.network(rank);
            if !silent.contains(&rank) {
                return measure(&mut network, rank, &firsts, true);
            }
            let mut notice = Notice([0; Notice::BYTES]);
            notice.0[0] = Notice::STOPS;
            let others = firsts.iter().filter(|other| **other != rank);
            others.for_each(|other| network.notify(*other, &notice));
            Ok(None)
        };
        std::thread::scope(|scope| {
            let ranks: Vec<_> = (0..ranks)
                .map(|rank| scope.spawn(move || run(rank)))
                .collect();
            let joined = ranks
                .into_iter()
                .map(|rank| rank.join().expect("it does not panic"));
            joined.collect()
        })
    }

    #[test]
    fn the_first_rank_has_what_was_measured() {
        for ranks in [2, 3, 5] {
            let all = measured(ranks, &[]);
            let first = all[0]
                .clone()
                .expect("nobody fails")
                .expect("it is the first");
            assert!(
                first
                    .times
                    .numbers()
                    .iter()
                    .all(|number| number.is_finite())
            );
            assert!(first.times.overhead_ns > 0.0, "{}", first.times);
            assert!(first.times.long_overhead_ns >= first.times.overhead_ns);
            assert!(first.times.burst_overhead_ns >= first.times.overhead_ns);
            assert!(all[1..].iter().all(|other| *other == Ok(None)));
            let told = NetworkTimes::of_numbers(first.times.numbers());
            assert_eq!(told, Some(first.times));
        }
        assert_eq!(measured(1, &[]), [Ok(None)]);
    }

    #[test]
    fn whoever_waits_for_a_rank_that_gives_up_does_so_too() {
        for silent in 0..3 {
            let all = measured(3, &[silent]);
            for (rank, ended) in (0..).zip(&all).filter(|(rank, _)| *rank != silent) {
                assert!(ended.is_err(), "rank {rank} without {silent}: {ended:?}");
            }
        }
    }
}
