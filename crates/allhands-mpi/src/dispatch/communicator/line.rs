//! The line: calls of a communicator that are not begun yet, as an earlier one has the window that they need.
//!
//! All ranks begin calls in the same order, so whatever is called later waits behind them.

use crate::context::library::poll;
use crate::dispatch::communicator::state::Owned;
use allhands::interposition::{End, Interposition, NonblockingStart};
use allhands::{Error, Operation};
use std::collections::VecDeque;
use std::sync::Arc;

/// The calls that wait for their beginning, the next one first.
#[derive(Default)]
pub(crate) struct Line(VecDeque<(Operation<'static>, Arc<End>)>);

impl Line {
    /// Whether nothing waits.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Owned {
    /// Begins a call, at once or when those before it have; `None`: it has ended.
    ///
    /// # Safety
    /// What the operation borrows is left alone until its end is reported, or for ever.
    pub(crate) unsafe fn begin(
        &mut self,
        operation: Operation<'static>,
    ) -> Result<Option<Arc<End>>, Error> {
        if self.line.is_empty() {
            // SAFETY: the caller's promise; that it begins alone was asked.
            match unsafe { self.comm.try_begin(&operation, Arc::default)? } {
                NonblockingStart::Ended => return Ok(None),
                NonblockingStart::UnderWay(end) => return Ok(Some(end)),
                NonblockingStart::Later => {}
            }
        }
        let end = Arc::new(End::new());
        self.line.0.push_back((operation, Arc::clone(&end)));
        Ok(Some(end))
    }

    /// Takes all calls as far as they go without waiting.
    pub(crate) fn advance(&mut self) {
        self.comm.advance();
        while let Some((operation, end)) = self.line.0.front() {
            let begun = self.comm.begun();
            // SAFETY: promised when the call was put in the line.
            let ended = match unsafe { self.comm.try_begin(operation, || Arc::clone(end)) } {
                Ok(NonblockingStart::Later) => return,
                Ok(NonblockingStart::UnderWay(_)) => None,
                Ok(NonblockingStart::Ended) => Some(Ok(())),
                // It ends with what kept it from beginning.
                Err(error) => Some(Err(error)),
            };
            if let Some(ended) = ended {
                // Nobody else reports its end.
                let _ = end.set(ended);
            }
            self.line.0.pop_front();
            if self.comm.begun() == begun {
                self.skip();
            }
        }
    }

    /// Waits until a blocking call may be made.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle(&mut self) {
        /// Looks between which the MPI has a turn.
        const LOOKS: u32 = 64;
        let mut look = 0u32;
        while !self.line.is_empty() || (self.comm.is_busy() && !self.comm.can_go_on()) {
            self.advance();
            look = look.wrapping_add(1);
            if look.is_multiple_of(LOOKS) {
                self.comm.look_out();
                poll();
            }
            std::thread::yield_now();
        }
    }
}
