//! Recursive multiplying: exchanges within groups that grow by a factor r each level; doubling is r = 2.
//!
//! Before level i the ranks stand in aligned subtrees of r^i (the last one clipped at p), and everybody holds the
//! blocks of its own subtree. At level i the r neighbouring subtrees of a group exchange: a rank meets those with the
//! same offset in the other subtrees. This is recursive doubling (T 4.1.1) and, for k = r − 1 ports, Standard Exchange
//! (Q 5.1.2; its "(p + (k+1)) mod N" wraps within the group, not round all ranks).
//!
//! Where p is no power of r, one subtree of a group may be clipped to b ranks. The ranks of the full subtrees with
//! offset b or more then have no partner in it, and miss its blocks; those with lower offsets spread them inside
//! each full subtree, the number of holders growing r-fold in each correction step. Such corrections make
//! all groups full in effect, "as if the number of processes had been a power" (T 4.1.1). For r = 2 there are
//! ⌊lg p⌋ − (trailing zero bits of p) of them and ⌈lg p⌉ exchanges: 2⌊lg p⌋ steps at most for even p, as the paper
//! bounds it, and one more for odd p that is above 1.
//!
//! ```text
//! p = 5, r = 2     exchange     01 23 4        0-1 2-3
//!                  exchange     0123 4         0-2 1-3
//!                  exchange     01234          0-4
//!                  correction                  0→1
//!                  correction                  0→2 1→3
//! ```

use super::math::{ceil_log, power_at_most};
use alloc::vec::Vec;
use core::ops::Range;

/// What happens in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The subtrees of each group exchange what they hold.
    Exchange,
    /// The blocks of a clipped subtree spread inside the full ones.
    Correction {
        /// The number of the correction within its level, from 0.
        substep: u32,
    },
}

/// One step of the algorithm, the same for all ranks; many a rank idles in a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number among all steps, from 0.
    pub number: u32,
    /// The level: subtrees have radix^`level` ranks before it and radix^(`level` + 1) after it and its corrections.
    pub level: u32,
    /// What happens.
    pub phase: Phase,
}

/// What one rank does with one peer in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The other rank.
    pub peer: u32,
    /// The blocks it sends there, if any.
    pub send: Option<Range<u32>>,
    /// The blocks it receives from there, if any.
    pub receive: Option<Range<u32>>,
}

/// Recursive multiplying of `p` ranks with a radix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiplying {
    p: u32,
    radix: u32,
}

/// One rank's view of its group at one level.
struct GroupView {
    /// Ranks in a full subtree.
    width: u32,
    /// The rank's own subtree, clipped.
    own: Range<u32>,
    /// Ranks of the group, clipped.
    group: Range<u32>,
}

impl GroupView {
    /// The clipped subtree of the group, if it has one besides full ones.
    fn clipped(&self) -> Option<Range<u32>> {
        let size = self.group.len() as u32;
        let rest = size % self.width;
        (rest != 0 && size > self.width).then(|| self.group.end - rest..self.group.end)
    }
}

impl Multiplying {
    /// Recursive multiplying over `p` ranks; radix 2 is recursive doubling.
    ///
    /// # Panics
    /// If `p` is 0 or `radix` is below 2.
    pub fn new(p: u32, radix: u32) -> Self {
        assert!(
            p >= 1 && radix >= 2,
            "no recursive multiplying of {p} ranks by {radix}"
        );
        Self { p, radix }
    }

    /// The number of levels: ⌈log_radix p⌉.
    pub fn levels(&self) -> u32 {
        ceil_log(self.radix, self.p)
    }

