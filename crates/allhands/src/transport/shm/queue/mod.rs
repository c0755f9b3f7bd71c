//! Queues: lock-free rings for short messages, and the buffers that two ranks pass to and fro.
//!
//! Owns a ring for each pair of ranks that has one, an inbox for all other senders, and the medium-message and pipelined buffers.
//! Each has one producer or many, and one consumer: an endpoint. They never block: a full queue is an answer.

pub(crate) mod buffers;
pub(crate) mod inbox;
pub(crate) mod links;
pub(crate) mod ring;
