//! Tree phases: vectors and blocks travel up and down k-nomial trees.
