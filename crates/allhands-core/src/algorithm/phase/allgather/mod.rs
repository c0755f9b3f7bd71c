//! Allgathers: every rank gets all blocks.

pub mod bruck;
pub mod circle;
pub mod circulant;
pub mod far_first;
pub mod hybrid;
pub mod recursive_doubling;
pub mod recursive_multiplying;
pub mod ring;
pub mod smp;
