//! Ranks on several nodes over TCP: what the nodes' tests try with a network among threads, on sockets of the loopback, and the
//! sockets themselves.
#![cfg(all(target_os = "linux", not(loom)))]

mod allocations;
#[path = "../nodes/communicator.rs"]
mod communicator;
#[path = "../nodes/failure.rs"]
mod failure;
mod loopbacks;
#[path = "../nodes/messages.rs"]
mod messages;
#[path = "../nodes/on_nodes.rs"]
mod on_nodes;
#[path = "../nodes/properties.rs"]
mod properties;
#[path = "../nodes/puts.rs"]
mod puts;
mod sockets;
#[path = "../nodes/splits.rs"]
mod splits;
#[path = "../nodes/times.rs"]
mod times;
mod unasked;
#[path = "../nodes/windowed.rs"]
mod windowed;
mod windows;
mod world;
