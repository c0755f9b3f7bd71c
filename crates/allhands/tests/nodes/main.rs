//! Ranks on several nodes: the engine of the node and a network among threads together, tried without any real network.
#![cfg(not(loom))]

mod communicator;
mod endpoints;
mod failure;
#[allow(dead_code, reason = "ranks of one node do more with it")]
#[path = "../threads/harness.rs"]
mod harness;
#[path = "../suite/messages/mod.rs"]
mod messages;
#[path = "messages.rs"]
mod messages_on_nodes;
#[path = "../suite/on_nodes.rs"]
mod on_nodes;
mod properties;
#[path = "../suite/property/mod.rs"]
mod property;
mod splits;
#[path = "../suite/stopwatch.rs"]
mod stopwatch;
#[allow(dead_code, reason = "ranks of one node do more with it")]
#[path = "../suite/communicator.rs"]
mod suite;
#[cfg(target_os = "linux")]
mod times;
mod world;
