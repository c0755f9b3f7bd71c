//! Broadcasts: a vector from one rank to all.

pub mod circulant;
pub mod k_nomial;
pub mod segmented;
