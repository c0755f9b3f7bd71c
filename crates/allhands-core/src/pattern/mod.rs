//! Patterns: who talks to whom, and over which ranges of ranks, without any payload.
//!
//! Every function here is pure and answers for one rank alone, in time and memory polylogarithmic in the number of
//! ranks `p` (a list of answers costs what its length costs), so a schedule for 131072 ranks can be built rank by rank.
//!
//! Ranks and counts of ranks are `u32`. A rank is *relative* when the root has been moved to 0
//! ([`math::relative`]); which kind a function wants is said in its documentation. Arguments that make no sense
//! (no ranks at all, a rank that is not below `p`, a radix below 2) are programming errors and panic; what a user
//! types is checked before it gets here.

pub mod binary_blocks;
pub mod circulant;
pub mod complete_exchange;
pub mod digits;
pub mod division;
pub mod double_tree;
pub mod doubling_exchange;
pub mod exchange;
pub mod far_first;
pub mod fold;
pub mod hamiltonian;
pub mod knomial;
pub mod line_groups;
pub mod math;
pub mod multiplying;
pub mod parity_chain;
pub mod permutation;
pub mod progression;
pub mod spanning_trees;
pub mod swing;
