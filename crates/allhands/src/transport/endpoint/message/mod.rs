//! Messages: those that are announced, or have come, and are not yet where they belong.
//!
//! Owns the form in which a long message is offered, what is put aside as it came before it was wanted, and long messages of several
//! senders while these copy them (the concurrent rendezvous). The endpoint keeps them, and the exchange and the engine take them further.
//! It never knows an endpoint or a request, and never waits.

pub(crate) mod begun;
pub(crate) mod offer;
pub(crate) mod unexpected;
