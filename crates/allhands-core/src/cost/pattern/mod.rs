//! The three patterns of messages that algorithms on Cells are made of, one-to-all, ordered tree and butterfly, and the terms of each.
//!
//! ```text
//! one-to-all          ordered tree                 butterfly
//!   0 ─▶ 1              first 0 ─▶ 2                 0 ⇄ 1   2 ⇄ 3
//!   0 ─▶ 2              then  0 ─▶ 1   2 ─▶ 3        0 ⇄ 2   1 ⇄ 3
//!   0 ─▶ 3
//! a gap for each      no gaps, an acknowledgement  no gaps; congestion where
//! further child       before the next child        many messages cross the BIF
//! ```
//!
//! [`recognise`] finds which of them an algorithm makes; the tests hold it against what the formulas of C's tables are made of.
//!
//! Source: Ali, Midkiff, Pai 2010, C 4, figure 4.

mod recognise;

use super::plogp::{ExtendedPlogp, Way};
use alloc::vec::Vec;
pub use recognise::recognise;

/// The children of a level's rank that has the most, all of which get at once: on its own chip, and on the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fan {
    /// nk1: messages inside the chip.
    pub near: u32,
    /// nk2: messages across the BIF.
    pub far: u32,
}

/// A pattern of messages (C 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A tree whose ranks serve all their children at once: its levels, from the root down.
    OneToAll(Vec<Fan>),
    /// A tree whose ranks serve one child at a time, the one with the longest path first.
    OrderedTree {
        /// Messages inside a chip on the longest path, …
        near: u32,
        /// … and across the BIF.
        far: u32,
    },
    /// Pairs that exchange, at another distance in each round.
    Butterfly {
        /// Rounds inside a chip, …
        near: u32,
        /// … and across the BIF.
        far: u32,
        /// The messages that cross the BIF at once in such a round.
        crossing: u32,
    },
}

/// How often each time of the extended PLogP model is part of a pattern's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// L1(m) + L1(1): data and an acknowledgement inside a chip.
    pub near_rounds: u32,
    /// L2(m) + L2(1): across the BIF.
    pub far_rounds: u32,
    /// q1: how often g1(m).
    pub near_gaps: u32,
    /// q2: how often g2(m).
    pub far_gaps: u32,
    /// n of C(m, n).
    pub crossing: u32,
}

impl Pattern {
    /// The terms of the pattern. Of one-to-all, a level with a child on the other chip takes as long as that child, and the gaps are
    /// q1 = Σ (dk − nk2 − 1) and q2 = Σ (dk − nk1 − 1), none where there is no such child.
    #[must_use]
    pub fn terms(&self) -> Terms {
        match *self {
            Pattern::OneToAll(ref levels) => levels.iter().fold(Terms::default(), |sum, fan| {
                let far = u32::from(fan.far > 0);
                Terms {
                    near_rounds: sum.near_rounds + 1 - far,
                    far_rounds: sum.far_rounds + far,
                    near_gaps: sum.near_gaps + fan.near.saturating_sub(1),
                    far_gaps: sum.far_gaps + fan.far.saturating_sub(1),
                    crossing: 0,
                }
            }),
            Pattern::OrderedTree { near, far } => Terms {
                near_rounds: near,
                far_rounds: far,
                ..Terms::default()
            },
            Pattern::Butterfly {
                near,
                far,
                crossing,
            } => Terms {
                near_rounds: near,
                far_rounds: far,
                crossing,
                ..Terms::default()
            },
        }
    }
}

impl Terms {
    /// The time of messages of `bytes` bytes, in microseconds, where those inside a chip go by `near`.
    #[must_use]
    pub fn time_us(&self, machine: &ExtendedPlogp, near: &Way, bytes: f64) -> f64 {
        let far = &machine.between;
        f64::from(self.near_rounds) * near.round_us(bytes)
            + f64::from(self.far_rounds) * far.round_us(bytes)
            + f64::from(self.near_gaps) * near.gap.at_us(bytes)
            + f64::from(self.far_gaps) * far.gap.at_us(bytes)
            + machine.contention_us(bytes, self.crossing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::plogp::Measured;
    use alloc::vec;

    /// C 4's examples: figure 4 a has two gaps, figure 4 b costs 2 (L(m) + L(1)), and as one-to-all it would have one gap.
    #[test]
    fn the_terms_are_those_of_figure_4() {
        let fan = |near, far| Fan { near, far };
        let flat = Pattern::OneToAll(vec![fan(3, 0)]).terms();
        assert_eq!((flat.near_rounds, flat.near_gaps), (1, 2));
        let ordered = Pattern::OrderedTree { near: 2, far: 0 }.terms();
        assert_eq!((ordered.near_rounds, ordered.near_gaps), (2, 0));
        let unordered = Pattern::OneToAll(vec![fan(2, 0), fan(1, 0)]).terms();
        assert_eq!((unordered.near_rounds, unordered.near_gaps), (2, 1));
    }

    /// Table 1's one-to-all on 16 SPEs: q1 = 6 and q2 = p − 9.
    #[test]
    fn a_level_across_the_bif_has_gaps_of_both_kinds() {
        let terms = Pattern::OneToAll(vec![Fan { near: 7, far: 8 }]).terms();
        let expected = Terms {
            far_rounds: 1,
            near_gaps: 6,
            far_gaps: 7,
            ..Terms::default()
        };
        assert_eq!(terms, expected);
    }

    #[test]
    fn a_pattern_takes_the_time_of_its_terms() {
        let way = |latency_us, notice_us, gap_us| Way {
            latency: Measured::new(vec![(1, latency_us)]),
            notice_us,
            gap: Measured::new(vec![(1, gap_us)]),
            acknowledgement_gap_us: 0.0,
        };
        let machine = ExtendedPlogp {
            inside: way(1.0, 0.5, 0.25),
            between: way(10.0, 5.0, 2.0),
            contention: vec![(16, Measured::new(vec![(1, 100.0)]))],
            ..ExtendedPlogp::default()
        };
        let us =
            |pattern: &Pattern, bytes| pattern.terms().time_us(&machine, &machine.inside, bytes);
        let fan = Fan { near: 3, far: 2 };
        assert_eq!(us(&Pattern::OneToAll(vec![fan]), 64.0), 15.0 + 0.5 + 2.0);
        assert_eq!(us(&Pattern::OrderedTree { near: 3, far: 1 }, 64.0), 19.5);
        let butterfly = Pattern::Butterfly {
            near: 3,
            far: 1,
            crossing: 16,
        };
        assert_eq!(us(&butterfly, 256.0), 19.5);
        assert_eq!(us(&butterfly, 512.0), 119.5);
    }
}
