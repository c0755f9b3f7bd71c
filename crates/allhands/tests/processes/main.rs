//! Ranks that are processes: what threads do, they do too; and they are killed.
#![cfg(all(target_os = "linux", not(loom)))]

mod communicator;
mod failure;
mod forbidden;
mod long;
mod messages;
mod properties;
mod world;
