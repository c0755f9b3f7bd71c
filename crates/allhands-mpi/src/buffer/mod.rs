//! Buffers: a user's memory as bytes, and memory of ours that stands in for it.
//!
//! It owns the parts of a user's memory that a call names, the room for what arrives (theirs, or bytes of ours until they are
//! unpacked), and counts and displacements of either width. Collectives use it. It never knows what a call does with the bytes.

pub(crate) mod part;
pub(crate) mod staging;
