//! What of a cluster's model can be left out, as options name it.

/// What can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Without {
    /// That messages wait for what they share: shared_us.
    Contention,
}

/// How a gap was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Gap {
    /// By messages to several peers and from several: gap_us.
    Peers,
    /// By a train of messages to one peer: gap_saturated_us.
    Saturation,
}
