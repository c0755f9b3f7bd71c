//! Levels above a blade: links to helpers that are no ranks, and networks between them (C 6).
//!
//! A helper passes messages on; in a barrier helpers exchange among themselves too ([`super::helpers`]).

use crate::simulate::queue::Moment;
use crate::simulate::time::Linear;
use alloc::vec;
use alloc::vec::Vec;

/// A level: every group of so many ranks has one link, out and in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The ranks of a group.
    pub ranks: u32,
    /// L of the link.
    pub latency_ps: u64,
    /// g of the link: what a message occupies it for.
    pub gap: Linear,
    /// Whether the link ends at a helper, a PPE or an Opteron, which takes in a whole message before it sends it on; otherwise it
    /// leads through a network to the links of the other groups.
    pub to_helper: bool,
}

/// The links of all levels, from the blades up.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    levels: Vec<Level>,
    /// When each link is free, by level, group and direction, out first.
    free_ps: Vec<Vec<[Moment; 2]>>,
}

/// A link on a message's way is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// When the link is free again.
    pub free_ps: Moment,
    /// When the message, or its first byte, is at the next link, or all of it where it was going.
    pub there_ps: Moment,
}

impl Levels {
    pub(super) fn new(levels: &[Level], ranks: u32) -> Levels {
        let free_ps = levels
            .iter()
            .map(|level| vec![[0; 2]; ranks.div_ceil(level.ranks) as usize])
            .collect();
        Levels {
            levels: levels.to_vec(),
            free_ps,
        }
    }

    /// The links from one rank to another: up as far as their groups differ, and down again.
    pub(super) fn links(&self, from: u32, to: u32) -> usize {
        let apart = |level: &&Level| from / level.ranks != to / level.ranks;
        2 * self.levels.iter().take_while(apart).count()
    }

    /// How many links lead from a rank to the last helper before the network through which its messages to another go; 0 if
    /// they go through none.
    pub(super) fn helpers(&self, from: u32, to: u32) -> usize {
        let up = self.links(from, to) / 2;
        let to_helper = |level: &&Level| level.to_helper;
        let helpers = self.levels.iter().take_while(to_helper).count();
        if helpers < up { helpers } else { 0 }
    }

    /// A message is at the link with number `link` of its way.
    pub(super) fn pass(
        &mut self,
        now_ps: Moment,
        (from, to): (u32, u32),
        bytes: u64,
        link: usize,
    ) -> Passed {
        let links = self.links(from, to);
        let (at, rank, direction) = match link < links / 2 {
            true => (link, from, 0),
            false => (links - 1 - link, to, 1),
        };
        let level = self.levels[at];
        let free = &mut self.free_ps[at][(rank / level.ranks) as usize][direction];
        let start_ps = now_ps.max(*free);
        *free = start_ps + level.gap.of(bytes);
        let there_ps = match (level.to_helper, direction) {
            (true, _) => *free + level.latency_ps,
            // Through a network the first byte goes ahead, and the link at the other end is occupied as long.
            (false, 0) => start_ps + level.latency_ps,
            (false, _) => *free,
        };
        Passed {
            free_ps: *free,
            there_ps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(fixed_ps: u64, per_byte_fs: u64) -> Linear {
        Linear {
            fixed_ps,
            per_byte_fs,
        }
    }

    /// Two ranks a helper, four a network's link.
    fn levels() -> Levels {
        let helper = Level {
            ranks: 2,
            latency_ps: 100,
            gap: linear(10, 1000),
            to_helper: true,
        };
        let network = Level {
            ranks: 4,
            latency_ps: 1000,
            gap: linear(20, 0),
            to_helper: false,
        };
        Levels::new(&[helper, network], 8)
    }

    fn goes(levels: &mut Levels, from: u32, to: u32, bytes: u64) -> Moment {
        let links = levels.links(from, to);
        (0..links).fold(0, |now_ps, link| {
            levels.pass(now_ps, (from, to), bytes, link).there_ps
        })
    }

    #[test]
    fn a_message_goes_up_as_far_as_it_must() {
        let mut fresh = levels();
        assert_eq!(
            [(0, 1), (0, 2), (0, 4)].map(|(a, b)| fresh.links(a, b)),
            [0, 2, 4]
        );
        // Helper and back: twice 10 + 5 + 100.
        assert_eq!(goes(&mut fresh, 0, 2, 5), 230);
        // The same, and the network's latency and gap.
        assert_eq!(goes(&mut levels(), 0, 4, 5), 230 + 1000 + 20);
    }

    #[test]
    fn messages_of_a_group_share_its_link() {
        let mut levels = levels();
        let first = levels.pass(0, (0, 4), 5, 0);
        let second = levels.pass(0, (1, 5), 5, 0);
        assert_eq!((first.free_ps, second.free_ps), (15, 30));
        assert_eq!(levels.pass(0, (2, 4), 5, 0).free_ps, 15);
    }
}
