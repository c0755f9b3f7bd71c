//! The endpoint: one rank's end of a shared segment, with the messages that came before they were wanted.

use crate::transport::endpoint::message::begun::Begun;
use crate::transport::endpoint::message::unexpected::Unexpected;
use crate::transport::endpoint::nodes::cluster::Cluster;
use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::failure::refusals::Refusals;
use crate::transport::shm::protocol::copy_protocol::CopyProtocols;
use crate::transport::shm::queue::ring::{Consumer, Producer};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::wait::backoff::{Alertness, Patience};
use crate::transport::{AlignedBytes, Signature, TransportError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a rank waits before it says so on the standard error, unless it is told otherwise.
pub(crate) const REPORT_AFTER: Duration = Duration::from_secs(10);

/// Who is told of memory, by address and length, that no message has come to, as it was shorter than its room.
pub(crate) type LeftAlone = fn(*mut u8, usize);

/// One rank's end of a [`SharedSegment`]; one thread at a time uses it.
///
/// Dropping it says that the rank makes no further call.
pub struct Endpoint {
    pub(crate) segment: Arc<SharedSegment>,
    pub(crate) rank: u32,
    /// For each peer, our side of the ring to it.
    pub(crate) sent: Box<[Producer]>,
    /// For each peer, our side of the ring from it.
    pub(crate) received: Box<[Consumer]>,
    /// Pipeline buffers that this rank has made.
    pub(crate) pipeline_buffers_made: usize,
    /// For each peer, how the messages that it bounces are copied; made with the first of these.
    pub(crate) protocols: Box<[Option<Box<CopyProtocols>>]>,
    /// The position in our inbox.
    pub(crate) taken: u64,
    /// For each peer, messages that came before they were wanted.
    pub(crate) unexpected: Box<[VecDeque<Unexpected>]>,
    /// Where messages of other processes land before they are combined.
    pub(crate) landing: AlignedBytes,
    /// Room for messages of several senders that are copied at the same time.
    pub(crate) begun: Vec<Begun>,
    /// The one that was begun last, until it is there.
    pub(crate) asked: Option<Begun>,
    pub(crate) next_call: u64,
    /// What this rank has refused before its next call, or before one that it made not long ago.
    pub(crate) refusals: Refusals,
    /// Since when this rank waits in a call, of this number, that another one has refused.
    pub(crate) refused_since: Option<(u64, Instant)>,
    /// The hash of all calls that were begun: who called differently once is found out by the next message.
    pub(crate) chain: u64,
    pub(crate) patience: Patience,
    pub(crate) alertness: Alertness,
    /// What is called now and then while this rank waits.
    pub(crate) while_waiting: Option<fn()>,
    /// Who is told of memory that messages leave alone, if they may be shorter than their rooms.
    pub(crate) left_alone: Option<LeftAlone>,
    /// When [`Endpoint::look_out`] looked last.
    pub(crate) looked_out: Option<Instant>,
    /// After how long it says that it waits.
    pub(crate) report_after: Duration,
    /// After how long it gives a wait up, if ever, and what it asks whether it is to give one up now.
    pub(crate) timeout: Option<Duration>,
    /// How long the caller has waited already for what this rank waits for now.
    pub(crate) waited_before: Duration,
    pub(crate) is_interrupted: Option<fn() -> bool>,
    /// The way to other nodes, if there are some.
    pub(crate) cluster: Option<Arc<Cluster>>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("rank", &self.rank)
            .field("next_call", &self.next_call)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// The endpoint of rank `rank`, of which there is one in the life of a segment.
    ///
    /// # Errors
    /// [`TransportError::NoSuchRank`] or [`TransportError::RankTaken`].
    pub fn new(segment: Arc<SharedSegment>, rank: u32) -> Result<Endpoint, TransportError> {
        let ranks = segment.ranks();
        if rank >= ranks {
            return Err(TransportError::NoSuchRank { rank, ranks });
        }
        if !segment.member(rank).take() {
            return Err(TransportError::RankTaken { rank });
        }
        Ok(Endpoint {
            rank,
            sent: (0..ranks)
                .map(|to| Producer::new(!segment.is_oversubscribed(), segment.early(rank, to)))
                .collect(),
            received: (0..ranks)
                .map(|from| Consumer::new(segment.early(from, rank)))
                .collect(),
            pipeline_buffers_made: 0,
            protocols: vec![None; ranks as usize].into(),
            taken: 0,
            unexpected: (0..ranks).map(|_| VecDeque::new()).collect(),
            landing: AlignedBytes::zeroed(0),
            asked: None,
            begun: Vec::with_capacity(ranks as usize - 1),
            next_call: 0,
            refusals: Refusals::default(),
            refused_since: None,
            chain: 0,
            patience: Patience::new(segment.is_oversubscribed()),
            alertness: Alertness::new(),
            while_waiting: None,
            left_alone: None,
            looked_out: None,
            report_after: REPORT_AFTER,
            timeout: None,
            waited_before: Duration::ZERO,
            is_interrupted: None,
            cluster: None,
            segment,
        })
    }

    /// The rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.segment.ranks()
    }

    /// What is called now and then while this rank waits.
    pub(crate) fn while_waiting(&self) -> Option<fn()> {
        self.while_waiting
    }

    /// Has `hook` called now and then while this rank waits; its sleeps are then short.
    pub(crate) fn set_while_waiting(&mut self, hook: Option<fn()>) {
        self.while_waiting = hook;
    }

    /// The sequence number of the call that is begun next.
    pub(crate) fn next_call(&self) -> u64 {
        self.next_call
    }

    /// The shared segment.
    #[must_use]
    pub fn segment(&self) -> &Arc<SharedSegment> {
        &self.segment
    }

    /// The signature in the form that calls show to peers: once for a plan.
    #[must_use]
    pub fn stamp(&self, signature: &Signature) -> Stamp {
        self.segment.stamp(self.rank, signature)
    }

    /// How many calls this rank has begun.
    pub(crate) fn begun(&self) -> u64 {
        self.next_call
    }

    /// What keeps this rank from beginning another call.
    #[inline]
    pub(crate) fn stopped(&self) -> Option<TransportError> {
        self.segment.stopped(self.rank, self.next_call)
    }

    /// The first call that cannot be made.
    pub(crate) fn stops_from(&self) -> u64 {
        self.segment.head().fault.stops_from()
    }
    /// Compares the last few calls with those of all other ranks, as far as they have come.
    ///
    /// # Errors
    /// [`TransportError::Mismatch`].
    pub(crate) fn agree_so_far(&self) -> Result<(), TransportError> {
        /// Calls that are compared.
        const LAST: u64 = 8;
        let (rank, next) = (self.rank, self.next_call());
        let others = (0..self.ranks()).filter(|other| *other != rank);
        let recent = next.saturating_sub(LAST)..next;
        let mut all = others.flat_map(|other| recent.clone().map(move |call| (other, call)));
        match all.find_map(|(other, call)| Some((call, self.segment.compare(rank, other, call)?))) {
            Some((call, fault)) => Err(self.segment.poison_from(call, rank, fault)),
            None => Ok(()),
        }
    }
}
