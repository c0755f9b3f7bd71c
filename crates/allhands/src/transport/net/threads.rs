//! The network among threads: a mailbox for each rank, in memory that only the network sees as shared.
//!
//! It stands for a real network in tests, and keeps its promises and no others: short messages are away when they are sent, long
//! ones when they are received, nothing arrives while its receiver does not look, and, if [`Disorder`] is asked for,
//! messages take their time and overtake those with other tags.

mod disorder;
mod notices;
mod presence;
#[cfg(test)]
mod tests;
mod windows;

use super::{
    Descriptor, Ended, Exposed, Network, NetworkError, Networks, Notice, Raised, RemoteWindow,
    SignedCall, Ticket, ToSend, WindowMemory,
};
pub use disorder::Disorder;
use notices::Notices;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use windows::{Arrival, What, Windows};

/// What makes the networks of all ranks.
#[derive(Clone, Debug)]
pub struct Threads {
    mailboxes: Arc<[Mutex<Mailbox>]>,
    tags: u32,
    short_bytes: usize,
    disorder: Option<Disorder>,
}

/// What waits for a rank.
#[derive(Debug, Default)]
struct Mailbox {
    letters: VecDeque<Letter>,
    /// Long messages of this rank that were received, and for how many looks it does not know.
    received: Vec<(Ticket, u32)>,
    notices: Notices,
    /// What is put into its windows, and raised there.
    arrivals: Vec<Arrival>,
    /// Whether its rank's network is gone.
    is_deserted: bool,
}

/// A message that nobody has received.
#[derive(Debug)]
struct Letter {
    from: u32,
    tag: u32,
    signature: u64,
    content: Content,
    looks: u32,
}

#[derive(Debug)]
enum Content {
    Copied(Vec<u8>),
    /// Where its sender has it.
    There(Span, Ticket),
}

impl Content {
    /// Where it lies, and how long it is.
    fn memory(&self) -> (*const u8, usize) {
        match self {
            Content::Copied(bytes) => (bytes.as_ptr(), bytes.len()),
            Content::There(span, _) => (span.address.cast_const(), span.bytes),
        }
    }
}

/// Memory of a message.
#[derive(Clone, Copy, Debug)]
struct Span {
    address: *mut u8,
    bytes: usize,
}

// SAFETY: an address alone; who uses it argues by the promises of `send` and `receive`, which speak of no thread.
unsafe impl Send for Span {}

/// A receive that waits for its message.
#[derive(Debug)]
struct Wanted {
    from: u32,
    tag: u32,
    signature: u64,
    into: Span,
    ticket: Ticket,
}

/// One rank's network among threads.
#[derive(Debug)]
pub struct ThreadsNetwork {
    shared: Threads,
    rank: u32,
    /// What messages are signed with.
    signature: u64,
    wanted: Vec<Wanted>,
    ended: BTreeMap<u64, Ended>,
    /// The lengths of own long messages under way, and to whom they go.
    long: BTreeMap<u64, (u32, usize)>,
    /// The ranks that are attended to.
    attended: BTreeMap<u64, u32>,
    /// Tags with which whatever comes is thrown away.
    retired: Vec<Range<u32>>,
    windows: Windows,
    next: u64,
    chance: u64,
}

impl Threads {
    /// The longest message that is away when it is sent, in bytes.
    const SHORT_BYTES: usize = 4096;

    /// A network among `ranks` ranks, with as many tags for each of 512 communicators as MPI guarantees.
    #[must_use]
    pub fn new(ranks: u32) -> Threads {
        Threads {
            mailboxes: (0..ranks).map(|_| Mutex::default()).collect(),
            tags: 1 << 24,
            short_bytes: Threads::SHORT_BYTES,
            disorder: None,
        }
    }

    /// The same with so many tags.
    #[must_use]
    pub fn with_tags(self, tags: u32) -> Threads {
        Threads { tags, ..self }
    }

    /// The same, in which messages of more than `short_bytes` bytes are away only when they are received.
    #[must_use]
    pub fn with_short_bytes(self, short_bytes: usize) -> Threads {
        Threads {
            short_bytes,
            ..self
        }
    }

    /// The same in disorder.
    #[must_use]
    pub fn in_disorder(self, disorder: Disorder) -> Threads {
        Threads {
            disorder: Some(disorder),
            ..self
        }
    }

