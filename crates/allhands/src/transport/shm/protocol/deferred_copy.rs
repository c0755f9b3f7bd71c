//! Deferred: a long copy of a call's own memory, done piece by piece between looks for a message, or all while its sender helps.
//!
//! A rank that has something to copy and something to receive would do one after the other, its sender idle meanwhile. So it
//! looks now and then whether the message is there; when it is, its sender begins to copy that, and this rank joins in when
//! its own copy is done.
//!
//! It and what comes meanwhile may drive each other out of the caches, as the sender's memory and what both are copied to come to four
//! times that. So it may go past them, which takes a third less on one processor and twice as long on another: a request tries both.

use super::trial::{Times, Trial, Tried};
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::shm::tuning::{
    DEFERRED_PAST_CACHES_LEAST, DEFERRED_PIECE, DEFERRED_TRIAL_LATE,
};
use std::time::Instant;

/// How a deferred copy is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// Through the caches.
    Cached,
    /// Past the caches.
    PastCaches,
}

/// Both ways.
const WAYS: &[Made] = &[Made::Cached, Made::PastCaches];

impl Tried for Made {
    fn place(self) -> usize {
        self as usize
    }

    fn cost_ns(self, _: &'static [Made], chosen: Option<Made>, times: &Times) -> Option<u64> {
        times.middle_ns(chosen.is_some_and(|chosen| chosen != self))
    }
}

/// What a request knows of its deferred copies, by what its calls take from where a copy is put off.
#[derive(Debug)]
pub(crate) struct DeferredTrial {
    trial: Trial<Made>,
    /// The call under way, if it is timed.
    begun: Option<(Made, Instant)>,
}

impl DeferredTrial {
    /// Before the first call.
    pub(crate) fn new() -> DeferredTrial {
        DeferredTrial {
            trial: Trial::new(WAYS, DEFERRED_TRIAL_LATE),
            begun: None,
        }
    }

    /// How the copy of so many bytes is made that is put off now.
    pub(crate) fn begin(&mut self, bytes: usize) -> Made {
        let (wanted, tries) = self.trial.next(|_| true).0;
        self.begun = wanted.filter(|_| tries).map(|made| (made, Instant::now()));
        wanted.unwrap_or(match bytes {
            DEFERRED_PAST_CACHES_LEAST.. => Made::PastCaches,
            _ => Made::Cached,
        })
    }

    /// Notes that the call is complete.
    #[inline]
    pub(crate) fn end(&mut self) {
        if let Some((made, begun)) = self.begun.take() {
            self.trial.note(made, begun.elapsed().as_nanos() as u64);
        }
    }

    /// Notes that the call has been stopped.
    pub(crate) fn forget(&mut self) {
        self.begun = None;
    }
}

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
    pub(crate) fn new(ticket: u32, made: Made, (from, into): (Iovec, Iovec)) -> Deferred {
        let distance = match made {
            Made::PastCaches => Distance::Beyond,
            Made::Cached => Distance::Near,
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
    use crate::transport::shm::tuning::{DEFERRED_LEAST, TRIAL_TRIED};

    /// Copies so many bytes piece by piece; how far away each piece was taken to be.
    fn distances(bytes: usize, made: Made) -> Vec<Distance> {
        let (mut from, mut into) = (vec![7; bytes], vec![0_u8; bytes]);
        let iovec = |memory: &mut Vec<u8>| Iovec {
            address: memory.as_mut_ptr(),
            bytes,
        };
        let mut all = Vec::new();
        let mut left = Some(Deferred::new(3, made, (iovec(&mut from), iovec(&mut into))));
        while let Some(copy) = left {
            all.push(copy.distance);
            // SAFETY: both vectors are as long, and used by nobody else meanwhile.
            left = unsafe { copy.advance() };
        }
        assert_eq!(from, into);
        all
    }

    #[test]
    fn it_is_made_piece_by_piece_as_it_is_wanted() {
        for bytes in [
            DEFERRED_LEAST,
            DEFERRED_PAST_CACHES_LEAST,
            DEFERRED_PAST_CACHES_LEAST + 1,
        ] {
            let pieces = bytes.div_ceil(DEFERRED_PIECE);
            for (made, distance) in [
                (Made::Cached, Distance::Near),
                (Made::PastCaches, Distance::Beyond),
            ] {
                let all = distances(bytes, made);
                assert_eq!(all, vec![distance; pieces], "{bytes}");
            }
        }
    }

    #[test]
    fn both_ways_are_tried_after_the_first_calls() {
        let mut trial = DeferredTrial::new();
        for (bytes, made) in [
            (DEFERRED_PAST_CACHES_LEAST - 1, Made::Cached),
            (DEFERRED_PAST_CACHES_LEAST, Made::PastCaches),
        ] {
            assert_eq!(trial.begin(bytes), made, "before the trial");
        }
        (2..DEFERRED_TRIAL_LATE).for_each(|_| _ = trial.begin(DEFERRED_LEAST));
        let tried = [Made::Cached, Made::PastCaches].map(|made| [made; TRIAL_TRIED]);
        for made in tried.concat() {
            assert_eq!(trial.begin(DEFERRED_LEAST), made);
            // A made-up time.
            trial.begun = None;
            trial.trial.note(made, 100 - made as u64);
        }
        assert_eq!(trial.begin(DEFERRED_LEAST), Made::PastCaches, "took least");
    }
}
