//! Ranks on several nodes over libfabric: what the nodes' tests try with a network among threads, over its provider for TCP, and the
//! messages and windows of each provider that every machine has.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "../nodes/communicator.rs"]
mod communicator;
#[path = "../nodes/failure.rs"]
mod failure;
mod messages;
#[path = "../nodes/on_nodes.rs"]
mod on_nodes;
#[path = "../nodes/properties.rs"]
mod properties;
#[path = "../nodes/puts.rs"]
mod puts;
#[path = "../nodes/splits.rs"]
mod splits;
#[path = "../nodes/times.rs"]
mod times;
#[path = "../nodes/windowed.rs"]
mod windowed;
mod windows;
mod world;
