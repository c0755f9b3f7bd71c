//! Point to point: messages between two ranks that are no part of a collective call.
//!
//! Owns the matching of messages and receives, the credit of senders, the requests that are under way, and the ways that their
//! messages go: through the mailboxes of the shared segment, and in frames over the network. The communicator calls it, and takes
//! it further while a rank waits. It never takes a call further, and never waits itself, but where memory is taken back that a peer
//! still reads.
//!
//! ```text
//! short, with credit     sender ── header and bytes ──────────────▶ receiver
//! any other, here        sender ── where it lies ─────────────────▶ receiver reads it there when a receive has met it
//! long, unasked          sender ── announcement, bytes ──────────▶ where the receive wants them, if it is posted in time
//! any other, elsewhere   sender ── announcement ──▶ receiver ── wanted ──▶ sender ── bytes ──▶ where the receive wants them
//! ```

pub(crate) mod asked;
pub(crate) mod check;
pub(crate) mod credit;
pub(crate) mod frames;
pub(crate) mod header;
pub(crate) mod lanes;
pub(crate) mod matching;
pub(crate) mod message_error;
pub(crate) mod progress;
pub(crate) mod receive;
pub(crate) mod request;
pub(crate) mod send;
pub(crate) mod state;
pub(crate) mod unasked;
