//! The port: one rank's end of a fabric, with the messages that came before they were wanted.

use super::agreement::LeftAlone;
use super::arena::Block;
use super::cluster::Cluster;
use super::engine::NodeEngine;
use super::fabric::{Carrier, Fabric};
use super::fault::Fault;
use super::flight::{Buffers, Flight};
use super::manner::Manners;
use super::many::Begun;
use super::member::Stamp;
use super::overdue::{Overdue, TOLD_AFTER};
use super::receive::Unexpected;
use super::refusal::Refusals;
use super::ring::{Consumer, EAGER_BYTES, Header, Kind, Producer, SLAB_BYTES, Shown};
use super::slabs::{PARCEL_BYTES, PARCELS_IN_ALL, Parcel, Part};
use super::wait::Patience;
use crate::transport::{AlignedBytes, Combine, Signature, TransportError};
use allhands_core::progress::{Cursor, Status, advance};
use allhands_core::schedule::Plan;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One rank's end of a [`Fabric`]; one thread at a time uses it.
///
/// Dropping it says that the rank makes no further call.
pub struct Port {
    pub(super) fabric: Arc<Fabric>,
    pub(super) rank: u32,
    /// For each peer, our side of the ring to it.
    pub(super) sent: Box<[Producer]>,
    /// For each peer, our side of the ring from it.
    pub(super) received: Box<[Consumer]>,
    /// Parcels that this rank has made.
    parcels_made: usize,
    /// For each peer, how the messages that it stages are copied; made with the first of these.
    pub(super) manners: Box<[Option<Box<Manners>>]>,
    /// The position in our inbox.
    pub(super) taken: u64,
    /// For each peer, messages that came before they were wanted.
    pub(super) unexpected: Box<[VecDeque<Unexpected>]>,
    /// Where messages of other processes land before they are combined.
    pub(super) landing: AlignedBytes,
    /// Room for messages of several senders that are copied at the same time.
    pub(super) begun: Vec<Begun>,
    /// The one that was begun last, until it is there.
    pub(super) asked: Option<Begun>,
    next_call: u64,
    /// What this rank has refused before its next call, or before one that it made not long ago.
    pub(super) refusals: Refusals,
    /// Since when this rank waits in a call, of this number, that another one has refused.
    pub(super) refused_since: Option<(u64, Instant)>,
    /// The hash of all calls that were begun: who called differently once is found out by the next message.
    chain: u64,
    pub(super) patience: Patience,
    /// What is called now and then while this rank waits.
    while_waiting: Option<fn()>,
    /// Who is told of memory that messages leave alone, if they may be shorter than their rooms.
    pub(crate) left_alone: Option<LeftAlone>,
    /// When [`Port::look_out`] looked last.
    looked_out: Option<Instant>,
    /// After how long it says that it waits.
    pub(super) told_after: Duration,
    /// The way to other nodes, if there are some.
    pub(super) cluster: Option<Arc<Cluster>>,
}

impl std::fmt::Debug for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Port")
            .field("rank", &self.rank)
            .field("next_call", &self.next_call)
            .finish_non_exhaustive()
    }
}

