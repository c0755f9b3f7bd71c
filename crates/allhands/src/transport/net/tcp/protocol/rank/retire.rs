//! Retiring: what becomes of tags with which this rank exchanges nothing any more, while others may still send.
//!
//! Whatever comes with them is thrown away at once, and its sender has its credit back, or its grant: so it waits for nothing, and what
//! this rank keeps for it is for messages that somebody wants. Nothing is remembered of single messages. One that is sent again over
//! another connection is therefore thrown away twice, and its sender may get credit that it has not spent: that much it may exceed
//! its bound by, and no more than by as much again.

use super::Rank;
use crate::transport::net::tcp::protocol::connection::Landing;
use crate::transport::net::tcp::protocol::frame::{FrameError, Header, Kind};
use crate::transport::net::tcp::protocol::matching::{KEPT_BYTES, Key};
use crate::transport::net::tcp::protocol::memory::Memory;
use std::collections::BTreeMap;
use std::ops::Range;

/// Tags that are retired, as ranges that do not meet: where each begins, and ends.
#[derive(Debug, Default)]
pub struct Retired(BTreeMap<u32, u32>);

impl Retired {
    /// Whether a tag is.
    #[must_use]
    pub fn has(&self, tag: u32) -> bool {
        let before = self.0.range(..=tag).next_back();
        before.is_some_and(|(_, end)| tag < *end)
    }
}

impl<M: Memory> Rank<M> {
    /// Says that messages with these tags are exchanged no more, but may come. None of this rank's own is under way.
    pub fn retire(&mut self, tags: Range<u32>) {
        self.retired.0.insert(tags.start, tags.end);
        let has = |tag: &u32| tags.contains(tag);
        for at in 0..self.job.ranks {
            let peer = &mut self.peers[at as usize];
            peer.sent.retain(|tag, _| !has(tag));
            peer.grants.retain(|(tag, _), _| !has(tag));
            let here = peer.matching.under_way();
            let of_them = |message: &u32| {
                let incoming = self.messages.get(*message);
                incoming.is_some_and(|incoming| has(&incoming.key.0))
            };
            let here: Vec<u32> = here.filter(of_them).collect();
            here.into_iter()
                .for_each(|message| self.throw_away(at, message));
            self.peers[at as usize].matching.forget(&tags);
        }
    }

    /// Says that these tags, which were retired together, are used again.
    pub fn readmit(&mut self, tags: Range<u32>) {
        self.retired.0.remove(&tags.start);
    }

    /// Throws away what is here of a message that nobody wants, and what still comes of it.
    fn throw_away(&mut self, peer: u32, message: u32) {
        let Some(incoming) = self.messages.get(message) else {
            return;
        };
        let (key, cost, length) = (incoming.key, incoming.cost(), incoming.length);
        let (is_paid, is_granted) = (incoming.is_paid, incoming.is_granted);
        let is_lost = self.peers[peer as usize].loss().is_some();
        for at in &self.peers[peer as usize].open {
            let connection = self.connections.get_mut(*at);
            if let Some(part) = connection.and_then(|it| it.inbound.part.as_mut())
                && part.landing == Landing::Message(message)
            {
                part.landing = Landing::Nowhere;
            }
        }
        let matching = &mut self.peers[peer as usize].matching;
        matching.remove(&mut self.messages, message, &mut self.buffers);
        if is_lost {
            // It waits for nothing any more.
        } else if is_paid {
            self.return_credit(peer, cost);
        } else if !is_granted && length.is_some() {
            self.grant_to_nowhere(peer, key);
        }
    }

    /// A part has begun to come with a tag that is retired. The first one of a message has been paid for all.
    pub(super) fn pay_back(&mut self, peer: u32, header: &Header) {
        if header.offset > 0 {
            return;
        }
        if header.kind == Kind::Granted {
            let unanswered = &mut self.peers[peer as usize].unanswered;
            *unanswered = unanswered.saturating_sub(1);
        } else {
            let cost = header.length.saturating_add(KEPT_BYTES);
            let cost = cost.min(u64::from(self.settings.unexpected_bytes));
            self.peers[peer as usize].take_unwanted(cost, &self.settings);
            self.return_credit(peer, cost);
        }
    }

    /// A message with a tag that is retired waits at its sender.
    pub(super) fn unwanted(&mut self, peer: u32, header: &Header) -> Result<(), FrameError> {
        let most = self.settings.most_announced();
        let of = &mut self.peers[peer as usize];
        let is_written = |at: &u32| {
            let connection = self.connections.get(*at);
            connection.is_none_or(|connection| connection.outbound.is_drained())
        };
        if of.queue.is_empty() && of.open.iter().all(is_written) {
            // What it was granted and has taken back is never answered.
            of.unanswered = 0;
        }
        if of.unanswered >= most.saturating_mul(2) {
            return Err(FrameError::Announced { most });
        }
        of.unanswered += 1;
        self.grant_to_nowhere(peer, (header.tag, header.number));
        Ok(())
    }

    /// Lets a message come that nobody wants, since its sender waits for that.
    fn grant_to_nowhere(&mut self, peer: u32, (tag, number): Key) {
        let header = Header {
            tag,
            number,
            ..Header::new(Kind::Grant)
        };
        self.queue(peer, &header);
    }
}
