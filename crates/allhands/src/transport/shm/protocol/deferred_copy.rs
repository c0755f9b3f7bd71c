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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::shm::tuning::DEFERRED_LEAST;

    /// Copies so many bytes piece by piece; how far away each piece was taken to be.
    fn distances(bytes: usize) -> Vec<Distance> {
        let (mut from, mut into) = (vec![7; bytes], vec![0_u8; bytes]);
        let iovec = |memory: &mut Vec<u8>| Iovec {
            address: memory.as_mut_ptr(),
            bytes,
        };
        let mut left = Some(Deferred::new(3, iovec(&mut from), iovec(&mut into)));
        let mut all = Vec::new();
        while let Some(copy) = left {
            all.push(copy.distance);
            // SAFETY: both vectors are as long, and used by nobody else meanwhile.
            left = unsafe { copy.advance() };
        }
        assert_eq!(from, into);
        all
    }

    #[test]
    fn a_long_one_goes_past_the_caches() {
        for (bytes, distance) in [
            (DEFERRED_LEAST, Distance::Near),
            (DEFERRED_PAST_CACHES_LEAST - 1, Distance::Near),
            (DEFERRED_PAST_CACHES_LEAST, Distance::Beyond),
            (DEFERRED_PAST_CACHES_LEAST + 1, Distance::Beyond),
        ] {
            let pieces = bytes.div_ceil(DEFERRED_PIECE);
            assert_eq!(distances(bytes), vec![distance; pieces], "{bytes}");
        }
    }
}
