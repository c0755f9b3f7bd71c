//! Circulant graphs: every rank r sends to r + s and receives from r − s (mod p), with one skip s a round.
//!
//! The skips halve, rounding up: s_q = p and s_k = ⌈s_(k+1)/2⌉ down to s_0 = 1, so q = ⌈lg p⌉. On them stand two
//! families of algorithms for any number of ranks:
//!
//! - reduce-scatter and allgather in q rounds that move p − 1 blocks a rank, the least possible of both at once
//!   (Träff, Optimal, non-pipelined reduce-scatter and allreduce algorithms, 2024): [`halvings`];
//! - the broadcast of n blocks in n − 1 + q rounds, the least possible (Träff, Optimal broadcast schedules in
//!   logarithmic time with applications to broadcast, all-broadcast, reduction and all-reduction, 2024):
//!   [`BroadcastSchedule`]. Run backwards, with every message reversed, it is a reduction.
//!
//! The broadcast repeats one table of q rounds. In phase after phase, rank r receives q blocks that are new to it:
//! of the blocks numbered relative to the phase, −q to −1, all but one, which it had as the positive block of the
//! phase before, and a positive one, its baseblock. The baseblock of r is the smallest skip index in the greedy sum
//! of skips for r, so the rank got it over the edges of that sum from the root, which sends block k first in round k.

use super::math::{add_mod, ceil_log2, sub_mod};
use alloc::vec::Vec;

/// The skips s_0 = 1, …, s_q = `p`, with q = ⌈lg p⌉.
///
/// # Panics
/// If `p` is 0.
pub fn skips(p: u32) -> Vec<u32> {
    // Rounding up half by half is rounding up once.
    (0..=ceil_log2(p))
        .rev()
        .map(|halvings| u64::from(p).div_ceil(1 << halvings) as u32)
        .collect()
}

/// One round of the circulant reduce-scatter or allgather.
///
/// A rank numbers blocks from its own: its block i is the one of rank `rank` + i (mod p).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halving {
    /// The skip: reduce-scatter sends to `rank` + `skip` and receives from `rank` − `skip`; allgather the other way.
    pub skip: u32,
    /// The number of blocks each rank sends and receives. Reduce-scatter sends blocks `skip..skip + blocks` as the
    /// sender numbers them, which the receiver numbers, and reduces into, `0..blocks`. Allgather sends `0..blocks`,
    /// which the receiver keeps as `skip..skip + blocks`.
    pub blocks: u32,
}

/// The rounds of the circulant reduce-scatter in order; the allgather runs them backwards. Their blocks add up to
/// `p` − 1, and a rank deals with its blocks `0..skip` alone after the round (before it, in the allgather).
///
/// # Panics
/// If `p` is 0.
pub fn halvings(p: u32) -> impl DoubleEndedIterator<Item = Halving> {
    (1..=ceil_log2(p)).map(move |halvings| {
        let ceil = |times: u32| u64::from(p).div_ceil(1 << times) as u32;
        let (before, skip) = (ceil(halvings - 1), ceil(halvings));
        Halving {
            skip,
            blocks: before - skip,
        }
    })
}

/// The baseblock of a relative rank: the smallest index in its greedy sum of skips, and q = ⌈lg p⌉ for the root 0.
///
/// # Panics
/// If `relative` is not below `p`.
pub fn baseblock(p: u32, relative: u32) -> u32 {
    assert!(relative < p, "relative rank {relative} of {p}");
    baseblock_by(&skips(p), relative)
}

fn baseblock_by(skips: &[u32], relative: u32) -> u32 {
    let mut rest = relative;
    let mut smallest = skips.len() - 1;
    for (index, &skip) in skips.iter().enumerate().rev() {
        if rest >= skip {
            rest -= skip;
            smallest = index;
        }
    }
    smallest as u32
}

/// For each round of a phase, the block that relative rank `relative` receives from `relative` − s_k, relative to the
/// phase: the numbers −q..0 without b − q, and b, where b is its [`baseblock`]. What the root (b = q) would receive
/// it has already: nobody sends it.
///
/// # Panics
/// If `relative` is not below `p`.
pub fn receive_schedule(p: u32, relative: u32) -> Vec<i32> {
    assert!(relative < p, "relative rank {relative} of {p}");
    receive_by(&skips(p), relative)
}

