//! Shared memory: windows that the ranks of a node fill, read and combine.

pub mod chain;
pub mod combine;
pub mod pieces;
pub mod readers;
pub mod window;
