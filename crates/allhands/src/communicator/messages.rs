//! Messages between two ranks: begun, taken further with all calls that are under way, and waited for.

use super::Communicator;
use super::inner::{Inner, Others, progress};
use crate::element::{Element, TypeSignature};
use crate::error::Error;
use crate::transport::TransportError;
use crate::transport::endpoint::nodes::cluster::Cluster;
use crate::transport::endpoint::point_to_point::check::WaitedFor;
use crate::transport::endpoint::point_to_point::matching::Wanted;
use crate::transport::endpoint::point_to_point::message_error::{Failure, MessageError};
use crate::transport::endpoint::point_to_point::request::{
    Receive, Received, Receiving, Send, Sending,
};
use crate::transport::endpoint::point_to_point::state::PointToPoint;
use crate::transport::endpoint::progress::wait::Awaited;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::memory::iovec::Iovec;
use allhands_core::progress::Status;
use std::time::{Duration, Instant};

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Message(error) => error.into(),
            Failure::Transport(error) => error.into(),
        }
    }
}

/// The elements of a message, wherever they lie.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    memory: Iovec,
    element: u64,
}

impl Elements {
    pub(crate) fn of<T: Element>(buffer: &[T]) -> Elements {
        Elements {
            memory: Iovec {
                address: buffer.as_ptr().cast_mut().cast(),
                bytes: size_of_val(buffer),
            },
            element: TypeSignature::of::<T>().code(),
        }
    }

    pub(crate) fn of_mut<T: Element>(buffer: &mut [T]) -> Elements {
        Elements {
            memory: Iovec {
                address: buffer.as_mut_ptr().cast(),
                bytes: size_of_val(buffer),
            },
            element: TypeSignature::of::<T>().code(),
        }
    }
}

/// Whom a message comes from, or goes to, and with which tag; what is not said may be anything.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) peer: Option<usize>,
    pub(crate) tag: Option<u32>,
}

/// What a rank waits for that waits for messages.
struct AwaitedMessages<'a> {
    others: Others<'a>,
    waited_for: WaitedFor<'a>,
    /// Why it cannot come, if that is not for the communicator to say.
    failure: Option<MessageError>,
    since: Instant,
    reported: Duration,
}

impl AwaitedMessages<'_> {
    fn is_there(&self) -> bool {
        let Some(messages) = &self.others.messages else {
            return true;
        };
        match self.waited_for {
            WaitedFor::Requests(numbers) => {
                numbers.iter().all(|number| messages.has_ended(*number))
            }
            WaitedFor::Message(wanted) => messages.probe(wanted).is_some(),
            WaitedFor::Nothing => true,
        }
    }
}

impl Awaited for AwaitedMessages<'_> {
    fn step(&mut self, endpoint: &mut Endpoint) -> Result<Status, TransportError> {
        progress(endpoint, &mut self.others);
        Ok(match self.is_there() || self.failure.is_some() {
            true => Status::Done,
            false => Status::Pending,
        })
    }

    fn check(&mut self, endpoint: &mut Endpoint) -> Result<(), TransportError> {
        let checked = self
            .others
            .with_messages(|m| m.check(endpoint, self.waited_for));
        match checked.unwrap_or(Ok(())) {
            Ok(()) => {}
            Err(Failure::Message(error)) => self.failure = Some(error),
            Err(Failure::Transport(error)) => return Err(error),
        }
        let waited = self.since.elapsed();
        if waited >= endpoint.report_after().max(2 * self.reported) && !self.is_there() {
            self.reported = waited;
            if let Some(messages) = &self.others.messages {
                messages.report_wait(endpoint, self.waited_for, waited);
            }
        }
        Ok(())
    }

    fn tell(&self, _endpoint: &Endpoint, _cluster: &Cluster) {
        // Others compare calls, and this is none.
    }
}

