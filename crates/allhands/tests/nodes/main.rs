//! Ranks on several nodes: the engine of the node and a network among threads together, tried without any real network.
#![cfg(not(loom))]

mod communicator;
mod endpoints;
mod failure;
#[allow(dead_code, reason = "ranks of one node do more with it")]
#[path = "../threads/harness.rs"]
mod harness;
mod messages;
mod on_nodes;
mod pipelines;
mod properties;
mod puts;
mod splits;
#[cfg(target_os = "linux")]
mod times;
mod world;
