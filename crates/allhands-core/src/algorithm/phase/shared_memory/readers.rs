//! The readers of a chain's sums: who gets which, where they hear that one is there, and where they say that they have it.
//!
//! ```text
//! 3 ranks          all: of every segment            the root, 1: of every segment      each: of its own segment
//! is there         at 2, whom 0 and 1 watch         at 1                               of segment s at s
//! has been read    1 and 2, each at itself          at 0                               1 and 2, each at itself
//! ```
//!
//! Rank 0, who fills the window, watches all places at which that may be said, but for itself.

use core::ops::Range;

/// Who wants the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// All ranks.
    All,
    /// This one.
    Root(u32),
    /// Each rank the one segment that has its number.
    Each,
}

impl Readers {
    /// The block of its output into which a rank gets a segment, if it wants that.
    pub(super) fn output(self, rank: u32, segment: u32) -> Option<u32> {
        match self {
            Readers::All => Some(segment),
            Readers::Root(root) => (root == rank).then_some(segment),
            Readers::Each => (segment == rank).then_some(0),
        }
    }

    /// The rank at which the last one, who has added its own, says that a segment's sum is there; `None` if nobody else wants it.
    pub(super) fn told_at(self, last: u32, segment: u32) -> Option<u32> {
        match self {
            Readers::All => Some(last),
            Readers::Root(root) => Some(root).filter(|root| *root != last),
            Readers::Each => Some(segment).filter(|reader| *reader != last),
        }
    }

    /// The rank at which a reader says that it has read; `None` where that is rank 0's own affair.
    pub(super) fn says_at(self, reader: u32) -> Option<u32> {
        match self {
            Readers::Root(_) => Some(0),
            Readers::All | Readers::Each => Some(reader).filter(|reader| *reader > 0),
        }
    }

    /// The ranks at which rank 0, of `ranks`, watches that all have read.
    pub(super) fn watched_at(self, ranks: u32) -> Range<u32> {
        match self {
            Readers::Root(_) => 0..1,
            Readers::All | Readers::Each => 1..ranks,
        }
    }
}
