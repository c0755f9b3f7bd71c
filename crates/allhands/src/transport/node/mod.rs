//! The transport whose ranks share a node's memory: threads of one process, or processes.
//!
//! Short messages go through lock-free queues, with number and payload in one cache line; those of ranks that exchange in
//! memory that goes to and fro with them, so that each line moves once; long ones are copied, or combined, straight from
//! the sender's memory wherever the receiver can reach it: threads everywhere, processes in the arena that they share
//! (which holds scratch, windows and what a user asks for there) and else with the system's help, or from where the sender
//! stages them. A sender that would only wait takes part in the work. One-sided operations are copies to a peer's window
//! and additions to its flags. Nobody takes a lock, or makes a system call but those for long messages, while nobody sleeps.
//!
//! Everything that ranks share lies in an arena, is found by offsets, consists of atomics and of memory that these guard, and
//! begins as zeros. So threads and processes run the same code, and a process that is killed holds no lock.
//!
//! Ranks of several nodes are as many fabrics, joined by a [network](super::network) ([`Port::join`]): a plan's messages to other
//! nodes go that way, all else as ever.
//!
//! A communicator is a [`Fabric`]; each rank opens its [`Port`], makes a [`Flight`] for each plan,
//! begins a call with [`Port::begin`] and takes it through with [`Port::wait`], or with [`Port::test`] and
//! [`Port::wait_until`] if it is nonblocking. Ranks that make different calls, panic, leave or are killed are errors
//! on every rank that waits for them, never a hang.

mod agreement;
mod alias;
mod arena;
mod bell;
mod caches;
mod cluster;
mod deferred;
mod double;
mod engine;
mod fabric;
mod far;
mod fault;
mod flag;
mod flight;
mod help;
mod inbox;
mod invitation;
mod links;
mod manner;
mod many;
mod member;
mod names;
mod notice;
mod origin;
mod outbox;
mod overdue;
mod pieces;
mod port;
mod reach;
mod receive;
mod refusal;
mod remote;
mod rendezvous;
mod ring;
mod runs;
mod shortcut;
mod slabs;
mod spawn;
mod sync;
mod together;
mod verdict;
mod vigil;
mod wait;
mod window;

pub(crate) use arena::Block;
pub use engine::NodeEngine;
pub use fabric::Fabric;
pub use flight::{Buffers, Flight};
pub use member::Stamp;
pub use port::Port;
pub use refusal::Refused;
pub use ring::EAGER_BYTES;
pub use spawn::spawn;
pub(crate) use spawn::spawn_on;
#[cfg(not(loom))]
pub use sync::register_barrier;
#[cfg(target_os = "linux")]
pub(crate) use vigil::Membership;
pub(crate) use window::{WindowSet, WindowSize};
