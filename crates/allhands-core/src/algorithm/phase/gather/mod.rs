//! Gathers: the blocks of all ranks to one.

pub mod smp_gather;
