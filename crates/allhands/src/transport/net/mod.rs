//! The network: what carries messages between ranks that share no memory.
//!
//! An MPI's point-to-point calls fit behind it; `tcp` is the kernel's own, `ofi` is libfabric's, and [`Threads`] one among threads,
//! with which everything that uses a network is tested.

mod context;
mod error;
mod medium;
pub(crate) mod notice;
#[cfg(target_os = "linux")]
pub mod ofi;
mod places;
#[cfg(target_os = "linux")]
pub mod tcp;
mod threads;
pub mod times;
mod way;
mod windows;

pub(crate) use context::Context;
pub use error::{LossCause, LostRank, NetworkError};
pub(crate) use medium::{Claim, Medium};
pub use places::{Places, PlacesError};
pub use threads::{Disorder, Threads, ThreadsNetwork};
pub(crate) use way::Way;
pub use windows::{Descriptor, Exposed, Raised, RemoteWindow, SignedCall, WindowMemory};

use std::ops::Range;
use std::time::Duration;

/// A message under way: the number that a network gave it, which it gives to no other before this one has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All of it is away, or here: so many bytes, no more than there was room for.
    Whole(usize),
    /// What came was longer than there was room for, by how much the network does not say.
    TooLong,
    /// What came belongs to a call with another signature; it is not looked at.
    Differs,
}

/// A message to be sent: its tag, and where it lies.
#[derive(Clone, Copy, Debug)]
pub struct ToSend {
    /// Below [`tags`](Network::tags).
    pub tag: u32,
    /// Where it begins.
    pub from: *const u8,
    /// Its length.
    pub bytes: usize,
}

/// How a sleep went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// It did not: this network cannot sleep.
    Never,
    /// Something has happened that ended it.
    Woken,
    /// It lasted as long as it might.
    Over,
}

/// A word from one rank to another besides messages: small, seldom, and only about what has gone wrong or might have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice(pub [u8; Notice::BYTES]);

impl Notice {
    /// The length in bytes.
    pub const BYTES: usize = 256;

    /// Where the number of its communicator stands, of those that go through one network.
    const CONTEXT: Range<usize> = 136..140;

    /// How one begins that says what stopped the communicator.
    pub(in crate::transport) const STOPS: u8 = 1;

    /// How one begins that says which calls a rank has refused.
    pub(in crate::transport) const REFUSES: u8 = 4;

    /// How one begins that says which call a rank has come to.
    pub(in crate::transport) const COMES: u8 = 5;

    /// How one begins that says again what stopped the communicator, where that has been said in one that must come.
    pub(in crate::transport) const REPEATS: u8 = 6;

    /// Whether it says something without which others may wait for ever: what stopped the communicator, or that it may have to
    /// be stopped. The rest makes errors come sooner, or better explained.
    #[must_use]
    pub fn must_come(&self) -> bool {
        matches!(self.0[0], Notice::STOPS | Notice::REFUSES | Notice::COMES)
    }

    /// The number of the communicator that it is about.
    pub(crate) fn context(&self) -> u32 {
        let number = self.0[Notice::CONTEXT].try_into();
        number.map_or(0, u32::from_le_bytes)
    }

    /// The same notice, about this communicator.
    pub(crate) fn of_context(mut self, context: u32) -> Notice {
        self.0[Notice::CONTEXT].copy_from_slice(&context.to_le_bytes());
        self
    }
}

/// One rank's way to the ranks of other nodes: two-sided messages, none of which waits.
///
/// Ranks are numbered as in the communicator. Messages from one rank to another with the same tag do not overtake one
/// another: the n-th that is received is the n-th that was sent. What a program of its own sends through the same medium never
/// meets these messages.
///
/// # Safety
/// The network touches the memory of a message only between the call that begins it and the moment that
/// [`test`](Network::test) says that it has ended, or [`cancel`](Network::cancel) that it is over; and it reads that of a send, or a
/// put, and writes that of a receive only within the length given. It touches a window's only until it drops what it was handed when
/// that was [withdrawn](Network::withdraw).
pub unsafe trait Network: Send {
    /// How many tags there are, from 0; at least 256. MPI guarantees 32768.
    fn tags(&self) -> u32;

