//! The recovery: how a communicator goes on after a call on it has failed, or was made wrongly by some of its ranks.
//!
//! What a failed call leaves behind, messages on their way and flags half raised, is of no use to later ones. So the first
//! blocking call after it brings the ranks together again, on the MPI's own communicator, and they take a new one of ours. As
//! some may have been ahead, they exchange how many calls they have made: those who are behind fail as many more, and
//! then all make the same call. A call that was under way when an earlier one turned out to have failed is made again.

use crate::abi::Abi;
use crate::collective::here::{Here, Site, Wanted};
use crate::collective::kept::Later;
use crate::context::call::{Call, Reason};
use crate::context::library::{Library, poll};
use crate::context::mistake::Mistake;
use crate::context::unserved::Unserved;
use crate::dispatch::agreement::communicator::Agreement;
use crate::dispatch::call_cache::{Asked, CallCache};
use crate::dispatch::communicator::state::{Owned, STATES, State};
use allhands::Error;
use allhands::interposition::{Interposition, Refused};
use allhands::transport::TransportError;

/// What is known of a communicator's failures.
#[derive(Default)]
pub(crate) struct Course {
    /// Calls that were made on earlier communicators of ours, well or not.
    earlier: u64,
    /// Calls on the present one that failed before they began.
    lost: u64,
    /// Calls that fail yet, as other ranks are ahead by so many.
    behind: u64,
    /// Whether the call that stops the present one, which this rank refused, is counted.
    is_refusal_counted: bool,
    /// What was wrong.
    cause: Option<Error>,
    /// Why all ranks leave their calls to the MPI, if they could not come together again.
    given_up: Option<Reason>,
}

/// Whether ranks can come together after an error: not without one that is gone, or a network.
fn can_recover(error: &Error) -> bool {
    fn can(error: &TransportError) -> bool {
        match error {
            TransportError::Mismatch { .. }
            | TransportError::Length { .. }
            | TransportError::TooLong { .. }
            | TransportError::WindowDiffers { .. }
            | TransportError::CallRefused { .. }
            | TransportError::CallDropped { .. } => true,
            TransportError::Poisoned { error, .. } => can(error),
            _ => false,
        }
    }
    matches!(error, Error::Transport(error) if can(error))
}

impl Owned {
    /// Whether the next call can be made as if there had been no failure.
    #[inline]
    pub(crate) fn is_on_course(&self) -> bool {
        self.course.behind == 0 && self.course.given_up.is_none() && self.comm.stopped().is_none()
    }

    /// Whether all ranks leave their calls to the MPI.
    pub(crate) fn has_given_up(&self) -> bool {
        self.course.given_up.is_some() && self.course.behind == 0
    }

    /// Counts a call that has failed before it began.
    pub(crate) fn skip(&mut self) {
        self.course.lost += 1;
    }

    /// Takes back that a call was counted, as it is after all to be made, or refused, by the MPI.
    pub(crate) fn unskip(&mut self) {
        self.course.lost = self.course.lost.saturating_sub(1);
    }

    /// Notes that a call is not made, as something is wrong with it on this rank. Where calls cannot be made anyway it is one of
    /// these.
    fn note(&mut self, call: Call) -> Noted {
        // The call that stops it may be one that this rank has refused before: then this is the next one.
        match self.comm.stopped().is_some() && self.uncounted_refusal().is_none() {
            true => {
                self.skip();
                Noted::Skipped
            }
            false => {
                self.comm.note_refusal(call.refused(), self.line.len());
                Noted::Refused
            }
        }
    }

    /// Takes a note back.
    fn forget(&mut self, noted: Noted) {
        match noted {
            Noted::Skipped => self.unskip(),
            Noted::Refused => self.comm.forget_refusal(self.line.len()),
        }
    }

    /// Sees to it that the others hear of a call that was not served, if it had not begun when `begun` had.
    #[cold]
    pub(crate) fn failed(&mut self, call: Call, begun: u64, unserved: &Unserved) {
        if self.comm.begun() != begun {
            return;
        }
        match unserved {
            // The native MPI has yet to say whether it is wrong; and a result that differs has come to an end.
            Unserved::Pass(_) | Unserved::Differs(..) => {}
            // Natively this rank takes part, and is the only one to hear of it: so all make this call.
            Unserved::Wrong(Mistake::TooLong { .. }) => {
                if self.comm.stopped().is_none() {
                    self.comm.refuse(call.collective());
                }
                self.skip();
            }
            Unserved::Native(_)
            | Unserved::LongElement(_)
            | Unserved::Wrong(_)
            | Unserved::Failed(_) => _ = self.note(call),
        }
    }

    /// If the call that stops the communicator is one that this rank has refused, and that is not counted: what it has refused
    /// after that.
    fn uncounted_refusal(&self) -> Option<Vec<Refused>> {
        match self.course.is_refusal_counted {
            true => None,
            false => self.comm.stopped_by_refusal(),
        }
    }

    /// Makes the next blocking call possible, or says why it fails.
    #[cold]
    pub(crate) fn find_course(&mut self, agreement: &Agreement<'_>) -> Result<(), Unserved> {
        while self.course.behind == 0
            && self.course.given_up.is_none()
            && let Some(error) = self.comm.stopped()
        {
            // The call that some rank failed in fails on all that have not made it, at once: who failed may not be in
            // another one, and wait for something else that these ranks do then.
            let (begun, stops) = (self.comm.begun(), self.comm.stops_from());
            let refused = self.uncounted_refusal();
            let made = begun + self.course.lost + u64::from(refused.is_some());
            if made <= stops || !can_recover(&error) {
                break;
            }
            self.agree_again(agreement, error, made);
            if begun == stops {
                // Others may be in the next one that this rank has refused, and have stopped already.
                self.note_again(refused);
            }
        }
        self.may_begin()
    }

