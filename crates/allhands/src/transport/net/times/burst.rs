//! The burst: what a short message keeps a processor busy while every node sends, as all do in a collective.
//!
//! ```text
//! rank i of n nodes ─▶ i + 1, i + 2, …     from all at once, and as many come in; a pair alone does not show what hosts share
//! ```
//!
//! Where nodes share cores, or a network has more to look at with every peer, a message costs more than between two.

use super::link::Link;
use crate::transport::net::NetworkError;
use std::time::{Duration, Instant};

/// The tag of all messages.
const TAG: u32 = 1;
/// The bytes of a message.
const SHORT: usize = 8;
/// How many others each sends to at most.
const PEERS: usize = 16;
/// How many messages each sends in a burst, as nearly as goes with as many to each peer; some of more than one to a peer
/// travel together, which those of a collective do not.
const MESSAGES: usize = 12;
/// Bursts before any is measured: connections are made in the first.
const WARM_UP: usize = 2;
const BURSTS: usize = 21;

/// What a message costs a processor, at each of its ends, where one is on its way for `latency_ns`; every rank of `firsts` calls this.
pub(super) fn overhead_ns(
    link: &mut Link<'_>,
    firsts: &[u32],
    place: usize,
    latency_ns: f64,
) -> Result<f64, NetworkError> {
    let distances = 1..firsts.len().min(PEERS + 1);
    let each = (MESSAGES / distances.len().max(1)).max(1);
    let all = || distances.clone().cycle().take(distances.len() * each);
    let mut times = Vec::new();
    for _ in 0..WARM_UP + BURSTS {
        times.push(burst(link, firsts, place, all())?);
    }
    let measured = &mut times[WARM_UP..];
    measured.sort();
    let middle_ns = measured[BURSTS / 2].as_nanos() as f64;
    Ok(busy_ns(middle_ns, latency_ns, all().count()))
}

/// Sends and receives all messages of a burst, to and from ranks at these distances; how long that took.
fn burst(
    link: &mut Link<'_>,
    firsts: &[u32],
    place: usize,
    distances: impl Iterator<Item = usize> + Clone,
) -> Result<Duration, NetworkError> {
    let (size, begun) = (firsts.len(), Instant::now());
    let mut tickets = Vec::new();
    for (number, distance) in distances.clone().enumerate() {
        let peer = firsts[(place + size - distance) % size];
        tickets.push(link.begin_receive(peer, TAG, (SHORT * number, SHORT))?);
    }
    for distance in distances {
        let peer = firsts[(place + distance) % size];
        tickets.push(link.begin_send(peer, TAG, &[], SHORT)?);
    }
    for ticket in tickets {
        link.end(ticket)?;
    }
    Ok(begun.elapsed())
}

/// What each end of a message costs a processor, if so many sent and as many received take so long.
///
/// The first comes when it has been on its way. Where there is still some to send then, nobody waits for it; else the others
/// come as fast as they are taken in.
fn busy_ns(burst_ns: f64, latency_ns: f64, messages: usize) -> f64 {
    let messages = messages.max(1) as f64;
    let busy_all_the_time_ns = burst_ns / (2.0 * messages);
    let waits_for_the_first_ns = (burst_ns - latency_ns).max(0.0) / (messages + 1.0);
    busy_all_the_time_ns.min(waits_for_the_first_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_into_a_burst_is_found() {
        // What a burst takes, of so many messages of each.
        let burst_ns = |overhead_ns: f64, latency_ns: f64, messages: usize| {
            let (mut received_ns, count) = (messages as f64 * overhead_ns, messages as f64);
            for number in 1..=messages {
                let there_ns = number as f64 * overhead_ns + latency_ns;
                received_ns = there_ns.max(received_ns) + overhead_ns;
            }
            assert!(received_ns >= 2.0 * count * overhead_ns);
            received_ns
        };
        for messages in [1, 2, 7, 12, 16] {
            for (overhead, latency) in [(1.0, 500.0), (50.0, 500.0), (90.0, 500.0), (3.0, 2.0)] {
                let found = busy_ns(burst_ns(overhead, latency, messages), latency, messages);
                assert!(
                    (found - overhead).abs() < 1e-6,
                    "{messages}: {found} of {overhead}"
                );
            }
        }
        assert_eq!(busy_ns(400.0, 500.0, 12), 0.0);
    }
}
