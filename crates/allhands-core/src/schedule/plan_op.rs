//! An operation of a plan, packed: a plan has as many as a rank has messages, and simulators hold those of all ranks.

use super::OpKind;
use core::ops::Range;

/// An operation of a plan, in half a line of the cache.
///
/// The runs of bytes that it reads, writes and combines stand in one table one behind another: in the plan's, or, where its
/// blocks move with the iteration, in the cursor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub struct PlanOp {
    /// What it does; peers, channels, flags as in the schedule.
    pub kind: OpKind,
    /// The first of its runs in the table.
    start: u32,
    /// How many it reads, how many it writes, and how many more it reads: [`RUN_BITS`] each, from below.
    runs: u64,
    /// Its length, [`TOKEN`] and [`MOVES`].
    bytes: u64,
}

/// Bits for the number of runs in a list.
const RUN_BITS: u32 = 21;
/// In `bytes`: a message without data.
const TOKEN: u64 = 1 << 63;
/// In `bytes`: its runs move with the iteration.
const MOVES: u64 = 1 << 62;

/// Where the runs of an operation stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// The first.
    pub start: u32,
    /// How many each list has: what it reads, what it writes, and what else it reads.
    pub counts: [u32; 3],
    /// Whether they move with the iteration, and so stand in the cursor's table.
    pub moving: bool,
}

impl PlanOp {
    /// The most runs that a list can have.
    pub const MOST_RUNS: u32 = (1 << RUN_BITS) - 1;

    /// An operation on `bytes` bytes in such runs; a token is a message without data, which is sent all the same. `None` if
    /// a list has more than [`PlanOp::MOST_RUNS`], or there are more bytes than any memory has.
    #[inline]
    #[must_use]
    pub fn new(kind: OpKind, runs: Runs, bytes: usize, token: bool) -> Option<PlanOp> {
        let Runs {
            start,
            counts: [from, into, other],
            moving,
        } = runs;
        let bytes = bytes as u64;
        if from.max(into).max(other) > PlanOp::MOST_RUNS || bytes >= MOVES {
            return None;
        }
        let packed = |count: u32, place: u32| u64::from(count) << (place * RUN_BITS);
        Some(PlanOp {
            kind,
            start,
            runs: packed(from, 0) | packed(into, 1) | packed(other, 2),
            bytes: bytes | if token { TOKEN } else { 0 } | if moving { MOVES } else { 0 },
        })
    }

    #[inline(always)]
    fn count(&self, place: u32) -> usize {
        ((self.runs >> (place * RUN_BITS)) & u64::from(PlanOp::MOST_RUNS)) as usize
    }

    /// Whether it is a message without data (which is sent all the same).
    #[inline(always)]
    #[must_use]
    pub fn is_token(&self) -> bool {
        self.bytes & TOKEN != 0
    }

    /// Whether its runs move with the iteration.
    #[inline(always)]
    #[must_use]
    pub fn moves(&self) -> bool {
        self.bytes & MOVES != 0
    }

    /// The length of the message or operand in bytes; of iteration 0, if it moves.
    #[inline(always)]
    #[must_use]
    pub fn bytes(&self) -> usize {
        (self.bytes & (MOVES - 1)) as usize
    }

    /// The places in the table of the runs that it reads.
    #[inline(always)]
    #[must_use]
    pub fn source(&self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.count(0)
    }

    /// The places of those that it writes.
    #[inline(always)]
    #[must_use]
    pub fn target(&self) -> Range<usize> {
        let start = self.start as usize + self.count(0);
        start..start + self.count(1)
    }

    /// The places of the right operand of a reduce, of the source of a get or get-reduce.
    #[inline(always)]
    #[must_use]
    pub fn other(&self) -> Range<usize> {
        let start = self.start as usize + self.count(0) + self.count(1);
        start..start + self.count(2)
    }

    /// The places of all its runs.
    #[inline]
    #[must_use]
    pub fn all(&self) -> Range<usize> {
        self.start as usize..self.other().end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_takes_half_a_line_and_gives_back_what_it_was_made_of() {
        assert_eq!(size_of::<PlanOp>(), 32);
        let most = PlanOp::MOST_RUNS;
        for counts in [[0, 0, 0], [1, 2, 3], [most, 0, most], [0, most, 1]] {
            for (bytes, token, moving) in [(0, true, false), (1 << 61, false, true)] {
                let runs = Runs {
                    start: 7,
                    counts,
                    moving,
                };
                let op = PlanOp::new(OpKind::Copy, runs, bytes, token).expect("it fits");
                let [from, into, other] = counts.map(|count| count as usize);
                assert_eq!(op.source(), 7..7 + from);
                assert_eq!(op.target(), 7 + from..7 + from + into);
                assert_eq!(op.other(), 7 + from + into..7 + from + into + other);
                assert_eq!(op.all(), 7..7 + from + into + other);
                assert_eq!(
                    (op.bytes(), op.is_token(), op.moves()),
                    (bytes, token, moving)
                );
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let runs = |counts| Runs {
            counts,
            ..Runs::default()
        };
        for place in 0..3 {
            let mut counts = [1; 3];
            counts[place] = PlanOp::MOST_RUNS + 1;
            assert_eq!(PlanOp::new(OpKind::Copy, runs(counts), 8, false), None);
        }
        assert_eq!(
            PlanOp::new(OpKind::Copy, runs([1; 3]), 1 << 62, false),
            None
        );
    }
}
