//! Gathers: the blocks of all ranks to one.

pub mod halves;
pub mod k_nomial;
pub mod leaders;
pub mod smp_gather;
