//! The burst: what a short message keeps a processor busy while every node sends, as all do in a collective.
//!
//! ```text
//! rank i of n nodes ─▶ i + 1, i + 2, …     from all at once, and as many come in; a pair alone does not show what hosts share
//! ```
//!
//! Where nodes share cores, or an MPI has more to look at with every peer, a message costs more than between two.

use super::Failure;
use super::requests::Requests;
use crate::abi::{Abi, Handle};
use crate::native::functions::Native;
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// The bytes of a message.
const SHORT: usize = 8;
/// What it says.
static SENT: [u8; SHORT] = [0; SHORT];
/// How many others each sends to at most.
const PEERS: usize = 16;
/// How many messages each sends in a burst, as nearly as goes with as many to each peer; some of more than one to a peer
/// travel together, which those of a collective do not.
const MESSAGES: usize = 12;
/// Bursts before any is measured: connections are made in the first.
const WARM_UP: usize = 2;
const BURSTS: usize = 9;

/// The ranks that take part, one of each node.
pub(super) struct Peers<'a> {
    pub(super) native: &'a Native,
    pub(super) abi: &'a Abi,
    pub(super) comm: Handle,
    pub(super) ranks: &'a [c_int],
    /// Where this one stands among them.
    pub(super) place: usize,
}

impl Peers<'_> {
    /// The distances at which messages go.
    fn distances(&self) -> std::ops::Range<usize> {
        1..self.ranks.len().min(PEERS + 1)
    }

    /// How often a burst has a message at each distance.
    fn times(&self) -> usize {
        (MESSAGES / self.distances().len().max(1)).max(1)
    }

    /// What a message costs a processor, at each of its ends, where one is on its way for `latency_ns`; every rank that takes part
    /// calls this. `None` if the MPI fails.
    pub(super) fn overhead_ns(&self, requests: &mut Requests, latency_ns: f64) -> Option<f64> {
        let mut times: Vec<Duration> = (0..WARM_UP + BURSTS)
            .map(|_| self.burst(requests))
            .collect::<Option<_>>()?;
        let measured = &mut times[WARM_UP..];
        measured.sort();
        let middle_ns = measured[BURSTS / 2].as_nanos() as f64;
        Some(overhead_ns(
            middle_ns,
            latency_ns,
            self.distances().len() * self.times(),
        ))
    }

    /// Sends and receives all messages of a burst; how long that took.
    fn burst(&self, requests: &mut Requests) -> Option<Duration> {
        let mut into = vec![[0; SHORT]; self.distances().len() * self.times()];
        let mut slots = Vec::with_capacity(2 * into.len());
        let begin = Instant::now();
        let mut whole = self.begin(requests, &mut into, &mut slots).is_ok();
        while whole && requests.are_any() {
            std::thread::yield_now();
            whole = requests.progress().is_ok();
        }
        let took = begin.elapsed();
        if !whole {
            // The MPI may write to it for ever.
            std::mem::forget(into);
            return None;
        }
        let mut ended = slots.into_iter().map(|slot| requests.take(slot));
        ended
            .all(|ended| matches!(ended, Ok(Some(_))))
            .then_some(took)
    }

    /// Begins all messages; the memory is to stay until they have ended.
    fn begin(
        &self,
        requests: &mut Requests,
        into: &mut [[u8; SHORT]],
        slots: &mut Vec<usize>,
    ) -> Result<(), Failure> {
        let (native, comm, size) = (self.native, self.comm, self.ranks.len());
        let (count, byte) = (SHORT as c_int, self.abi.byte);
        for (into, distance) in into.iter_mut().zip(self.distances().cycle()) {
            let peer = self.ranks[(self.place + size - distance) % size];
            slots.push(requests.begin(None, |request| {
                // SAFETY: left alone until all messages have ended, as the caller promises; a request to write.
                unsafe { (native.irecv)(into.as_mut_ptr(), count, byte, peer, 0, comm, request) }
            })?);
        }
        for (_, distance) in into.iter().zip(self.distances().cycle()) {
            let peer = self.ranks[(self.place + distance) % size];
            slots.push(requests.begin(Some(SHORT), |request| {
                // SAFETY: the bytes are there for ever; a request to write.
                unsafe { (native.isend)(SENT.as_ptr(), count, byte, peer, 0, comm, request) }
            })?);
        }
        Ok(())
    }
}

/// What each end of a message costs a processor, if so many sent and as many received take so long.
///
/// The first comes when it has been on its way. Where there is still some to send then, nobody waits for it; else the others
/// come as fast as they are taken in.
fn overhead_ns(burst_ns: f64, latency_ns: f64, messages: usize) -> f64 {
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
                let found = overhead_ns(burst_ns(overhead, latency, messages), latency, messages);
                assert!(
                    (found - overhead).abs() < 1e-6,
                    "{messages}: {found} of {overhead}"
                );
            }
        }
        assert_eq!(overhead_ns(400.0, 500.0, 12), 0.0);
    }
}
