//! The rendezvous: a long message that the receiver reads from the sender's memory, or from where the sender bounces it.
//!
//! ```text
//!            sender posts           receiver claims            receiver is done
//!     IDLE ───────────────▶ POSTED ────────────────▶ COPYING ──────────────────▶ DONE
//!                            ▲ └─ sender revokes ─▶ REVOKED       │
//!                            └───── sender bounces ──── REFUSED ◀──┘ receiver may not read the sender's memory
//! ```
//!
//! Claim and revoke are compare-and-swaps from POSTED, so exactly one wins. A sender that loses waits
//! for the end of the copy. So nobody reads the sender's memory after DONE or REVOKED.

use crate::transport::shm::sync::{AtomicU32, AtomicU64, Ordering, yield_now};

const IDLE: u32 = 0;
const POSTED: u32 = 1;
const COPYING: u32 = 2;
const DONE: u32 = 3;
const REVOKED: u32 = 4;
const REFUSED: u32 = 5;

/// How a revocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revoked {
    /// Nobody reads, and nobody will; but the receiver may still find the descriptor.
    Unread,
    /// The receiver has read the message and forgotten the descriptor.
    Read,
}

/// A message offered to its receiver; zeros are one that has not been used. What else the receiver has to know of the message shares
/// its line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Descriptor {
    state: AtomicU32,
    /// Bytes that are there already, where the message is being bounced.
    filled: AtomicU64,
}

/// What a receiver finds when it asks for a message.
#[derive(Debug)]
pub(crate) enum Asked<'a> {
    /// The right to read it.
    Granted(Claim<'a>),
    /// It refused the message, and the sender has not bounced it yet.
    NotYet,
    /// The sender has taken it back.
    Revoked,
}

impl Descriptor {
    #[cfg(loom)]
    pub(crate) fn new() -> Descriptor {
        Descriptor {
            state: AtomicU32::new(IDLE),
            filled: AtomicU64::new(0),
        }
    }

    /// Whether the message is not with the receiver.
    pub(crate) fn is_free(&self) -> bool {
        // Acquire: the receiver's reads come before whatever the sender writes next.
        matches!(self.state.load(Ordering::Acquire), IDLE | DONE)
    }

    /// Offers the message, of which `filled` bytes are there.
    ///
    /// What the receiver is to find (the iovecs of the message) is written before. Only the sender calls this, and only when
    /// the descriptor [is free](Descriptor::is_free) or [refused](Descriptor::is_refused).
    pub(crate) fn post(&self, filled: u64) {
        self.filled.store(filled, Ordering::Relaxed);
        self.state.store(POSTED, Ordering::Release);
    }

    /// Says how many bytes of a bounced message are there.
    pub(crate) fn fill(&self, filled: u64) {
        // Release: whoever sees the number sees the bytes.
        self.filled.store(filled, Ordering::Release);
    }

    /// How many bytes of a bounced message are there.
    pub(crate) fn filled(&self) -> u64 {
        self.filled.load(Ordering::Acquire)
    }

    /// Whether the receiver has read the message.
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: as for `is_free`.
        self.state.load(Ordering::Acquire) == DONE
    }

    /// Whether the receiver may not read the sender's memory and asks for it to be bounced.
    pub(crate) fn is_refused(&self) -> bool {
        self.state.load(Ordering::Acquire) == REFUSED
    }

    /// Whether the sender has taken the message back.
    pub(crate) fn is_revoked(&self) -> bool {
        self.state.load(Ordering::Acquire) == REVOKED
    }

    /// Takes a posted message back, or waits until the receiver has read it, or `is_gone` says that it never will.
    pub(crate) fn revoke(&self, is_gone: impl Fn() -> bool) -> Revoked {
        let (won, lost) = (Ordering::AcqRel, Ordering::Acquire);
        loop {
            let state = self.state.load(Ordering::Acquire);
            match state {
                DONE | IDLE => return Revoked::Read,
                // A copy ends by itself: the receiver waits for nothing in it, and a panic ends it too.
                COPYING if !is_gone() => yield_now(),
                _ => {
                    let taken = self.state.compare_exchange(state, REVOKED, won, lost);
                    if taken.is_ok() {
                        return Revoked::Unread;
                    }
                }
            }
        }
    }

    /// Ends a message that was posted and has come in parts, the last of which has been read.
    pub(crate) fn read_by_parts(&self) {
        if let Asked::Granted(claim) = self.claim() {
            drop(claim);
        }
    }

    /// Ends a claim that was [kept](Claim::keep).
    pub(crate) fn end(&self) {
        drop(Claim { descriptor: self });
    }

    /// Asks for the message.
    pub(crate) fn claim(&self) -> Asked<'_> {
        let (won, lost) = (Ordering::Acquire, Ordering::Acquire);
        match self.state.compare_exchange(POSTED, COPYING, won, lost) {
            Ok(_) => Asked::Granted(Claim { descriptor: self }),
            Err(REFUSED) => Asked::NotYet,
            Err(_) => Asked::Revoked,
        }
    }
}

/// The receiver's right to read a message; ends it when dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    descriptor: &'a Descriptor,
}

