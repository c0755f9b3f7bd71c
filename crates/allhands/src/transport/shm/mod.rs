//! The transport whose ranks share a node's memory: threads of one process, or processes.
//!
//! Short messages go through lock-free queues, with number and payload in one cache line; those of ranks that exchange in
//! memory that goes to and fro with them, so that each line moves once; long ones are copied, or combined, straight from
//! the sender's memory wherever the receiver can reach it: threads everywhere, processes in the arena that they share
//! (which holds scratch, windows and what a user asks for there) and else with the system's help, or from where the sender
//! bounces them. A sender that would only wait takes part in the work. One-sided operations are copies to a peer's window
//! and additions to its flags. Nobody takes a lock, or makes a system call but those for long messages, while nobody sleeps.
//!
//! Everything that ranks share lies in an arena, is found by offsets, consists of atomics and of memory that these guard, and
//! begins as zeros. So threads and processes run the same code, and a process that is killed holds no lock.
//!
//! Ranks of several nodes have a shared segment on each, joined by a [network](super::net): a plan's messages to other
//! nodes go that way, all else as ever.
//!
//! A communicator is a [`SharedSegment`](segment::shared_segment::SharedSegment); what each rank does with it is its [endpoint](super::endpoint)'s matter.
//!
//! The rooms, in the order in which they may know one another: [`memory`], [`wait`], [`failure`], [`rendezvous`], [`queue`],
//! [`protocol`], [`segment`]. None imports one that comes later.

pub(crate) mod failure;
pub(crate) mod memory;
pub(crate) mod protocol;
pub(crate) mod queue;
pub(crate) mod rendezvous;
pub(crate) mod segment;
pub(crate) mod spawn;
pub(crate) mod sync;
pub(crate) mod tuning;
pub(crate) mod wait;
