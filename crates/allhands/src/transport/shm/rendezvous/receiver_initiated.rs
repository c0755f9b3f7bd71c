//! Ready to receive: where a receiver that waits for a long message wants it, so that a sender who comes later writes it there.
//!
//! ```text
//!          receiver opens             sender accepts           sender has written
//!     SHUT ──────────────▶ OPEN ────────────────────▶ TAKEN ─────────────────────▶ WRITTEN
//!       ▲                   │                           │
//!       └─ receiver shuts ──┘                           └── could not write ──▶ FAILED
//! ```
//!
//! A message that was announced costs its sender the time until its receiver has looked for it, and until it has been copied;
//! where ranks share cores that may be the time of all other messages of the step. Who finds its receiver ready writes and goes on.
//!
//! There is one for each ring, for the message that its receiver waits for next on a channel that carries one message in a
//! call. A sender that has announced that message does not look for a ready-to-receive any more; so a receiver that finds it
//! announced may shut its own. Opening counts: a sender that has read one accepts that one or none.

use crate::transport::shm::sync::{AtomicU64, Ordering};

/// Bits of the state below the count of openings.
const BITS: u32 = 3;
const PHASE: u64 = (1 << BITS) - 1;

const SHUT: u64 = 0;
const OPEN: u64 = 1;
const TAKEN: u64 = 2;
const WRITTEN: u64 = 3;
const FAILED: u64 = 4;

/// Which message is meant, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The sequence number of the call.
    pub(crate) call: u64,
    /// The hash of the signatures of this call and all before it.
    pub(crate) signature: u64,
    pub(crate) channel: u16,
    pub(crate) bytes: usize,
}

/// Where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// As a send descriptor's place says it.
    pub(crate) place: u64,
    /// The receiver's process.
    pub(crate) process: u32,
}

/// What has become of a ready-to-receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Nobody has come.
    None,
    /// The sender is writing.
    Coming,
    /// The message is there.
    Here,
    /// The sender could not write, and sends it another way.
    Declined,
}

/// A ready-to-receive (UCX's RTR); zeros are one that is shut.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct ReadyToReceive {
    /// How often it was opened, and the phase.
    state: AtomicU64,
    call: AtomicU64,
    signature: AtomicU64,
    channel: AtomicU64,
    bytes: AtomicU64,
    place: AtomicU64,
    process: AtomicU64,
}

impl ReadyToReceive {
    #[cfg(any(test, loom))]
    pub(crate) fn new() -> ReadyToReceive {
        let zero = || AtomicU64::new(0);
        ReadyToReceive {
            state: zero(),
            call: zero(),
            signature: zero(),
            channel: zero(),
            bytes: zero(),
            place: zero(),
            process: zero(),
        }
    }

    /// Tells the sender of the ring. For the receiver, when the last one was answered or shut.
    pub(crate) fn open(&self, wanted: Wanted, room: Room) {
        let last = self.state.load(Ordering::Relaxed);
        debug_assert!(!matches!(last & PHASE, OPEN | TAKEN), "one at a time");
        self.call.store(wanted.call, Ordering::Relaxed);
        self.signature.store(wanted.signature, Ordering::Relaxed);
        self.channel
            .store(u64::from(wanted.channel), Ordering::Relaxed);
        self.bytes.store(wanted.bytes as u64, Ordering::Relaxed);
        self.place.store(room.place, Ordering::Relaxed);
        self.process
            .store(u64::from(room.process), Ordering::Relaxed);
        let next = ((last >> BITS) + 1) << BITS;
        // Release: who sees it open sees what is wanted, and that the memory is free to be written.
        self.state.store(next | OPEN, Ordering::Release);
    }

    /// Accepts, if just this message is wanted: the caller then writes it, and [answers](ReadyToReceive::answer). For the sender.
    pub(crate) fn accept(&self, wanted: Wanted) -> Option<Room> {
        let open = self.state.load(Ordering::Acquire);
        let meant = open & PHASE == OPEN
            && self.call.load(Ordering::Relaxed) == wanted.call
            && self.signature.load(Ordering::Relaxed) == wanted.signature
            && self.channel.load(Ordering::Relaxed) == u64::from(wanted.channel)
            && self.bytes.load(Ordering::Relaxed) == wanted.bytes as u64;
        let taken = open & !PHASE | TAKEN;
        let (won, lost) = (Ordering::AcqRel, Ordering::Relaxed);
        // Still open as it was read: then all of it was of one opening, and nothing changes before the answer.
        let accepted = meant && self.state.compare_exchange(open, taken, won, lost).is_ok();
        accepted.then(|| Room {
            place: self.place.load(Ordering::Relaxed),
            process: self.process.load(Ordering::Relaxed) as u32,
        })
    }

