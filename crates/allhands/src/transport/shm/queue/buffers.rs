//! Medium buffers: payloads of some kilobytes that two ranks pass to and fro.
//!
//! A medium buffer belongs to one of the two at a time. Who receives one keeps it for a message of its own: the lines are in its cache
//! then, and nobody else's, so to write them costs nothing. Two ranks that exchange messages so move every line once, where a
//! buffer that always carries the same direction moves twice, to its reader and back. Who has more than its share of medium buffers
//! hands one back at once: a rank that only sends always has some.
//!
//! ```text
//! rank 0 has a b, rank 1 has c d      0 ─ a ─▶ 1, 1 ─ c ─▶ 0      rank 0 has b c, rank 1 has d a
//! ```
//!
//! A medium buffer's code says where it lies: among those of the ring that carries a message, or, plus [`MEDIUM_BUFFERS`], of the ring the other
//! way.
//!
//! Pipeline buffers are the same for longer messages, mostly of ranks that exchange: memory of the arena, a few for each pair that uses
//! some, whose code is the offset there. Of a message that goes one way all are handed back as they are read. A message that is longer than a pipeline buffer goes in several, for which its sender waits: a rank
//! keeps no more than it has made, those that it was handed back included, so as many as the other has made are the other's as
//! soon as it is read. (Who has none has sent those that it kept when it handed others back; whoever has read these had taken
//! the others back before.) And a rank that waits for pipeline buffers puts aside what has come for later calls, which may be in all of them.

use crate::transport::shm::sync::{AtomicU64, Ordering};
use crate::transport::shm::tuning::PIPELINE_BUFFERS;

/// Medium buffers of each ring: as many as its sender has at first.
#[cfg(not(loom))]
pub(crate) const MEDIUM_BUFFERS: u32 = 4;
/// Medium buffers of each ring.
#[cfg(loom)]
pub(crate) const MEDIUM_BUFFERS: u32 = 1;

/// Medium buffers of both rings together.
const ALL: usize = 2 * MEDIUM_BUFFERS as usize;

/// The most medium buffers that a rank keeps; whatever it does, the other has, or is about to be handed, the rest.
const MEDIUM_BUFFERS_KEPT: usize = MEDIUM_BUFFERS as usize;

const _: () = assert!(
    2 * PIPELINE_BUFFERS <= ALL || cfg!(loom),
    "pipeline buffers of both ranks have room"
);

/// A part of a message, or all of it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Part {
    /// Where it begins in the message, in bytes.
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    /// The whole message's bytes.
    pub(crate) of: usize,
}

impl Part {
    /// All of a message.
    pub(crate) fn whole(bytes: usize) -> Part {
        Part {
            start: 0,
            bytes,
            of: bytes,
        }
    }

    /// Whether no part follows.
    pub(crate) fn is_last(&self) -> bool {
        self.start + self.bytes == self.of
    }
}

/// What stands in the cell of a part that is in a pipeline buffer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Pipelined {
    pub(crate) offset: u64,
    pub(crate) part: Part,
    /// Where the descriptor's entry of a message that goes one way lies in the arena; 0: its receiver sends one at the same time.
    pub(crate) entry: u64,
}

/// The medium buffers, or pipeline buffers, that a rank has for messages to one other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    codes: [u64; ALL],
    count: usize,
    /// The most that it keeps.
    most: usize,
    /// How many the other has handed back, as far as this rank has looked.
    taken_back: u64,
}

impl Held {
    /// The medium buffers that a rank has at first.
    pub(crate) fn medium_buffers() -> Held {
        let mut held = Held::nothing(MEDIUM_BUFFERS_KEPT);
        (0..u64::from(MEDIUM_BUFFERS)).for_each(|code| held.keep(code));
        held
    }

    /// The pipeline buffers that a rank has at first.
    pub(crate) fn pipeline_buffers() -> Held {
        Held::nothing(0)
    }

    fn nothing(most: usize) -> Held {
        Held {
            codes: [0; ALL],
            count: 0,
            most,
            taken_back: 0,
        }
    }

    /// One of them, the one that came last, so that its lines are near; or one that was handed back.
    pub(crate) fn take(&mut self, handed_back: &HandedBack) -> Option<u64> {
        self.next(handed_back)?;
        self.pop()
    }

    /// The one that is taken next, unless another comes.
    pub(crate) fn next(&mut self, handed_back: &HandedBack) -> Option<u64> {
        if self.count == 0 {
            self.take_back(handed_back);
        }
        let last = self.count.checked_sub(1)?;
        Some(self.codes[last])
    }

    /// Takes all that were handed back: so the other's line comes here once for several messages.
    fn take_back(&mut self, handed_back: &HandedBack) {
        while let Some(code) = handed_back.take(&mut self.taken_back) {
            self.keep(code);
        }
    }

    /// Whether the rank may make one pipeline buffer more.
    pub(crate) fn may_make(&self) -> bool {
        self.most < PIPELINE_BUFFERS
    }

    /// Whether it has made none: then it keeps none, and none is handed back to it.
    pub(crate) fn has_made_none(&self) -> bool {
        self.most == 0
    }

    /// Counts a pipeline buffer that the rank makes, as many of which it may keep.
    pub(crate) fn make(&mut self) {
        self.most += 1;
    }

