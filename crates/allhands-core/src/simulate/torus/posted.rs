//! Posted receives: what a processor looks through for a message that comes, one after another, until it finds the one for it.

use alloc::vec;
use alloc::vec::Vec;

/// The receives that a rank has posted and that no message has met, and the messages that came before theirs, by their senders.
#[derive(Clone, Debug, Default)]
struct Queue {
    posted: Vec<u32>,
    early: Vec<u32>,
}

/// The receives of all ranks.
#[derive(Clone, Debug)]
pub(super) struct Posted {
    /// What it takes to look at one that is not the right one, in picoseconds; 0: nothing is kept.
    entry_ps: u64,
    ranks: Vec<Queue>,
}

impl Posted {
    pub(super) fn new(entry_ps: u64, ranks: u64) -> Posted {
        let ranks = if entry_ps > 0 { ranks as usize } else { 0 };
        Posted {
            entry_ps,
            ranks: vec![Queue::default(); ranks],
        }
    }

    /// A rank posts a receive.
    pub(super) fn post(&mut self, rank: u32, from: u32) {
        let Some(queue) = self.ranks.get_mut(rank as usize) else {
            return;
        };
        match queue.early.iter().position(|early| *early == from) {
            Some(at) => drop(queue.early.remove(at)),
            None => queue.posted.push(from),
        }
    }

    /// A message comes; says how long its rank looks at receives for others.
    pub(super) fn search_ps(&mut self, rank: u32, from: u32) -> u64 {
        let Some(queue) = self.ranks.get_mut(rank as usize) else {
            return 0;
        };
        let at = queue.posted.iter().position(|posted| *posted == from);
        let seen = at.unwrap_or(queue.posted.len());
        match at {
            Some(at) => drop(queue.posted.remove(at)),
            None => queue.early.push(from),
        }
        seen as u64 * self.entry_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receives_for_others_are_looked_at_first() {
        let mut posted = Posted::new(10, 2);
        for from in [5, 6, 7] {
            posted.post(1, from);
        }
        assert_eq!(posted.search_ps(1, 7), 20);
        assert_eq!(posted.search_ps(1, 5), 0);
        // One that comes early is looked for in vain, and its receive is not posted any more.
        assert_eq!(posted.search_ps(1, 9), 10);
        posted.post(1, 9);
        assert_eq!(posted.search_ps(1, 6), 0);
        assert_eq!(posted.search_ps(1, 4), 0);
        assert_eq!(posted.search_ps(0, 4), 0);
    }

    #[test]
    fn where_it_takes_no_time_nothing_is_kept() {
        let mut posted = Posted::new(0, 1 << 40);
        posted.post(3, 4);
        assert_eq!(posted.search_ps(3, 5), 0);
    }
}