    /// Says that the message is written, or that it could not be. For the sender, which touches the room no more.
    pub(crate) fn answer(&self, written: bool) {
        let taken = self.state.load(Ordering::Relaxed);
        debug_assert_eq!(taken & PHASE, TAKEN, "it was accepted");
        let phase = if written { WRITTEN } else { FAILED };
        // Release: the receiver that sees the answer sees the bytes.
        self.state.store(taken & !PHASE | phase, Ordering::Release);
    }

    /// What has become of it. For the receiver.
    pub(crate) fn look(&self) -> Answer {
        // Acquire: as for `answer`.
        match self.state.load(Ordering::Acquire) & PHASE {
            TAKEN => Answer::Coming,
            WRITTEN => Answer::Here,
            FAILED => Answer::Declined,
            _ => Answer::None,
        }
    }

    /// Takes it back, unless it was accepted; what had become of it. For the receiver.
    pub(crate) fn shut(&self) -> Answer {
        let open = self.state.load(Ordering::Relaxed);
        let (won, lost) = (Ordering::Relaxed, Ordering::Relaxed);
        if open & PHASE == OPEN {
            let shut = open & !PHASE | SHUT;
            let _ = self.state.compare_exchange(open, shut, won, lost);
        }
        self.look()
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::transport::shm::sync::UnsafeCell;
    use loom::sync::Arc;

    const WANTED: Wanted = Wanted {
        call: 3,
        signature: 4,
        channel: 5,
        bytes: 1,
    };
    const ROOM: Room = Room {
        place: 6,
        process: 7,
    };

    struct Shared {
        ready_to_receive: ReadyToReceive,
        into: UnsafeCell<u8>,
    }

    // SAFETY: the model checker finds accesses that are not ordered.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    /// The sender comes once, for the second of two; the receiver takes the first back, and the second if `shuts`.
    fn model(shuts: bool, writes: bool) {
        loom::model(move || {
            let shared = Arc::new(Shared {
                ready_to_receive: ReadyToReceive::new(),
                into: UnsafeCell::new(0),
            });
            let theirs = Arc::clone(&shared);
            let sender = loom::thread::spawn(move || {
                let room = theirs.ready_to_receive.accept(WANTED);
                if let Some(room) = room {
                    assert_eq!(room, ROOM);
                    // SAFETY: accepted, so the sender's until the answer.
                    theirs.into.with_mut(|b| unsafe { *b = 9 });
                    theirs.ready_to_receive.answer(writes);
                }
                room.is_some()
            });
            let earlier = Wanted { call: 2, ..WANTED };
            let elsewhere = Room { place: 1, ..ROOM };
            shared.ready_to_receive.open(earlier, elsewhere);
            assert_eq!(shared.ready_to_receive.shut(), Answer::None);
            // SAFETY: shut, or never accepted.
            shared.into.with_mut(|b| unsafe { *b = 1 });
            shared.ready_to_receive.open(WANTED, ROOM);
            let mut answer = Answer::None;
            if shuts {
                answer = shared.ready_to_receive.shut();
            }
            while answer == Answer::Coming {
                loom::thread::yield_now();
                answer = shared.ready_to_receive.look();
            }
            if shuts {
                // SAFETY: shut or answered.
                shared.into.with_mut(|b| unsafe { *b += 1 });
            }
            let accepted = sender.join().unwrap();
            let expected = match (accepted, writes) {
                (false, _) => Answer::None,
                (true, true) => Answer::Here,
                (true, false) => Answer::Declined,
            };
            assert_eq!(shared.ready_to_receive.look(), expected);
            // SAFETY: the sender has ended.
            let value = shared.into.with(|b| unsafe { *b });
            assert_eq!(value, if accepted { 9 } else { 1 } + u8::from(shuts));
        });
    }

    #[test]
    fn who_finds_a_ready_receiver_writes_before_it_is_seen() {
        model(false, true);
    }

    #[test]
    fn a_ready_to_receive_is_taken_back_or_answered() {
        model(true, true);
        model(true, false);
    }
}