    /// Keeps one that was received, or hands it back to `theirs`, if it has its share together with what was handed back to it,
    /// in `ours`.
    pub(crate) fn keep_or_hand_back(&mut self, code: u64, ours: &HandedBack, theirs: &HandedBack) {
        self.take_back(ours);
        if self.has_room() {
            self.keep(code);
        } else {
            theirs.put(code);
        }
    }

    fn pop(&mut self) -> Option<u64> {
        self.count = self.count.checked_sub(1)?;
        Some(self.codes[self.count])
    }

    /// Whether there is room for one more.
    pub(crate) fn has_room(&self) -> bool {
        self.count < self.most
    }

    /// Keeps one.
    pub(crate) fn keep(&mut self, code: u64) {
        self.codes[self.count] = code;
        self.count += 1;
    }
}

/// The code, for the other direction, of a medium buffer that was received.
pub(crate) fn mirrored(buffer: u64) -> u64 {
    (buffer + u64::from(MEDIUM_BUFFERS)) % (2 * u64::from(MEDIUM_BUFFERS))
}

/// What the receiver of a ring has handed back to its sender; zeros: nothing.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct HandedBack {
    count: AtomicU64,
    codes: [AtomicU64; ALL],
}

impl HandedBack {
    #[cfg(any(test, loom))]
    pub(crate) fn new() -> HandedBack {
        HandedBack {
            count: AtomicU64::new(0),
            codes: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Hands one back. For the receiver alone.
    pub(crate) fn put(&self, code: u64) {
        let count = self.count.load(Ordering::Relaxed);
        // There are no more than places, so the sender has taken what was here.
        self.codes[count as usize % ALL].store(code, Ordering::Relaxed);
        // Release: our reads of it come before the sender's next writes, and it sees the code.
        self.count.store(count + 1, Ordering::Release);
    }

    /// Takes one that was handed back, as the one after `taken` others. For the sender alone.
    fn take(&self, taken: &mut u64) -> Option<u64> {
        // Acquire: as for `put`.
        if self.count.load(Ordering::Acquire) == *taken {
            return None;
        }
        let code = self.codes[*taken as usize % ALL].load(Ordering::Relaxed);
        *taken += 1;
        Some(code)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_only_sends_never_runs_out() {
        let (mut sender, mut receiver) = (Held::medium_buffers(), Held::medium_buffers());
        let handed_back = HandedBack::new();
        for message in 0..100 {
            let code = sender.take(&handed_back);
            let code = code.unwrap_or_else(|| panic!("nothing for message {message}"));
            if receiver.has_room() {
                receiver.keep(mirrored(code));
            } else {
                handed_back.put(code);
            }
        }
        assert_eq!(receiver.count, MEDIUM_BUFFERS_KEPT);
    }

    /// Two ranks that send one another messages of many parts, in every order of some thousands, never both wait for pipeline buffers.
    #[test]
    fn who_waits_for_a_pipeline_buffer_gets_one() {
        for seed in 0..2000u64 {
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut below = |most: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % most
            };
            let backs = [HandedBack::new(), HandedBack::new()];
            let mut held = [Held::pipeline_buffers(), Held::pipeline_buffers()];
            let mut code = 0;
            let mut on_the_way: [Vec<u64>; 2] = Default::default();
            let mut left = [below(12), below(12)];
            let mut idle = 0;
            while left.iter().any(|l| *l > 0) || on_the_way.iter().any(|w| !w.is_empty()) {
                let (me, sends) = (below(2) as usize, below(2) == 0);
                idle += 1;
                assert!(idle < 1000, "seed {seed}: {held:?}");
                if !sends && !on_the_way[1 - me].is_empty() {
                    let got = on_the_way[1 - me].remove(0);
                    held[me].keep_or_hand_back(got, &backs[me], &backs[1 - me]);
                    idle = 0;
                } else if sends && left[me] > 0 {
                    let buffer = held[me].take(&backs[me]).or_else(|| {
                        // Either may have made its most for all others already.
                        let may = below(2) == 0 && held[me].may_make();
                        may.then(|| {
                            held[me].make();
                            code += 1;
                            code
                        })
                    });
                    let Some(buffer) = buffer else {
                        // Who has made none does not wait, but sends the message another way.
                        left[me] = if held[me].most == 0 { 0 } else { left[me] };
                        continue;
                    };
                    on_the_way[me].push(buffer);
                    left[me] -= 1;
                    idle = 0;
                }
                if left == [0, 0] && on_the_way.iter().all(Vec::is_empty) && below(8) > 0 {
                    left = [below(12), below(12)];
                }
            }
        }
    }

    #[test]
    fn ranks_that_exchange_write_what_they_read_last() {
        let mut held = [Held::medium_buffers(), Held::medium_buffers()];
        let mut last = None;
        for _ in 0..5 {
            let [a, b] = &mut held;
            let (to_b, to_a) = (a.pop().unwrap(), b.pop().unwrap());
            assert!(last.is_none_or(|last| last == (to_b, to_a)));
            a.keep(mirrored(to_a));
            b.keep(mirrored(to_b));
            last = Some((mirrored(to_a), mirrored(to_b)));
        }
    }
}
