//! Libfabric as a network between nodes, for hardware that the kernel's TCP does not use well.
//!
//! Its rooms, from first to last: `abi` is what of its binary interface is used, `library` how it is loaded, `capabilities`
//! what is asked of a provider, `tags` what a message's tag says, `wire_up` what ranks tell one another before they talk,
//! `endpoint` a rank's objects, `registration` memory that a provider wants to know, `operation` the messages under way, `rail` an
//! endpoint with what goes over it, `shares` which rail that is, `signal`, `target`, `fence` and `windows` what ranks tell one another of
//! windows, where those are, what waits until all was put, and the own ones, `driver` what takes messages further (`parts`, `puts`,
//! `ends`, `watch` and `withdrawal` are parts of it), `network` that as a network, and `loopback` the networks of threads.

mod abi;
mod capabilities;
mod driver;
mod endpoint;
mod ends;
mod error;
#[cfg(test)]
mod fake;
mod fence;
mod library;
mod loopback;
mod network;
mod operation;
mod parts;
mod puts;
mod rail;
mod registration;
mod shares;
mod signal;
mod tags;
mod target;
mod watch;
mod windows;
mod wire_up;
mod withdrawal;

pub use capabilities::Wishes;
pub use driver::OfiNetwork;
pub use endpoint::Endpoint;
pub use error::OfiError;
pub use loopback::OfiLoopback;
pub use wire_up::Cards;
pub(crate) use wire_up::{MOST_CARD, fit};
