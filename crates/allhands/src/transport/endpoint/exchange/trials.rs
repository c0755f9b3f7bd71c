//! Trials: what an endpoint learns of the copy protocols of long messages, by what they take.

use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::protocol::choose::{self, Protocol};
use crate::transport::shm::protocol::copy_protocol::{CopyProtocols, LongMessage};
use std::time::Instant;

impl Endpoint {
    /// What is known of the long messages that `other` sends, if copy protocols are tried.
    pub(crate) fn trials(&mut self, other: u32) -> Option<&mut CopyProtocols> {
        let arena = self.segment.arena();
        if self.segment.is_oversubscribed() || !arena.is_shared() || !choose::is_tried(arena) {
            return None;
        }
        let leads = self.rank < other;
        let known = &mut self.protocols[other as usize];
        Some(known.get_or_insert_with(|| Box::new(CopyProtocols::new(leads))))
    }

    /// Now, if the time of a copy counts that is part of the next exchange with `other`.
    pub(crate) fn start(&mut self, other: u32, message: LongMessage) -> Option<Instant> {
        self.trials(other)?.start(message)
    }

    /// Notes that a copy is made, which is part of an exchange with `other` and was begun at `start`.
    pub(crate) fn spend(&mut self, other: u32, message: LongMessage, start: Option<Instant>) {
        if start.is_some()
            && let Some(trials) = self.trials(other)
        {
            trials.spend(message, start);
        }
    }

    /// Notes that all of a message has been read that came in pipeline buffers.
    pub(crate) fn end_pipelined(&mut self, sender: u32, message: LongMessage) {
        if let Some(trials) = self.trials(sender)
            && let Some(timed) = trials.begin(message, Protocol::Pipelined, None)
        {
            trials.end(timed);
        }
    }
}
