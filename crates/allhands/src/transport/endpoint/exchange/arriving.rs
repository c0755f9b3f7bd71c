//! Arriving messages: those that a receiver reads while their senders still write them.

use crate::transport::TransportError;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::cross_memory_attach::{self, Outcome};
use crate::transport::shm::memory::iovec::{Iovec, Sink};
use crate::transport::shm::queue::ring::Ring;

impl Endpoint {
    /// Reads the message in a medium buffer, which is next in the ring from `sender`, while it comes.
    pub(crate) fn read_medium<I: Iterator<Item = Iovec>>(
        &self,
        ring: &Ring,
        sender: u32,
        iovec: Iovec,
        mut sink: Sink<I>,
    ) -> Result<(), TransportError> {
        let side = &self.received[sender as usize];
        let is_kept = self.sent[sender as usize].keeps_medium_buffer();
        let distance = match is_kept || self.segment.leaves_unclaimed() {
            true => self.segment.distance(),
            false => Distance::Back,
        };
        // SAFETY: the side of this ring.
        let filled = || unsafe { ring.filled(side) };
        // SAFETY: what is filled is readable until the message is released; medium buffers are aligned, and ours alone; the sink's
        // memory is the call's.
        match unsafe { self.read_as_it_comes(sender, (iovec, distance), &mut sink, filled) } {
            Outcome::Failed(errno) => Err(self.unreachable(sender, errno)),
            _ => Ok(()),
        }
    }

    /// Waits until all of the message in a medium buffer is there, which is next in the ring from `sender`.
    pub(crate) fn await_medium(
        &self,
        ring: &Ring,
        sender: u32,
        bytes: usize,
    ) -> Result<(), TransportError> {
        let (side, mut look) = (&self.received[sender as usize], 0);
        // SAFETY: the side of this ring.
        while unsafe { ring.filled(side) } < bytes {
            if let Some(Outcome::Failed(errno)) = self.wait_for_sender(sender, &mut look) {
                return Err(self.unreachable(sender, errno));
            }
        }
        Ok(())
    }

    /// Feeds `iovec` to the sink as far as it is `filled`, until all of it is; afterwards its bytes are of no use, if the sender
    /// is the next to write there.
    ///
    /// # Safety
    /// So many bytes of the iovec, which is aligned for elements, as `filled` says are readable, and writable if it goes back,
    /// by nobody else; the rest is as for [`Sink::feed`].
    #[inline]
    pub(crate) unsafe fn read_as_it_comes<I: Iterator<Item = Iovec>>(
        &self,
        sender: u32,
        (iovec, distance): (Iovec, Distance),
        sink: &mut Sink<I>,
        filled: impl Fn() -> usize,
    ) -> Outcome {
        let (mut done, mut look) = (0, 0);
        while done < iovec.bytes {
            let filled = filled();
            let whole = if filled < iovec.bytes {
                filled - filled % sink.grain()
            } else {
                filled
            };
            if whole > done {
                let piece = iovec.piece(done, whole - done);
                // SAFETY: filled, and whole elements; nobody reads it again.
                unsafe { sink.feed(piece, distance) };
                done = whole;
            } else if let Some(gone) = self.wait_for_sender(sender, &mut look) {
                return gone;
            }
        }
        Outcome::All
    }

    /// Lets time pass in which a sender copies, perhaps to our memory; says so if it has ended and never will.
    pub(crate) fn wait_for_sender(&self, sender: u32, look: &mut u32) -> Option<Outcome> {
        self.patience.pause(*look);
        *look += 1;
        let gone = (*look).is_multiple_of(1024) && self.segment.liveness().is_dead(sender);
        gone.then_some(Outcome::Failed(cross_memory_attach::NO_SUCH_PROCESS))
    }
}
