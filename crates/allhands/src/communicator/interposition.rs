//! The interposition: what a library needs that serves another library's calls, as the MPI drop-in does.
//!
//! Such a library takes calls further in turns with the other library's progress, makes calls again whose shape it knows, and
//! must learn which calls were made and which cannot be any more, to give the rest back to the other library. Programs need none
//! of it.

pub use super::cached_call::CachedCall;
pub use super::inner::End;
pub use super::nonblocking_start::NonblockingStart;
pub use crate::transport::shm::failure::refusals::Refused;

use super::counts::Unknown;
use super::messages::{Elements, Ends};
use super::progress_thread::Progress;
use super::sealed::Sealed;
use super::{Communicator, Operation};
use crate::error::Error;
use crate::message::{Source, Status, Tag};
use crate::prepared::Prepared;
use crate::transport::endpoint::state::request::Buffers;
use allhands_core::call::Collective;
use std::sync::Arc;
use std::time::Duration;

/// How another library's calls are served by a communicator.
pub trait Interposition: Sealed {
    /// Has `hook` called now and then while this rank waits in a call: what else the process must not neglect, such as
    /// the progress of another library. Its sleeps are then short. Communicators made of this one inherit it.
    ///
    /// The hook must not call this communicator, nor panic.
    fn set_while_waiting(&self, hook: Option<fn()>);

    /// Has `hook` asked every few milliseconds while this rank waits for others in a call whether it is to give up. If so, the call ends with
    /// [`TransportError::GaveUp`](crate::TransportError::GaveUp), and the communicator has stopped. Communicators made of this one inherit it.
    ///
    /// The hook must not call this communicator, nor panic.
    fn set_interrupt(&self, hook: Option<fn() -> bool>);

    /// Lets what is scattered, or gathered with counts of its own, be shorter than the receiver has room for, where it comes
    /// straight from its sender, and has `hook` told of memory, by address and length, that is then left as it is, perhaps more
    /// than once; with none, which is so at first, it is an error. What has no length at all is never sent, and waited for.
    /// All ranks say this before their first call. Communicators made of this one inherit it.
    ///
    /// The hook must not call this communicator, nor panic.
    fn set_left_alone(&self, hook: Option<fn(*mut u8, usize)>);

