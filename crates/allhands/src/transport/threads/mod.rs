//! The transport whose ranks are threads of one process.
//!
//! Short messages go through a lock-free ring for each pair of ranks that talk, with flag and payload in one cache
//! line; long ones are copied, or combined, once: straight from the sender's memory. One-sided
//! operations are copies to a peer's window and additions to its flags. Nobody takes a lock or makes a
//! system call while nobody sleeps.
//!
//! A communicator of threads is a [`Fabric`]; each rank opens its [`Port`], makes a [`Flight`] for each plan,
//! begins a call with [`Port::begin`] and takes it through with [`Port::wait`], or with [`Port::test`] and
//! [`Port::wait_until`] if it is nonblocking. Ranks that make different calls, panic or leave are errors
//! on every rank that waits for them, never a hang.

mod bell;
mod engine;
mod fabric;
mod flight;
mod member;
mod port;
mod rendezvous;
mod ring;
mod segments;
mod spawn;
mod sync;
mod wait;
mod window;

pub use engine::ThreadEngine;
pub use fabric::Fabric;
pub use flight::{Buffers, Flight};
pub use member::Stamp;
pub use port::Port;
pub use ring::EAGER_BYTES;
pub use spawn::spawn;
