//! Incoming messages: the long ones of several senders that one step of a plan receives, which all may be copied at the same time.

use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::shm::protocol::send_descriptors;
use crate::transport::shm::rendezvous::receiver_initiated::{Answer, ReadyToReceive, Room, Wanted};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::tuning::CONCURRENT_LEAST;
use allhands_core::schedule::{Extent, OpKind, Plan, PlanItem, PlanOp};
use std::cell::Cell;
use std::ops::Range;

/// Where a receive stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has not begun, or is over.
    Idle,
    Awaited,
    Received,
}

/// A receive of a step with several.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) ticket: u32,
    pub(crate) from: u32,
    pub(crate) channel: u16,
    pub(crate) into: Extent,
    /// Whether it is the only one of its plan from this sender on this channel.
    is_alone: bool,
    state: Cell<State>,
    announced_ready: Cell<bool>,
}

impl Incoming {
    /// Whether its message is waited for.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state.get() == State::Awaited
    }

    /// Notes that its message is here, or on its way.
    pub(crate) fn received(&self) {
        self.state.set(State::Received);
    }

    /// Which message it is, in a call with this number and hash.
    fn wanted(&self, (call, signature): (u64, u64)) -> Wanted {
        Wanted {
            call,
            signature,
            channel: self.channel,
            bytes: self.into.bytes,
        }
    }

    /// What its sender has answered, if it was told that this rank is ready.
    pub(crate) fn answer(&self, segment: &SharedSegment, rank: u32) -> Answer {
        let ready = segment.ready_to_receive(self.from, rank);
        let announced = ready.filter(|_| self.announced_ready.get());
        let answer = announced.map_or(Answer::None, ReadyToReceive::look);
        if answer == Answer::Declined {
            // Its sender has said that nobody can be written to: it is not told again.
            self.announced_ready.set(false);
        }
        answer
    }

    /// Tells its sender, who has not announced it, that `into` is ready for it.
    pub(crate) fn announce_ready(
        &self,
        segment: &SharedSegment,
        rank: u32,
        call: (u64, u64),
        into: Iovec,
    ) {
        if !self.is_alone || self.announced_ready.get() || !segment.may_assist() {
            return;
        }
        if let Some(ready) = segment.ready_to_receive(self.from, rank) {
            let room = Room {
                place: send_descriptors::encode(segment.arena(), into),
                process: segment.arena().process(),
            };
            ready.open(self.wanted(call), room);
            self.announced_ready.set(true);
        }
    }

    /// Takes a ready-to-receive back; waits for a sender who has accepted it.
    pub(crate) fn shut(&self, segment: &SharedSegment, rank: u32) {
        let ready = segment.ready_to_receive(self.from, rank);
        if let Some(ready) = ready.filter(|_| self.announced_ready.take()) {
            let mut answer = ready.shut();
            while answer == Answer::Coming && !segment.liveness().is_dead(self.from) {
                std::thread::yield_now();
                answer = ready.look();
            }
        }
    }
}

/// The receives of a plan's steps that receive several long messages and send nothing.
#[derive(Debug, Default)]
pub(crate) struct ConcurrentRendezvous {
    /// In the order of their tickets.
    incoming: Box<[Incoming]>,
    /// Those of each step.
    steps: Box<[Range<usize>]>,
}

impl ConcurrentRendezvous {
    /// Those of a plan among `ranks` ranks that share cores.
    pub(crate) fn new(plan: &Plan, ranks: u32) -> ConcurrentRendezvous {
        let (mut incoming, mut steps) = (Vec::new(), Vec::new());
        for item in plan.items.iter().filter(|item| item.repeat.is_none()) {
            let start = incoming.len();
            incoming.extend(receives(plan, item, ranks));
            if incoming.len() < start + 2 {
                incoming.truncate(start);
            } else {
                steps.push(start..incoming.len());
            }
        }
        ConcurrentRendezvous {
            incoming: incoming.into(),
            steps: steps.into(),
        }
    }

    fn find(&self, ticket: u32) -> Option<usize> {
        // Most plans have none.
        if self.incoming.is_empty() {
            return None;
        }
        self.incoming
            .binary_search_by_key(&ticket, |one| one.ticket)
            .ok()
    }

    /// Whether `ticket` is one of several receives.
    #[inline]
    pub(crate) fn has(&self, ticket: u32) -> bool {
        self.find(ticket).is_some()
    }

    /// Notes that `ticket` has begun, if it is one of several; whether it is.
    #[inline]
    pub(crate) fn begin(&self, ticket: u32) -> bool {
        let at = self.find(ticket);
        if let Some(at) = at {
            self.incoming[at].state.set(State::Awaited);
        }
        at.is_some()
    }

    /// The receives of the step of `ticket`, by their places.
    pub(crate) fn step(&self, ticket: u32) -> Range<usize> {
        let at = self.find(ticket).unwrap_or(0);
        let step = self.steps.iter().find(|step| step.contains(&at));
        step.cloned().unwrap_or_default()
    }

    /// The receive at a place.
    pub(crate) fn at(&self, place: usize) -> &Incoming {
        &self.incoming[place]
    }

    /// Ends `ticket` if its message is received; whether it is.
    pub(crate) fn end(&self, ticket: u32) -> bool {
        let one = self.find(ticket).map(|at| &self.incoming[at]);
        let received = one.filter(|one| one.state.get() == State::Received);
        received.inspect(|one| one.state.set(State::Idle)).is_some()
    }

    /// Forgets a call that cannot complete: afterwards no sender writes to its memory.
    pub(crate) fn reset(&self, segment: &SharedSegment, rank: u32) {
        for one in &self.incoming {
            one.shut(segment, rank);
            one.state.set(State::Idle);
        }
    }
}

/// The long messages that a step receives as they come; none if it sends, too.
fn receives<'p>(
    plan: &'p Plan,
    item: &PlanItem,
    ranks: u32,
) -> impl Iterator<Item = Incoming> + use<'p> {
    let tickets = item.start..item.end;
    let ops = &plan.ops[item.start as usize..item.end as usize];
    let sends = ops.iter().any(|op| matches!(op.kind, OpKind::Send { .. }));
    let all = tickets.zip(ops).filter(move |_| !sends);
    all.filter_map(move |(ticket, op)| {
        let (OpKind::Recv { from, channel, .. }, [into]) = (op.kind, &plan.extents[op.target()])
        else {
            return None;
        };
        let fits = from < ranks && !op.moves() && op.bytes() >= CONCURRENT_LEAST;
        fits.then_some(Incoming {
            ticket,
            from,
            channel,
            into: *into,
            is_alone: plan
                .ops
                .iter()
                .filter(|op| comes(op, from, channel))
                .count()
                == 1,
            state: Cell::new(State::Idle),
            announced_ready: Cell::new(false),
        })
    })
}

/// Whether an operation receives from this rank on this channel.
fn comes(op: &PlanOp, sender: u32, of: u16) -> bool {
    match op.kind {
        OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
            (from, channel) == (sender, of)
        }
        _ => false,
    }
}
