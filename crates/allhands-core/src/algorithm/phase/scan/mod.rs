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