    /// Says what all messages that are begun from now on are signed with: whoever receives one that was signed otherwise is told
    /// that it [differs](Ended::Differs). 0, as at first, differs from nothing. A network need not compare.
    fn sign(&mut self, signature: u64) {
        let _ = signature;
    }

    /// Begins to send `bytes` bytes to rank `to`, with a tag below [`tags`](Network::tags).
    ///
    /// # Errors
    /// What keeps it from being sent; it has then not begun.
    ///
    /// # Safety
    /// The memory is readable, and nobody writes it, until the message has ended or is over.
    unsafe fn send(
        &mut self,
        to: u32,
        tag: u32,
        from: *const u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError>;

    /// Begins to send rank `to` a short message and, right behind it, a long one for which there may be no receive for long; none, and
    /// nothing is begun, if that is not well now: if the network does not bound what it keeps of such messages, or the long one
    /// would wait for its receive, or would not arrive once it was cancelled. Who sends like that tells by the short message
    /// that the long one comes, without a word from the other end.
    ///
    /// # Errors
    /// What keeps them from being sent; neither has then begun.
    ///
    /// # Safety
    /// As for [`send`](Network::send).
    unsafe fn send_unasked(
        &mut self,
        to: u32,
        [short, long]: [ToSend; 2],
    ) -> Result<Option<[Ticket; 2]>, NetworkError> {
        let _ = (to, short, long);
        Ok(None)
    }

    /// Begins to receive a message of at most `bytes` bytes from rank `from`.
    ///
    /// # Errors
    /// What keeps it from being received; it has then not begun.
    ///
    /// # Safety
    /// The memory is writable, and nobody else touches it, until the message has ended or is over.
    unsafe fn receive(
        &mut self,
        from: u32,
        tag: u32,
        into: *mut u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError>;

    /// How a message ended, if it has; the ticket is then of no further use. It need find out no more than
    /// [`progress`](Network::progress) has.
    ///
    /// # Errors
    /// What keeps the message from ending; the ticket is still to be cancelled.
    fn test(&mut self, ticket: Ticket) -> Result<Option<Ended>, NetworkError>;

    /// Takes everything that is under way further, also what others have begun with this rank; called again and again by whoever
    /// waits. It may give way to other threads where there is nothing to do, but not sleep.
    ///
    /// # Errors
    /// What keeps the network from working at all.
    fn progress(&mut self) -> Result<(), NetworkError>;

    /// Whether it is well that messages of several steps of a call are under way at once.
    fn bears_overlap(&self) -> bool {
        true
    }

    /// How many rails it has over which it cuts messages by rates that it is [told](Network::share); one where it has no more, or finds
    /// rates out by itself.
    fn rails(&self) -> usize {
        1
    }

    /// Says what each rail carries in a second, in bytes: 0 has one carry nothing. All ranks say the same at the same place among
    /// their messages, while they have none under way; as long as nobody does, rails count as equal.
    fn share(&mut self, rates: &[f64]) {
        let _ = rates;
    }

    /// Says that from now on messages may be shorter than their receives, and that what lies behind them there must stay as it is. A
    /// network that writes nothing there anyway need not know.
    fn expect_shorter(&mut self) {}

    /// What ranks of the same node can end a [`sleep`](Network::sleep) with, if this network can sleep.
    fn doorbell(&self) -> Option<u32> {
        None
    }

    /// As [`progress`](Network::progress), but sleeps before that until something happens here or the
    /// [`doorbell`](Network::doorbell) is rung, for `limit` at the most.
    ///
    /// # Errors
    /// What keeps the network from working at all.
    fn sleep(&mut self, limit: Duration) -> Result<Sleep, NetworkError> {
        let _ = limit;
        Ok(Sleep::Never)
    }

    /// Whether all whose sending has ended arrives even if this rank, while it lives, never looks at the network again. A copy may
    /// still wait here for a connection that both ends have to make.
    fn is_away(&mut self) -> bool {
        true
    }

    /// Ends a message that is not wanted any more; whether it is over. If not, the network may touch its memory still, and
    /// is asked again after some [`progress`](Network::progress); one that could never say yes ends the process instead,
    /// as a call may not return while its memory is in use.
    fn cancel(&mut self, ticket: Ticket) -> bool;

    /// Says that no message with these tags is wanted any more; none that this rank has begun is under way. Whether whatever still
    /// comes with them is thrown away, so that it neither costs anything nor is taken for what is sent with the same tags later.
    fn retire(&mut self, tags: Range<u32>) -> bool {
        let _ = tags;
        false
    }

    /// Says that tags which were retired together, or never used, are used from now on.
    fn readmit(&mut self, tags: Range<u32>) {
        let _ = tags;
    }

    /// Whether ranks of other nodes can put into [windows](Network::expose) of this one, as this one into theirs; all say the same.
    fn has_windows(&self) -> bool {
        false
    }

    /// Lets ranks `by` of other nodes put into memory of this one, and raise flags 0 to `flags` - 1 of it, once they have its
    /// descriptor.
    ///
    /// # Errors
    /// What keeps them from that.
    ///
    /// # Safety
    /// The memory is readable and writable until the network drops what it is handed by [`withdraw`](Network::withdraw), or is
    /// dropped itself; what other ranks put there meanwhile nobody reads or writes but in the order that flags say.
    unsafe fn expose(
        &mut self,
        memory: (*mut u8, usize),
        flags: u16,
        by: &[u32],
    ) -> Result<Exposed, NetworkError> {
        let _ = (memory, flags, by);
        Err(NetworkError::NoWindows)
    }

    /// Ends that for the window of this number: no flag of it is [heard](Network::raised) any more, and nobody is to read what others
    /// still put there. Where others write to memory by themselves they may do so until they know, so `memory` is what keeps it in
    /// its place: it is dropped when nobody touches it any more, at once if that can be, and at the latest when the network has ended
    /// everything.
    fn withdraw(&mut self, window: u64, memory: WindowMemory) {
        let _ = (window, memory);
    }

    /// Begins to put `bytes` bytes at `offset` into a window of rank `to`, which need not look for that. The ticket ends when the
    /// memory here is not needed any more; what is there then only a flag that is raised afterwards tells.
    ///
    /// # Errors
    /// What keeps it from being put; it has then not begun.
    ///
    /// # Safety
    /// The memory is readable, and nobody writes it, until the put has ended or is over.
    unsafe fn put(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        offset: usize,
        (from, bytes): (*const u8, usize),
    ) -> Result<Ticket, NetworkError> {
        let _ = (to, window, offset, from, bytes);
        Err(NetworkError::NoWindows)
    }

    /// Raises a flag of rank `to`, after all that this rank has put into that window before, whatever way that goes. Nothing is to be
    /// waited for.
    ///
    /// # Errors
    /// What keeps it from being raised.
    fn raise(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        flag: u16,
        by: SignedCall,
    ) -> Result<(), NetworkError> {
        let _ = (to, window, flag, by);
        Err(NetworkError::NoWindows)
    }

    /// The next flag of this rank that another one has raised.
    fn raised(&mut self) -> Option<Raised> {
        None
    }

    /// Says that this rank waits for what rank `from` puts or raises, until the ticket is [cancelled](Network::cancel), which works at
    /// once. It never ends, but [`test`](Network::test) says if that rank is lost.
    fn attend(&mut self, from: u32) -> Result<Ticket, NetworkError> {
        let _ = from;
        Err(NetworkError::NoWindows)
    }

    /// Gives rank `to` word, without waiting for it. A network whose errors end all ranks anyway need not, and one to which words
    /// are dear may give those alone that [must come](Notice::must_come).
    fn notify(&mut self, to: u32, notice: &Notice);

    /// The next word that has come, and whose it is.
    fn hear(&mut self) -> Option<(u32, Notice)>;
}

/// What makes the networks of ranks that are threads of one process.
pub trait Networks: Sync {
    /// The network of rank `rank`.
    ///
    /// # Errors
    /// Why there is none.
    fn network(&self, rank: u32) -> Result<Box<dyn Network>, NetworkError>;
}
