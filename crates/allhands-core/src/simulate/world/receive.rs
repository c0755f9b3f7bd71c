//! Where messages and receives meet in virtual time, and what is taken in.

use super::{Moment, Network, Observer, Work, World};
use crate::schedule::OpKind;
use crate::simulate::SimulateError;
use crate::simulate::lanes::Receive;
use crate::simulate::state::Slot;

impl<N: Network, O: Observer> World<'_, N, O> {
    /// The receive that waits for a message, if there is one; otherwise the message waits.
    pub(super) fn receive_of(
        &mut self,
        (from, to): (u32, u32),
        channel: u16,
        bytes: u64,
    ) -> Result<Option<Receive>, SimulateError> {
        let rank = &mut self.ranks[to as usize];
        if let Some(slot) = rank.slot
            && (slot.from, slot.channel) == (from, channel)
        {
            rank.slot = None;
            return Ok(Some(slot.receive));
        }
        let plan = &self.plans[to as usize];
        let receive = self.lanes.arrive(plan, (from, channel), bytes)?;
        match receive {
            Some(_) => rank.in_lanes -= 1,
            None => rank.in_lanes += 1,
        }
        Ok(receive)
    }

    /// The length of the message that a receive waits for, if that is there; otherwise the receive waits.
    pub(super) fn message_of(
        &mut self,
        (from, to): (u32, u32),
        channel: u16,
        receive: Receive,
    ) -> Option<u64> {
        let rank = &mut self.ranks[to as usize];
        // What waits in the lanes came before.
        if rank.in_lanes == 0 && rank.slot.is_none() {
            rank.slot = Some(Slot {
                from,
                channel,
                receive,
            });
            return None;
        }
        let plan = &self.plans[to as usize];
        let bytes = self.lanes.receive(plan, (from, channel), receive);
        match bytes {
            Some(_) => rank.in_lanes -= 1,
            None => rank.in_lanes += 1,
        }
        bytes
    }

    /// The data of a receive are there: the processor takes them in, and combines them if it has to; gives when that is done.
    pub(super) fn take_in(
        &mut self,
        (from, rank): (u32, u32),
        receive: Receive,
        bytes: u64,
    ) -> Moment {
        self.observer.takes_in(rank, receive.ticket);
        let end_ps = self.occupy(rank, Some(receive.ticket), Work::Receive { from, bytes });
        match receive.combines {
            true => self.occupy(rank, Some(receive.ticket), Work::Combine { from, bytes }),
            false => end_ps,
        }
    }

    /// The same of a get, which is the network's alone but for what is combined.
    pub(super) fn take_got(&mut self, rank: u32, ticket: u32, bytes: u64) -> Moment {
        self.observer.takes_in(rank, ticket);
        match self.plans[rank as usize].ops[ticket as usize].kind {
            OpKind::GetReduce { .. } => self.occupy(rank, Some(ticket), Work::Reduce { bytes }),
            _ => self.queue.now_ps(),
        }
    }
}