/// For each round of a phase, the block that relative rank `relative` sends to `relative` + s_k: what that rank
/// receives in that round. O(log² p).
///
/// # Panics
/// If `relative` is not below `p`.
pub fn send_schedule(p: u32, relative: u32) -> Vec<i32> {
    assert!(relative < p, "relative rank {relative} of {p}");
    send_by(&skips(p), relative)
}

fn send_by(skips: &[u32], relative: u32) -> Vec<i32> {
    let rounds = skips.len() - 1;
    (0..rounds)
        .map(|round| receive_by(skips, add_mod(relative, skips[round], skips[rounds]))[round])
        .collect()
}

fn receive_by(skips: &[u32], relative: u32) -> Vec<i32> {
    let rounds = skips.len() - 1;
    let own = baseblock_by(skips, relative);
    let mut search = Search {
        skips,
        // One lap ahead, so that the rank's ancestors of the phase before have positive numbers, too.
        target: u64::from(skips[rounds]) + u64::from(relative),
        unused: ((2_u64 << rounds) - 1) & !(1 << own),
        last_pick: u64::MAX,
        picks: Vec::with_capacity(rounds),
    };
    search.descend(0, rounds);
    debug_assert_eq!(search.picks.len(), rounds);
    let rounds = rounds as i32;
    // Index q is the pick of the root itself one lap ahead, which starts this phase: the rank's own positive block.
    search
        .picks
        .iter()
        .map(|&index| {
            if index == rounds {
                own as i32
            } else {
                index - rounds
            }
        })
        .collect()
}

/// The depth-first search for the ranks whose baseblocks one rank receives.
///
/// The block of round k must stand on the neighbour `target` − s_k by then, so it is the baseblock of a rank r′ at or
/// before that neighbour. The search walks the greedy sums of skips up from the root, longest skip first, and takes
/// such an r′ for each k in turn, whose baseblock is not used yet and which lies strictly before the r′ of round
/// k − 1. That last bound matters: without it the schedules of some p from 33 on contradict one another.
struct Search<'a> {
    skips: &'a [u32],
    /// The rank, one lap ahead.
    target: u64,
    /// A bit for each skip index that is no picked baseblock yet.
    unused: u64,
    /// The r′ of the last pick.
    last_pick: u64,
    /// The baseblocks by round.
    picks: Vec<i32>,
}

impl Search<'_> {
    /// Extends the path that has come to `from` by skips of index `highest` and below.
    fn descend(&mut self, from: u64, highest: usize) {
        for index in (0..=highest).rev() {
            let round = self.picks.len();
            if round + 1 == self.skips.len() {
                return;
            }
            let at = from + u64::from(self.skips[index]);
            if self.unused >> index & 1 == 0 || at > self.before(round) || at >= self.last_pick {
                continue;
            }
            if at <= self.before(round + 1) {
                self.descend(at, index);
            }
            let round = self.picks.len();
            // Too late for the next round already: leave the rest to the shorter paths.
            if round + 1 == self.skips.len() || from > self.before(round + 1) {
                return;
            }
            self.last_pick = at;
            self.picks.push(index as i32);
            self.unused &= !(1 << index);
        }
    }

    /// The neighbour from which round `round` receives.
    fn before(&self, round: usize) -> u64 {
        self.target - u64::from(self.skips[round])
    }
}

/// A message of one round of the broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockMessage {
    /// The relative rank at the other end.
    pub peer: u32,
    /// The block, below the number of blocks.
    pub block: u32,
}

/// What one rank sends and receives at the same time in one round of the broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BroadcastRound {
    /// What it sends, if anything.
    pub send: Option<BlockMessage>,
    /// What it receives, if anything.
    pub receive: Option<BlockMessage>,
}

/// The part of one relative rank in the broadcast from relative rank 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroadcastSchedule {
    relative: u32,
    skips: Vec<u32>,
    receive: Vec<i32>,
    send: Vec<i32>,
}

impl BroadcastSchedule {
    /// The part of relative rank `relative` of `p`.
    ///
    /// # Panics
    /// If `relative` is not below `p`.
    pub fn new(p: u32, relative: u32) -> Self {
        assert!(relative < p, "relative rank {relative} of {p}");
        let skips = skips(p);
        let receive = receive_by(&skips, relative);
        let send = send_by(&skips, relative);
        Self {
            relative,
            skips,
            receive,
            send,
        }
    }

