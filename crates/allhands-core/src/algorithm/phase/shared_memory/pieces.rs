//! Pieces: blocks that go through a short window one piece behind the other, while two places for a piece take turns.
//!
//! A window has two places for pieces, however long the blocks are, so it may stay in caches that long blocks leave; where what comes out
//! leaves them anyway, it gains little. Where one rank fills or reads for all, it is at one place while the others are at the other one.
//!
//! ```text
//! segments=4      piece     0    1    2    3
//!                 place     a    b    a    b
//! ```
//!
//! Our own arrangement of the windows of Q 4.2.

use super::window::Turns;
use crate::algorithm::{Key, Values};
use crate::schedule::{Blocks, Builder, Shape};
use core::ops::Range;

/// In how many pieces blocks go through windows.
pub const SEGMENTS: Key = Key {
    values: Values::Range { min: 1, max: 256 },
    default: 1,
    about: "pieces of each block, which go through the window one behind the other",
    ..Key::SEGMENTS
};

/// The parts in which all blocks are cut.
pub fn parts(shape: &Shape) -> u32 {
    shape.ranks() * shape.get(SEGMENTS.name)
}

/// How many places for pieces a window has.
#[must_use]
pub fn places(b: &Builder) -> u32 {
    b.get(SEGMENTS.name).min(2)
}

/// The counters where all ranks fill windows of their own and read those of all.
///
/// Who fills a place again needs no word that all have read it: all have filled the other one since, which each did after reading this one. That
/// holds from call to call, too, but for an odd number of pieces, of which the first goes where the last one of the call before was.
pub fn turns_of_all(b: &mut Builder) -> Turns {
    match b.get(SEGMENTS.name) % 2 {
        0 => Turns::unguarded(b, 0),
        _ => {
            let all = b.ranks();
            Turns::new(b, [0, 0], all)
        }
    }
}

/// Piece `segment` of each of the blocks `range` of `of`, which hold all pieces of a block side by side.
#[must_use]
pub fn piece(b: &Builder, segment: u32, of: Blocks, range: Range<u32>) -> Blocks {
    let (segments, count) = (b.get(SEGMENTS.name), range.end - range.start);
    match segments {
        1 => of.slice(range.start, count),
        _ => {
            let first = of.first + range.start * segments + segment;
            Blocks::strided(of.space, first, 1, segments as i32, count)
        }
    }
}

/// The ranks before `own`, and those behind it.
#[must_use]
pub fn all_but(b: &Builder, own: u32) -> [Range<u32>; 2] {
    [0..own, own + 1..b.ranks()]
}
