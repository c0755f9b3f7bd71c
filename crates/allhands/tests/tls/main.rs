//! Ranks on several nodes over TCP that is encrypted: much of what `tests/tcp` tries without, and what goes over the wire.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "../tcp/allocations.rs"]
mod allocations;
#[path = "../nodes/communicator.rs"]
mod communicator;
#[path = "../nodes/failure.rs"]
mod failure;
#[path = "../tcp/loopbacks.rs"]
mod loopbacks;
#[path = "../nodes/messages.rs"]
mod messages;
#[path = "../nodes/on_nodes.rs"]
mod on_nodes;
#[path = "../tcp/sockets.rs"]
mod sockets;
#[path = "../nodes/splits.rs"]
mod splits;
#[path = "../nodes/windowed.rs"]
mod windowed;
#[path = "../tcp/windows.rs"]
mod windows;
mod wire;
mod world;