    /// Comes together with the others to make a call again that has failed as an earlier one had; `false`: it has failed by
    /// itself, or its input may be spoilt.
    #[cold]
    pub(crate) fn come_back(
        &mut self,
        agreement: &Agreement<'_>,
        (asked, abi): (&Asked, &Abi),
        unserved: &Unserved,
    ) -> bool {
        let Unserved::Failed(error) = unserved else {
            return false;
        };
        if let Error::CountsDiffer { .. } = error {
            // What has begun is the exchange of counts; the call itself was not made here, and others make it.
            self.skip();
            return false;
        }
        let (call, stops) = (self.comm.begun().saturating_sub(1), self.comm.stops_from());
        // The others were in a call before this one, which this rank has refused.
        let refused = self.uncounted_refusal();
        if !can_recover(error) || (refused.is_none() && stops >= call) {
            return false;
        }
        if asked.is_in_place(abi) {
            if refused.is_some() {
                self.skip();
                self.course.is_refusal_counted = true;
            }
            return false;
        }
        let made = call + self.course.lost + u64::from(refused.is_some());
        self.agree_again(agreement, error.clone(), made);
        if call == stops {
            self.note_again(refused);
        }
        true
    }

    /// Notes again what this rank has refused after the call that all have left behind.
    fn note_again(&mut self, refused: Option<Vec<Refused>>) {
        for refused in refused.into_iter().flatten() {
            self.comm.note_refusal(refused, 0);
        }
    }

    /// Whether a call that cannot wait for other ranks may begin; otherwise why it fails, which it then has.
    pub(crate) fn may_begin(&mut self) -> Result<(), Unserved> {
        if self.course.behind > 0 {
            self.course.behind -= 1;
            self.skip();
            let cause = self.course.cause.clone().or_else(|| self.comm.stopped());
            return Err(cause.map_or(Unserved::Pass(Reason::Arguments), Unserved::Failed));
        }
        if let Some(reason) = self.course.given_up {
            return Err(Unserved::Pass(reason));
        }
        if let Some(error) = self.comm.stopped() {
            self.skip();
            return Err(Unserved::Failed(error));
        }
        Ok(())
    }

    /// Waits for the end of all nonblocking calls: those that cannot be completed end with an error.
    fn end_all(&mut self) {
        while !self.line.is_empty() || self.comm.is_busy() {
            self.advance();
            self.comm.look_out();
            poll();
            std::thread::yield_now();
        }
    }

    /// Comes together with the other ranks, all of which make a blocking call now; this one has made so many of the present
    /// communicator's.
    fn agree_again(&mut self, agreement: &Agreement<'_>, cause: Error, made: u64) {
        let lost = self.course.lost;
        self.end_all();
        if let Some(traffic) = &self.traffic {
            agreement.settle(traffic);
        }
        // Calls that had waited for their beginning have failed meanwhile.
        let position = self.course.earlier + made + (self.course.lost - lost);
        let all = agreement.allgather(position);
        let furthest = all.as_ref().and_then(|all| all.iter().copied().max());
        self.course = Course {
            earlier: position,
            lost: 0,
            is_refusal_counted: false,
            behind: furthest.unwrap_or(position) - position,
            cause: Some(cause),
            given_up: None,
        };
        match agreement.join_all() {
            Ok((comm, traffic)) => {
                (self.comm, self.traffic) = (comm, traffic);
                self.call_cache = CallCache::new();
            }
            Err(reason) => self.course.given_up = Some(reason),
        }
    }
}

/// How it is noted that a call is not made.
#[derive(Clone, Copy)]
pub(crate) enum Noted {
    /// It is one of those that cannot be made.
    Skipped,
    /// The others may be making it.
    Refused,
}

/// Notes that the native MPI refuses a call of this rank, which the others may be making.
#[cold]
pub(crate) fn note(library: &Library, call: Call, comm: usize) -> Option<Noted> {
    with_owned(library, comm, |owned| owned.note(call))
}

/// Takes that back.
#[cold]
pub(crate) fn forget(library: &Library, comm: usize, noted: Noted) {
    with_owned(library, comm, |owned| owned.forget(noted));
}

fn with_owned<R>(library: &Library, comm: usize, then: impl FnOnce(&mut Owned) -> R) -> Option<R> {
    let abi = library.abi.as_ref()?;
    let state = STATES.agreed(abi.handle(comm))?;
    let State::Shared(shared) = &*state else {
        return None;
    };
    let mut owned = shared.owned.take()?;
    Some(then(&mut owned))
}

/// What is wrong on this rank with a call that fails anyway, as it has on another: then it is that which the user is to hear.
#[cold]
pub(crate) fn own_mistake(
    owned: &mut Owned,
    site: Site<'_>,
    wanted: Wanted<'_>,
    serve: impl Fn(&Here<'_>) -> Result<usize, Unserved>,
) -> Option<Unserved> {
    if owned.has_given_up() {
        return None;
    }
    let later = Later::default();
    let here = Here::new(site, &owned.comm, wanted, Some(&later));
    let found = serve(&here).err();
    drop(here);
    match found? {
        own @ (Unserved::Wrong(_) | Unserved::Native(_) | Unserved::LongElement(_)) => Some(own),
        own @ Unserved::Pass(Reason::Arguments | Reason::NoKernel)
            if owned.comm.stopped().is_some() =>
        {
            // The MPI says what it is, and then the call is counted.
            owned.unskip();
            Some(own)
        }
        Unserved::Pass(_) | Unserved::Differs(..) | Unserved::Failed(_) => None,
    }
}
