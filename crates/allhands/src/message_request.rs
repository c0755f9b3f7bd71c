//! Requests of messages: sends and receives that have been started and not yet waited for.

use crate::communicator::Communicator;
use crate::communicator::messages::{Elements, Ends};
use crate::element::{ArrivalCheck, Element, arrival_check};
use crate::error::Error;
use crate::message::{Source, Status, Tag};
use crate::request::Scope;
use crate::transport::MessageError;
use std::mem::ManuallyDrop;

impl Ends {
    pub(crate) fn new(source: impl Into<Source>, tag: impl Into<Tag>) -> Ends {
        Ends {
            peer: match source.into() {
                Source::Any => None,
                Source::Rank(rank) => Some(rank),
            },
            tag: match tag.into() {
                Tag::Any => None,
                Tag::Is(tag) => Some(tag),
            },
        }
    }
}

/// A message that is under way, whose memory somebody keeps; ends it when it is dropped before its end.
pub(crate) struct Pending<'c> {
    communicator: &'c Communicator,
    /// None: it is over, and all is told.
    number: Option<usize>,
    /// Of one that is received: what its bytes must pass, and where they are.
    arrival: Option<(ArrivalCheck, *const u8)>,
}

impl<'c> Pending<'c> {
    /// Begins to send; none if the message is away at once.
    ///
    /// # Safety
    /// The elements are readable, and nobody writes them, until this has ended, or is dropped, or for ever.
    pub(crate) unsafe fn send<T: Element>(
        communicator: &'c Communicator,
        buffer: &[T],
        (to, tag): (usize, u32),
    ) -> Result<Pending<'c>, Error> {
        // SAFETY: passed on.
        let number = unsafe { communicator.start_send(Elements::of(buffer), (to, tag))? };
        Ok(Pending {
            communicator,
            number,
            arrival: None,
        })
    }

    /// Begins to receive.
    ///
    /// # Safety
    /// The elements are writable, and nobody else touches them, until this has ended, or is dropped, or for ever.
    pub(crate) unsafe fn receive<T: Element>(
        communicator: &'c Communicator,
        buffer: &mut [T],
        ends: Ends,
    ) -> Result<Pending<'c>, Error> {
        let elements = Elements::of_mut(buffer);
        let start = buffer.as_ptr().cast();
        // SAFETY: passed on.
        let number = unsafe { communicator.start_receive(elements, ends)? };
        Ok(Pending {
            communicator,
            number: Some(number),
            arrival: arrival_check::<T>().map(|check| (check, start)),
        })
    }

    pub(crate) fn test(&self) -> bool {
        let communicator = self.communicator;
        self.number
            .is_none_or(|number| communicator.test_message(number))
    }

    /// Waits for its end; the status is that of a message that was received.
    pub(crate) fn wait(mut self) -> Result<Option<Status>, Error> {
        let Some(number) = self.number else {
            return Ok(None);
        };
        let ended = self.communicator.wait_message(number);
        self.number = None;
        self.verified(ended.map(Status::from))
    }

    /// Waits for the ends of two; the status is the second one's.
    pub(crate) fn wait_both(
        mut one: Pending<'c>,
        mut other: Pending<'c>,
    ) -> Result<Option<Status>, Error> {
        if let (Some(first), Some(second)) = (one.number, other.number) {
            // Each may need what the other waits for.
            let [first, second] = one.communicator.wait_messages([first, second]);
            (one.number, other.number) = (None, None);
            let second = other.verified(second.map(Status::from));
            first?;
            return second;
        }
        one.wait()?;
        other.wait()
    }

    /// Looks whether what arrived are values.
    fn verified(&self, ended: Result<Status, Error>) -> Result<Option<Status>, Error> {
        let status = ended?;
        if let Some((check, start)) = self.arrival {
            // SAFETY: the message has written so many bytes there, and nobody writes them any more.
            let bytes = unsafe { std::slice::from_raw_parts(start, status.bytes) };
            check(bytes).map_err(|source| MessageError::Arrival {
                from: status.source,
                tag: status.tag,
                source,
            })?;
        }
        Ok(Some(status))
    }

    /// Takes a receive back that no message has met; whether that was so.
    fn cancel(&mut self) -> bool {
        let cancelled = self
            .number
            .is_some_and(|number| self.communicator.cancel_message(number));
        if cancelled {
            self.abort();
        }
        cancelled
    }

    /// Ends it, whatever its peer does.
    fn abort(&mut self) {
        if let Some(number) = self.number.take() {
            self.communicator.abort_message(number);
        }
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.abort();
    }
}

