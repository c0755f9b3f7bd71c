//! Binary blocks: any number of ranks cut into blocks of distinct powers of two, largest first.
//!
//! Each one bit of p is a block (T 5.2, figure 13). Every block runs vector halving with distance doubling on its
//! own, which leaves segment `reverse_bits(rank in block)` on a rank; then neighbouring blocks talk.
//!
//! ```text
//! p = 13 = 2³ + 2² + 2⁰      [0 1 2 3 4 5 6 7] [8 9 10 11] [12]
//! ```

use super::math::reverse_bits;
use core::ops::Range;

/// One block of the decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its place in the order of falling size; 0 is the largest.
    pub index: u32,
    /// Its lowest rank.
    pub first: u32,
    /// lg of the number of its ranks.
    pub exponent: u32,
}

impl Block {
    /// The number of its ranks, 2^`exponent`.
    pub fn size(&self) -> u32 {
        1 << self.exponent
    }

    /// Its ranks.
    pub fn ranks(&self) -> Range<u32> {
        self.first..self.first + self.size()
    }

    /// The segment, of as many as the block has ranks, that vector halving with distance doubling leaves on the rank
    /// `self.first + rank_in_block` (T 5.1).
    pub fn segment(&self, rank_in_block: u32) -> u32 {
        reverse_bits(rank_in_block, self.exponent)
    }
}

/// The block that holds `rank` among `p` ranks; the rank's number in it is `rank - block.first`.
///
/// # Panics
/// If `rank` is not below `p`.
pub fn block_of(p: u32, rank: u32) -> Block {
    assert!(rank < p, "rank {rank} of {p}");
    // Blocks before the one of exponent e are the bits of p above e. The block of `rank` ends beyond it, so it is
    // the highest bit in which p has a one and `rank` a zero, all higher bits being equal.
    block_at(p, (p ^ rank).ilog2())
}

/// The blocks of `p` ranks, largest first.
pub fn blocks(p: u32) -> impl DoubleEndedIterator<Item = Block> {
    (0..u32::BITS)
        .rev()
        .filter(move |&exponent| p >> exponent & 1 == 1)
        .map(move |exponent| block_at(p, exponent))
}

/// The next larger neighbour of `block`, none for the largest.
pub fn next_larger(p: u32, block: Block) -> Option<Block> {
    let higher = above(p, block.exponent);
    (higher != 0).then(|| block_at(p, higher.trailing_zeros()))
}

/// The next smaller neighbour of `block`, none for the smallest.
pub fn next_smaller(p: u32, block: Block) -> Option<Block> {
    let lower = p & (block.size() - 1);
    (lower != 0).then(|| block_at(p, lower.ilog2()))
}

/// The ranks of the next larger block that hold the parts of `rank`'s segment, in the order of the parts; empty in
/// the largest block.
///
/// The segment of a rank splits into as many parts as the ratio of the block sizes. Its number has the low bits of
/// the rank, reversed, on top, so the parts stand on the ranks of the larger block with the same low bits.
///
/// # Panics
/// If `rank` is not below `p`.
pub fn peers_in_larger(p: u32, rank: u32) -> impl ExactSizeIterator<Item = u32> {
    let block = block_of(p, rank);
    let larger = next_larger(p, block);
    let ratio_bits = larger.map_or(0, |larger| larger.exponent - block.exponent);
    let parts = if larger.is_some() { 1 << ratio_bits } else { 0 };
    let base = larger.map_or(0, |larger| larger.first) + (rank - block.first);
    (0..parts).map(move |part: u32| base + (reverse_bits(part, ratio_bits) << block.exponent))
}

/// The rank of the next smaller block that has `rank`'s segment as a part of its own, and which part; none in the
/// smallest block.
///
/// # Panics
/// If `rank` is not below `p`.
pub fn peer_in_smaller(p: u32, rank: u32) -> Option<(u32, u32)> {
    let block = block_of(p, rank);
    let smaller = next_smaller(p, block)?;
    let in_block = rank - block.first;
    let peer = smaller.first + in_block % smaller.size();
    let part = reverse_bits(
        in_block >> smaller.exponent,
        block.exponent - smaller.exponent,
    );
    Some((peer, part))
}

