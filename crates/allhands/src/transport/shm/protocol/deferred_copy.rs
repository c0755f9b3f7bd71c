//! Deferred: a long copy of a call's own memory, done piece by piece between looks for a message, or all while its sender helps.
//!
//! A rank that has something to copy and something to receive would do one after the other, its sender idle meanwhile. So it
//! looks now and then whether the message is there; when it is, its sender begins to copy that, and this rank joins in when
//! its own copy is done.

use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::shm::tuning::{DEFERRED_PAST_CACHES_LEAST, DEFERRED_PIECE};

/// A copy that is not done yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deferred {
    pub(crate) ticket: u32,
    from: Iovec,
    into: Iovec,
    distance: Distance,
}

impl Deferred {
    /// The copy of operation `ticket`.
    pub(crate) fn new(ticket: u32, from: Iovec, into: Iovec) -> Deferred {
        let distance = match from.bytes {
            DEFERRED_PAST_CACHES_LEAST.. => Distance::Beyond,
            _ => Distance::Near,
        };
        Deferred {
            ticket,
            from,
            into,
            distance,
        }
    }

    /// Copies the next piece; what is left then, if anything.
    ///
    /// # Safety
    /// Both iovecs are memory that the call may use, and nobody else does.
    pub(crate) unsafe fn advance(self) -> Option<Deferred> {
        let piece = Deferred {
            from: self.from.piece(0, DEFERRED_PIECE),
            ..self
        };
        // SAFETY: the caller's promise, of a part.
        unsafe { piece.finish() };
        let (from, into) = (
            self.from.piece(DEFERRED_PIECE, usize::MAX),
            self.into.piece(DEFERRED_PIECE, usize::MAX),
        );
        (from.bytes > 0).then_some(Deferred { from, into, ..self })
    }

    /// Copies all that is left.
    ///
    /// # Safety
    /// As for [`Deferred::advance`].
    pub(crate) unsafe fn finish(self) {
        let bytes = self.from.bytes.min(self.into.bytes);
        // SAFETY: the caller's promise.
        unsafe {
            self.distance
                .copy(self.from.address, self.into.address, bytes);
        }
    }
}
