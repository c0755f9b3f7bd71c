//! The mailbox: where messages between two ranks that are no part of a collective call come to one of them.
//!
//! ```text
//! a queue for all senders │ has anybody found it full? │ what has been returned to rank 0 │ to rank 1 │ …
//! ```
//!
//! A rank has none before the first such message, and then one for all who send to it: so memory grows with the ranks that
//! receive, and to look for a message is to look at one place, whoever may send it.

use crate::transport::TransportError;
use crate::transport::shm::memory::arena::{Arena, Block};
use crate::transport::shm::queue::inbox::Inbox;
use crate::transport::shm::queue::ring::Header;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::sync::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

/// A queue with many producers and one consumer, who hears of producers that found it full; zeros are an empty one.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Mailbox {
    inbox: Inbox,
    stalled: Stalled,
}

/// Not 0: a producer waits for room.
#[derive(Debug)]
#[repr(C, align(128))]
struct Stalled(AtomicU32);

/// What a rank has returned of the credit of one sender, which both count from the start; zeros at first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Returned {
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Mailbox {
    #[cfg(loom)]
    fn new() -> Mailbox {
        Mailbox {
            inbox: Inbox::new(),
            stalled: Stalled(AtomicU32::new(0)),
        }
    }

    /// Appends a message whose payload `fill` writes; `false`, and nothing happens, if there is no room. Who is refused looks again
    /// after it has said that it will sleep.
    ///
    /// # Safety
    /// As for [`Inbox::push`].
    pub(crate) unsafe fn push(&self, header: Header, fill: impl FnOnce(*mut u8)) -> bool {
        // SAFETY: the caller's promise.
        let pushed = unsafe { self.inbox.push(header, fill) };
        if !pushed {
            self.stalled.0.store(1, Ordering::Relaxed);
        }
        pushed
    }

    /// Shows the oldest message, as [`Inbox::front`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn front<R>(
        &self,
        position: u64,
        read: impl FnOnce(Header, *const u8) -> R,
    ) -> Option<R> {
        // SAFETY: the caller's promise.
        unsafe { self.inbox.front(position, read) }
    }

    /// Gives the place of a message back that was shown.
    ///
    /// # Safety
    /// As for [`Inbox::release`].
    pub(crate) unsafe fn release(&self, position: &mut u64) {
        // SAFETY: the caller's promise.
        unsafe { self.inbox.release(position) };
    }

    /// Whether a producer has found it full since this was asked last; asked after places were given back and, behind the fence
    /// that comes before a look for sleepers, somebody was found asleep.
    pub(crate) fn has_stalled(&self) -> bool {
        self.stalled.0.load(Ordering::Relaxed) != 0
            && self.stalled.0.swap(0, Ordering::Relaxed) != 0
    }
}