/// A message that is being sent from a buffer that [`SendRequest::wait`] gives back; [`Communicator::isend`] makes one.
///
/// One that is dropped waits until the message is away, unless its thread panics: then the message is taken back. One that is
/// leaked leaks its buffer.
#[must_use = "a request does nothing for you until it is waited for"]
pub struct SendRequest<'c, B: 'static> {
    pending: Option<Pending<'c>>,
    /// From `Box::into_raw`: its addresses stay good while the box is not touched.
    buffer: *mut B,
}

impl<B> SendRequest<'_, B> {
    /// Whether the message is away, or has failed; takes everything further that is under way on the communicator.
    ///
    /// Away means that the buffer may be used again: a short message may not be received yet.
    pub fn test(&mut self) -> bool {
        self.pending.as_ref().is_none_or(Pending::test)
    }

    /// Waits until the message is away, and gives the buffer back, as [`Communicator::isend`] shows.
    ///
    /// # Errors
    /// As [`Communicator::send`]; the buffer is dropped.
    pub fn wait(mut self) -> Result<B, Error> {
        let ended = self.pending.take().map_or(Ok(None), Pending::wait);
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: from `Box::into_raw`, taken back once, as `this` is never dropped; the message has ended.
        let buffer = unsafe { Box::from_raw(this.buffer) };
        ended.map(|_| *buffer)
    }
}

impl<B> Drop for SendRequest<'_, B> {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take()
            && !std::thread::panicking()
        {
            // Who drops a request has no use for its error.
            let _ = pending.wait();
        }
        // SAFETY: from `Box::into_raw`, and `wait` has not run; the message has ended.
        drop(unsafe { Box::from_raw(self.buffer) });
    }
}

/// A message that is being received to a buffer that [`RecvRequest::wait`] gives back; [`Communicator::irecv`] makes one.
///
/// One that is dropped is taken back if no message has met it, and else waits for the message, unless its thread panics. One that is
/// leaked leaks its buffer.
#[must_use = "a request does nothing for you until it is waited for"]
pub struct RecvRequest<'c, B: 'static> {
    pending: Option<Pending<'c>>,
    /// From `Box::into_raw`: its addresses stay good while the box is not touched.
    buffer: *mut B,
}

impl<B> RecvRequest<'_, B> {
    /// Whether the message is here, or has failed; takes everything further that is under way on the communicator.
    pub fn test(&mut self) -> bool {
        self.pending.as_ref().is_none_or(Pending::test)
    }

    /// Waits for the message, and gives the buffer back with what is known of the message, as [`Communicator::irecv`] shows.
    ///
    /// # Errors
    /// As [`Communicator::recv`]; the buffer is dropped.
    pub fn wait(mut self) -> Result<(B, Status), Error> {
        let ended = self.pending.take().map_or(Ok(None), Pending::wait);
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: from `Box::into_raw`, taken back once, as `this` is never dropped; the message has ended.
        let buffer = unsafe { Box::from_raw(this.buffer) };
        let status = ended?.expect("a receive that has ended well has a status");
        Ok((*buffer, status))
    }

    /// Takes the receive back and gives the buffer; the request again if a message has met it.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// threads::run(1, |comm| {
    ///     let request = comm.irecv([0u8; 4], 0, 1)?;
    ///     assert!(request.cancel().is_ok());
    ///     let request = comm.irecv([0u8; 4], 0, 1)?;
    ///     comm.send(b"here", 0, 1)?;
    ///     let request = request.cancel().err().expect("the message is there");
    ///     assert_eq!(&request.wait()?.0, b"here");
    ///     Ok::<(), allhands::Error>(())
    /// })?
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// The request itself, which is not changed.
    pub fn cancel(mut self) -> Result<B, Self> {
        if !self.pending.as_mut().is_some_and(Pending::cancel) {
            return Err(self);
        }
        self.pending = None;
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: as in `wait`; the receive is over.
        Ok(*unsafe { Box::from_raw(this.buffer) })
    }
}

