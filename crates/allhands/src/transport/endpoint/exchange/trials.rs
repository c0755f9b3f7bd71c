//! Trials: what an endpoint learns of the copy protocols of long messages, by what they take.

use crate::transport::endpoint::exchange::expected::Expected;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::RequestState;
use crate::transport::shm::protocol::choose::{self, Protocol};
use crate::transport::shm::protocol::copy_protocol::{CopyProtocols, LongMessage};
use crate::transport::shm::protocol::send_descriptors::Entry;
use crate::transport::shm::queue::buffers::Part;
use std::sync::Arc;
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

    /// Now, if the time of the next message counts that `other` sends.
    pub(crate) fn start(&mut self, other: u32, message: LongMessage) -> Option<Instant> {
        self.trials(other)?.start(message)
    }

    /// Notes that all of a message has been read that came in pipeline buffers.
    pub(crate) fn end_pipelined(
        &mut self,
        request: &RequestState,
        sender: u32,
        message: LongMessage,
    ) {
        let since = request.exchanges.since();
        let trials = self.trials(sender);
        let way = (Protocol::Pipelined, None);
        let timed = trials.and_then(|trials| trials.begin(message, way, || since));
        request.exchanges.read(self, sender, timed);
    }

    /// Notes that the first part of a message has come that goes one way in pipeline buffers, and tells its sender by what the next one is
    /// wanted, in its `entry`; the message is `combined` with what is there or not.
    pub(super) fn begin_parts(
        &mut self,
        expected: &Expected<'_>,
        (entry, first): (u64, Part),
        combined: bool,
    ) {
        let segment = Arc::clone(&self.segment);
        // SAFETY: a sender's send descriptors live until their messages are read, and of this one the last part is not.
        let entry = unsafe { Entry::at(segment.arena(), entry) };
        let timed = self.begin_read((expected.request, expected.from), entry, combined);
        if let Some(trials) = self.trials(expected.from) {
            trials.in_parts = timed.map(|timed| timed.after(first.bytes));
        }
    }

    /// Notes that the last part has been read.
    pub(super) fn end_parts(&mut self, sender: u32) {
        if let Some(trials) = self.trials(sender)
            && let Some(timed) = trials.in_parts.take()
        {
            trials.end(timed);
        }
    }
}
