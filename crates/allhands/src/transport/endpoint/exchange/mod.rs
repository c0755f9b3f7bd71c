//! The exchange: how a message gets from one rank of a node to another.
//!
//! Owns sending in cells, medium and pipeline buffers, the search for the message that is expected, and the reading of long ones: alone,
//! with their senders' help, or while they arrive. The engines and the fast path call it. It never knows the operation that a message
//! is of, and never waits for one that has not begun to come.

pub(crate) mod arriving;
pub(crate) mod assisted;
pub(crate) mod expected;
pub(crate) mod receive;
pub(crate) mod send;
pub(crate) mod trials;
