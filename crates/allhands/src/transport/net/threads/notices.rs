//! Notices that wait for a rank: those of one teller in order, of several in any order.

use crate::transport::net::Notice;
use std::collections::VecDeque;

/// A notice that nobody has heard.
#[derive(Debug)]
struct Waiting {
    from: u32,
    notice: Notice,
    /// For how many looks it is held back.
    looks: u32,
}

/// The notices that wait for a rank.
#[derive(Debug, Default)]
pub(super) struct Notices(VecDeque<Waiting>);

impl Notices {
    pub(super) fn push(&mut self, from: u32, notice: Notice, looks: u32) {
        self.0.push_back(Waiting {
            from,
            notice,
            looks,
        });
    }

    /// Whether there is one of a rank.
    pub(super) fn has_some_of(&self, rank: u32) -> bool {
        self.0.iter().any(|waiting| waiting.from == rank)
    }

    /// The next notice that is not held back, nor waits for an older one of the same teller that is: one look.
    pub(super) fn hear(&mut self) -> Option<(u32, Notice)> {
        let mut held_back = Vec::new();
        let heard = self.0.iter_mut().position(|waiting| {
            if held_back.contains(&waiting.from) {
                return false;
            }
            let is_heard = waiting.looks == 0;
            if !is_heard {
                waiting.looks -= 1;
                held_back.push(waiting.from);
            }
            is_heard
        });
        let waiting = self.0.remove(heard?)?;
        Some((waiting.from, waiting.notice))
    }
}