    /// The ranks whose blocks `rank` holds before `level` (and all its subtree with it); the whole world after the
    /// last.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn held(&self, rank: u32, level: u32) -> Range<u32> {
        assert!(rank < self.p, "rank {rank} of {}", self.p);
        let width = power_at_most(self.radix, level, self.p);
        let first = rank - rank % width;
        first..first + width.min(self.p - first)
    }

    /// The ranks that `rank` exchanges with at `level`: those that differ from it only in that digit. They start with
    /// the next higher digit and wrap, so that all ranks of a group load different ports. For radix 2 it is
    /// `rank` XOR 2^`level`, if there is such a rank.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn partners(&self, rank: u32, level: u32) -> impl Iterator<Item = u32> {
        let GroupView { width, own, group } = self.view(rank, level);
        let offset = rank - own.start;
        let subtrees = (group.len() as u32).div_ceil(width);
        let mine = (own.start - group.start) / width;
        (1..subtrees)
            .map(move |turn| group.start + (mine + turn) % subtrees * width)
            // No subtree but the last can be too short, and its offset may lie beyond p, even beyond 32 bits.
            .filter(move |&first| offset < group.end - first)
            .map(move |first| first + offset)
    }

    /// The clipped subtree of `rank`'s group at `level`, if it has one besides full ones.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn clipped(&self, rank: u32, level: u32) -> Option<Range<u32>> {
        self.view(rank, level).clipped()
    }

    /// The number of corrections that follow the exchange of `level`: 0 unless a group has a clipped subtree.
    pub fn corrections(&self, level: u32) -> u32 {
        // Only the last group can be clipped, so the last rank knows.
        let view = self.view(self.p - 1, level);
        view.clipped().map_or(0, |clipped| {
            ceil_log(self.radix, view.width.div_ceil(clipped.len() as u32))
        })
    }

    /// All steps in order; the same list for all ranks.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for level in 0..self.levels() {
            let corrections =
                (0..self.corrections(level)).map(|substep| Phase::Correction { substep });
            for phase in core::iter::once(Phase::Exchange).chain(corrections) {
                steps.push(Step {
                    number: steps.len() as u32,
                    level,
                    phase,
                });
            }
        }
        steps
    }

    /// What `rank` does in `step` in an allgather, where block i is rank i's contribution; empty if it idles.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn transfers(&self, rank: u32, step: Step) -> Vec<Transfer> {
        match step.phase {
            Phase::Exchange => self
                .partners(rank, step.level)
                .map(|peer| Transfer {
                    peer,
                    send: Some(self.held(rank, step.level)),
                    receive: Some(self.held(peer, step.level)),
                })
                .collect(),
            Phase::Correction { substep } => self.correction(rank, step.level, substep),
        }
    }

    /// How many messages `rank` sends and receives in all steps.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn messages(&self, rank: u32) -> (u64, u64) {
        let steps = self.steps().into_iter();
        let transfers = steps.flat_map(|step| self.transfers(rank, step));
        transfers.fold((0, 0), |(sent, came), transfer| {
            let is_some = |range: Option<Range<u32>>| u64::from(range.is_some());
            (
                sent + is_some(transfer.send),
                came + is_some(transfer.receive),
            )
        })
    }

    fn correction(&self, rank: u32, level: u32, substep: u32) -> Vec<Transfer> {
        let view = self.view(rank, level);
        let Some(missing) = view.clipped() else {
            return Vec::new();
        };
        if view.own == missing {
            return Vec::new();
        }
        let offset = rank - view.own.start;
        // Holders are the offsets below this before the substep; each serves radix − 1 others at that distance.
        let holders = u64::from(power_at_most(self.radix, substep, self.p)) * missing.len() as u64;
        let holders = u32::try_from(holders).unwrap_or(u32::MAX);
        if offset < holders {
            return (1..self.radix)
                .map_while(|turn| {
                    turn.checked_mul(holders)?
                        .checked_add(offset)
                        .filter(|&to| to < view.width)
                })
                .map(|to| Transfer {
                    peer: view.own.start + to,
                    send: Some(missing.clone()),
                    receive: None,
                })
                .collect();
        }
        if offset / holders < self.radix {
            let peer = view.own.start + offset % holders;
            return alloc::vec![Transfer {
                peer,
                send: None,
                receive: Some(missing)
            }];
        }
        Vec::new()
    }

    fn view(&self, rank: u32, level: u32) -> GroupView {
        GroupView {
            width: power_at_most(self.radix, level, self.p),
            own: self.held(rank, level),
            group: self.held(rank, level + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Runs the allgather on sets of blocks and checks both ends of every transfer.
    fn gather(p: u32, radix: u32) {
        let pattern = Multiplying::new(p, radix);
        let mut held: Vec<Vec<bool>> = (0..p)
            .map(|rank| (0..p).map(|block| block == rank).collect())
            .collect();
        for step in pattern.steps() {
            let before = held.clone();
            if step.phase == Phase::Exchange {
                for rank in 0..p {
                    let range = pattern.held(rank, step.level);
                    let found = (0..p).filter(|&block| before[rank as usize][block as usize]);
                    assert!(found.eq(range), "p = {p}, radix = {radix}, {step:?}");
                }
            }
            for rank in 0..p {
                let transfers = pattern.transfers(rank, step);
                let ports = |of: fn(&Transfer) -> bool| {
                    transfers.iter().filter(|&one| of(one)).count() as u32
                };
                assert!(
                    ports(|one| one.send.is_some()) < radix
                        && ports(|one| one.receive.is_some()) < radix
                );
                for transfer in transfers {
                    let back = pattern.transfers(transfer.peer, step);
                    let mirrored = Transfer {
                        peer: rank,
                        send: transfer.receive.clone(),
                        receive: transfer.send.clone(),
                    };
                    assert_eq!(back.iter().filter(|&one| *one == mirrored).count(), 1);
                    for block in transfer.send.into_iter().flatten() {
                        assert!(before[rank as usize][block as usize]);
                        let there = &mut held[transfer.peer as usize][block as usize];
                        assert!(
                            !core::mem::replace(there, true),
                            "block {block} comes twice"
                        );
                    }
                }
            }
        }
        assert!(
            held.iter().flatten().all(|&one| one),
            "p = {p}, radix = {radix}"
        );
    }

    #[test]
    fn every_rank_gathers_every_block_exactly_once() {
        for p in 1..=70 {
            for radix in (2..=6).chain([p.max(2), p + 1]) {
                gather(p, radix);
            }
        }
        gather(81, 3);
        gather(125, 5);
        gather(127, 2);
    }

    #[test]
    fn step_counts_are_those_of_the_paper() {
        for p in 1_u32..=5000 {
            let steps = Multiplying::new(p, 2).steps().len() as u32;
            let floor = p.ilog2();
            let ceil = floor + u32::from(!p.is_power_of_two());
            assert_eq!(
                steps,
                ceil + floor
                    - if ceil == floor {
                        floor
                    } else {
                        p.trailing_zeros()
                    }
            );
            assert!(steps <= 2 * floor + p % 2);
            for radix in 2..=5 {
                let steps = Multiplying::new(p, radix).steps().len() as u32;
                assert!(steps <= 2 * p.ilog(radix) + 1);
                // The bound of Q (4).
                assert!(steps <= radix * ceil_log(radix, p));
            }
        }
    }

    #[test]
    fn doubling_partners_are_exclusive_ors() {
        for p in 1..=64 {
            let pattern = Multiplying::new(p, 2);
            for rank in 0..p {
                for level in 0..pattern.levels() {
                    let peer = rank ^ (1 << level);
                    let expected = if peer < p { vec![peer] } else { vec![] };
                    assert_eq!(pattern.partners(rank, level).collect::<Vec<_>>(), expected);
                }
            }
        }
    }

    #[test]
    fn nine_ranks_with_two_ports_as_figure_4_of_qian() {
        let pattern = Multiplying::new(9, 3);
        assert_eq!(pattern.partners(4, 0).collect::<Vec<_>>(), [5, 3]);
        assert_eq!(pattern.partners(4, 1).collect::<Vec<_>>(), [7, 1]);
        assert_eq!(pattern.steps().len(), 2);
    }

    #[test]
    fn huge_worlds_answer_for_one_rank() {
        for p in [131_072, 131_071, u32::MAX, u32::MAX - 1, (1 << 31) + 1] {
            for radix in [2, 3, 5] {
                let pattern = Multiplying::new(p, radix);
                for step in pattern.steps() {
                    for rank in [0, 1, p / 2, p - 1] {
                        for transfer in pattern.transfers(rank, step) {
                            let back = pattern.transfers(transfer.peer, step);
                            assert!(
                                back.iter()
                                    .any(|one| one.peer == rank && one.receive == transfer.send)
                            );
                        }
                    }
                }
            }
        }
    }
}
