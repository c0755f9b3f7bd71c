//! The memory of a node: who copies how fast, and when.
//!
//! A copy takes of the bandwidth what its processor can use, and of that what is left by those that came before it: so all
//! together never have more than there is. A processor that could not use all of it takes no more than its rank's equal part,
//! so that ranks which copy at once are served alike.

use super::super::queue::Moment;
use alloc::vec;
use alloc::vec::Vec;

/// The whole bandwidth, in the unit of shares.
const WHOLE: u64 = 1 << 16;

/// What of the bandwidth is taken, from now on.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// The part of each rank.
    part: u64,
    /// From each of these moments on, so much is taken; of the last one nothing, for ever.
    taken: Vec<(Moment, u64)>,
}

impl Memory {
    /// The memory of a node with so many ranks.
    pub(super) fn new(ranks: u32) -> Memory {
        Memory {
            part: (WHOLE / u64::from(ranks.max(1))).max(1),
            taken: vec![(0, 0)],
        }
    }

    /// A copy that starts at `start_ps` and takes its processor `alone_ps`, and the memory, if that did nothing else,
    /// `served_ps`; gives when it is done.
    pub(super) fn copy(&mut self, start_ps: Moment, alone_ps: u64, served_ps: u64) -> Moment {
        let end_ps = start_ps + alone_ps;
        if served_ps == 0 {
            return end_ps;
        }
        // At most this much at once.
        let most = match alone_ps > served_ps {
            true => (served_ps * WHOLE).div_ceil(alone_ps).min(self.part),
            false => WHOLE,
        };
        let (mut at, mut left) = (self.split(start_ps), served_ps * WHOLE);
        loop {
            let (from_ps, taken) = self.taken[at];
            let share = most.min(WHOLE - taken);
            let until_ps = self.taken.get(at + 1).map_or(Moment::MAX, |next| next.0);
            let room = (until_ps - from_ps).saturating_mul(share);
            if room >= left {
                let done_ps = from_ps + left.div_ceil(share);
                self.split(done_ps);
                self.taken[at].1 += share;
                return done_ps.max(end_ps);
            }
            self.taken[at].1 += share;
            left -= room;
            at += 1;
        }
    }

    /// Has a moment start a span of its own; gives which.
    fn split(&mut self, at_ps: Moment) -> usize {
        let after = self.taken.partition_point(|(from_ps, _)| *from_ps <= at_ps);
        let (from_ps, taken) = self.taken[after - 1];
        if from_ps == at_ps {
            return after - 1;
        }
        self.taken.insert(after, (at_ps, taken));
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_have_no_more_than_there_is() {
        let mut memory = Memory::new(4);
        // Each could take half of the bandwidth, and has a quarter.
        let mut copy = |start_ps| memory.copy(start_ps, 200, 100);
        assert_eq!([copy(0), copy(0), copy(0), copy(0)], [400; 4]);
        assert_eq!([copy(0), copy(1000)], [800, 1400]);
        // On a node of two it has its half; there is room between what others took.
        let mut memory = Memory::new(2);
        let mut copy = |start_ps| memory.copy(start_ps, 200, 100);
        assert_eq!([copy(0), copy(0), copy(0)], [200, 200, 400]);
        assert_eq!([copy(1000), copy(500)], [1200, 700]);
    }

    #[test]
    fn who_can_use_all_takes_what_others_leave() {
        let mut memory = Memory::new(1);
        // Three quarters, then what is left of it, then all.
        assert_eq!(memory.copy(0, 400, 300), 400);
        assert_eq!(memory.copy(0, 100, 100), 400);
        assert_eq!(memory.copy(0, 100, 100), 500);
        assert_eq!(memory.copy(0, 70, 0), 70);
    }
}
