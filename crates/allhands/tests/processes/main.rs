//! Ranks that are processes: what threads do, they do too; and they are killed.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "../suite/messages/mod.rs"]
mod messages;
#[path = "../suite/property/mod.rs"]
mod property;
#[path = "../suite/communicator.rs"]
mod suite;

mod communicator;
mod failure;
mod forbidden;
#[path = "messages.rs"]
mod messages_of_processes;
mod properties;
mod world;
