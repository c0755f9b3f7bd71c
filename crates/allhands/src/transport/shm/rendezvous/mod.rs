//! Rendezvous: the words in shared memory by which two ranks agree on who copies a long message, and when it is done.
//!
//! Owns three state machines of atomics: the descriptor of a message that its receiver reads, the pieces that a sender copies for
//! its receiver, and the request of a receiver that has come first. Endpoints drive them. They hold no bytes and choose nothing.

pub(crate) mod descriptor;
pub(crate) mod receiver_initiated;
pub(crate) mod sender_assisted;

#[cfg(all(test, loom))]
mod models;
