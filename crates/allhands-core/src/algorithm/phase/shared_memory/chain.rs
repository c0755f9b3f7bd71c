//! Chain: a reduction in one window that all ranks share, each adding its own vector in turn, segment by segment.
//!
//! Nobody copies its vector to where others read it: the sum comes by, and stays in the caches, as there are places in the window
//! for only so many segments. The sum of a segment is there when the last rank has added its own.
//!
//! ```text
//! 3 ranks, segment s      0: copy in, ↑ added@1      1: watch added@1, ⊕ own, ↑ added@2      2: watch added@2, ⊕ own, ↑ full
//! a half of the places later, who wants the sum      watch full, get, and when a half is read ↑ read
//! ```
//!
//! Our own arrangement of the windows and flags of Q 4.2.

use super::readers::Readers;
use super::window;
use crate::algorithm::{Claims, Key, Values};
use crate::schedule::{Blocks, Builder, Shape, Side};

/// Segments in a half of the window: one half is filled while the other is read.
const HALF: u32 = 4;

/// In how many segments the vector comes by.
pub const SEGMENTS: Key = Key {
    values: Values::Range { min: 1, max: 1024 },
    default: 8,
    about: "pieces in which the sum goes from rank to rank",
    ..Key::SEGMENTS
};

/// The window and the flags of one call.
struct Chain {
    window: Blocks,
    segments: u32,
    /// Segments in a half of the window.
    half: u32,
    readers: Readers,
    /// Raised at a rank by the one before it.
    added: u16,
    /// Raised by the last rank when it has added its own.
    full: u16,
    /// Raised by who has read a half.
    read: u16,
}

/// Combines all vectors, in rank order.
pub fn reduce(b: &mut Builder, readers: Readers) {
    let input = b.input();
    if b.ranks() == 1 {
        let output = b.output();
        b.copy(input, output);
        return;
    }
    let chain = Chain::new(b, readers);
    for segment in 0..chain.segments {
        chain.add(b, segment, input.at(segment));
        if segment >= chain.half {
            chain.get(b, segment - chain.half);
        }
    }
    for segment in chain.segments.saturating_sub(chain.half)..chain.segments {
        chain.get(b, segment);
    }
}

impl Chain {
    fn new(b: &mut Builder, readers: Readers) -> Chain {
        let segments = b.parts();
        let half = if readers == Readers::Each {
            segments
        } else {
            HALF
        };
        Chain {
            window: window::slots(b, segments.min(2 * half)),
            segments,
            half,
            readers,
            added: b.flag(0),
            full: b.flag(0),
            read: b.flag(segments.div_ceil(half).min(2)),
        }
    }

    fn place(&self, segment: u32) -> Blocks {
        self.window.at(segment % (2 * self.half))
    }

    /// Adds a segment of this rank's vector to the sum of those before it.
    fn add(&self, b: &mut Builder, segment: u32, own: Blocks) {
        let (rank, last) = (b.rank(), b.ranks() - 1);
        if rank == 0 {
            self.take(b, segment);
            b.copy(own, self.place(segment));
        } else {
            b.watch(rank, self.added, 1);
            b.step();
            b.put_reduce(0, Side::Right, own, self.place(segment));
        }
        b.step();
        if rank < last {
            b.notify(rank + 1, self.added);
        } else if let Some(at) = self.readers.told_at(last, segment) {
            b.notify(at, self.full);
        }
    }

    /// Waits until the half that a segment is the first of has been read: by the call before, for the first two.
    fn take(&self, b: &mut Builder, segment: u32) {
        let count = match segment {
            0 => self.segments.div_ceil(self.half).min(2),
            _ if segment >= 2 * self.half && segment.is_multiple_of(self.half) => 1,
            _ => return,
        };
        for at in self.readers.watched_at(b.ranks()) {
            b.watch(at, self.read, count);
        }
        b.step();
    }

    /// Gets the sum of a segment, if this rank wants it.
    fn get(&self, b: &mut Builder, segment: u32) {
        let (rank, last, output) = (b.rank(), b.ranks() - 1, b.output());
        let Some(into) = self.readers.output(rank, segment) else {
            return;
        };
        if rank != last
            && let Some(at) = self.readers.told_at(last, segment)
        {
            b.watch(at, self.full, 1);
            b.step();
        }
        b.get_from(0, self.place(segment), output.at(into));
        b.step();
        let ends_half = (segment + 1).is_multiple_of(self.half) || segment + 1 == self.segments;
        let is_done = ends_half || self.readers == Readers::Each;
        if let Some(at) = self.readers.says_at(rank).filter(|_| is_done) {
            b.notify(at, self.read);
        }
    }
}

/// What it costs: all others put each segment into rank 0's window, and get no more from there. Steps are limits where the sum
/// comes by in segments: how much of them runs side by side depends on how many ranks the chain has for how many segments in a half.
#[must_use]
pub fn claims(shape: &Shape, readers: Readers) -> Claims {
    let others = shape.ranks() - 1;
    if readers == Readers::Each {
        // The sums come by one behind the other; the last is got.
        let blocks = u64::from(shape.ranks());
        return Claims {
            ports: others,
            steps: if others > 0 { 3 * others + 1 } else { 0 },
            volume: u64::from(others) * blocks,
            work: if others > 0 { blocks } else { 0 },
        };
    }
    let segments = shape.get("segments");
    // The chain for each half and once more, and beside that two steps, to add it and to get it, for each segment.
    let halves = segments.div_ceil(HALF);
    Claims {
        ports: others,
        steps: 2 * (others * (halves + 1) + segments + 1),
        volume: u64::from(others) * u64::from(segments),
        work: if others > 0 { segments.into() } else { 0 },
    }
    .with_steps_at_most()
}
