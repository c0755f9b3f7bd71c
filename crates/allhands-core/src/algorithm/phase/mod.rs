//! Phases: parts of schedules that several algorithms are made of.
//!
//! A phase emits the steps of one well-known pattern over blocks that its caller names; which phases make an
//! algorithm is said in that algorithm's file alone.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod broadcast;
pub mod division;
pub mod fold;
pub mod gather;
pub mod halving;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod shared_memory;
pub mod torus;
pub mod tree;
pub mod view;