/// The largest difference of two consecutive exponents in the binary representation of `p`, 0 for a power of two:
/// T's δ_expo,max, which bounds the load imbalance of the algorithm (T 5.2).
pub fn delta_expo_max(p: u32) -> u32 {
    let mut largest = 0;
    let mut previous = None;
    for block in blocks(p) {
        largest = largest.max(previous.map_or(0, |exponent: u32| exponent - block.exponent));
        previous = Some(block.exponent);
    }
    largest
}

fn block_at(p: u32, exponent: u32) -> Block {
    let higher = above(p, exponent);
    Block {
        index: higher.count_ones(),
        first: higher,
        exponent,
    }
}

/// The bits of `p` above `exponent`, in place: the number of ranks in larger blocks.
fn above(p: u32, exponent: u32) -> u32 {
    p & !((2_u64 << exponent) - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn blocks_tile_the_ranks_in_falling_powers_of_two() {
        for p in 1..=300 {
            let all: Vec<Block> = blocks(p).collect();
            let mut at = 0;
            for (index, block) in all.iter().enumerate() {
                assert_eq!((block.index as usize, block.first), (index, at));
                assert!(index == 0 || all[index - 1].exponent > block.exponent);
                at += block.size();
                for rank in block.ranks() {
                    assert_eq!(block_of(p, rank), *block);
                }
                assert_eq!(next_smaller(p, *block), all.get(index + 1).copied());
                assert_eq!(
                    next_larger(p, *block),
                    index.checked_sub(1).map(|before| all[before])
                );
            }
            assert_eq!(at, p);
        }
    }

    #[test]
    fn parts_of_a_segment_stand_where_the_larger_block_holds_them() {
        for p in 1..=130 {
            for rank in 0..p {
                let block = block_of(p, rank);
                let peers: Vec<u32> = peers_in_larger(p, rank).collect();
                assert_eq!(peers.is_empty(), block.index == 0);
                for (part, &peer) in peers.iter().enumerate() {
                    let larger = next_larger(p, block).unwrap();
                    assert_eq!(block_of(p, peer), larger);
                    let ratio = larger.size() / block.size();
                    let whole = block.segment(rank - block.first);
                    assert_eq!(
                        larger.segment(peer - larger.first),
                        whole * ratio + part as u32
                    );
                    assert_eq!(peer_in_smaller(p, peer), Some((rank, part as u32)));
                }
                match peer_in_smaller(p, rank) {
                    Some((peer, part)) => {
                        assert_eq!(peers_in_larger(p, peer).nth(part as usize), Some(rank))
                    }
                    None => assert_eq!(next_smaller(p, block), None),
                }
            }
        }
    }

    #[test]
    fn figure_13_of_thakur() {
        assert_eq!(peers_in_larger(13, 8).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(peers_in_larger(13, 12).collect::<Vec<_>>(), [8, 10, 9, 11]);
        assert_eq!(
            blocks(13).map(|block| block.exponent).collect::<Vec<_>>(),
            [3, 2, 0]
        );
    }

    #[test]
    fn delta_is_the_largest_gap_of_exponents() {
        assert_eq!(delta_expo_max(100), 3);
        for exponent in 0..32 {
            assert_eq!(delta_expo_max(1 << exponent), 0);
        }
        assert_eq!(delta_expo_max(33), 5);
        assert_eq!(delta_expo_max(u32::MAX), 1);
        for p in 1_u32..2000 {
            let text = alloc::format!("{p:b}");
            let ones = text.trim_end_matches('0');
            let longest = ones.split('1').map(str::len).max().unwrap() as u32;
            assert_eq!(
                delta_expo_max(p),
                if p.is_power_of_two() { 0 } else { longest + 1 }
            );
        }
    }

    #[test]
    fn the_largest_worlds_have_blocks_too() {
        let block = block_of(u32::MAX, 5);
        assert_eq!((block.exponent, block.first), (31, 0));
        assert_eq!(block_of(u32::MAX, u32::MAX - 1).exponent, 0);
    }
}
