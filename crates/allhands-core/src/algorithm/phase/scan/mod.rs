//! Scan phases: what scan and exscan do alike, and whether a rank's own vector is part of its result.

pub mod all_pairs;
pub mod direct;

/// Whether a rank's result has its own vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Scan: the vectors of the ranks up to this one.
    Included,
    /// Exscan: the vectors of the ranks before this one.
    Excluded,
}

impl Own {
    /// How often the last of `ranks` ranks combines two vectors, or who combines the same part of all.
    fn combinations(self, ranks: u32) -> u64 {
        let others = ranks - 1;
        u64::from(match self {
            Own::Included => others,
            Own::Excluded => others.saturating_sub(1),
        })
    }
}
