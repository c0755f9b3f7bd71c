//! The rendezvous: a long message that the receiver reads straight from the sender's memory.
//!
//! ```text
//!            sender posts           receiver claims            receiver is done
//!     IDLE ───────────────▶ POSTED ────────────────▶ COPYING ──────────────────▶ DONE
//!                              └─ sender revokes ─▶ REVOKED
//! ```
//!
//! Claim and revoke are compare-and-swaps from POSTED, so exactly one wins. A sender that loses waits
//! for the end of the copy. So nobody reads the sender's memory after DONE or REVOKED.

use super::segments::Segment;
use super::sync::{AtomicU32, Ordering, UnsafeCell, yield_now};
use std::ptr::NonNull;

const IDLE: u32 = 0;
const POSTED: u32 = 1;
const COPYING: u32 = 2;
const DONE: u32 = 3;
const REVOKED: u32 = 4;

/// How a revocation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revoked {
    /// Nobody reads, and nobody will; but the receiver may still find the descriptor.
    Unread,
    /// The receiver has read the message and forgotten the descriptor.
    Read,
}

/// A message offered to its receiver.
pub(crate) struct Descriptor {
    state: AtomicU32,
    segments: UnsafeCell<Vec<Segment>>,
}

// SAFETY: `segments` is written by the sender before it posts and read by the receiver between its
// claim and DONE; the state orders the two. The addresses in it are only used as `Claim` says.
unsafe impl Sync for Descriptor {}
// SAFETY: as above; nothing in it belongs to a thread.
unsafe impl Send for Descriptor {}

impl Descriptor {
    pub(crate) fn new() -> Descriptor {
        Descriptor {
            state: AtomicU32::new(IDLE),
            segments: UnsafeCell::new(Vec::new()),
        }
    }

    /// Offers a message that lies in `segments`.
    ///
    /// # Safety
    /// Only the sender calls this, and only when the descriptor is new or [`Descriptor::is_done`].
    /// The segments stay readable and unwritten until it is done or revoked. The address of the
    /// descriptor reaches the receiver by an operation that this call happens before.
    pub(crate) unsafe fn post(&self, segments: impl Iterator<Item = Segment>) {
        self.segments.with_mut(|at| {
            // SAFETY: before it is posted nobody but the sender, which we are, looks at it.
            let list = unsafe { &mut *at };
            list.clear();
            list.extend(segments);
        });
        self.state.store(POSTED, Ordering::Release);
    }

    /// Whether the receiver has read the message.
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: the receiver's reads come before whatever the sender writes next.
        self.state.load(Ordering::Acquire) == DONE
    }

    /// Takes a posted message back, or waits until the receiver has read it.
    pub(crate) fn revoke(&self) -> Revoked {
        let (won, lost) = (Ordering::AcqRel, Ordering::Acquire);
        if self
            .state
            .compare_exchange(POSTED, REVOKED, won, lost)
            .is_ok()
        {
            return Revoked::Unread;
        }
        // A copy ends by itself: the receiver waits for nothing in it, and a panic ends it too.
        while !self.is_done() {
            yield_now();
        }
        Revoked::Read
    }
}

/// The receiver's right to read a message; ends it when dropped, also by a panic.
pub(crate) struct Claim {
    // A pointer, not a reference: the sender may free the descriptor as soon as it is DONE.
    descriptor: NonNull<Descriptor>,
}

impl Claim {
    /// Claims the message at `descriptor`; `None` if the sender has taken it back.
    ///
    /// # Safety
    /// The pointer came with a message and has not been claimed before; a descriptor lives until it
    /// is DONE, and when revoked for as long as a receiver may find it.
    pub(crate) unsafe fn new(descriptor: NonNull<Descriptor>) -> Option<Claim> {
        // SAFETY: not yet claimed, so not DONE, so alive.
        let state = unsafe { &(*descriptor.as_ptr()).state };
        let (won, lost) = (Ordering::Acquire, Ordering::Acquire);
        state
            .compare_exchange(POSTED, COPYING, won, lost)
            .is_ok()
            .then_some(Claim { descriptor })
    }

    /// Shows the message's segments, which are readable while `read` runs.
    pub(crate) fn with<R>(&self, read: impl FnOnce(&[Segment]) -> R) -> R {
        // SAFETY: claimed and not DONE before `self` is dropped, so the descriptor is alive and the
        // sender does not touch it.
        let segments = unsafe { &(*self.descriptor.as_ptr()).segments };
        // SAFETY: as above.
        segments.with(|at| read(unsafe { &*at }))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // SAFETY: not DONE before this store, so alive at it; it is the last access.
        let state = unsafe { &(*self.descriptor.as_ptr()).state };
        // Release: our reads come before whatever the sender writes after it sees DONE.
        state.store(DONE, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
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
        // SAFETY: as above. The receiver in the model reads the buffer by name.
        unsafe { shared.descriptor.post(std::iter::empty()) };
        shared.sent.store(true, Ordering::Release);
    }

    /// Reads the message once, unless it was taken back; whether it was read.
    fn receive(shared: &Shared) -> bool {
        while !shared.sent.load(Ordering::Acquire) {
            loom::thread::yield_now();
        }
        // SAFETY: the model claims once and the descriptor outlives it.
        let claim = unsafe { Claim::new(NonNull::from(&shared.descriptor)) };
        let Some(claim) = claim else { return false };
        // SAFETY: the claim is what is being tested.
        claim.with(|_| shared.buffer.with(|b| assert_eq!(unsafe { *b }, 7)));
        true
    }

    #[test]
    fn the_sender_writes_again_only_after_the_copy() {
        loom::model(|| {
            let shared = shared();
            let theirs = Arc::clone(&shared);
            let receiver = loom::thread::spawn(move || receive(&theirs));
            send(&shared);
            while !shared.descriptor.is_done() {
                loom::thread::yield_now();
            }
            // SAFETY: done, so the buffer is the sender's again.
            shared.buffer.with_mut(|b| unsafe { *b = 9 });
            assert!(receiver.join().unwrap());
        });
    }

    #[test]
    fn a_revoked_message_is_read_before_or_never() {
        loom::model(|| {
            let shared = shared();
            let theirs = Arc::clone(&shared);
            let receiver = loom::thread::spawn(move || receive(&theirs));
            send(&shared);
            let revoked = shared.descriptor.revoke();
            // SAFETY: revoked, so the buffer is the sender's again.
            shared.buffer.with_mut(|b| unsafe { *b = 9 });
            let read = receiver.join().unwrap();
            assert_eq!(read, revoked == Revoked::Read);
        });
    }
}