impl Port {
    /// The port of rank `rank`, of which there is one in the life of a fabric.
    ///
    /// # Errors
    /// [`TransportError::NoSuchRank`] or [`TransportError::RankTaken`].
    pub fn new(fabric: Arc<Fabric>, rank: u32) -> Result<Port, TransportError> {
        let ranks = fabric.ranks();
        if rank >= ranks {
            return Err(TransportError::NoSuchRank { rank, ranks });
        }
        if !fabric.member(rank).take() {
            return Err(TransportError::RankTaken { rank });
        }
        Ok(Port {
            rank,
            sent: (0..ranks)
                .map(|to| Producer::new(!fabric.is_crowded(), fabric.early(rank, to)))
                .collect(),
            received: (0..ranks)
                .map(|from| Consumer::new(fabric.early(from, rank)))
                .collect(),
            parcels_made: 0,
            manners: vec![None; ranks as usize].into(),
            taken: 0,
            unexpected: (0..ranks).map(|_| VecDeque::new()).collect(),
            landing: AlignedBytes::zeroed(0),
            asked: None,
            begun: Vec::with_capacity(ranks as usize - 1),
            next_call: 0,
            refusals: Refusals::default(),
            refused_since: None,
            chain: 0,
            patience: Patience::new(fabric.is_crowded()),
            while_waiting: None,
            left_alone: None,
            looked_out: None,
            told_after: TOLD_AFTER,
            cluster: None,
            fabric,
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
        self.fabric.ranks()
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
    pub(super) fn next_call(&self) -> u64 {
        self.next_call
    }

    /// The fabric.
    #[must_use]
    pub fn fabric(&self) -> &Arc<Fabric> {
        &self.fabric
    }

    /// The signature in the form that calls show to peers: once for a plan.
    #[must_use]
    pub fn stamp(&self, signature: &Signature) -> Stamp {
        self.fabric.stamp(self.rank, signature)
    }

    /// Begins a call: gives it the next sequence number and shows peers its signature.
    ///
    /// All ranks begin their calls in the same order. The flight may then be taken further by
    /// [`Port::test`] and completed by [`Port::wait`].
    ///
    /// # Errors
    /// The error that stopped the communicator, if there was one; the call has then not begun.
    ///
    /// # Panics
    /// If the flight is under way already, or is of another rank.
    ///
    /// # Safety
    /// Until the flight is no longer under way, or is dropped:
    /// - the buffers have the lengths that the flight's plan says (`space_bytes`), aligned for the element;
    ///   nobody but this call writes the input or touches the output, except that input and output
    ///   may share memory as the plan was lowered for;
    /// - the flight is driven with this plan and a cursor that was at its start, and with nothing else,
    ///   and plan and cursor come from [`Plan::lower`] of a verified schedule for this rank;
    /// - `combine` is given if the plan reduces, is for its element, and may be used.
    #[inline]
    pub unsafe fn begin(
        &mut self,
        flight: &mut Flight,
        stamp: &Stamp,
        buffers: Buffers,
        combine: Option<Combine>,
    ) -> Result<(), TransportError> {
        assert!(!flight.is_under_way(), "a flight is one call at a time");
        assert_eq!(flight.rank, self.rank, "a flight goes through its own port");
        let call = self.next_call;
        if let Some(error) = self.fabric.stopped(self.rank, call) {
            return Err(error);
        }
        let chain = (self.chain.rotate_left(5) ^ stamp.hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.refusals != Refusals::default() {
            self.look_for_refused(call, (stamp, chain))?;
        }
        self.next_call += 1;
        self.chain = chain;
        self.fabric.record(self.rank).enter(call, stamp, chain);
        flight.depart(call, chain, buffers, combine);
        Ok(())
    }

    /// Takes a call as far as it goes without waiting.
    ///
    /// # Errors
    /// Whatever stopped the call; no peer touches its buffers any more, and the communicator is of
    /// no further use.
    #[inline]
    pub fn test(
        &mut self,
        flight: &mut Flight,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Result<Status, TransportError> {
        if !flight.is_under_way() {
            return Ok(Status::Done);
        }
        let status = match flight.remote {
            None => advance(plan, cursor, &mut NodeEngine::new(self, flight)),
            Some(_) => self.advance_remote(flight, plan, cursor),
        };
        match status {
            Ok(Status::Done) => flight.arrive(),
            Ok(Status::Pending) => {}
            Err(_) => {
                self.fabric.stop_from(flight.call());
                self.spread();
                flight.stop();
            }
        }
        status
    }

    /// Completes a call, waiting for peers.
    ///
    /// Other flights do not move meanwhile; a rank with several under way waits with [`Port::wait_until`].
    ///
    /// # Errors
    /// As [`Port::test`].
    #[inline]
    pub fn wait(
        &mut self,
        flight: &mut Flight,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Result<(), TransportError> {
        let call = flight.call();
        let result = self.wait_until(call, |port| port.test(flight, plan, cursor));
        if result.is_err() {
            self.fabric.stop_from(call);
            // Before messages are ended, which may take until their receivers know.
            self.spread();
            flight.stop();
        }
        result
    }

    /// Calls `step` until it says done: first in a spin, then yielding, then asleep between looks.
    ///
    /// `call` is the call that is waited for. `step` takes every flight under way further, since
    /// a peer may need another one first; it returns what the caller waits for.
    ///
    /// # Errors
    /// Those of `step`, and whatever stops the communicator or shows that it cannot go on. The caller then
    /// stops ([`Port::stop`]) or drops the flights that it drove.
    pub fn wait_until(
        &mut self,
        call: u64,
        mut step: impl FnMut(&mut Port) -> Result<Status, TransportError>,
    ) -> Result<(), TransportError> {
        // The shortest calls are complete at the first look.
        if step(self)? == Status::Done {
            return Ok(());
        }
        self.wait_long(call, &mut step)
    }

    fn wait_long(
        &mut self,
        call: u64,
        step: &mut impl FnMut(&mut Port) -> Result<Status, TransportError>,
    ) -> Result<(), TransportError> {
        if let Some(cluster) = self.cluster.clone() {
            let ended = self.wait_at_network(&cluster, call, step);
            return ended.inspect_err(|_| self.spread());
        }
        let (mut last_check, hook) = (None, self.while_waiting);
        let mut nap = hook.map_or(Patience::NAP, |_| Patience::HOOKED_NAP);
        let mut overdue = Overdue::default();
        loop {
            let start = Instant::now();
            for look in 0..self.patience.looks() {
                if step(self)? == Status::Done {
                    return Ok(());
                }
                self.patience.pause(look);
                if self.patience.is_hook_due(look) {
                    hook.inspect(|hook| hook());
                }
                if look % 64 == 63 && self.patience.is_over(start) {
                    break;
                }
            }
            self.fabric.announce_sleep(self.rank);
            let status = step(self);
            if matches!(status, Ok(Status::Pending)) {
                // Until the first check is due a sleep is short, so that mistakes show early.
                self.fabric.member(self.rank).bell.sleep(nap);
                let longest = hook.map_or(Patience::LONGEST_NAP, |_| Patience::HOOKED_NAP);
                nap = (2 * nap).min(longest);
            }
            self.fabric.rise(self.rank);
            if status? == Status::Done {
                return Ok(());
            }
            if self.patience.is_check_due(&mut last_check) {
                self.check(call)?;
                overdue.look(self, call);
            }
        }
    }

    /// Ends a call that cannot complete: afterwards no peer touches its buffers. The communicator is of
    /// no further use, unless it already was not.
    pub fn stop(&mut self, flight: &mut Flight) {
        if flight.is_under_way() {
            let rank = self.rank;
            let fault = Fault::Dropped { rank };
            self.fabric.poison_from(flight.call(), rank, fault);
            self.spread();
            flight.stop();
        }
    }

    /// How many calls this rank has begun.
    pub(crate) fn begun(&self) -> u64 {
        self.next_call
    }

    /// What keeps this rank from beginning another call.
    #[inline]
    pub(crate) fn stopped(&self) -> Option<TransportError> {
        self.fabric.stopped(self.rank, self.next_call)
    }

    /// The first call that cannot be made.
    pub(crate) fn stops_from(&self) -> u64 {
        self.fabric.head().fault.stops_from()
    }

    /// Looks now and then whether call `call` can complete at all, for those who test and never wait.
    ///
    /// # Errors
    /// Whatever stops the communicator. The caller then stops the flights that it drove.
    pub fn look_out(&mut self, call: u64) -> Result<(), TransportError> {
        match self.patience.is_check_due(&mut self.looked_out) {
            true => self.check(call).inspect_err(|_| self.spread()),
            false => Ok(()),
        }
    }

    /// Looks whether the calls waited for can complete at all.
    #[cold]
    pub(super) fn check(&mut self, call: u64) -> Result<(), TransportError> {
        if let Some(cluster) = &self.cluster {
            self.hear(cluster, call)?;
        }
        if let Some(error) = self.fabric.stopped(self.rank, call) {
            return Err(error);
        }
        match self.fabric.trouble(self.rank, call) {
            // A rank that leaves when another has died: the reason is what counts.
            Some((_, Fault::Left { .. })) if self.fabric.vigil().is_any_dead() => {
                self.fabric.mourn(self.rank, Some(call))
            }
            Some((first, fault)) => Err(self.fabric.poison_from(first.min(call), self.rank, fault)),
            None => {
                self.look_for_refusal(call)?;
                self.fabric.mourn(self.rank, Some(call))
            }
        }
    }

    /// Appends a message to the queue to `to` and wakes it; `false` if the queue is full.
    ///
    /// `fill` writes `header.bytes` bytes, at most [`EAGER_BYTES`].
    #[inline]
    pub(super) fn send(&mut self, to: u32, header: Header, fill: impl FnOnce(*mut u8)) -> bool {
        assert!(
            header.bytes as usize <= EAGER_BYTES,
            "a payload fits its cell"
        );
        let sent = match self.fabric.link(self.rank, to) {
            // SAFETY: a rank has one port, used by one thread at a time (`&mut self`), so it is the one producer; the
            // side is what earlier pushes left. `fill` writes the payload.
            Carrier::Ring(ring) => unsafe { ring.push(&mut self.sent[to as usize], header, fill) },
            // SAFETY: `fill` writes the payload.
            Carrier::Inbox(inbox) => unsafe { inbox.push(header, fill) },
        };
        if sent {
            self.fabric.ring(to);
        }
        sent
    }

    /// As [`Port::send`], of a message that is longer than a cell and at most [`SLAB_BYTES`]; `None` where there is no
    /// ring to carry it, or no slab now.
    #[inline]
    pub(super) fn send_slab(
        &mut self,
        to: u32,
        (header, shown): (Header, Shown),
        fill: impl FnOnce(*mut u8, &dyn Fn(usize)),
    ) -> Option<bool> {
        let Carrier::Ring(ring) = self.fabric.link(self.rank, to) else {
            return None;
        };
        // Two ranks have rings both ways, or none.
        let Carrier::Ring(back) = self.fabric.link(to, self.rank) else {
            return None;
        };
        assert!(
            header.bytes as usize <= SLAB_BYTES,
            "a payload fits its slab"
        );
        let side = &mut self.sent[to as usize];
        // SAFETY: as in `send`.
        let sent = unsafe { ring.push_slab(back, side, (header, shown), fill) };
        if sent? {
            self.fabric.ring(to);
        }
        sent
    }
}

impl Port {
    /// As [`Port::send`], of a part of at most [`PARCEL_BYTES`] in a parcel, which goes to the receiver; `None` where there
    /// is no parcel now.
    pub(super) fn send_parcel(
        &mut self,
        to: u32,
        header: Header,
        part: Part,
        fill: impl FnOnce(*mut u8),
    ) -> Option<bool> {
        let fabric = Arc::clone(&self.fabric);
        let Carrier::Ring(ring) = fabric.link(self.rank, to) else {
            return None;
        };
        assert!(part.bytes <= PARCEL_BYTES, "a part fits its parcel");
        let side = &mut self.sent[to as usize];
        let offset = match side.parcels.take(&ring.parcels_back) {
            Some(offset) => offset,
            None if self.parcels_made < PARCELS_IN_ALL && side.parcels.may_make() => {
                let made = fabric.arena().allocate(PARCEL_BYTES).ok()?;
                side.parcels.make();
                self.parcels_made += 1;
                made.keep().0
            }
            None => return None,
        };
        let header = Header {
            kind: Kind::Parcel,
            bytes: size_of::<Parcel>() as u16,
            ..header
        };
        let sent = self.send(to, header, |payload| {
            fill(fabric.arena().at(offset));
            // SAFETY: a cell's payload has room for this and is aligned for it.
            unsafe { payload.cast::<Parcel>().write(Parcel { offset, part }) };
        });
        if !sent {
            self.sent[to as usize].parcels.keep(offset);
        }
        Some(sent)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let arena = self.fabric.arena();
        for (to, side) in (0..).zip(&mut self.sent) {
            // Who has made none has none, and leaves the memory of long messages alone.
            if side.parcels.has_made_none() {
                continue;
            }
            let Carrier::Ring(ring) = self.fabric.link(self.rank, to) else {
                continue;
            };
            while let Some(offset) = side.parcels.take(&ring.parcels_back) {
                // SAFETY: a parcel, handed out with this size; we have it, so nobody else gives it back.
                drop(unsafe { Block::adopt(Arc::clone(arena), offset, PARCEL_BYTES as u64) });
            }
        }
        let panicked = std::thread::panicking();
        self.tell_leave(panicked);
        self.fabric.leave(self.rank, panicked);
    }
}
