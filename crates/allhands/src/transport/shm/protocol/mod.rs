//! Protocols: how a message that is too long for a queue gets from its sender to its receiver.
//!
//! Owns the choice between the copy protocols, the send descriptors with their bounce buffers, and the cutting of messages into
//! pieces. Endpoints follow it. It never sends a message itself.

pub(crate) mod choose;
pub(crate) mod copy_and_send;
pub(crate) mod copy_protocol;
pub(crate) mod deferred_copy;
pub(crate) mod message_descriptors;
pub(crate) mod pieces;
pub(crate) mod send_descriptors;
pub(crate) mod trial;