    /// The number of rounds for `blocks` blocks: blocks − 1 + ⌈lg p⌉, or 0 if there is nothing to do.
    pub fn rounds(&self, blocks: u32) -> u64 {
        let q = self.period();
        if q == 0 || blocks == 0 {
            0
        } else {
            u64::from(blocks) - 1 + q
        }
    }

    /// Round `round` of the broadcast of `blocks` blocks. Each rank but the root receives each block once.
    ///
    /// # Panics
    /// If `round` is not below [`Self::rounds`].
    pub fn round(&self, blocks: u32, round: u64) -> BroadcastRound {
        let rounds = self.rounds(blocks);
        assert!(round < rounds, "round {round} of {rounds}");
        let q = self.period();
        // The last phase must be a whole one, so the first may lack its first rounds.
        let lacking = (q - rounds % q) % q;
        let index = ((round + lacking) % q) as usize;
        // Both below 2^33.
        let phase_start = ((round + lacking) / q * q) as i64 - lacking as i64;
        let p = *self.skips.last().expect("the last skip is p");
        let skip = self.skips[index];
        let message = |peer: u32, number: i32| {
            // A block below 0 belongs to a phase before the first. The last phase starts at the last block, so past
            // it is only each rank's positive block: its one occasion to get the last block.
            let block = u32::try_from(i64::from(number) + phase_start).ok()?;
            Some(BlockMessage {
                peer,
                block: block.min(blocks - 1),
            })
        };
        let to = add_mod(self.relative, skip, p);
        let from = sub_mod(self.relative, skip, p);
        BroadcastRound {
            send: if to == 0 {
                None
            } else {
                message(to, self.send[index])
            },
            receive: if self.relative == 0 {
                None
            } else {
                message(from, self.receive[index])
            },
        }
    }

