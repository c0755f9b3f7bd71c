//! Phases of a circulant broadcast or reduction: q rounds that repeat, q segments further each time.
//!
//! The first two phases lack rounds or segments and the last one is cut at the last segment; the ones between are alike, so they
//! are one repeat and the schedule has O(lg p) operations however many segments there are.
//!
//! ```text
//! 9 ranks (q = 4), 11 segments      phases of 2, 4, 4, 4 rounds      broadcast: 0, 1, 2, 3      reduction: 3, 2, 1, 0
//! 9 ranks (q = 4), 100 segments     phases 0, 1, 23 × (2, q segments further each time), 25
//! ```
//!
//! Source: Träff: Optimal broadcast schedules in logarithmic time with applications to broadcast, all-broadcast, reduction
//! and all-reduction, 2024.

use crate::pattern::math::ceil_log2;
use crate::schedule::Builder;
use alloc::vec::Vec;
use core::ops::Range;

/// The phases of `segments` segments on `p` ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// Rounds in a phase: ⌈lg p⌉.
    period: u32,
    /// Rounds in all.
    rounds: u32,
}

/// The order of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// A broadcast.
    Forward,
    /// A reduction: the broadcast's rounds backwards.
    Backward,
}

/// The number of rounds: segments − 1 + ⌈lg p⌉, none for one rank.
#[must_use]
pub fn rounds(p: u32, segments: u32) -> u32 {
    match ceil_log2(p) {
        0 => 0,
        period => segments - 1 + period,
    }
}

/// Emits the operations of a round (numbered as in the broadcast); in a repeat their blocks move by the last argument.
pub type Round<'a> = dyn FnMut(&mut Builder, u64, i32) + 'a;

impl Phases {
    /// The phases of `segments` segments on `p` ranks.
    #[must_use]
    pub fn new(p: u32, segments: u32) -> Phases {
        Phases {
            period: ceil_log2(p),
            rounds: rounds(p, segments),
        }
    }

    /// The number of rounds from the first segment's first to the last one's last.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        u64::from(self.rounds)
    }

    /// Rounds in a phase.
    #[must_use]
    pub fn period(&self) -> u64 {
        u64::from(self.period)
    }

    fn count(&self) -> u32 {
        self.rounds.checked_div(self.period).map_or(0, |whole| {
            whole + u32::from(!self.rounds.is_multiple_of(self.period))
        })
    }

    /// The rounds of a phase; the first phase may lack its first ones, as the last is a whole one.
    fn phase(&self, number: u32) -> Range<u64> {
        let end = |phases: u32| {
            let behind = u64::from(self.count() - phases) * self.period();
            self.rounds().saturating_sub(behind)
        };
        end(number)..end(number + 1)
    }

    /// The phases in turn: the number of the first of some that are alike, and how many they are.
    fn turns(&self, direction: Direction) -> Vec<(u32, u32)> {
        let count = self.count();
        let middle = count.saturating_sub(3);
        let mut turns: Vec<(u32, u32)> = (0..count.min(2)).map(|phase| (phase, 1)).collect();
        let first_of_middle = match direction {
            Direction::Forward => 2,
            Direction::Backward => 1 + middle,
        };
        turns.push((first_of_middle, middle));
        turns.extend((count > 2).then(|| (count - 1, 1)));
        if direction == Direction::Backward {
            turns.reverse();
        }
        turns.retain(|&(_, times)| times > 0);
        turns
    }

    /// Emits every round in turn.
    pub fn emit(&self, b: &mut Builder, direction: Direction, round: &mut Round<'_>) {
        for (phase, times) in self.turns(direction) {
            let mut rounds: Vec<u64> = self.phase(phase).collect();
            let mut advance = self.period as i32;
            if direction == Direction::Backward {
                rounds.reverse();
                advance = -advance;
            }
            let mut all = |b: &mut Builder, advance| {
                for &number in &rounds {
                    round(b, number, advance);
                    b.step();
                }
            };
            if times == 1 {
                all(b, 0);
            } else {
                b.repeat(times, 0, |b| all(b, advance));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_its_turn() {
        for (p, segments) in (1..20).flat_map(|p| (1..40).map(move |segments| (p, segments))) {
            let phases = Phases::new(p, segments);
            let all: Vec<u64> = phases
                .turns(Direction::Forward)
                .into_iter()
                .flat_map(|(phase, times)| (phase..phase + times).flat_map(|n| phases.phase(n)))
                .collect();
            assert!(
                all.into_iter().eq(0..phases.rounds()),
                "p = {p}, {segments} segments"
            );
            let mut turns = phases.turns(Direction::Backward);
            turns.reverse();
            for (turn, there) in turns.into_iter().zip(phases.turns(Direction::Forward)) {
                assert_eq!(turn.1, there.1);
                assert_eq!(turn.0 + 1, there.0 + there.1);
            }
        }
    }
}
