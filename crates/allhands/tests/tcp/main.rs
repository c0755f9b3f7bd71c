//! Ranks on several nodes over TCP: what the nodes' tests try with a network among threads, on sockets of the loopback, and the
//! sockets themselves.
#![cfg(all(target_os = "linux", not(loom)))]

mod allocations;
#[path = "../nodes/communicator.rs"]
mod communicator;
#[path = "../nodes/failure.rs"]
mod failure;
#[path = "../suite/messages/mod.rs"]
mod messages;
#[path = "../nodes/messages.rs"]
mod messages_on_nodes;
#[path = "../suite/on_nodes.rs"]
mod on_nodes;
#[path = "../nodes/properties.rs"]
mod properties;
#[path = "../suite/property/mod.rs"]
mod property;
mod sockets;
#[path = "../nodes/splits.rs"]
mod splits;
#[path = "../suite/stopwatch.rs"]
mod stopwatch;
#[allow(dead_code, reason = "ranks of one node do more with it")]
#[path = "../suite/communicator.rs"]
mod suite;
#[path = "../nodes/times.rs"]
mod times;
mod world;
