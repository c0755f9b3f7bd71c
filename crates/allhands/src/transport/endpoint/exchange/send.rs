//! Sending: how an endpoint puts a message in the queue to another rank, or in a buffer that goes with it.

use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::queue::buffers::{Part, Pipelined};
use crate::transport::shm::queue::ring::{EAGER_BYTES, Header, Kind, MEDIUM_BYTES, Shown};
use crate::transport::shm::segment::shared_segment::Carrier;
use crate::transport::shm::tuning::{PIPELINE_BUFFER_BYTES, PIPELINE_BUFFERS_IN_ALL};
use std::sync::Arc;

impl Endpoint {
    /// Appends a message to the queue to `to` and wakes it; `false` if the queue is full.
    ///
    /// `fill` writes `header.bytes` bytes, at most [`EAGER_BYTES`].
    #[inline]
    pub(crate) fn send(&mut self, to: u32, header: Header, fill: impl FnOnce(*mut u8)) -> bool {
        assert!(
            header.bytes as usize <= EAGER_BYTES,
            "a payload fits its cell"
        );
        let sent = match self.segment.link(self.rank, to) {
            // SAFETY: a rank has one endpoint, used by one thread at a time (`&mut self`), so it is the one producer; the
            // side is what earlier pushes left. `fill` writes the payload.
            Carrier::Ring(ring) => unsafe { ring.push(&mut self.sent[to as usize], header, fill) },
            // SAFETY: `fill` writes the payload.
            Carrier::Inbox(inbox) => unsafe { inbox.push(header, fill) },
        };
        if sent {
            self.segment.wake(to);
        }
        sent
    }

    /// As [`Endpoint::send`], of a message that is longer than a cell and at most [`MEDIUM_BYTES`]; `None` where there is no
    /// ring to carry it, or no medium buffer now.
    #[inline]
    pub(crate) fn send_medium(
        &mut self,
        to: u32,
        (header, shown): (Header, Shown),
        fill: impl FnOnce(*mut u8, &dyn Fn(usize)),
    ) -> Option<bool> {
        let Carrier::Ring(ring) = self.segment.link(self.rank, to) else {
            return None;
        };
        // Two ranks have rings both ways, or none.
        let Carrier::Ring(back) = self.segment.link(to, self.rank) else {
            return None;
        };
        assert!(
            header.bytes as usize <= MEDIUM_BYTES,
            "a payload fits its medium buffer"
        );
        let side = &mut self.sent[to as usize];
        // SAFETY: as in `send`.
        let sent = unsafe { ring.push_medium(back, side, (header, shown), fill) };
        if sent? {
            self.segment.wake(to);
        }
        sent
    }
}

impl Endpoint {
    /// As [`Endpoint::send`], of a part of at most [`PIPELINE_BUFFER_BYTES`] in a pipeline buffer, which goes to the receiver; `None` where there
    /// is no pipeline buffer now. The `entry` is as in [`Pipelined`].
    pub(crate) fn send_pipelined(
        &mut self,
        to: u32,
        header: Header,
        (part, entry): (Part, u64),
        fill: impl FnOnce(*mut u8),
    ) -> Option<bool> {
        let segment = Arc::clone(&self.segment);
        let Carrier::Ring(ring) = segment.link(self.rank, to) else {
            return None;
        };
        assert!(
            part.bytes <= PIPELINE_BUFFER_BYTES,
            "a part fits its pipeline buffer"
        );
        let side = &mut self.sent[to as usize];
        let offset = match side.pipeline_buffers.take(&ring.pipeline_buffers_back) {
            Some(offset) => offset,
            None if self.pipeline_buffers_made < PIPELINE_BUFFERS_IN_ALL
                && side.pipeline_buffers.may_make() =>
            {
                let made = segment.arena().allocate(PIPELINE_BUFFER_BYTES).ok()?;
                side.pipeline_buffers.make();
                self.pipeline_buffers_made += 1;
                made.keep().0
            }
            None => return None,
        };
        let header = Header {
            kind: Kind::Pipelined,
            bytes: size_of::<Pipelined>() as u16,
            ..header
        };
        let sent = self.send(to, header, |payload| {
            fill(segment.arena().at(offset));
            // SAFETY: a cell's payload has room for this and is aligned for it.
            unsafe {
                payload.cast::<Pipelined>().write(Pipelined {
                    offset,
                    part,
                    entry,
                })
            };
        });
        if !sent {
            self.sent[to as usize].pipeline_buffers.keep(offset);
        }
        Some(sent)
    }
}
