//! Matching: which message meets which receive, by source and tag, without any input or output.
//!
//! Messages of one source are told of in the order in which they were sent, and receives in the order in which they are posted. A
//! message meets the first receive that wants it, a receive the first message that it wants: so of two messages of one source that
//! a receive would take, the first that was sent is received first, as MPI has it.

use std::collections::VecDeque;

/// What a receive wants; what is not said may be anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The sender's number.
    pub(crate) source: Option<u32>,
    pub(crate) tag: Option<u32>,
}

impl Wanted {
    fn takes_tag(&self, tag: u32) -> bool {
        self.tag.is_none_or(|wanted| wanted == tag)
    }
}

/// What is said on the outside of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// The sender's number.
    pub(crate) source: u32,
    pub(crate) tag: u32,
    /// The code of its element's type.
    pub(crate) element: u64,
    /// Its length in bytes.
    pub(crate) bytes: u64,
}

/// A receive that no message has met.
#[derive(Clone, Copy, Debug)]
struct Posted {
    /// When it was posted, in the order of all receives.
    order: u64,
    wanted: Wanted,
    receive: usize,
}

/// A message that no receive has met.
#[derive(Debug)]
struct Kept<M> {
    /// When it came, in the order of all messages.
    order: u64,
    envelope: Envelope,
    message: M,
}

#[derive(Debug)]
struct FromSource<M> {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Kept<M>>,
}

/// The receives and the messages of one rank that have not met; `M` is what is kept of a message.
#[derive(Debug)]
pub(crate) struct Matching<M> {
    sources: Box<[FromSource<M>]>,
    /// Receives from any source.
    any: VecDeque<Posted>,
    next: u64,
}

impl<M> Matching<M> {
    /// Nothing yet, of so many sources.
    pub(crate) fn new(sources: u32) -> Matching<M> {
        let source = |_| FromSource {
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
        };
        Matching {
            sources: (0..sources).map(source).collect(),
            any: VecDeque::new(),
            next: 0,
        }
    }

    fn order(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn queue(&mut self, wanted: Wanted) -> &mut VecDeque<Posted> {
        match wanted.source {
            Some(source) => &mut self.sources[source as usize].posted,
            None => &mut self.any,
        }
    }

    /// The place of the first message that is wanted: its source, and where it stands there.
    fn find(&self, wanted: Wanted) -> Option<(usize, usize)> {
        let first = |source: usize| {
            let mut kept = self.sources[source].unexpected.iter();
            let at = kept.position(|kept| wanted.takes_tag(kept.envelope.tag))?;
            Some((source, at))
        };
        match wanted.source {
            Some(source) => first(source as usize),
            None => {
                let firsts = (0..self.sources.len()).filter_map(first);
                firsts.min_by_key(|(source, at)| self.sources[*source].unexpected[*at].order)
            }
        }
    }

    /// Takes the first message that is wanted, if one is there.
    pub(crate) fn take(&mut self, wanted: Wanted) -> Option<(Envelope, M)> {
        let (source, at) = self.find(wanted)?;
        let kept = self.sources[source].unexpected.remove(at)?;
        Some((kept.envelope, kept.message))
    }

    /// Posts a receive; the message that it meets at once, if one is there.
    pub(crate) fn post(&mut self, wanted: Wanted, receive: usize) -> Option<(Envelope, M)> {
        let met = self.take(wanted);
        if met.is_some() {
            return met;
        }
        let order = self.order();
        self.queue(wanted).push_back(Posted {
            order,
            wanted,
            receive,
        });
        None
    }

    /// A message comes: the receive that it meets, which is posted no more. If there is none, the message is to be
    /// [kept](Matching::keep).
    pub(crate) fn arrive(&mut self, envelope: &Envelope) -> Option<usize> {
        let takes = |posted: &Posted| posted.wanted.takes_tag(envelope.tag);
        let own = &mut self.sources[envelope.source as usize].posted;
        let named = own.iter().position(takes);
        let any = self.any.iter().position(takes);
        let is_named = match (named, any) {
            (Some(named), Some(any)) => own[named].order < self.any[any].order,
            (named, _) => named.is_some(),
        };
        let posted = match (named, any) {
            (Some(at), _) if is_named => own.remove(at),
            (_, Some(at)) => self.any.remove(at),
            _ => None,
        };
        posted.map(|posted| posted.receive)
    }

    /// Keeps a message that has met no receive.
    pub(crate) fn keep(&mut self, envelope: Envelope, message: M) {
        let order = self.order();
        let unexpected = &mut self.sources[envelope.source as usize].unexpected;
        unexpected.push_back(Kept {
            order,
            envelope,
            message,
        });
    }

    /// Takes a receive back; whether no message had met it.
    pub(crate) fn cancel(&mut self, wanted: Wanted, receive: usize) -> bool {
        let queue = self.queue(wanted);
        let at = queue.iter().position(|posted| posted.receive == receive);
        at.and_then(|at| queue.remove(at)).is_some()
    }

    /// The first message that such a receive would meet.
    pub(crate) fn probe(&self, wanted: Wanted) -> Option<(&Envelope, &M)> {
        let (source, at) = self.find(wanted)?;
        let kept = &self.sources[source].unexpected[at];
        Some((&kept.envelope, &kept.message))
    }

    /// What is kept of the messages of a source that have met no receive.
    pub(crate) fn kept(&mut self, source: u32) -> impl Iterator<Item = &mut M> {
        let unexpected = self.sources[source as usize].unexpected.iter_mut();
        unexpected.map(|kept| &mut kept.message)
    }

    /// How many messages of a source have met no receive.
    pub(crate) fn unexpected(&self, source: u32) -> usize {
        self.sources[source as usize].unexpected.len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