impl<B> Drop for RecvRequest<'_, B> {
    fn drop(&mut self) {
        if let Some(mut pending) = self.pending.take()
            && !pending.cancel()
            && !std::thread::panicking()
        {
            // As for a send.
            let _ = pending.wait();
        }
        // SAFETY: from `Box::into_raw`, and neither `wait` nor `cancel` has taken it; the message has ended.
        drop(unsafe { Box::from_raw(self.buffer) });
    }
}

/// A message on a buffer that is borrowed from outside of a scope; [`Scope::isend`] and [`Scope::irecv`] make one.
///
/// Its scope waits for one that is dropped.
pub struct ScopedMessage<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    /// Its place among the messages of the scope.
    place: usize,
}

impl<'scope, 'env> ScopedMessage<'scope, 'env> {
    /// Whether the message is away, or here, or has failed; takes everything further that is under way on the communicator.
    #[must_use]
    pub fn test(&self) -> bool {
        let messages = self.scope.messages.borrow();
        messages[self.place]
            .as_ref()
            .is_none_or(|pending| pending.test())
    }

    /// Waits for it; gives what is known of a message that was received, and nothing of one that was sent.
    ///
    /// # Errors
    /// As [`Communicator::send`] or [`Communicator::recv`].
    pub fn wait(self) -> Result<Option<Status>, Error> {
        let pending = self.scope.messages.borrow_mut()[self.place].take();
        pending.map_or(Ok(None), |pending| ManuallyDrop::into_inner(pending).wait())
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    fn keep(&'scope self, pending: Pending<'scope>) -> ScopedMessage<'scope, 'env> {
        let mut messages = self.messages.borrow_mut();
        messages.push(Some(ManuallyDrop::new(pending)));
        ScopedMessage {
            scope: self,
            place: messages.len() - 1,
        }
    }

    /// [`Communicator::isend`] of a buffer that is borrowed from outside of the scope; it has ended when the scope has.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// threads::run(3, |comm| {
    ///     let (rank, ranks) = (comm.rank(), comm.size());
    ///     let (mine, mut left) = ([rank as u64; 1000], [0; 1000]);
    ///     comm.scope(|scope| {
    ///         scope.isend(&mine, (rank + 1) % ranks, 0)?;
    ///         let left = scope.irecv(&mut left, (rank + ranks - 1) % ranks, 0)?;
    ///         // … something else in the meantime …
    ///         assert_eq!(left.wait()?.unwrap().elements::<u64>(), 1000);
    ///         Ok::<(), allhands::Error>(())
    ///     })??;
    ///     assert_eq!(left, [((rank + ranks - 1) % ranks) as u64; 1000]);
    ///     Ok::<(), allhands::Error>(())
    /// })?
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Communicator::isend`].
    pub fn isend<T: Element>(
        &'scope self,
        buffer: &'env [T],
        to: usize,
        tag: u32,
    ) -> Result<ScopedMessage<'scope, 'env>, Error> {
        // SAFETY: the buffer is borrowed for 'env, which outlives the scope, and the scope ends every message before
        // `Communicator::scope` returns or unwinds.
        let pending = unsafe { Pending::send(self.communicator, buffer, (to, tag))? };
        Ok(self.keep(pending))
    }

    /// [`Communicator::irecv`] to a buffer that is borrowed from outside of the scope, which waits for the message, as
    /// [`Scope::isend`] shows.
    ///
    /// # Errors
    /// As [`Communicator::irecv`].
    pub fn irecv<T: Element>(
        &'scope self,
        buffer: &'env mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<ScopedMessage<'scope, 'env>, Error> {
        let ends = Ends::new(source, tag);
        // SAFETY: as in `isend`.
        let pending = unsafe { Pending::receive(self.communicator, buffer, ends)? };
        Ok(self.keep(pending))
    }

    /// Ends all messages that were begun here: waits for them, or, after a panic, takes them back.
    pub(crate) fn finish_messages(&self) -> Result<(), Error> {
        let mut all = Ok(());
        for pending in self.messages.take().into_iter().flatten() {
            let pending = ManuallyDrop::into_inner(pending);
            if !std::thread::panicking() {
                all = all.and(pending.wait().map(drop));
            }
        }
        all
    }
}

impl Communicator {
    /// [`Communicator::send`] without waiting, from a buffer that moves in and comes back from [`SendRequest::wait`].
    ///
    /// `buffer` is whatever gives a slice of elements, as a `Vec` does, of any length.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let received = threads::run(2, |comm| {
    ///     if comm.rank() == 0 {
    ///         let request = comm.isend(vec![7u16; 5000], 1, 3)?;
    ///         // … something else in the meantime …
    ///         return request.wait();
    ///     }
    ///     let (buffer, status) = comm.irecv(vec![0u16; 6000], 0, 3)?.wait()?;
    ///     assert_eq!(status.elements::<u16>(), 5000);
    ///     Ok::<_, allhands::Error>(buffer[..5000].to_vec())
    /// })?;
    /// for buffer in received {
    ///     assert_eq!(buffer?, [7; 5000]);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`MessageError::NoSuchRank`], and what has stopped the communicator before; the buffer is then dropped. All else comes from
    /// [`SendRequest::wait`].
    pub fn isend<T: Element, B: AsRef<[T]> + 'static>(
        &self,
        buffer: B,
        to: usize,
        tag: u32,
    ) -> Result<SendRequest<'_, B>, Error> {
        let buffer = Box::into_raw(Box::new(buffer));
        // SAFETY: a fresh box, used by nobody else.
        let elements = unsafe { &*buffer }.as_ref();
        // SAFETY: the box is not touched before the message has ended, or ever again.
        match unsafe { Pending::send(self, elements, (to, tag)) } {
            Ok(pending) => Ok(SendRequest {
                pending: Some(pending),
                buffer,
            }),
            Err(error) => {
                // SAFETY: from `Box::into_raw` above; no message began.
                drop(unsafe { Box::from_raw(buffer) });
                Err(error)
            }
        }
    }

    /// [`Communicator::recv`] without waiting, to a buffer that moves in and comes back from [`RecvRequest::wait`], as
    /// [`Communicator::isend`] shows.
    ///
    /// `buffer` is whatever gives a slice of elements to write to, as a `Vec` does, with room for the message or more.
    ///
    /// # Errors
    /// [`MessageError::NoSuchRank`], and what has stopped the communicator before; the buffer is then dropped. All else comes from
    /// [`RecvRequest::wait`].
    pub fn irecv<T: Element, B: AsMut<[T]> + 'static>(
        &self,
        buffer: B,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<RecvRequest<'_, B>, Error> {
        let buffer = Box::into_raw(Box::new(buffer));
        // SAFETY: a fresh box, used by nobody else.
        let elements = unsafe { &mut *buffer }.as_mut();
        // SAFETY: the box is not touched before the message has ended, or ever again.
        match unsafe { Pending::receive(self, elements, Ends::new(source, tag)) } {
            Ok(pending) => Ok(RecvRequest {
                pending: Some(pending),
                buffer,
            }),
            Err(error) => {
                // SAFETY: from `Box::into_raw` above; no receive began.
                drop(unsafe { Box::from_raw(buffer) });
                Err(error)
            }
        }
    }
}
