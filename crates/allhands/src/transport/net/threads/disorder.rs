//! Disorder: chance holds back what goes from rank to rank.

use super::ThreadsNetwork;

/// How a network among threads misbehaves, as far as a network may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disorder {
    /// What chance begins with; the same seed on every rank.
    pub seed: u64,
    /// The most looks for which a message, a notice, or the news that a message was received is held back.
    pub most_looks: u32,
}

impl ThreadsNetwork {
    /// A number that looks like chance.
    pub(super) fn random(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// For how many looks something is held back.
    pub(super) fn looks(&mut self) -> u32 {
        let Some(disorder) = self.shared.disorder else {
            return 0;
        };
        // Half of all come at once, so that messages overtake one another by far.
        match self.random() {
            even if even.is_multiple_of(2) => 0,
            odd => (odd >> 32) as u32 % (disorder.most_looks + 1),
        }
    }
}
