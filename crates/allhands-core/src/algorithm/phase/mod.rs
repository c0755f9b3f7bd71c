//! Phases: parts of schedules that several algorithms are made of.
//!
//! A phase emits the steps of one well-known pattern over blocks that its caller names; which phases make an
//! algorithm is said in that algorithm's file alone.

pub mod alltoall;
pub mod binary_blocks;
pub mod bruck;
pub mod chain;
pub mod circulant;
pub mod direct;
pub mod dissemination;
pub mod division;
pub mod doubling;
pub mod exchange;
pub mod far_first;
pub mod fold;
pub mod halving;
pub mod hybrid;
pub mod lines;
pub mod prefix;
pub mod ring;
pub mod segmented;
pub mod smp;
pub mod smp_gather;
pub mod streams;
pub mod torus;
pub mod tree;
pub mod two_chains;
pub mod view;
pub mod window;
