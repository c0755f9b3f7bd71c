//! The recovery: how a communicator goes on after a call on it has failed, or was made wrongly by some of its ranks.
//!
//! What a failed call leaves behind, messages on their way and flags half raised, is of no use to later ones. So the first
//! blocking call after it brings the ranks together again, on the MPI's own communicator, and they take a new one of ours. As
//! some may have been ahead, they tell one another how many calls they have made: those who are behind fail as many more, and
//! then all make the same call. A call that was under way when an earlier one turned out to have failed is made again.

use crate::abi::{Abi, Handle};
use crate::library::Library;
use crate::meeting::Meeting;
use crate::node;
use crate::nonblocking::Later;
use crate::repeat::{Asked, Repeats};
use crate::state::{Owned, Shared, State};
use crate::takeover::{Here, Reason, Unserved};
use allhands::Error;
use allhands::interposition::Interposition;
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

    /// Says that a call is not made, as something is wrong with it on this rank: the others are not to wait for it.
    pub(crate) fn refuse(&mut self) {
        if self.comm.stopped().is_none() {
            self.comm.refuse();
        }
        self.skip();
    }

    /// Sees to it that the others hear of a call that was not served, if it had not begun when `begun` had.
    #[cold]
    pub(crate) fn failed(&mut self, begun: u64, unserved: &Unserved) {
        match unserved {
            // The native MPI has yet to say whether it is wrong; and a result that differs has come to an end.
            Unserved::Pass(_) | Unserved::Differs(..) => {}
            Unserved::Native(_)
            | Unserved::LongElement(_)
            | Unserved::Wrong(_)
            | Unserved::Failed(_) => {
                if self.comm.begun() == begun {
                    self.refuse();
                }
            }
        }
    }

    /// Makes the next blocking call possible, or says why it fails.
    #[cold]
    pub(crate) fn find_course(&mut self, meeting: &Meeting<'_>) -> Result<(), Unserved> {
        let has_met = self.course.behind > 0 || self.course.given_up.is_some();
        if !has_met && let Some(error) = self.comm.stopped() {
            // The call that some rank failed in fails on all that have not made it, at once: who failed may not be in
            // another one, and wait for something else that these ranks do then.
            let is_past = self.comm.begun() + self.course.lost > self.comm.stops_from();
            if is_past && can_recover(&error) {
                let made = self.comm.begun() + self.course.lost;
                self.meet_again(meeting, error, made);
            }
        }
        self.may_begin()
    }

    /// Comes together with the others to make a call again that has failed as an earlier one had; `false`: it has failed by
    /// itself, or its input may be spoilt.
    #[cold]
    pub(crate) fn come_back(
        &mut self,
        meeting: &Meeting<'_>,
        (asked, abi): (&Asked, &Abi),
        unserved: &Unserved,
    ) -> bool {
        let Unserved::Failed(error) = unserved else {
            return false;
        };
        if let Error::CountsDiffer { .. } = error {
            // What has begun is the telling of counts; the call itself was refused, and others have made it.
            self.skip();
            return false;
        }
        let call = self.comm.begun().saturating_sub(1);
        if asked.is_in_place(abi) || !can_recover(error) || self.comm.stops_from() >= call {
            return false;
        }
        self.meet_again(meeting, error.clone(), call + self.course.lost);
        true
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
            node::poll();
            std::thread::yield_now();
        }
    }

    /// Comes together with the other ranks, all of which make a blocking call now; this one has made so many of the present
    /// communicator's.
    fn meet_again(&mut self, meeting: &Meeting<'_>, cause: Error, made: u64) {
        let lost = self.course.lost;
        self.end_all();
        if let Some(traffic) = &self.traffic {
            meeting.settle(traffic);
        }
        // Calls that had waited for their beginning have failed meanwhile.
        let position = self.course.earlier + made + (self.course.lost - lost);
        let all = meeting.collect(position);
        let furthest = all.as_ref().and_then(|all| all.iter().copied().max());
        self.course = Course {
            earlier: position,
            lost: 0,
            behind: furthest.unwrap_or(position) - position,
            cause: Some(cause),
            given_up: None,
        };
        match meeting.join_all() {
            Ok((comm, traffic)) => {
                (self.comm, self.traffic) = (comm, traffic);
                self.repeats = Repeats::new();
            }
            Err(reason) => self.course.given_up = Some(reason),
        }
    }
}

/// Tells the other ranks of a communicator that the native MPI has refused a call of this one, which they may be making.
#[cold]
pub(crate) fn refused(library: &Library, comm: usize) {
    let Some(abi) = &library.abi else { return };
    let Some(state) = library.states.met(abi.handle(comm)) else {
        return;
    };
    if let State::Shared(shared) = &*state
        && let Some(mut owned) = shared.owned.take()
    {
        owned.refuse();
    }
}

/// What is wrong on this rank with a call that fails anyway, as it has on another: then it is that which the user is to hear.
#[cold]
pub(crate) fn own_mistake(
    owned: &mut Owned,
    at: (&Library, &Abi, Handle),
    shared: &Shared,
    (asked, algorithm): (&Asked, Option<&str>),
    serve: impl Fn(&Here<'_>) -> Result<usize, Unserved>,
) -> Option<Unserved> {
    if owned.has_given_up() {
        return None;
    }
    let later = Later::default();
    let here = Here::new(at, shared, &owned.comm, (asked, algorithm), Some(&later));
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
