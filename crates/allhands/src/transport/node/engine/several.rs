//! Several: how a step receives long messages of several senders at the same time.

use super::NodeEngine;
use crate::transport::TransportError;
use crate::transport::node::many::{self, Begun};
use crate::transport::node::reach::{NO_SUCH_PROCESS, Reached};
use crate::transport::node::runs::Sink;
use allhands_core::progress::Status;
use std::ops::Range;

/// Looks in vain between which all senders live, or are taken for alive.
const LOOKS: u32 = 1024;

impl NodeEngine<'_> {
    /// Receives what has come of the step of `ticket`; whether that has its message.
    pub(super) fn receive_several(&mut self, ticket: u32) -> Result<Status, TransportError> {
        if !self.flight.many.end(ticket) {
            let step = self.flight.many.step(ticket);
            // The port's own memory, so that nothing is allocated; ours now, so that a panic ends what was begun.
            let mut begun = std::mem::take(&mut self.port.begun);
            let copied = self.copy_several(step, &mut begun);
            begun.clear();
            self.port.begun = begun;
            copied?;
            if !self.flight.many.end(ticket) {
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
            let copied = match self.flight.advance_any_deferred() {
                true => Ok(true),
                false => many::copy_some(begun, look),
            };
            match copied.and_then(|copied| many::end_some(begun).map(|()| copied)) {
                Ok(true) => look = 0,
                Ok(false) => {
                    self.port.patience.pause(look);
                    look += 1;
                }
                Err(failed) => return Err(self.failed(begun, failed)),
            }
            if look % LOOKS == LOOKS - 1
                && let Some(sender) = self.find_dead(begun)
            {
                let gone = Reached::Failed(NO_SUCH_PROCESS);
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
            let flight = &*self.flight;
            let one = flight.many.at(place);
            if !one.is_awaited() || !flight.may_go(one.ticket) {
                continue;
            }
            let into = [one.into];
            let sink = || Sink::copy(flight.runs(&into));
            let which = (one.from, one.channel, one.into.bytes);
            if self.port.receive_or_begin(flight, which, sink, begun)? {
                one.received();
                let ticket = one.ticket;
                self.flight.went(ticket);
            }
        }
        Ok(())
    }

    fn find_dead(&self, begun: &[Begun]) -> Option<u32> {
        let vigil = self.port.fabric().vigil();
        let mut senders = begun.iter().map(|one| one.sender);
        senders.find(|sender| vigil.is_dead(*sender))
    }

    /// Why a message could not be copied; first everything else ends.
    #[cold]
    fn failed(&self, begun: &mut Vec<Begun>, (sender, reached): (u32, Reached)) -> TransportError {
        begun.clear();
        let errno = match reached {
            Reached::Failed(errno) => errno,
            // A permission that is withdrawn in between.
            Reached::All | Reached::Forbidden => 1,
        };
        self.port.unreachable(sender, errno)
    }
}
