//! Ranks on several nodes over libfabric: what the nodes' tests try with a network among threads, over its provider for TCP, and the
//! messages of each provider that every machine has.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "../nodes/communicator.rs"]
mod communicator;
#[path = "../nodes/failure.rs"]
mod failure;
mod messages;
#[path = "../suite/on_nodes.rs"]
mod on_nodes;
#[path = "../nodes/properties.rs"]
mod properties;
#[path = "../suite/property/mod.rs"]
mod property;
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
