//! From one rank to one: send, receive, and both at once.

use crate::communicator::Communicator;
use crate::communicator::messages::Ends;
use crate::element::Element;
use crate::error::Error;
use crate::message::{Source, Status, Tag};
use crate::message_request::Pending;

/// Messages between two ranks.
///
/// A message meets the first receive that was posted for its source and tag, and a receive the first message that was sent with
/// a source and tag that it wants: messages that one receive would take do not overtake one another. They have nothing to do with
/// collective calls, and each goes on while a rank waits for the other.
///
/// A short message is away before it is received: up to 1056 bytes among ranks that share memory and 8128 between nodes,
/// while no more than 64 KiB of such messages of the two ranks wait to be received. All others wait at their sender, and are then
/// written to where their receiver wants them, with no copy in between where its memory can be reached. So a rank that never receives
/// keeps a bounded part of what others send to it: at most 4096 messages of each rank are known to it, and more wait at their senders.
impl Communicator {
    /// Sends `buffer` to rank `to`, and returns when it may be used again.
    ///
    /// It has any length. A message that is not short, or for which there is no room, waits until it is received; then its
    /// sender does, too.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let received = threads::run(2, |comm| {
    ///     let mut word = *b"    ";
    ///     match comm.rank() {
    ///         0 => comm.send(b"here", 1, 5)?,
    ///         _ => assert_eq!(comm.recv(&mut word, 0, 5)?.bytes, 4),
    ///     }
    ///     Ok::<_, allhands::Error>(word)
    /// })?;
    /// assert_eq!(&received.into_iter().nth(1).unwrap()?, b"here");
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`MessageError::NoSuchRank`](crate::MessageError::NoSuchRank);
    /// [`MessageError::Itself`](crate::MessageError::Itself) if `to` is this rank, which has posted no receive for it, and the message
    /// would wait for that. [`TransportError`](crate::TransportError) if the receiver has left, or any rank has died or panicked, or
    /// something else has stopped the communicator. That the message is too long for its receiver is an error there alone.
    #[inline]
    pub fn send<T: Element>(&self, buffer: &[T], to: usize, tag: u32) -> Result<(), Error> {
        // SAFETY: the buffer is borrowed until this function returns or unwinds, and the message has ended then.
        unsafe { Pending::send(self, buffer, (to, tag))? }
            .wait()
            .map(drop)
    }

    /// Receives a message from rank `source`, or any, with tag `tag`, or any, to the start of `buffer`.
    ///
    /// The message has as many elements as `buffer`, or fewer: the [`Status`] says how many, and whose it is. The rest of `buffer` stays
    /// as it is.
    ///
    /// ```
    /// use allhands::{MessageError, Error, threads};
    ///
    /// threads::run(2, |comm| {
    ///     if comm.rank() == 0 {
    ///         comm.send(&[1u32, 2, 3], 1, 0)?;
    ///         return comm.send(&[4u32], 1, 0);
    ///     }
    ///     let error = comm.recv(&mut [0u32; 2], 0, 0).unwrap_err();
    ///     let says = "rank 1 has room for 2 elements, and the message of rank 0 with tag 0 has 3";
    ///     assert_eq!(error.to_string(), says);
    ///     // The next message is none the worse for it.
    ///     let mut next = [0u32; 2];
    ///     comm.recv(&mut next, 0, 0)?;
    ///     assert_eq!(next, [4, 0]);
    ///     Ok::<(), Error>(())
    /// })?
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`MessageError::NoSuchRank`](crate::MessageError::NoSuchRank);
    /// [`MessageError::TooLong`](crate::MessageError::TooLong) and [`MessageError::ElementsDiffer`](crate::MessageError::ElementsDiffer) of
    /// a message that does not fit: it is gone then, and `buffer` as it was; [`MessageError::Arrival`](crate::MessageError::Arrival) if
    /// what came is no value of the type. [`MessageError::Itself`](crate::MessageError::Itself) and
    /// [`MessageError::Unreceived`](crate::MessageError::Unreceived) if the message can never come as this rank waits for it.
    /// [`TransportError`](crate::TransportError) if the source has left, or all have, or any rank has died or panicked, or something
    /// else has stopped the communicator.
    #[inline]
    pub fn recv<T: Element>(
        &self,
        buffer: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status, Error> {
        let ends = Ends::new(source, tag);
        // SAFETY: as in `send`.
        let ended = unsafe { Pending::receive(self, buffer, ends)? }.wait()?;
        Ok(ended.expect("a receive that has ended well has a status"))
    }

    /// Sends one message and receives another, each of which may need the other's end; both may be this rank's own.
    ///
    /// `sent` and `received` are as in [`Communicator::send`] and [`Communicator::recv`]; their lengths and types may differ.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let from_the_left = threads::run(4, |comm| {
    ///     let (rank, ranks) = (comm.rank(), comm.size());
    ///     let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    ///     let mut received = [0usize; 2];
    ///     comm.sendrecv(&[rank, 10 * rank], right, 0, &mut received, left, 0)?;
    ///     Ok::<_, allhands::Error>(received)
    /// })?;
    /// assert_eq!(from_the_left.into_iter().nth(3).unwrap()?, [2, 20]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Communicator::send`] and [`Communicator::recv`]; the other message has ended, too.
    pub fn sendrecv<T: Element, U: Element>(
        &self,
        sent: &[T],
        to: usize,
        send_tag: u32,
        received: &mut [U],
        source: impl Into<Source>,
        receive_tag: impl Into<Tag>,
    ) -> Result<Status, Error> {
        let ends = Ends::new(source, receive_tag);
        // SAFETY: as in `send`.
        let receive = unsafe { Pending::receive(self, received, ends)? };
        // SAFETY: as in `send`.
        let send = unsafe { Pending::send(self, sent, (to, send_tag))? };
        let status = Pending::wait_both(send, receive)?;
        Ok(status.expect("a receive that has ended well has a status"))
    }

    /// Waits for a message that [`Communicator::recv`] would receive with this source and tag, and leaves it there.
    ///
    /// ```
    /// use allhands::{Source, Tag, threads};
    ///
    /// threads::run(2, |comm| {
    ///     if comm.rank() == 0 {
    ///         return comm.send(&[1.0f32; 30], 1, 8);
    ///     }
    ///     // Room for a message of a length that only its sender knows.
    ///     let status = comm.probe(Source::Any, Tag::Any)?;
    ///     let mut buffer = vec![0.0f32; status.elements::<f32>()];
    ///     comm.recv(&mut buffer, status.source, status.tag)?;
    ///     assert_eq!(buffer, [1.0; 30]);
    ///     Ok::<(), allhands::Error>(())
    /// })?
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Communicator::recv`], but for those of a message itself.
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status, Error> {
        let found = self.look_for_message(Ends::new(source, tag), true)?;
        Ok(found.map(Status::from).expect("it has waited for one"))
    }

    /// [`Communicator::probe`] without waiting: nothing, if no such message is there. It takes everything further that is under way on the
    /// communicator.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// threads::run(1, |comm| {
    ///     assert_eq!(comm.iprobe(0, 3)?, None);
    ///     comm.send(&[5u8], 0, 3)?;
    ///     assert_eq!(comm.iprobe(0, 3)?.unwrap().bytes, 1);
    ///     Ok::<(), allhands::Error>(())
    /// })?
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Communicator::probe`].
    pub fn iprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Option<Status>, Error> {
        let found = self.look_for_message(Ends::new(source, tag), false)?;
        Ok(found.map(Status::from))
    }
}