impl Others<'_> {
    /// Does something with the messages, if there ever were any, and counts what is under way.
    fn with_messages<R>(&mut self, with: impl FnOnce(&mut PointToPoint) -> R) -> Option<R> {
        let messages = self.messages.as_deref_mut()?;
        let before = messages.under_way();
        let done = with(messages);
        *self.under_way = *self.under_way + messages.under_way() - before;
        Some(done)
    }

    /// Takes all messages as far as they go.
    pub(super) fn progress_messages(&mut self, endpoint: &Endpoint) {
        self.with_messages(|messages| messages.progress(endpoint));
    }
}

impl Inner {
    /// Does something with the messages; the first time makes what they need.
    fn with_messages<R>(
        &mut self,
        with: impl FnOnce(&mut PointToPoint, &Endpoint) -> R,
    ) -> Result<R, Error> {
        if self.messages.is_none() {
            self.messages = Some(Box::new(PointToPoint::new(&self.endpoint)?));
        }
        let (endpoint, mut others) = self.others();
        let done = others.with_messages(|messages| with(messages, endpoint));
        Ok(done.expect("they were just made"))
    }

    /// Waits until these requests have ended, one way or the other, or such a message is there.
    fn wait_for_messages(&mut self, waited_for: WaitedFor<'_>) -> Result<(), Failure> {
        let (endpoint, others) = self.others();
        let mut awaited = AwaitedMessages {
            others,
            waited_for,
            failure: None,
            since: Instant::now(),
            reported: Duration::ZERO,
        };
        let waited = match awaited.step(endpoint)? {
            Status::Done => Ok(()),
            Status::Pending => endpoint.wait_long(&mut awaited),
        };
        if let Err(error) = waited {
            endpoint.spread();
            awaited
                .others
                .with_messages(|messages| messages.fail_all(&error));
            return Err(error.into());
        }
        match awaited.failure {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

impl Communicator {
    /// The ends of a message as this rank numbers them.
    fn wanted(&self, ends: Ends) -> Result<(Option<usize>, Option<u32>), Error> {
        let ranks = self.size();
        match ends.peer.filter(|peer| *peer >= ranks) {
            Some(peer) => Err(MessageError::NoSuchRank { peer, ranks }.into()),
            None => Ok((ends.peer, ends.tag)),
        }
    }

    /// Begins to send a message; the number of its request, unless it is away at once.
    ///
    /// # Safety
    /// The elements are readable, and nobody writes them, until the request has ended, or for ever.
    pub(crate) unsafe fn start_send(
        &self,
        Elements { memory, element }: Elements,
        (to, tag): (usize, u32),
    ) -> Result<Option<usize>, Error> {
        let ends = Ends {
            peer: Some(to),
            tag: Some(tag),
        };
        self.wanted(ends)?;
        let inner = &mut *self.inner.take();
        if let Some(error) = inner.endpoint.stopped() {
            return Err(error.into());
        }
        let sent = inner.with_messages(|messages, endpoint| {
            let to = messages.number(to as u32);
            let state = Sending::Waiting { line: None };
            let send = Send {
                to,
                tag,
                element,
                memory,
                state,
            };
            // SAFETY: passed on.
            unsafe { messages.send(endpoint, send) }
        })?;
        Ok(sent?)
    }

    /// Begins to receive a message; the number of its request.
    ///
    /// # Safety
    /// The elements are writable, and nobody else touches them, until the request has ended, or for ever.
    pub(crate) unsafe fn start_receive(
        &self,
        Elements { memory, element }: Elements,
        ends: Ends,
    ) -> Result<usize, Error> {
        let (source, tag) = self.wanted(ends)?;
        let inner = &mut *self.inner.take();
        if let Some(error) = inner.endpoint.stopped() {
            return Err(error.into());
        }
        let posted = inner.with_messages(|messages, endpoint| {
            let source = source.map(|source| messages.number(source as u32));
            let receive = Receive {
                wanted: Wanted { source, tag },
                element,
                room: memory,
                state: Receiving::Posted,
            };
            // SAFETY: passed on.
            unsafe { messages.receive(endpoint, receive) }
        })?;
        Ok(posted?)
    }

    /// Waits until a request has ended, and forgets it.
    pub(crate) fn wait_message(&self, number: usize) -> Result<Received, Error> {
        let [ended] = self.wait_messages([number]);
        ended
    }

    /// The same of several.
    pub(crate) fn wait_messages<const N: usize>(
        &self,
        numbers: [usize; N],
    ) -> [Result<Received, Error>; N] {
        let inner = &mut *self.inner.take();
        // What is wrong is with the requests themselves, which have all ended then.
        let _ = inner.wait_for_messages(WaitedFor::Requests(&numbers));
        numbers.map(|number| {
            let ended = inner.messages.as_mut().and_then(|m| m.take(number));
            let rank = inner.endpoint.global_rank();
            let gone = || Failure::from(TransportError::CallDropped { rank });
            Ok(ended.unwrap_or_else(|| Err(gone()))?)
        })
    }

    /// Whether a request has ended; takes everything further.
    pub(crate) fn test_message(&self, number: usize) -> bool {
        let inner = &mut *self.inner.take();
        inner.progress();
        inner.look_out_for_messages();
        inner.messages.as_ref().is_none_or(|m| m.has_ended(number))
    }

    /// Takes a receive back that no message has met; whether that was so. It is to be waited for all the same.
    pub(crate) fn cancel_message(&self, number: usize) -> bool {
        let inner = &mut *self.inner.take();
        // One that has come has met it.
        inner.progress();
        let cancelled = inner.with_messages(|messages, _| messages.cancel_receive(number));
        cancelled.unwrap_or(false)
    }

    /// Ends a request, whatever its peer does, and forgets it.
    pub(crate) fn abort_message(&self, number: usize) {
        let inner = &mut *self.inner.take();
        let rank = inner.endpoint.global_rank();
        let dropped = TransportError::CallDropped { rank };
        // Who has requests has made what they need.
        let _ = inner.with_messages(|messages, endpoint| {
            messages.fail(number, dropped.into());
            // What keeps it from being said is found out by whoever waits.
            let _ = messages.say_taken_back(endpoint);
            messages.take(number)
        });
    }

    /// The first message that such a receive would meet; waits for one, if `waits`.
    pub(crate) fn look_for_message(
        &self,
        ends: Ends,
        waits: bool,
    ) -> Result<Option<Received>, Error> {
        let (source, tag) = self.wanted(ends)?;
        let inner = &mut *self.inner.take();
        if let Some(error) = inner.endpoint.stopped() {
            return Err(error.into());
        }
        let (wanted, found) = inner.with_messages(|messages, endpoint| {
            let source = source.map(|source| messages.number(source as u32));
            let wanted = Wanted { source, tag };
            messages
                .look_for(endpoint, wanted)
                .map(|found| (wanted, found))
        })??;
        if found.is_some() {
            return Ok(found);
        }
        if !waits {
            inner.progress();
            inner.look_out_for_messages();
            return Ok(None);
        }
        inner.wait_for_messages(WaitedFor::Message(wanted))?;
        Ok(inner.messages.as_ref().and_then(|m| m.probe(wanted)))
    }
}

impl Inner {
    /// Looks now and then whether messages can come at all: who only ever tests is to hear, too.
    fn look_out_for_messages(&mut self) {
        let (endpoint, mut others) = self.others();
        let patience = endpoint.patience;
        others.with_messages(|messages| {
            if !patience.is_check_due(&mut messages.looked_out) {
                return;
            }
            if let Err(Failure::Transport(error)) = messages.check(endpoint, WaitedFor::Nothing) {
                endpoint.spread();
                messages.fail_all(&error);
            }
        });
    }
}
