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
use crate::native::Native;
use std::ffi::c_int;
use std::time::{Duration, Instant};

/// The bytes of a message.
const SHORT: usize = 8;
/// What it says.
static SENT: [u8; SHORT] = [0; SHORT];
/// How many others each sends to at most.
const PEERS: usize = 16;
/// How many messages each sends in a burst at least.
const MESSAGES: usize = 16;
/// Bursts before any is measured: connections are made in the first.
const WARM_UP: usize = 2;
const BURSTS: usize = 9;

/// The ranks that take part, one of each node.
pub(super) struct Crowd<'a> {
    pub(super) native: &'a Native,
    pub(super) abi: &'a Abi,
    pub(super) comm: Handle,
    pub(super) ranks: &'a [c_int],
    /// Where this one stands among them.
    pub(super) place: usize,
}

impl Crowd<'_> {
    /// The distances at which messages go.
    fn distances(&self) -> std::ops::Range<usize> {
        1..self.ranks.len().min(PEERS + 1)
    }

    /// How often a burst has a message at each distance.
    fn times(&self) -> usize {
        MESSAGES.div_ceil(self.distances().len().max(1))
    }

    /// What a message costs the processors of both its ends, by the number of ends, where the first of several takes
    /// `first_ns`; every rank that takes part calls this. `None` if the MPI fails.
    pub(super) fn overhead_ns(&self, requests: &mut Requests, first_ns: f64) -> Option<f64> {
        let mut times: Vec<Duration> = (0..WARM_UP + BURSTS)
            .map(|_| self.burst(requests))
            .collect::<Option<_>>()?;
        let measured = &mut times[WARM_UP..];
        measured.sort();
        let middle_ns = measured[BURSTS / 2].as_nanos() as f64;
        let ends = 2 * self.distances().len() * self.times();
        Some((middle_ns - first_ns).max(0.0) / ends as f64)
    }

    /// Sends and receives all messages of a burst; how long that took.
    fn burst(&self, requests: &mut Requests) -> Option<Duration> {
        let mut into = vec![[0; SHORT]; self.distances().len() * self.times()];
        let mut slots = Vec::with_capacity(2 * into.len());
        let begin = Instant::now();
        let mut whole = self.begin(requests, &mut into, &mut slots).is_ok();
        while whole && requests.are_any() {
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
