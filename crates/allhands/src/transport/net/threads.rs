//! The network among threads: a mailbox for each rank, in memory that only the network sees as shared.
//!
//! It stands for a real network in tests, and keeps its promises and no others: short messages are away when they are sent, long
//! ones when they are received, nothing arrives while its receiver does not look, and, if [`Disorder`] is asked for,
//! messages take their time and overtake those with other tags.

use super::{Ended, Network, NetworkError, Networks, Notice, Ticket};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a network among threads misbehaves, as far as a network may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disorder {
    /// What chance begins with; the same seed on every rank.
    pub seed: u64,
    /// The most looks for which a message, or the news that one was received, is held back.
    pub most_looks: u32,
}

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
    notices: VecDeque<(u32, Notice)>,
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
    /// Tags with which whatever comes is thrown away.
    retired: Vec<Range<u32>>,
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
            retired: Vec::new(),
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
    /// A number that looks like chance.
    fn random(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// For how many looks something is held back.
    fn looks(&mut self) -> u32 {
        let Some(disorder) = self.shared.disorder else {
            return 0;
        };
        // Half of all come at once, so that messages overtake one another by far.
        match self.random() {
            even if even.is_multiple_of(2) => 0,
            odd => (odd >> 32) as u32 % (disorder.most_looks + 1),
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.next += 1;
        Ticket(self.next)
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
            let (from, bytes) = match &letter.content {
                Content::Copied(bytes) => (bytes.as_ptr(), bytes.len()),
                Content::There(span, ticket) => {
                    received.push((letter.from, *ticket));
                    (span.address.cast_const(), span.bytes)
                }
            };
            let (theirs, ours) = (letter.signature, wanted.signature);
            let differs = theirs != ours && theirs != 0 && ours != 0;
            let whole = bytes <= wanted.into.bytes;
            // SAFETY: a copy, or the sender's memory, which is readable while its letter is in a mailbox, whose lock the caller
            // holds, and the sender takes a letter back under the same lock; to memory of the receiver, whose promise is that of
            // `receive`. No more than either has.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    from,
                    wanted.into.address,
                    bytes.min(wanted.into.bytes),
                );
            }
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
        let content = if bytes <= self.shared.short_bytes {
            let mut copy = vec![0; bytes];
            // SAFETY: readable for that many bytes, as the caller promises.
            unsafe { std::ptr::copy_nonoverlapping(from, copy.as_mut_ptr(), bytes) };
            self.ended.insert(ticket.0, Ended::Whole(bytes));
            Content::Copied(copy)
        } else {
            self.long.insert(ticket.0, (to, bytes));
            let address = from.cast_mut();
            Content::There(Span { address, bytes }, ticket)
        };
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
        Ok(self.ended.remove(&ticket.0))
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
        drop(mailbox);
        for (from, ticket) in received {
            let looks = self.looks();
            shared.mailbox(from)?.received.push((ticket, looks));
        }
        Ok(())
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        self.ended.remove(&ticket.0);
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
        }
        true
    }

    fn retire(&mut self, tags: Range<u32>) -> bool {
        self.retired.push(tags);
        true
    }

    fn readmit(&mut self, tags: Range<u32>) {
        self.retired.retain(|retired| *retired != tags);
    }

    fn notify(&mut self, to: u32, notice: &Notice) {
        if let Ok(mut mailbox) = self.shared.mailbox(to) {
            mailbox.notices.push_back((self.rank, *notice));
        }
    }

    fn hear(&mut self) -> Option<(u32, Notice)> {
        let mailbox = self.shared.mailbox(self.rank);
        mailbox.ok()?.notices.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(threads: Threads) -> [ThreadsNetwork; 2] {
        [0, 1].map(|rank| threads.network(rank))
    }

    fn send(network: &mut ThreadsNetwork, tag: u32, bytes: &[u8]) -> Ticket {
        // SAFETY: the tests keep what they send until it has ended or is over.
        unsafe { network.send(1, tag, bytes.as_ptr(), bytes.len()) }.unwrap()
    }

    fn receive(network: &mut ThreadsNetwork, tag: u32, into: &mut [u8]) -> Ticket {
        // SAFETY: as above.
        unsafe { network.receive(0, tag, into.as_mut_ptr(), into.len()) }.unwrap()
    }

    fn end(all: &mut [ThreadsNetwork; 2], rank: usize, ticket: Ticket) -> Ended {
        for _ in 0..1000 {
            all.iter_mut()
                .for_each(|network| network.progress().unwrap());
            if let Some(ended) = all[rank].test(ticket).unwrap() {
                return ended;
            }
        }
        panic!("{ticket:?} of rank {rank} does not end");
    }

    #[test]
    fn messages_of_a_tag_keep_their_order_and_others_do_not() {
        let disorder = Disorder {
            seed: 5,
            most_looks: 50,
        };
        let mut all = pair(Threads::new(2).with_short_bytes(2).in_disorder(disorder));
        let messages: Vec<Vec<u8>> = (1..=20).map(|n| vec![n; 1 + n as usize % 4]).collect();
        for (at, message) in (0..).zip(&messages) {
            send(&mut all[0], at % 2, message);
        }
        let (mut into, mut order) = (vec![[0u8; 4]; 20], Vec::new());
        let mut tickets: Vec<(u32, Ticket)> = (0..20)
            .map(|at| (at, receive(&mut all[1], at % 2, &mut into[at as usize])))
            .collect();
        while !tickets.is_empty() {
            all[1].progress().unwrap();
            tickets.retain(|(at, ticket)| {
                let ended = all[1].test(*ticket).unwrap();
                order.extend(ended.map(|_| *at));
                ended.is_none()
            });
        }
        for (message, into) in messages.iter().zip(&into) {
            assert_eq!(message[..], into[..message.len()]);
        }
        let of_tag = |tag| order.iter().filter(|at| *at % 2 == tag).is_sorted();
        assert!(of_tag(0) && of_tag(1) && !order.is_sorted(), "{order:?}");
    }

    #[test]
    fn long_messages_are_away_when_they_are_received_and_can_be_taken_back() {
        let mut all = pair(Threads::new(2).with_short_bytes(3));
        let (long, mut into) = ([7u8; 9], [0u8; 9]);
        let first = send(&mut all[0], 4, &long);
        all[0].progress().unwrap();
        assert_eq!(all[0].test(first).unwrap(), None);
        assert!(all[0].cancel(first));
        let second = send(&mut all[0], 4, &long[..8]);
        let ticket = receive(&mut all[1], 4, &mut into);
        assert_eq!(end(&mut all, 1, ticket), Ended::Whole(8));
        assert_eq!(end(&mut all, 0, second), Ended::Whole(8));
        let third = send(&mut all[0], 4, &long);
        let ticket = receive(&mut all[1], 4, &mut into[..5]);
        assert_eq!(end(&mut all, 1, ticket), Ended::TooLong);
        assert_eq!(end(&mut all, 0, third), Ended::Whole(9));
        // SAFETY: nothing is sent to a rank that there is not.
        let nobody = unsafe { all[0].send(2, 0, long.as_ptr(), 1) };
        assert_eq!(
            nobody.unwrap_err().to_string(),
            "there is no rank 2 among 2"
        );
    }
}
