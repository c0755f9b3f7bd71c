//! Several: how a step receives long messages of several senders at the same time.

use crate::transport::TransportError;
use crate::transport::endpoint::engine::node::NodeEngine;
use crate::transport::endpoint::message::begun::{self, Begun};
use crate::transport::shm::memory::cross_memory_attach::{self, NO_SUCH_PROCESS, Outcome};
use crate::transport::shm::memory::iovec::Sink;
use crate::transport::shm::protocol::send_descriptors::Found;
use crate::transport::shm::queue::ring::Header;
use crate::transport::shm::rendezvous::receiver_initiated::{Answer, Wanted};
use crate::transport::shm::tuning::{CONCURRENT_LEAST, SEVERAL_LOOKS};
use allhands_core::progress::{Post, Status};
use std::ops::Range;

impl NodeEngine<'_> {
    /// Receives what has come of the step of `ticket`; whether that has its message.
    pub(super) fn receive_several(&mut self, ticket: u32) -> Result<Status, TransportError> {
        if !self.request.concurrent.end(ticket) {
            let step = self.request.concurrent.step(ticket);
            // The endpoint's own memory, so that nothing is allocated; ours now, so that a panic ends what was begun.
            let mut begun = std::mem::take(&mut self.endpoint.begun);
            let copied = self.copy_several(step, &mut begun);
            begun.clear();
            self.endpoint.begun = begun;
            copied?;
            if !self.request.concurrent.end(ticket) {
                return Ok(Status::Pending);
            }
        }
        Ok(Status::Done)
    }

    /// Copies what comes until nothing is there.
    fn copy_several(
        &mut self,
        step: Range<usize>,
        begun: &mut Vec<Begun>,
    ) -> Result<(), TransportError> {
        let mut look = 0;
        loop {
            self.begin_several(step.clone(), begun)?;
            if begun.is_empty() {
                return Ok(());
            }
            let copied = match self.request.advance_any_deferred() {
                true => Ok(true),
                false => begun::copy_some(begun, look),
            };
            match copied.and_then(|copied| begun::end_some(begun).map(|()| copied)) {
                Ok(true) => look = 0,
                Ok(false) => {
                    self.endpoint.patience.pause(look);
                    look += 1;
                }
                Err(failed) => return Err(self.failed(begun, failed)),
            }
            if look % SEVERAL_LOOKS == SEVERAL_LOOKS - 1
                && let Some(sender) = self.find_dead(begun)
            {
                let gone = Outcome::Failed(NO_SUCH_PROCESS);
                return Err(self.failed(begun, (sender, gone)));
            }
        }
    }

    /// Claims what has come and asks its senders to copy it.
    fn begin_several(
        &mut self,
        step: Range<usize>,
        begun: &mut Vec<Begun>,
    ) -> Result<(), TransportError> {
        for place in step {
            let request = &*self.request;
            let one = request.concurrent.at(place);
            if !one.is_awaited() || !request.may_go(one.ticket) {
                continue;
            }
            let into = [one.into];
            let sink = || Sink::copy(request.iovecs(&into));
            let which = (one.from, one.channel, one.into.bytes);
            let received = match one.answer(self.endpoint.segment(), request.rank) {
                Answer::Coming => continue,
                Answer::Here => true,
                Answer::None | Answer::Declined => self
                    .endpoint
                    .receive_or_begin(request, which, sink, begun)?,
            };
            if received {
                // Who has announced a message looks for no ready-to-receive any more.
                one.shut(self.endpoint.segment(), request.rank);
                one.received();
                let ticket = one.ticket;
                self.request.went(ticket);
            } else {
                let call = (request.call, request.chain);
                one.announce_ready(
                    self.endpoint.segment(),
                    request.rank,
                    call,
                    request.iovec(&one.into),
                );
            }
        }
        Ok(())
    }

    /// Writes a long message to where its receiver waits for it, if that has said so; whether it did.
    pub(super) fn write_to_ready(&self, post: &Post<'_>, to: u32, header: &Header) -> bool {
        let segment = self.endpoint.segment();
        if post.bytes < CONCURRENT_LEAST || !segment.is_oversubscribed() {
            return false;
        }
        let wanted = Wanted {
            call: header.call,
            signature: header.signature,
            channel: header.channel,
            bytes: post.bytes,
        };
        let mut iovecs = self
            .request
            .iovecs(post.source())
            .filter(|iovec| iovec.bytes > 0);
        let (Some(from), None) = (iovecs.next(), iovecs.next()) else {
            return false;
        };
        let ready = segment.ready_to_receive(self.request.rank, to);
        let Some((ready, room)) = ready.and_then(|i| Some((i, i.accept(wanted)?))) else {
            return false;
        };
        let written = match Found::at(segment.arena(), room.place, from.bytes) {
            // SAFETY: the message is the call's own memory, and where it goes is ours until we answer, and as long.
            Found::Here(into) => unsafe {
                std::ptr::copy(from.address, into.address, from.bytes);
                true
            },
            // SAFETY: as above.
            Found::There(into) => unsafe {
                cross_memory_attach::store(room.process, from, into) == Outcome::All
            },
        };
        if !written {
            segment.forbid_assisting();
        }
        ready.answer(written);
        segment.wake(to);
        written
    }

    fn find_dead(&self, begun: &[Begun]) -> Option<u32> {
        let liveness = self.endpoint.segment().liveness();
        let mut senders = begun.iter().map(|one| one.sender);
        senders.find(|sender| liveness.is_dead(*sender))
    }

    /// Why a message could not be copied; first everything else ends.
    #[cold]
    fn failed(&self, begun: &mut Vec<Begun>, (sender, outcome): (u32, Outcome)) -> TransportError {
        begun.clear();
        let errno = match outcome {
            Outcome::Failed(errno) => errno,
            // A permission that is withdrawn in between.
            Outcome::All | Outcome::Forbidden => 1,
        };
        self.endpoint.unreachable(sender, errno)
    }
}
