//! The checker: moves [elements](crate::elements) as a simulation goes, and says whether every rank got its result.

use super::network::Envelope;
use super::observer::{Observer, Purpose};
use super::queue::Moment;
use crate::call::Call;
use crate::elements::{Element, Meetings, Memory};
use crate::progress::Post;
use crate::schedule::{Extent, Layout, OpKind, Plan, Side};
use crate::symbolic::{Failure, Law};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::vec::Vec;

/// An operation under way, with what it needs later.
#[derive(Clone, Debug)]
struct Started {
    kind: OpKind,
    source: Vec<Extent>,
    target: Vec<Extent>,
    other: Vec<Extent>,
    /// What it sends.
    data: Vec<Element>,
}

/// Where the data of a message go when it arrives.
#[derive(Clone, Debug)]
enum Goal {
    /// To the receives of (from, to, channel).
    Lane((u32, u32, u16)),
    /// Into the window of a rank, perhaps combined with what is there: the data stand on that side.
    Window(u32, Vec<Extent>, Option<Side>),
}

/// Moves elements along with the messages of a simulation.
#[derive(Clone, Debug)]
pub struct Checker {
    memory: Memory,
    meetings: Meetings,
    /// By rank and ticket.
    started: BTreeMap<(u32, u32), Started>,
    /// By the messages' numbers.
    flying: BTreeMap<u32, (Goal, Vec<Element>)>,
    /// What has arrived and is not yet received.
    lanes: BTreeMap<(u32, u32, u16), VecDeque<Vec<Element>>>,
    failure: Option<Failure>,
}

impl Checker {
    /// A checker of `call`, whose ranks' schedules have these parts and were lowered to `plans` for `layout`.
    #[must_use]
    pub fn new(call: &Call, parts: &[u32], plans: &[Plan], layout: &Layout) -> Checker {
        Checker {
            memory: Memory::new(call, parts, plans, layout),
            meetings: Meetings::default(),
            started: BTreeMap::new(),
            flying: BTreeMap::new(),
            lanes: BTreeMap::new(),
            failure: None,
        }
    }

    /// Whether every rank has what the call promises, after the simulation.
    ///
    /// # Errors
    /// What was wrong first, as a broken law.
    pub fn finish(self, call: &Call, parts: &[u32], layout: &Layout) -> Result<(), Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.memory.check(call, parts, layout),
        }
    }

    /// Brings data to a rank, and keeps what went wrong first.
    fn deliver(
        &mut self,
        rank: u32,
        data: &[Element],
        own: (&[Extent], Option<Side>),
        target: &[Extent],
    ) {
        let done = self.memory.deliver(rank, data, own, target);
        if let Err(failure) = done {
            self.failure.get_or_insert(failure);
        }
    }
}

impl Observer for Checker {
    fn starts(&mut self, rank: u32, post: &Post<'_>, _: Moment) {
        let (source, target, other) = (post.source(), post.target(), post.other());
        let data = match post.kind() {
            OpKind::Copy => {
                let data = self.memory.gather(rank, source);
                return self.deliver(rank, &data, (&[], None), target);
            }
            OpKind::Reduce => {
                let data = self.memory.gather(rank, other);
                return self.deliver(rank, &data, (source, Some(Side::Right)), target);
            }
            OpKind::Notify { .. } | OpKind::Wait { .. } | OpKind::Await { .. } => return,
            OpKind::Send { .. } | OpKind::Put { .. } | OpKind::PutReduce { .. } => {
                self.memory.gather(rank, source)
            }
            OpKind::Combine { fabric, gives, .. } => {
                let given = gives.then(|| self.memory.gather(rank, source));
                self.meetings.come(fabric, (rank, post.ticket), given);
                Vec::new()
            }
            OpKind::Recv { .. }
            | OpKind::RecvReduce { .. }
            | OpKind::Get { .. }
            | OpKind::GetReduce { .. } => Vec::new(),
        };
        let started = Started {
            kind: post.kind(),
            source: source.to_vec(),
            target: target.to_vec(),
            other: other.to_vec(),
            data,
        };
        self.started.insert((rank, post.ticket), started);
    }

    fn sends(&mut self, message: Envelope, ticket: u32, purpose: Purpose, _: Moment) {
        let Envelope {
            number, from, to, ..
        } = message;
        let is_loaded = match purpose {
            Purpose::Message { .. } | Purpose::Put | Purpose::PutReduce => true,
            Purpose::Request | Purpose::Answer | Purpose::Notice | Purpose::Sight => false,
        };
        if !is_loaded {
            return;
        }
        let Some(started) = self.started.remove(&(from, ticket)) else {
            return;
        };
        let goal = match (purpose, started.kind) {
            (Purpose::Message { channel }, _) => Goal::Lane((from, to, channel)),
            (_, OpKind::PutReduce { side, .. }) => Goal::Window(to, started.target, Some(side)),
            _ => Goal::Window(to, started.target, None),
        };
        self.flying.insert(number, (goal, started.data));
    }

    fn arrives(&mut self, number: u32, _: Moment) {
        match self.flying.remove(&number) {
            None => {}
            Some((Goal::Lane(lane), data)) => self.lanes.entry(lane).or_default().push_back(data),
            Some((Goal::Window(to, target, side), data)) => {
                self.deliver(to, &data, (&target, side), &target);
            }
        }
    }

    fn ends(&mut self, rank: u32, ticket: u32, _: Moment) {
        let place = (rank, ticket);
        let meets = |started: &Started| matches!(started.kind, OpKind::Combine { .. });
        if !self.started.get(&place).is_some_and(meets) {
            return;
        }
        let Some(started) = self.started.remove(&place) else {
            return;
        };
        match self.meetings.result(&self.memory, place) {
            Ok(_) if started.target.is_empty() => {}
            Ok(data) => self.deliver(rank, &data, (&[], None), &started.target),
            Err(failure) => {
                self.failure.get_or_insert(failure);
            }
        }
    }

    fn takes_in(&mut self, rank: u32, ticket: u32) {
        let Some(started) = self.started.remove(&(rank, ticket)) else {
            return;
        };
        let (data, side) = match started.kind {
            OpKind::Recv { from, channel, .. } => (self.received((from, rank, channel)), None),
            OpKind::RecvReduce {
                from,
                channel,
                side,
                ..
            } => (self.received((from, rank, channel)), Some(side)),
            OpKind::Get { from, .. } => (self.memory.gather(from, &started.other), None),
            OpKind::GetReduce { from, side, .. } => {
                (self.memory.gather(from, &started.other), Some(side))
            }
            _ => return,
        };
        self.deliver(rank, &data, (&started.source, side), &started.target);
    }
}

impl Checker {
    /// Takes what came first on a lane.
    fn received(&mut self, lane: (u32, u32, u16)) -> Vec<Element> {
        let first = self.lanes.get_mut(&lane).and_then(VecDeque::pop_front);
        first.unwrap_or_else(|| {
            let (from, rank, _) = lane;
            self.failure.get_or_insert(Failure {
                law: Law::Matching,
                rank,
                what: format!("takes in from rank {from} what has not arrived"),
            });
            Vec::new()
        })
    }
}
