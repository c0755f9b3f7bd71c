//! The deferred copy of a request: which of its copies may wait for a message, and what is left of it.

use super::RequestState;
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::shm::protocol::deferred_copy::Deferred;

impl RequestState {
    /// Whether `ticket` copies own memory in a step that receives, and sends nothing.
    pub(crate) fn may_defer(&self, ticket: u32) -> bool {
        self.slots[ticket as usize].defers && self.deferred.get().is_none()
    }

    /// Whether `ticket` receives in a step with a copy that may be deferred.
    pub(crate) fn is_beside_copy(&self, ticket: u32) -> bool {
        self.slots[ticket as usize].beside_copy
    }

    /// Puts the copy of `ticket` off.
    pub(crate) fn defer(&self, ticket: u32, (from, into): (Iovec, Iovec)) {
        let made = self.deferred_trial.borrow_mut().begin(from.bytes);
        let copy = Deferred::new(ticket, made, (from, into));
        self.deferred.set(Some(copy));
    }

    /// Does a piece of the copy of `ticket`, if it was put off; whether all of it is done.
    pub(crate) fn advance_deferred(&self, ticket: u32) -> bool {
        let Some(copy) = self.deferred.get().filter(|copy| copy.ticket == ticket) else {
            return true;
        };
        // SAFETY: own memory that the call may use until the operation is done; the schedule orders operations that touch
        // the same bytes.
        self.deferred.set(unsafe { copy.advance() });
        self.deferred.get().is_none()
    }

    /// Does a piece of the copy that was put off, if one was.
    pub(crate) fn advance_any_deferred(&self) -> bool {
        let copy = self.deferred.get();
        copy.inspect(|copy| _ = self.advance_deferred(copy.ticket))
            .is_some()
    }

    /// Whether a copy is put off.
    pub(crate) fn has_deferred(&self) -> bool {
        self.deferred.get().is_some()
    }

    /// Does all of a copy that was put off.
    pub(crate) fn finish_deferred(&self) {
        if let Some(copy) = self.deferred.take() {
            // SAFETY: as above.
            unsafe { copy.finish() };
        }
    }
}