    /// The network of rank `rank`.
    #[must_use]
    pub fn network(&self, rank: u32) -> ThreadsNetwork {
        let seed = self.disorder.map_or(0, |disorder| disorder.seed);
        ThreadsNetwork {
            shared: self.clone(),
            rank,
            signature: 0,
            wanted: Vec::new(),
            ended: BTreeMap::new(),
            long: BTreeMap::new(),
            attended: BTreeMap::new(),
            retired: Vec::new(),
            windows: Windows::default(),
            next: 0,
            chance: seed ^ u64::from(rank + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }

    fn mailbox(&self, rank: u32) -> Result<MutexGuard<'_, Mailbox>, NetworkError> {
        let mailbox = self.mailboxes.get(rank as usize).ok_or_else(|| {
            let ranks = self.mailboxes.len();
            NetworkError::Other(format!("there is no rank {rank} among {ranks}"))
        })?;
        // Nothing panics while it is held.
        Ok(mailbox.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Networks for Threads {
    fn network(&self, rank: u32) -> Result<Box<dyn Network>, NetworkError> {
        Ok(Box::new(Threads::network(self, rank)))
    }
}

impl ThreadsNetwork {
    fn ticket(&mut self) -> Ticket {
        self.next += 1;
        Ticket(self.next)
    }

    /// What goes to rank `to`: a copy, which has ended, or where it lies.
    ///
    /// # Safety
    /// As for [`Network::send`].
    unsafe fn content(
        &mut self,
        to: u32,
        ticket: Ticket,
        from: *const u8,
        bytes: usize,
    ) -> Content {
        if bytes > self.shared.short_bytes {
            self.long.insert(ticket.0, (to, bytes));
            let address = from.cast_mut();
            return Content::There(Span { address, bytes }, ticket);
        }
        let mut copy = vec![0; bytes];
        // SAFETY: readable for that many bytes, as the caller promises.
        unsafe { std::ptr::copy_nonoverlapping(from, copy.as_mut_ptr(), bytes) };
        self.ended.insert(ticket.0, Ended::Whole(bytes));
        Content::Copied(copy)
    }

    /// Throws away what came with tags that are retired, and gives the long messages among it, whose senders wait for that.
    fn throw_away(&self, mailbox: &mut Mailbox) -> Vec<(u32, Ticket)> {
        let mut thrown = Vec::new();
        if self.retired.is_empty() {
            return thrown;
        }
        mailbox.letters.retain(|letter| {
            let is_retired = self.retired.iter().any(|tags| tags.contains(&letter.tag));
            if let (true, Content::There(_, ticket)) = (is_retired, &letter.content) {
                thrown.push((letter.from, *ticket));
            }
            !is_retired
        });
        thrown
    }

    /// Copies what is wanted and may be received, and gives the long messages that were.
    fn receive_wanted(&mut self, mailbox: &mut Mailbox) -> Vec<(u32, Ticket)> {
        let mut received = Vec::new();
        let ended = &mut self.ended;
        self.wanted.retain(|wanted| {
            let fits = |letter: &Letter| (letter.from, letter.tag) == (wanted.from, wanted.tag);
            // The first that fits, or none: later ones do not overtake it.
            let first = mailbox.letters.iter().position(fits);
            let Some(at) = first.filter(|at| mailbox.letters[*at].looks == 0) else {
                return true;
            };
            let Some(letter) = mailbox.letters.remove(at) else {
                return true;
            };
            let (from, bytes) = letter.content.memory();
            if let Content::There(_, ticket) = letter.content {
                received.push((letter.from, ticket));
            }
            let (theirs, ours) = (letter.signature, wanted.signature);
            let differs = theirs != ours && theirs != 0 && ours != 0;
            let whole = bytes <= wanted.into.bytes;
            let copied = bytes.min(wanted.into.bytes);
            // SAFETY: a copy, or the sender's memory, which is readable while its letter is in a mailbox, whose lock the caller
            // holds, and the sender takes a letter back under the same lock; to memory of the receiver, whose promise is that of
            // `receive`. No more than either has.
            unsafe { std::ptr::copy_nonoverlapping(from, wanted.into.address, copied) };
            let how = match whole {
                _ if differs => Ended::Differs,
                true => Ended::Whole(bytes),
                false => Ended::TooLong,
            };
            ended.insert(wanted.ticket.0, how);
            false
        });
        received
    }
}

// SAFETY: memory is touched in `send` itself, or in `receive_wanted`, of letters that are in a mailbox and receives that are
// wanted: neither is when the message has ended or was cancelled. Lengths are kept to there.
unsafe impl Network for ThreadsNetwork {
    fn tags(&self) -> u32 {
        self.shared.tags
    }

    fn sign(&mut self, signature: u64) {
        self.signature = signature;
    }

    unsafe fn send(
        &mut self,
        to: u32,
        tag: u32,
        from: *const u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        let (ticket, looks) = (self.ticket(), self.looks());
        // SAFETY: the caller's promise.
        let content = unsafe { self.content(to, ticket, from, bytes) };
        let (from, signature) = (self.rank, self.signature);
        let letter = Letter {
            from,
            tag,
            signature,
            content,
            looks,
        };
        self.shared.mailbox(to)?.letters.push_back(letter);
        Ok(ticket)
    }

    unsafe fn send_unasked(
        &mut self,
        to: u32,
        both: [ToSend; 2],
    ) -> Result<Option<[Ticket; 2]>, NetworkError> {
        // A longer one would wait for its receive, and never come if it is cancelled.
        if both.iter().any(|it| it.bytes > self.shared.short_bytes) {
            return Ok(None);
        }
        // SAFETY: the caller's promise.
        let mut send = |it: ToSend| unsafe { self.send(to, it.tag, it.from, it.bytes) };
        Ok(Some([send(both[0])?, send(both[1])?]))
    }

    unsafe fn receive(
        &mut self,
        from: u32,
        tag: u32,
        into: *mut u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        let ticket = self.ticket();
        let (address, signature) = (into, self.signature);
        self.wanted.push(Wanted {
            from,
            tag,
            signature,
            into: Span { address, bytes },
            ticket,
        });
        Ok(ticket)
    }

    fn test(&mut self, ticket: Ticket) -> Result<Option<Ended>, NetworkError> {
        match self.attended.get(&ticket.0) {
            Some(from) => self.look_after(*from).map(|()| None),
            None => Ok(self.ended.remove(&ticket.0)),
        }
    }

    fn progress(&mut self) -> Result<(), NetworkError> {
        let shared = self.shared.clone();
        let mut mailbox = shared.mailbox(self.rank)?;
        let mailbox_now = &mut *mailbox;
        for letter in &mut mailbox_now.letters {
            letter.looks = letter.looks.saturating_sub(1);
        }
        mailbox_now.received.retain_mut(|(ticket, looks)| {
            if *looks > 0 {
                *looks -= 1;
                return true;
            }
            // It may have been cancelled since.
            if let Some((_, bytes)) = self.long.remove(&ticket.0) {
                self.ended.insert(ticket.0, Ended::Whole(bytes));
            }
            false
        });
        let mut received = self.throw_away(mailbox_now);
        received.append(&mut self.receive_wanted(mailbox_now));
        let landed = self.windows.land_all(mailbox_now);
        drop(mailbox);
        received.append(&mut landed?);
        for (from, ticket) in received {
            let looks = self.looks();
            shared.mailbox(from)?.received.push((ticket, looks));
        }
        Ok(())
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        self.ended.remove(&ticket.0);
        self.attended.remove(&ticket.0);
        self.wanted.retain(|wanted| wanted.ticket != ticket);
        let Some((to, _)) = self.long.get(&ticket.0).copied() else {
            return true;
        };
        // A network need not manage at once.
        if self.shared.disorder.is_some() && self.random().is_multiple_of(2) {
            return false;
        }
        self.long.remove(&ticket.0);
        if let Ok(mut mailbox) = self.shared.mailbox(to) {
            let is_it =
                |letter: &Letter| matches!(letter.content, Content::There(_, t) if t == ticket);
            let from = self.rank;
            mailbox.letters.retain(|l| l.from != from || !is_it(l));
            mailbox.arrivals.retain(|arrival| {
                let is_it =
                    matches!(arrival.what, What::Put(_, Content::There(_, t)) if t == ticket);
                arrival.from != from || !is_it
            });
        }
        true
    }

    fn has_windows(&self) -> bool {
        true
    }

    unsafe fn expose(
        &mut self,
        (address, bytes): (*mut u8, usize),
        flags: u16,
        _: &[u32],
    ) -> Result<Exposed, NetworkError> {
        let number = self.windows.expose(Span { address, bytes }, flags);
        let descriptor = Descriptor::of_words([number, bytes as u64, 0, 0]);
        Ok(Exposed { number, descriptor })
    }

    /// What is put lands when this rank looks, so nobody touches the memory from now on.
    fn withdraw(&mut self, window: u64, _: WindowMemory) {
        self.windows.withdraw(window);
    }

    unsafe fn put(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        offset: usize,
        (from, bytes): (*const u8, usize),
    ) -> Result<Ticket, NetworkError> {
        let [_, all, ..] = window.descriptor.words();
        if offset.checked_add(bytes).is_none_or(|end| end as u64 > all) {
            let why = format!("{bytes} bytes at {offset} lie outside a window of {all}");
            return Err(NetworkError::Other(why));
        }
        let ticket = self.ticket();
        // SAFETY: the caller's promise.
        let content = unsafe { self.content(to, ticket, from, bytes) };
        self.arrive(to, window, What::Put(offset, content))?;
        Ok(ticket)
    }

    fn raise(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        flag: u16,
        by: SignedCall,
    ) -> Result<(), NetworkError> {
        self.look_after(to)?;
        self.arrive(to, window, What::Raise(flag, by))
    }

    fn raised(&mut self) -> Option<Raised> {
        self.windows.raised()
    }

    fn attend(&mut self, from: u32) -> Result<Ticket, NetworkError> {
        let ticket = self.ticket();
        self.attended.insert(ticket.0, from);
        Ok(ticket)
    }

    fn retire(&mut self, tags: Range<u32>) -> bool {
        self.retired.push(tags);
        true
    }

    fn readmit(&mut self, tags: Range<u32>) {
        self.retired.retain(|retired| *retired != tags);
    }

    fn notify(&mut self, to: u32, notice: &Notice) {
        // Ranks look for notices far less often than for messages.
        let looks = self.looks() / 16;
        if let Ok(mut mailbox) = self.shared.mailbox(to) {
            mailbox.notices.push(self.rank, *notice, looks);
        }
    }

    fn hear(&mut self) -> Option<(u32, Notice)> {
        self.shared.mailbox(self.rank).ok()?.notices.hear()
    }
}
