//! Parity chains: two orders of all ranks, the even ranks before the odd ones and the odd ones before the even.
//!
//! ```text
//! 5 ranks      chain 0: 0 2 4 1 3      chain 1: 1 3 0 2 4
//! ```

/// Where the ranks stand in one of the chains: those that are even or odd like its number first, in their order.
#[derive(Clone, Copy, Debug)]
pub struct ParityChain {
    ranks: u32,
    /// 0 or 1.
    chain: u32,
}

impl ParityChain {
    /// The chain of number 0 or 1 of so many ranks.
    #[must_use]
    pub fn new(ranks: u32, chain: u32) -> ParityChain {
        ParityChain { ranks, chain }
    }

    /// How many ranks are in the first half.
    fn first_half(self) -> u32 {
        (self.ranks + 1 - self.chain) / 2
    }

    /// The place of a rank.
    #[must_use]
    pub fn place(self, rank: u32) -> u32 {
        let before = match rank % 2 == self.chain {
            true => 0,
            false => self.first_half(),
        };
        before + rank / 2
    }

    /// The rank at a place.
    #[must_use]
    pub fn rank(self, place: u32) -> u32 {
        match place.checked_sub(self.first_half()) {
            None => 2 * place + self.chain,
            Some(behind) => 2 * behind + 1 - self.chain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chain_has_every_rank_and_those_of_its_parity_first() {
        for ranks in 1..20 {
            for chain in [0, 1] {
                let order = ParityChain::new(ranks, chain);
                for place in 0..ranks {
                    let rank = order.rank(place);
                    assert!(rank < ranks, "{order:?}");
                    assert_eq!(order.place(rank), place, "{order:?}");
                    let is_first = place < (ranks + 1 - chain) / 2;
                    assert_eq!(rank % 2 == chain, is_first, "{order:?}, {place}");
                }
            }
        }
    }
}