    /// q, the number of rounds in a phase.
    fn period(&self) -> u64 {
        self.skips.len() as u64 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{collections::BTreeSet, vec};

    const LARGEST: u32 = 600;

    #[test]
    fn skips_halve_rounding_up() {
        assert_eq!(skips(1), [1]);
        assert_eq!(skips(17), [1, 2, 3, 5, 9, 17]);
        for p in (1..3000).chain([131_072, u32::MAX]) {
            let skips = skips(p);
            assert_eq!((skips[0], *skips.last().unwrap()), (1, p));
            assert!(
                skips
                    .windows(2)
                    .all(|pair| pair[0] == pair[1].div_ceil(2) && pair[0] < pair[1])
            );
        }
    }

    #[test]
    fn every_rank_receives_its_own_set_and_sends_what_is_received() {
        for p in 2..=LARGEST {
            let skips = skips(p);
            let q = skips.len() as i32 - 1;
            let receive: Vec<Vec<i32>> = (0..p).map(|rank| receive_schedule(p, rank)).collect();
            for rank in 0..p {
                let own = baseblock(p, rank) as i32;
                let mut expected: BTreeSet<i32> = (-q..0).collect();
                if rank != 0 {
                    assert!(own < q && expected.remove(&(own - q)) && expected.insert(own));
                }
                let got: BTreeSet<i32> = receive[rank as usize].iter().copied().collect();
                assert_eq!(receive[rank as usize].len() as i32, q);
                assert_eq!(got, expected, "p = {p}, rank = {rank}");
                check_sends(p, rank, &skips, &receive);
            }
        }
    }

    /// What a rank sends is what its neighbour receives and what it has: its positive block of the phase before, or
    /// something it received earlier in this phase.
    fn check_sends(p: u32, rank: u32, skips: &[u32], receive: &[Vec<i32>]) {
        let q = skips.len() - 1;
        let own = &receive[rank as usize];
        let last = baseblock(p, rank) as i32 - q as i32;
        for (round, &sent) in send_schedule(p, rank).iter().enumerate() {
            let to = (rank + skips[round]) % p;
            assert_eq!(sent, receive[to as usize][round]);
            if rank == 0 {
                assert_eq!(sent, round as i32, "the root sends a new block each round");
            } else if to != 0 {
                assert!(
                    sent == last || own[..round].contains(&sent),
                    "p = {p}, rank = {rank}, round = {round}"
                );
            }
        }
    }

    fn broadcast(p: u32, blocks: u32) {
        let ranks: Vec<BroadcastSchedule> =
            (0..p).map(|rank| BroadcastSchedule::new(p, rank)).collect();
        let mut held = vec![vec![false; blocks as usize]; p as usize];
        held[0] = vec![true; blocks as usize];
        let rounds = ranks[0].rounds(blocks);
        assert_eq!(rounds, u64::from(blocks) - 1 + u64::from(ceil_log2(p)));
        for round in 0..rounds {
            let now: Vec<BroadcastRound> =
                ranks.iter().map(|rank| rank.round(blocks, round)).collect();
            let before = held.clone();
            let mut sends = 0;
            for (rank, part) in now.iter().enumerate() {
                sends += usize::from(part.send.is_some());
                let Some(BlockMessage { peer, block }) = part.receive else {
                    continue;
                };
                let there = now[peer as usize].send;
                assert_eq!(
                    there,
                    Some(BlockMessage {
                        peer: rank as u32,
                        block
                    })
                );
                assert!(
                    before[peer as usize][block as usize],
                    "p = {p}: {peer} lacks block {block}"
                );
                assert!(!core::mem::replace(&mut held[rank][block as usize], true));
            }
            assert_eq!(
                sends,
                now.iter().filter(|part| part.receive.is_some()).count()
            );
        }
        assert!(
            held.iter().flatten().all(|&one| one),
            "p = {p}, blocks = {blocks}"
        );
    }

    #[test]
    fn broadcasts_are_complete_after_the_least_number_of_rounds() {
        for p in 2..=LARGEST {
            for blocks in [1, 2, 5, 13] {
                broadcast(p, blocks);
            }
        }
        for p in 2..=40 {
            for blocks in 1..=40 {
                broadcast(p, blocks);
            }
        }
    }

    #[test]
    fn one_rank_has_nothing_to_broadcast() {
        let alone = BroadcastSchedule::new(1, 0);
        assert_eq!(alone.rounds(5), 0);
        assert_eq!(BroadcastSchedule::new(9, 3).rounds(0), 0);
        assert_eq!(baseblock(1, 0), 0);
    }

    #[test]
    fn huge_worlds_answer_for_one_rank() {
        for p in [131_071, 131_072, 131_073, (1 << 31) + 1, u32::MAX] {
            let skips = skips(p);
            let q = skips.len() as i32 - 1;
            for rank in
                (0..200)
                    .map(|i| (u64::from(p) * i / 200) as u32)
                    .chain([1, 2, p - 2, p - 1])
            {
                let own = baseblock(p, rank) as i32;
                let receive = receive_schedule(p, rank);
                let set: BTreeSet<i32> = receive.iter().copied().collect();
                assert_eq!((receive.len() as i32, set.len() as i32), (q, q));
                assert!(
                    set.iter()
                        .all(|&block| block == own && rank != 0 || (-q..0).contains(&block))
                );
                assert!(!set.contains(&(own - q)));
                for (round, &sent) in send_schedule(p, rank).iter().enumerate() {
                    let to = add_mod(rank, skips[round], p);
                    let known = sent == own - q || receive[..round].contains(&sent);
                    assert!(
                        known || rank == 0 && sent == round as i32 || to == 0,
                        "p = {p}, rank = {rank}"
                    );
                }
            }
        }
    }

    #[test]
    fn reduce_scatter_and_allgather_are_minimal_in_rounds_and_volume() {
        for p in 1..=LARGEST {
            let rounds: Vec<Halving> = halvings(p).collect();
            assert_eq!(rounds.len() as u32, ceil_log2(p));
            assert_eq!(rounds.iter().map(|round| round.blocks).sum::<u32>(), p - 1);
            // All ranks are alike, so rank 0 speaks for all. contributors[i]: how far behind the block's owner, in
            // the sender's numbering, the contributions of block i have come from.
            let mut contributors: Vec<Vec<u32>> = vec![vec![0]; p as usize];
            for &Halving { skip, blocks } in &rounds {
                for i in 0..blocks {
                    // A contribution from distance d behind the sender is d + skip behind the receiver.
                    let arriving: Vec<u32> = contributors[(skip + i) as usize]
                        .iter()
                        .map(|d| d + skip)
                        .collect();
                    contributors[i as usize].extend(arriving);
                }
                contributors.truncate(skip as usize);
            }
            let mut own = contributors.remove(0);
            own.sort_unstable();
            assert!(contributors.is_empty() && own.into_iter().eq(0..p));

            let mut held = 1;
            for Halving { skip, blocks } in halvings(p).rev() {
                assert!(held == skip && blocks <= held);
                held += blocks;
            }
            assert_eq!(held, p);
        }
    }
}