    /// Whether a call can be begun without telling other ranks its counts; the same on every rank.
    ///
    /// # Errors
    /// As for any call; nothing has been said to other ranks.
    fn begins_alone(&self, operation: &Operation<'_>) -> Result<bool, Error>;

    /// Begins a call, unless it would have to wait for an earlier one; where it does not end at once, it tells `end`.
    ///
    /// All ranks begin calls in the same order: where this gives [`NonblockingStart::Later`], no other call may be begun before this one.
    /// [`advance`](Interposition::advance), and every other call, takes it further.
    ///
    /// # Errors
    /// As for any call, which is then not under way.
    ///
    /// # Safety
    /// [`begins_alone`](Interposition::begins_alone) says yes. The operation's buffers and operator stay valid and untouched
    /// until the end is told, or for ever.
    unsafe fn try_begin(
        &self,
        operation: &Operation<'_>,
        end: impl FnOnce() -> Arc<End>,
    ) -> Result<NonblockingStart, Error>;

    /// Starts a call as [`Communicator::start`] does, and gives the number by which [`has_ended`](Interposition::has_ended) and
    /// [`end`](Interposition::end) know it.
    ///
    /// # Errors
    /// As [`Communicator::start`]; no call is under way then.
    ///
    /// # Safety
    /// The operation's buffers and operator stay valid and untouched until [`end`](Interposition::end) has returned, or for ever.
    unsafe fn begin(&self, operation: &Operation<'_>) -> Result<usize, Error>;

    /// Whether a started call has ended, well or not; takes all calls further.
    fn has_ended(&self, number: usize) -> bool;

    /// Waits for a started call, whose number may then be another's.
    ///
    /// # Errors
    /// What stopped the call.
    fn end(&self, number: usize) -> Result<(), Error>;

    /// As [`end`](Interposition::end), of a call for which the caller has waited for some time already, by asking whether it
    /// [has ended](Interposition::has_ended): that counts towards the timeout.
    ///
    /// # Errors
    /// As [`end`](Interposition::end).
    fn end_after(&self, number: usize, waited: Duration) -> Result<(), Error>;

    /// Begins to send bytes as [`Communicator::isend`] does, and gives the number by which the three functions of messages that follow know the
    /// message; none, if it is away at once.
    ///
    /// # Errors
    /// As [`Communicator::isend`].
    ///
    /// # Safety
    /// The bytes stay valid and unchanged until the message has been taken or dropped, or for ever.
    unsafe fn begin_send(&self, bytes: &[u8], to: usize, tag: u32) -> Result<Option<usize>, Error>;

    /// Begins to receive bytes as [`Communicator::irecv`] does, and gives the number of the message.
    ///
    /// # Errors
    /// As [`Communicator::irecv`].
    ///
    /// # Safety
    /// The bytes stay valid, and nobody else touches them, until the message has been taken or dropped, or for ever.
    unsafe fn begin_receive(
        &self,
        bytes: &mut [u8],
        source: Source,
        tag: Tag,
    ) -> Result<usize, Error>;

    /// Whether a message has ended, well or not; takes everything further.
    fn has_message_ended(&self, number: usize) -> bool;

    /// Waits for a message, whose number may then be another's, and says what has come.
    ///
    /// # Errors
    /// What kept it from coming.
    fn take_message(&self, number: usize) -> Result<Status, Error>;

    /// Gives a message up, whatever its peer does; its number may then be another's.
    fn drop_message(&self, number: usize);

    /// Takes all calls that are under way as far as they go, without waiting.
    fn advance(&self);

    /// Looks now and then whether calls that are under way can end at all; those that cannot then end with an error.
    fn look_out(&self);

    /// Whether a call that is new would find everything without waiting for ranks that are behind, if no call has its window.
    #[must_use]
    fn can_go_on(&self) -> bool;

    /// Whether calls are under way.
    #[must_use]
    fn is_busy(&self) -> bool;

    /// Whether a thread in the background takes calls further.
    #[must_use]
    fn progresses_by_itself(&self) -> bool;

    /// What makes an operation again, if its shape has been called, all blocks have one length, and whatever arrives is a
    /// value of its type.
    #[must_use]
    fn cached_call(&self, operation: &Operation<'_>) -> Option<CachedCall>;

    /// Makes a call again and waits for its end; `None`, and nothing happens, if it must be made as a new one.
    ///
    /// # Errors
    /// As [`Communicator::run`].
    ///
    /// # Safety
    /// The buffers are as long as those of the operation that the cached call was made of, aligned for its elements, apart where
    /// those are, and nobody else uses them until the function returns; its operator still lives.
    unsafe fn run_cached(
        &self,
        call: &CachedCall,
        input: *const u8,
        output: *mut u8,
    ) -> Option<Result<(), Box<Error>>>;

    /// Which algorithm, with its parameters, has served an operation that was the last one of its collective, as far as that is known.
    #[must_use]
    fn served_by(&self, operation: &Operation<'_>) -> Option<String>;

    /// How many calls this rank has begun.
    #[must_use]
    fn begun(&self) -> u64;

    /// What keeps this rank from beginning another call, if something stopped the communicator.
    #[must_use]
    fn stopped(&self) -> Option<Error>;

    /// The first call, counted as by [`begun`](Interposition::begun), that cannot be made; `u64::MAX`: none.
    #[must_use]
    fn stops_from(&self) -> u64;

    /// Says that this rank does not make its next call, of this collective: the others cannot complete it, and hear why.
    fn refuse(&self, collective: Collective);

    /// Notes that this rank has not made a call, as something was wrong with it here. The others may be making it, as the call that
    /// this rank begins next, after `ahead` that it has yet to begin; then they fail once this rank makes another one, or none
    /// within two seconds. If they do not make it, nothing comes of it.
    fn note_refusal(&self, refused: Refused, ahead: usize);

    /// Takes the last note back: the call was made after all.
    fn forget_refusal(&self, ahead: usize);

    /// If the call that stops the communicator is one that this rank has noted as refused: those that it has refused after that.
    #[must_use]
    fn stopped_by_refusal(&self) -> Option<Vec<Refused>>;

    /// Has the ranks of other nodes know what stopped the communicator, unless they do.
    fn spread(&self);
}

impl Interposition for Communicator {
    fn set_while_waiting(&self, hook: Option<fn()>) {
        self.inner.take().endpoint.set_while_waiting(hook);
    }

    fn set_interrupt(&self, hook: Option<fn() -> bool>) {
        self.inner.take().endpoint.is_interrupted = hook;
    }

    fn set_left_alone(&self, hook: Option<fn(*mut u8, usize)>) {
        let endpoint = &mut self.inner.take().endpoint;
        endpoint.left_alone = hook;
        if let (Some(_), Some(cluster)) = (hook, &endpoint.cluster) {
            cluster.state().network.expect_shorter();
        }
    }

    fn begins_alone(&self, operation: &Operation<'_>) -> Result<bool, Error> {
        let mut inner = self.inner.take();
        if inner.cache.find(operation, None).is_some() {
            return Ok(true);
        }
        let (call, layout) = operation.check(self.rank, self.size)?;
        if !matches!(inner.unknown_counts(operation, &call)?, Unknown::None) {
            return Ok(false);
        }
        inner.choose(operation, &call, &layout)?;
        Ok(true)
    }

    unsafe fn try_begin(
        &self,
        operation: &Operation<'_>,
        end: impl FnOnce() -> Arc<End>,
    ) -> Result<NonblockingStart, Error> {
        let rank = (self.rank, self.size);
        // SAFETY: the caller's promise.
        unsafe { self.inner.take().try_begin(operation, rank, end) }
    }

    unsafe fn begin(&self, operation: &Operation<'_>) -> Result<usize, Error> {
        // SAFETY: the caller's promise.
        unsafe { Communicator::begin(self, operation) }
    }

    fn has_ended(&self, number: usize) -> bool {
        self.test_active(number)
    }

    fn end(&self, number: usize) -> Result<(), Error> {
        self.wait_active(number)
    }

    fn end_after(&self, number: usize, waited: Duration) -> Result<(), Error> {
        self.inner.take().endpoint.waited_before = waited;
        let ended = self.wait_active(number);
        self.inner.take().endpoint.waited_before = Duration::ZERO;
        ended
    }

    unsafe fn begin_send(&self, bytes: &[u8], to: usize, tag: u32) -> Result<Option<usize>, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.start_send(Elements::of(bytes), (to, tag)) }
    }

    unsafe fn begin_receive(
        &self,
        bytes: &mut [u8],
        source: Source,
        tag: Tag,
    ) -> Result<usize, Error> {
        // SAFETY: the caller's promise.
        unsafe { self.start_receive(Elements::of_mut(bytes), Ends::new(source, tag)) }
    }

    fn has_message_ended(&self, number: usize) -> bool {
        self.test_message(number)
    }

    fn take_message(&self, number: usize) -> Result<Status, Error> {
        self.wait_message(number).map(Status::from)
    }

    fn drop_message(&self, number: usize) {
        self.abort_message(number);
    }

    fn advance(&self) {
        self.inner.take().advance();
    }

    fn look_out(&self) {
        self.inner.take().look_out_for_all();
    }

    fn can_go_on(&self) -> bool {
        let inner = self.inner.take();
        inner.endpoint.segment().can_open(inner.next_window)
    }

    fn is_busy(&self) -> bool {
        self.inner.take().under_way > 0
    }

    fn progresses_by_itself(&self) -> bool {
        matches!(self.inner, Progress::Shared(_))
    }

    fn cached_call(&self, operation: &Operation<'_>) -> Option<CachedCall> {
        if operation.element.check.is_some() {
            return None;
        }
        let place = self.inner.take().cache.place(operation)?;
        Some(CachedCall::of(operation, place))
    }

    #[inline]
    unsafe fn run_cached(
        &self,
        call: &CachedCall,
        input: *const u8,
        output: *mut u8,
    ) -> Option<Result<(), Box<Error>>> {
        let buffers = Buffers { input, output };
        // SAFETY: the caller's promise.
        match unsafe { self.inner.take().run_at(call.place, buffers, call.combine) }? {
            Ok(()) => Some(Ok(())),
            Err(error) => Some(Err(Box::new(error))),
        }
    }

    fn served_by(&self, operation: &Operation<'_>) -> Option<String> {
        let inner = self.inner.take();
        inner.cache.latest(operation).map(Prepared::name)
    }

    fn begun(&self) -> u64 {
        self.inner.take().endpoint.begun()
    }

    #[inline]
    fn stopped(&self) -> Option<Error> {
        self.inner.take().endpoint.stopped().map(Error::from)
    }

    fn stops_from(&self) -> u64 {
        self.inner.take().endpoint.stops_from()
    }

    #[cold]
    fn refuse(&self, collective: Collective) {
        self.inner.take().endpoint.refuse(collective);
    }

    #[cold]
    fn note_refusal(&self, refused: Refused, ahead: usize) {
        self.inner.take().endpoint.note_refusal(refused, ahead);
    }

    #[cold]
    fn forget_refusal(&self, ahead: usize) {
        self.inner.take().endpoint.forget_refusal(ahead);
    }

    #[cold]
    fn stopped_by_refusal(&self) -> Option<Vec<Refused>> {
        self.inner.take().endpoint.stopped_by_refusal()
    }

    #[cold]
    fn spread(&self) {
        self.inner.take().endpoint.spread();
    }
}

#[cfg(test)]
mod tests;
