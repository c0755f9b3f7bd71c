//! The protocol: all that one rank does about its messages, without a socket, a clock or a thread.
//!
//! ```text
//!  bytes came, may be written, connected, lost, it is now t ─▶ ┌──────┐ ─▶ write these slices, read into this memory
//!                       send, receive, cancel, notify, leave ─▶│ Rank │ ─▶ connect, close
//!                                                        test ─▶└──────┘ ─▶ how a message ended, which peer is lost
//! ```
//!
//! [`Rank`](rank::Rank) is the machine. Whoever drives it, a driver with sockets or a simulation in virtual time, calls it with
//! what has happened and then asks what is to be done, until there is nothing more. Its parts, each of which knows those before
//! it: `memory`, `frame` (what goes over a connection), `settings`, `handshake` (who is at its other end), `rate` (of a rail), `stripe` (how a long message is cut),
//! `buffers` and `slots` (memory), `matching` (which receive a message is for), `windows` (what is put there), `frames` (what waits to be sent), `connection`
//! (both directions of one), `peer` (all that concerns one other rank), `rank`.
//!
//! # What goes on between two ranks
//! - A message of up to [`Settings::eager_bytes`] goes as it is, if the receiver has credit left for it: room for messages that
//!   nobody has asked for. A longer one, or one beyond the credit, is announced and waits at its sender for a grant; a receive
//!   that is there before its long message grants it unasked.
//! - A payload goes from the user's memory to the socket, and from the socket to the memory of its receive. A copy is made of
//!   short messages, whose sends so end at once; of messages that nobody had asked for; and of what was sent, but not
//!   acknowledged when a send ends, if another connection may have to send it again ([`Settings::resends`]).
//! - What is put goes from the user's memory to the socket, and from there to the window, whatever its receiver does: no grant, no
//!   credit, no copy. A flag is raised when all that its sender had put into the window before is there.
//! - Frames are counted at their arrival. When a connection is lost, what it has not acknowledged goes over the others, or over
//!   one that is made anew; a message's tag, number and offset tell the receiver what it has already.
//! - A rank whose connections are all lost and cannot be made again is lost, and every message from or to it fails with its name.

pub mod buffers;
pub mod connection;
pub mod frame;
pub mod frames;
pub mod handshake;
pub mod matching;
pub mod memory;
pub mod peer;
pub mod rank;
pub mod rate;
pub mod settings;
#[cfg(test)]
mod simulation;
pub mod slots;
pub mod stripe;
pub mod windows;

pub use memory::{Memory, Span};
pub use settings::Settings;
