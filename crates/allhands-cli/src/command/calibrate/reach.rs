//! The reach of a level: which ranks ask one another there, and what.

use super::bed::Question;
use allhands_core::call::Collective;

/// Messages that have a port for longer than they are on their way otherwise, on most networks; one of the lengths that are measured.
pub(super) const PORT_BOUND_BYTES: u64 = 64 << 10;
/// Longer messages are not measured in bursts, in which ports have them for longer than what all share.
pub(super) const BURST_BYTES: u64 = 4 << 10;
/// The messages of the shorter train, and how many more the longer one has.
pub(super) const TRAIN: [u32; 2] = [2, 6];

/// A level: the first peer of rank 0 there, how many there are, and how many pairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub(super) peer: u32,
    pub(super) peers: u32,
    pub(super) pairs: u32,
    /// How far from one another those are with which each rank exchanges at once, and how many; none: that is not measured.
    pub(super) bursts: (u32, u32),
    /// Whether messages are what processors copy, by memory of theirs.
    pub(super) is_processors: bool,
    /// Whether all ranks share memory, so that there are windows.
    pub(super) shares_memory: bool,
}

impl Reach {
    /// Whether what processors do of such messages is measured apart from what ports do.
    pub(super) fn tells_apart(self, bytes: u64) -> bool {
        self.peers > 1 && !self.is_processors && bytes <= PORT_BOUND_BYTES
    }

    /// What is asked of messages of one length.
    pub(super) fn questions(self, bytes: u64) -> Vec<Question> {
        let of = |name, many| {
            let found = question(Collective::Alltoall, name, (Some(self.peer), many), bytes);
            (many > 0).then_some(found)
        };
        let burst = |many: u32| {
            let (stride, others) = self.bursts;
            let found = question(Collective::Alltoall, "burst", (Some(stride), many), bytes);
            (others > 1 && bytes <= BURST_BYTES).then_some(found)
        };
        let apart = |name, many: u32| {
            let many = if self.tells_apart(bytes) { many } else { 0 };
            of(name, many)
        };
        let several = |many: u32| if self.peers > 1 { many } else { 0 };
        let more_pairs = if self.pairs > 1 { self.pairs } else { 0 };
        let window = u32::from(self.shares_memory);
        let combinations = question(
            Collective::Allreduce,
            "combinations",
            (Some(self.peer), 1),
            bytes,
        );
        let all = [
            Some(combinations).filter(|_| self.is_processors),
            of("round-trip", 1),
            of("train", TRAIN[0]),
            of("train", TRAIN[1]),
            of("scatter", several(1)),
            of("scatter", several(self.peers)),
            of("gather", several(1)),
            of("gather", several(self.peers)),
            of("butterfly", 1),
            of("butterfly", more_pairs),
            burst(1),
            burst(self.bursts.1),
            apart("steps", 1),
            apart("steps", self.peers),
            apart("relay", TRAIN[0]),
            apart("relay", TRAIN[1]),
            of("puts", window),
            of("gets", window),
        ];
        all.into_iter().flatten().collect()
    }
}

pub(super) fn question(
    collective: Collective,
    name: &str,
    (peer, many): (Option<u32>, u32),
    bytes: u64,
) -> Question {
    Question {
        collective,
        name: full(name),
        peer,
        many,
        bytes: bytes as usize,
    }
}

/// The microbenchmark's whole name.
fn full(name: &str) -> &'static str {
    let all = allhands_core::algorithm::microbenchmark::ALL.iter();
    let mut names = all.map(|found| found.name);
    let of = |whole: &str| whole.strip_prefix("microbenchmark-") == Some(name);
    names.find(|whole| of(whole)).unwrap_or("")
}
