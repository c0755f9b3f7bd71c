//! What the tests of `allhands` try on every transport: threads, processes, nodes, TCP and libfabric. It is a crate, so that it is
//! compiled once for all of them.
#![cfg(not(loom))]
#![allow(missing_docs, reason = "the names say what is tried")]

pub mod communicator;
pub mod messages;
pub mod property;
pub mod stopwatch;