impl Returned {
    /// Says what the owner of the mailbox has returned.
    pub(crate) fn set(&self, messages: u64, bytes: u64) {
        self.messages.store(messages, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// What it has said last: messages and bytes, each of which only grows.
    pub(crate) fn get(&self) -> (u64, u64) {
        let words = [&self.messages, &self.bytes].map(|word| word.load(Ordering::Relaxed));
        (words[0], words[1])
    }
}

/// The bytes of a mailbox among so many ranks.
fn bytes(ranks: u32) -> usize {
    size_of::<Mailbox>() + ranks as usize * size_of::<Returned>()
}

impl SharedSegment {
    fn mailbox_place(&self, rank: u32) -> &std::sync::atomic::AtomicU64 {
        &self.record(rank).more.mailbox
    }

    /// The mailbox of a rank, if it has one.
    #[inline]
    pub(crate) fn mailbox(&self, rank: u32) -> Option<&Mailbox> {
        // Acquire: whoever sees the place sees the zeros there.
        match self.mailbox_place(rank).load(Ordering::Acquire) {
            0 => None,
            // SAFETY: laid out there for the life of the segment, aligned, and zeros at first.
            offset => Some(unsafe { &*self.arena().at(offset).cast::<Mailbox>() }),
        }
    }

    /// The same; makes one if there is none.
    ///
    /// # Errors
    /// [`TransportError::NoMemory`].
    pub(crate) fn make_mailbox(&self, rank: u32) -> Result<&Mailbox, TransportError> {
        loop {
            if let Some(mailbox) = self.mailbox(rank) {
                return Ok(mailbox);
            }
            let block = self.arena().allocate(bytes(self.ranks()))?;
            let (won, lost) = (Ordering::AcqRel, Ordering::Acquire);
            let place = self.mailbox_place(rank);
            if place.compare_exchange(0, block.offset(), won, lost).is_ok() {
                block.keep();
            }
        }
    }

    /// What rank `rank` has returned to rank `sender`, if it has a mailbox.
    pub(crate) fn returned(&self, rank: u32, sender: u32) -> Option<&Returned> {
        assert!(sender < self.ranks(), "a rank of the communicator");
        // Acquire: as for the mailbox, behind which these stand.
        let offset = match self.mailbox_place(rank).load(Ordering::Acquire) {
            0 => return None,
            offset => {
                offset + (size_of::<Mailbox>() + sender as usize * size_of::<Returned>()) as u64
            }
        };
        // SAFETY: as many stand there as there are ranks, in the same block; aligned, and zeros at first.
        Some(unsafe { &*self.arena().at(offset).cast::<Returned>() })
    }

    /// Wakes the senders that have found this mailbox full, if any sleeps; call it after giving places back.
    pub(crate) fn wake_stalled(&self, mailbox: &Mailbox) {
        if self.head().sleepers.is_anybody_asleep(self.fencing) && mailbox.has_stalled() {
            self.ring_each();
        }
    }

    /// Gives the memory of all mailboxes back, once nobody uses the segment any more.
    pub(super) fn give_mailboxes_back(&self) {
        for rank in 0..self.ranks() {
            let offset = self.mailbox_place(rank).load(Ordering::Acquire);
            if offset != 0 {
                let (arena, bytes) = (
                    Arc::clone(self.arena()),
                    Arena::size_of(bytes(self.ranks())),
                );
                // SAFETY: handed out with this size, kept by nobody, and every rank has let go.
                drop(unsafe { Block::adopt(arena, offset, bytes) });
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::transport::shm::queue::inbox::CELLS;
    use crate::transport::shm::queue::ring::Kind;
    use crate::transport::shm::wait::wait_queue::{Fencing, Sleepers, WaitQueue};
    use loom::sync::Arc;
    use std::time::Duration;

    struct Shared {
        mailbox: Mailbox,
        wait_queue: WaitQueue,
        sleepers: Sleepers,
    }

    fn push(shared: &Shared) -> bool {
        let header = Header {
            call: 0,
            signature: 0,
            bytes: 0,
            channel: 0,
            from: 0,
            kind: Kind::Eager,
        };
        // SAFETY: no bytes are to be written.
        unsafe { shared.mailbox.push(header, |_| ()) }
    }

    /// A sender that finds the mailbox full sleeps, for ever if nobody wakes it; its receiver takes all messages.
    #[test]
    fn who_finds_a_mailbox_full_is_woken() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new(Shared {
                mailbox: Mailbox::new(),
                wait_queue: WaitQueue::new(),
                sleepers: Sleepers::new(),
            });
            (0..CELLS).for_each(|_| assert!(push(&shared)));
            let theirs = Arc::clone(&shared);
            let sender = loom::thread::spawn(move || {
                while !push(&theirs) {
                    theirs
                        .wait_queue
                        .announce(&theirs.sleepers, Fencing::Both, None);
                    let pushed = push(&theirs);
                    if !pushed {
                        theirs.wait_queue.sleep(Duration::MAX);
                    }
                    theirs.wait_queue.rise(&theirs.sleepers);
                    if pushed {
                        break;
                    }
                }
            });
            let (mut position, mut taken) = (0, 0);
            while taken <= CELLS {
                // SAFETY: this thread is the one consumer.
                if unsafe { shared.mailbox.front(position, |_, _| ()) }.is_none() {
                    loom::thread::yield_now();
                    continue;
                }
                // SAFETY: as above, shown just now.
                unsafe { shared.mailbox.release(&mut position) };
                taken += 1;
                if shared.sleepers.is_anybody_asleep(Fencing::Both) && shared.mailbox.has_stalled()
                {
                    shared.wait_queue.wake();
                }
            }
            sender.join().unwrap();
        });
    }
}
