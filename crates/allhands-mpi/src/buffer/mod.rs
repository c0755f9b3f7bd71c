//! Buffers: a user's memory as bytes, and memory of ours that stands in for it.

pub(crate) mod part;
pub(crate) mod staging;
