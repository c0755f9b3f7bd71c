//! A differing rank: one on another node from which a message of another call has come.

use std::time::Instant;

/// A rank that calls otherwise, or has before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Differing {
    /// Its number in plans.
    pub(crate) peer: u32,
    /// The call in which the message came.
    pub(crate) call: u64,
    /// When that was.
    pub(crate) since: Instant,
    /// Whether it was told what this rank calls.
    pub(crate) is_told: bool,
}

impl Differing {
    pub(crate) fn new(peer: u32, call: u64) -> Differing {
        Differing {
            peer,
            call,
            since: Instant::now(),
            is_told: false,
        }
    }
}