impl Claim<'_> {
    /// How many bytes of a bounced message are there.
    pub(crate) fn filled(&self) -> u64 {
        self.descriptor.filled()
    }

    /// Leaves it to [`Descriptor::end`] to end the claim.
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }

    /// Gives the message back unread: the sender is to bounce it.
    pub(crate) fn refuse(self) {
        self.descriptor.state.store(REFUSED, Ordering::Release);
        std::mem::forget(self);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // Release: our reads come before whatever the sender writes after it sees DONE. A sender that took us for dead
        // and revoked the message finds it so.
        let (won, lost) = (Ordering::Release, Ordering::Relaxed);
        let state = &self.descriptor.state;
        let ended = state.compare_exchange(COPYING, DONE, won, lost);
        debug_assert!(ended.is_ok() || ended == Err(REVOKED), "we were reading");
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::transport::shm::sync::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicBool;

    struct Shared {
        descriptor: Descriptor,
        buffer: UnsafeCell<u8>,
        sent: AtomicBool,
    }

    // SAFETY: the model checker finds accesses to the buffer that are not ordered.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    fn shared() -> Arc<Shared> {
        Arc::new(Shared {
            descriptor: Descriptor::new(),
            buffer: UnsafeCell::new(0),
            sent: AtomicBool::new(false),
        })
    }

    fn send(shared: &Shared) {
        // SAFETY: not posted yet, so the sender owns the buffer; the flag below passes the address on.
        shared.buffer.with_mut(|b| unsafe { *b = 7 });
        shared.descriptor.post(1);
        shared.sent.store(true, Ordering::Release);
    }

    /// Reads the message once, unless it was taken back; whether it was read.
    fn receive(shared: &Shared, refuse: bool) -> bool {
        while !shared.sent.load(Ordering::Acquire) {
            loom::thread::yield_now();
        }
        let mut refuse = refuse;
        loop {
            match shared.descriptor.claim() {
                Asked::Granted(claim) if refuse => {
                    refuse = false;
                    claim.refuse();
                }
                Asked::Granted(_claim) => {
                    // SAFETY: the claim is what is being tested.
                    shared.buffer.with(|b| assert_eq!(unsafe { *b }, 7));
                    return true;
                }
                Asked::NotYet => loom::thread::yield_now(),
                Asked::Revoked => return false,
            }
        }
    }

    /// Every interleaving; where a message is refused and posted again there are too many, so those with up to three
    /// preemptions.
    #[test]
    fn the_sender_writes_again_only_after_the_copy() {
        for refuse in [false, true] {
            let mut model = loom::model::Builder::new();
            model.preemption_bound = refuse.then_some(3);
            model.check(move || {
                let shared = shared();
                let theirs = Arc::clone(&shared);
                let receiver = loom::thread::spawn(move || receive(&theirs, refuse));
                send(&shared);
                while !shared.descriptor.is_done() {
                    if shared.descriptor.is_refused() {
                        shared.descriptor.post(1);
                    }
                    loom::thread::yield_now();
                }
                // SAFETY: done, so the buffer is the sender's again.
                shared.buffer.with_mut(|b| unsafe { *b = 9 });
                assert!(receiver.join().unwrap());
            });
        }
    }

    /// A message that comes in two parts, one after the other in the same buffer: the receiver refuses it when it has read the first.
    #[test]
    fn the_next_part_is_written_only_when_the_last_was_read() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = shared();
            let theirs = Arc::clone(&shared);
            let receiver = loom::thread::spawn(move || {
                while !theirs.sent.load(Ordering::Acquire) {
                    loom::thread::yield_now();
                }
                for part in [7, 8] {
                    let claim = loop {
                        match theirs.descriptor.claim() {
                            Asked::Granted(claim) => break claim,
                            Asked::NotYet | Asked::Revoked => loom::thread::yield_now(),
                        }
                    };
                    // SAFETY: the claim is what is being tested.
                    theirs.buffer.with(|b| assert_eq!(unsafe { *b }, part));
                    if part == 7 {
                        claim.refuse();
                    }
                }
            });
            send(&shared);
            while !shared.descriptor.is_refused() {
                loom::thread::yield_now();
            }
            // SAFETY: refused, so the buffer is the sender's again.
            shared.buffer.with_mut(|b| unsafe { *b = 8 });
            shared.descriptor.post(1);
            while !shared.descriptor.is_done() {
                loom::thread::yield_now();
            }
            // SAFETY: done, so the buffer is the sender's again.
            shared.buffer.with_mut(|b| unsafe { *b = 9 });
            receiver.join().unwrap();
        });
    }

    #[test]
    fn a_revoked_message_is_read_before_or_never() {
        loom::model(|| {
            let shared = shared();
            let theirs = Arc::clone(&shared);
            let receiver = loom::thread::spawn(move || receive(&theirs, false));
            send(&shared);
            let revoked = shared.descriptor.revoke(|| false);
            // SAFETY: revoked, so the buffer is the sender's again.
            shared.buffer.with_mut(|b| unsafe { *b = 9 });
            let read = receiver.join().unwrap();
            assert_eq!(read, revoked == Revoked::Read);
        });
    }

    #[test]
    fn what_is_filled_can_be_read() {
        loom::model(|| {
            let shared = shared();
            let theirs = Arc::clone(&shared);
            let receiver = loom::thread::spawn(move || {
                while theirs.descriptor.filled() < 1 {
                    loom::thread::yield_now();
                }
                // SAFETY: filled, so the sender does not touch it until the message is done.
                theirs.buffer.with(|b| assert_eq!(unsafe { *b }, 7));
            });
            shared.descriptor.post(0);
            // SAFETY: not filled yet.
            shared.buffer.with_mut(|b| unsafe { *b = 7 });
            shared.descriptor.fill(1);
            receiver.join().unwrap();
        });
    }
}
