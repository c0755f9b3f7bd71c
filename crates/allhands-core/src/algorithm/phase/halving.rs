//! Halving phases: vectors are halved and combined, or doubled and gathered, between pairs of ranks.
