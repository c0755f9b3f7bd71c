//! The record of a simulation: what processors did and waited for, and when messages were under way.

use super::network::{Envelope, Work};
use super::observer::{Observer, Purpose};
use super::queue::Moment;
use crate::progress::Post;
use crate::schedule::OpKind;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// A time in which the processor of a rank does, or waits for, one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<W> {
    /// The rank.
    pub rank: u32,
    /// From here on.
    pub from_ps: Moment,
    /// To here.
    pub to_ps: Moment,
    /// What it is.
    pub what: W,
}

/// A message, from the moment at which the network had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Its length.
    pub bytes: u64,
    /// What it is for.
    pub purpose: Purpose,
    /// When the network had it.
    pub sent_ps: Moment,
    /// When all of it had arrived.
    pub arrived_ps: Moment,
}

/// Notes everything, up to a limit.
#[derive(Clone, Debug)]
pub struct Recorder {
    works: Vec<Span<Work>>,
    operations: Vec<Span<OpKind>>,
    messages: Vec<Carried>,
    /// Operations under way, by rank and ticket.
    open: BTreeMap<(u32, u32), usize>,
    /// Messages under way, by number.
    flying: BTreeMap<u32, usize>,
    most: usize,
    is_full: bool,
}

impl Recorder {
    /// A recorder that notes at most so many operations, works and messages together.
    #[must_use]
    pub fn new(most: usize) -> Recorder {
        Recorder {
            works: Vec::new(),
            operations: Vec::new(),
            messages: Vec::new(),
            open: BTreeMap::new(),
            flying: BTreeMap::new(),
            most,
            is_full: false,
        }
    }

    /// Whether there was more than it may note: then it is no record of the whole.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// What processors did, each rank's in the order of time.
    #[must_use]
    pub fn works(&self) -> &[Span<Work>] {
        &self.works
    }

    /// The messages that arrived, in the order in which they were sent.
    #[must_use]
    pub fn messages(&self) -> &[Carried] {
        &self.messages
    }

    fn has_room(&mut self) -> bool {
        let noted = self.works.len() + self.operations.len() + self.messages.len();
        self.is_full |= noted >= self.most;
        !self.is_full
    }

    /// What each rank waited for while its processor did nothing, until it was done: of the operations under way the one that
    /// ended first.
    #[must_use]
    pub fn waits(&self, ends_ps: &[Moment]) -> Vec<Span<OpKind>> {
        let mut works = vec![Vec::new(); ends_ps.len()];
        for work in self.works.iter().filter(|work| work.to_ps > work.from_ps) {
            works[work.rank as usize].push((work.from_ps, work.to_ps));
        }
        let mut operations = vec![Vec::new(); ends_ps.len()];
        for operation in &self.operations {
            operations[operation.rank as usize].push(*operation);
        }
        let mut waits = Vec::new();
        for (rank, &end_ps) in ends_ps.iter().enumerate() {
            operations[rank].sort_by_key(|operation| operation.to_ps);
            let mut from_ps = 0;
            for &(begin_ps, done_ps) in works[rank].iter().chain([&(end_ps, end_ps)]) {
                waited(&operations[rank], (from_ps, begin_ps), &mut waits);
                from_ps = done_ps;
            }
        }
        waits
    }
}

/// Tells of a time without work, from..to, what was waited for; `operations` are one rank's, by their ends.
fn waited(
    operations: &[Span<OpKind>],
    (mut from_ps, to_ps): (Moment, Moment),
    waits: &mut Vec<Span<OpKind>>,
) {
    while from_ps < to_ps {
        let later = operations.partition_point(|operation| operation.to_ps <= from_ps);
        let under_way = |operation: &&Span<OpKind>| operation.from_ps <= from_ps;
        let next = operations[later..].iter().find(under_way);
        let until_ps = match next {
            Some(operation) => {
                let until_ps = operation.to_ps.min(to_ps);
                waits.push(Span {
                    from_ps,
                    to_ps: until_ps,
                    ..*operation
                });
                until_ps
            }
            None => {
                let starts = operations[later..].iter().map(|o| o.from_ps);
                starts.min().map_or(to_ps, |start_ps| start_ps.min(to_ps))
            }
        };
        from_ps = until_ps;
    }
}

impl Observer for Recorder {
    fn starts(&mut self, rank: u32, post: &Post<'_>, at_ps: Moment) {
        if self.has_room() {
            self.open.insert((rank, post.ticket), self.operations.len());
            self.operations.push(Span {
                rank,
                from_ps: at_ps,
                to_ps: at_ps,
                what: post.kind(),
            });
        }
    }

    fn ends(&mut self, rank: u32, ticket: u32, at_ps: Moment) {
        if let Some(number) = self.open.remove(&(rank, ticket)) {
            self.operations[number].to_ps = at_ps;
        }
    }

    fn works(&mut self, rank: u32, work: Work, from_ps: Moment, to_ps: Moment) {
        if self.has_room() {
            self.works.push(Span {
                rank,
                from_ps,
                to_ps,
                what: work,
            });
        }
    }

    fn sends(&mut self, message: Envelope, _: u32, purpose: Purpose, at_ps: Moment) {
        if self.has_room() {
            self.flying.insert(message.number, self.messages.len());
            self.messages.push(Carried {
                from: message.from,
                to: message.to,
                bytes: message.bytes,
                purpose,
                sent_ps: at_ps,
                arrived_ps: at_ps,
            });
        }
    }

    fn arrives(&mut self, number: u32, at_ps: Moment) {
        if let Some(number) = self.flying.remove(&number) {
            self.messages[number].arrived_ps = at_ps;
        }
    }
}
