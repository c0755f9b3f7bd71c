//! What a builder says to a machine's own hardware: copies that packets leave on their way, meetings of all ranks, and what does not go
//! its own ways.

use super::blocks::BlockList;
use super::{AGREEMENT_CHANNEL, Builder, List, OpKind};
use crate::machine::Fabric;

impl Builder {
    /// Sends `from` to rank `to` by the packets of the send before it, which carry the same and pass there.
    pub fn send_deposited(&mut self, to: u32, from: impl BlockList) {
        let kind = OpKind::Send {
            to,
            channel: self.channel,
            port: self.port,
            deposited: true,
        };
        self.push(kind, from.sets(), &[], &[]);
    }

    /// Meets all other ranks in `fabric`, gives `from` and gets what all have given, combined, into `into`.
    pub fn combine(&mut self, fabric: Fabric, from: impl BlockList, into: impl BlockList) {
        let kind = meeting(fabric, true);
        self.push(kind, from.sets(), into.sets(), &[]);
    }

    /// [`Builder::combine`] of what the processor first turns into fixed-point numbers.
    pub fn combine_converted(
        &mut self,
        fabric: Fabric,
        from: impl BlockList,
        into: impl BlockList,
    ) {
        let kind = OpKind::Combine {
            fabric,
            gives: true,
            converted: true,
        };
        self.push(kind, from.sets(), into.sets(), &[]);
    }

    /// Meets all other ranks in `fabric` and gives them `from`; gets nothing.
    pub fn combine_for_others(&mut self, fabric: Fabric, from: impl BlockList) {
        self.push(meeting(fabric, true), from.sets(), &[], &[]);
    }

    /// Meets all other ranks in `fabric`, gives nothing and gets what others have given, combined, into `into`.
    pub fn combine_others(&mut self, fabric: Fabric, into: impl BlockList) {
        self.push(meeting(fabric, false), &[], into.sets(), &[]);
    }

    /// Meets all other ranks in `fabric`, without data.
    pub fn meet(&mut self, fabric: Fabric) {
        self.push_always(meeting(fabric, true), [List::default(); 3]);
    }

    /// What `body` says goes on [`AGREEMENT_CHANNEL`]: as messages of the machine's message-passing software.
    pub fn agreement(&mut self, body: impl FnOnce(&mut Builder)) {
        let outer = core::mem::replace(&mut self.channel, AGREEMENT_CHANNEL);
        body(self);
        self.channel = outer;
    }

    /// Sends a message without data by the packets of the send before it, which pass there.
    pub fn send_token_deposited(&mut self, to: u32) {
        let kind = OpKind::Send {
            to,
            channel: self.channel,
            port: self.port,
            deposited: true,
        };
        self.push_always(kind, [List::default(); 3]);
    }
}

fn meeting(fabric: Fabric, gives: bool) -> OpKind {
    OpKind::Combine {
        fabric,
        gives,
        converted: false,
    }
}
