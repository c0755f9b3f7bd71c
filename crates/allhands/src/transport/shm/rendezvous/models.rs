//! Models of whole messages: a sender that waits for its message to be read helps to copy it, until the receiver is done and
//! the sender writes its memory again; of one sender for two messages in a row, and of two at the same time.
//!
//! The parts have models of their own, beside them. What is to be seen here is that they hold together: that nobody touches
//! memory of the other's after the claim has ended, that pieces asked for in one message are not taken for those of the next, and
//! that a receiver which asks two senders loses nothing of either.

use super::descriptor::{Asked, Descriptor};
use super::sender_assisted::{SenderAssist, Target};
use crate::transport::shm::sync::{Ordering, UnsafeCell};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::thread::yield_now;

const PIECES: usize = 2;

type Memory = [UnsafeCell<u8>; PIECES];

/// What a sender and its receiver share of the messages that go from one to the other.
struct Shared {
    descriptor: Descriptor,
    assist: SenderAssist,
    /// How many messages the receiver can find.
    sent: AtomicU32,
    /// The sender's memory, which it writes again for each message.
    from: Memory,
    /// The receiver's, another for each.
    into: [Memory; 2],
}

// SAFETY: the model checker finds accesses that are not ordered.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

fn shared() -> Arc<Shared> {
    let memory = || [UnsafeCell::new(0), UnsafeCell::new(0)];
    Arc::new(Shared {
        descriptor: Descriptor::new(),
        assist: SenderAssist::new(),
        sent: AtomicU32::new(0),
        from: memory(),
        into: [memory(), memory()],
    })
}

/// The value of a piece of a message.
fn value(message: usize, piece: usize) -> u8 {
    (10 * (message + 1) + piece) as u8
}

/// The target of a message, which says which one it is.
fn target(message: usize) -> Target {
    Target::Memory {
        place: message as u64,
        process: 7,
    }
}

impl Shared {
    /// Writes a message and announces it.
    fn announce(&self, message: usize) {
        for (piece, at) in self.from.iter().enumerate() {
            // SAFETY: not posted, or done: the sender's own.
            at.with_mut(|byte| unsafe { *byte = value(message, piece) });
        }
        self.descriptor.post(PIECES as u64);
        self.sent.store(message as u32 + 1, Ordering::Release);
    }

    /// Helps with a message that was announced until it is read; where it `fails`, the sender cannot write to its receiver.
    fn assist(&self, message: usize, fails: bool) {
        while !self.descriptor.is_done() {
            match self.assist.take_to_assist(PIECES) {
                Some(piece) => {
                    assert_eq!((piece.target, piece.bytes), (target(message), 1));
                    if !fails {
                        self.copy(message, piece.start);
                    }
                    self.assist.done(!fails);
                }
                None => yield_now(),
            }
        }
        for at in &self.from {
            // SAFETY: done, so nobody else reads it.
            at.with_mut(|byte| unsafe { *byte = 0 });
        }
    }

    /// Copies a piece, which whoever does it has taken.
    fn copy(&self, message: usize, piece: usize) {
        // SAFETY: claimed and not done, so the sender does not write it.
        let byte = self.from[piece].with(|byte| unsafe { *byte });
        // SAFETY: taken, so nobody else's.
        self.into[message][piece].with_mut(|into| unsafe { *into = byte });
    }

    /// Claims a message that has come, and keeps the claim; whether one has.
    fn claim(&self, message: usize) -> bool {
        if self.sent.load(Ordering::Acquire) <= message as u32 {
            return false;
        }
        match self.descriptor.claim() {
            Asked::Granted(claim) => claim.keep(),
            other => panic!("nobody refuses or revokes it: {other:?}"),
        }
        true
    }

    /// Copies a piece that nobody has taken, if there is one.
    fn copy_next(&self, message: usize) -> bool {
        let piece = self.assist.take(PIECES as u64);
        piece
            .inspect(|piece| self.copy(message, *piece as usize))
            .is_some()
    }

    /// Ends a message of which `own` pieces were copied here, and looks at it.
    fn end(&self, message: usize, own: u64) {
        let theirs = self.assist.close() - own;
        while self.assist.copied().0 < theirs {
            yield_now();
        }
        if !self.assist.copied().1 {
            (0..PIECES).for_each(|piece| self.copy(message, piece));
        }
        self.descriptor.end();
        for (piece, at) in self.into[message].iter().enumerate() {
            // SAFETY: all are copied.
            at.with(|byte| assert_eq!(unsafe { *byte }, value(message, piece)));
        }
    }
}

/// Two messages in a row, from the same memory: what was asked for in the first is not taken for the second.
#[test]
fn a_sender_helps_with_one_message_at_a_time() {
    for fails in [false, true] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let shared = shared();
            let theirs = Arc::clone(&shared);
            let sender = loom::thread::spawn(move || {
                for message in 0..2 {
                    theirs.announce(message);
                    theirs.assist(message, fails);
                }
            });
            for message in 0..2 {
                while !shared.claim(message) {
                    yield_now();
                }
                shared.assist.open(1, target(message));
                let mut own = 0;
                while shared.copy_next(message) {
                    own += 1;
                }
                shared.end(message, own);
            }
            sender.join().unwrap();
        });
    }
}

/// A message that a receiver has claimed among several.
struct Begun {
    sender: usize,
    own: u64,
}

/// Two messages at the same time: the receiver takes pieces of the one of which most is left.
#[test]
fn two_senders_are_received_from_at_the_same_time() {
    for fails in [false, true] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(1);
        model.max_branches = 10_000;
        model.check(move || {
            let all = [shared(), shared()];
            all.iter().for_each(|shared| shared.announce(0));
            let start = |theirs: Arc<Shared>| loom::thread::spawn(move || theirs.assist(0, fails));
            let senders = all.clone().map(start);
            receive_all(&all);
            for sender in senders {
                sender.join().unwrap();
            }
        });
    }
}

fn receive_all(all: &[Arc<Shared>; 2]) {
    let mut begun = Vec::new();
    for (sender, shared) in all.iter().enumerate() {
        assert!(shared.claim(0), "it was announced");
        shared.assist.open_to_all(1, target(0));
        begun.push(Begun { sender, own: 0 });
    }
    while !begun.is_empty() {
        let left = |one: &&mut Begun| all[one.sender].assist.left(PIECES as u64);
        let most = begun.iter_mut().max_by_key(left);
        let copied = most.is_some_and(|one| {
            let copied = all[one.sender].copy_next(0);
            one.own += u64::from(copied);
            copied
        });
        let before = begun.len();
        begun.retain(|one| {
            let shared = &all[one.sender];
            let is_over = one.own + shared.assist.copied().0 == PIECES as u64;
            if is_over {
                shared.end(0, one.own);
            }
            !is_over
        });
        if !copied && begun.len() == before {
            yield_now();
        }
    }
}
