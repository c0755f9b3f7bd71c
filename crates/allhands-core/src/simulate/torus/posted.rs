//! Posted receives: what a processor looks through for a message that comes, one after another, until it finds the one for it.

use crate::simulate::observer::Observer;
use alloc::vec;
use alloc::vec::Vec;

/// Nobody.
const NONE: u32 = u32::MAX;

/// What a rank has posted, and what came early: most often one of each at most, and otherwise a queue.
#[derive(Clone, Copy, Debug)]
struct Few {
    posted: u32,
    early: u32,
    /// One more than the number of its queue, which it keeps once it has one; 0 before.
    queue: u32,
}

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
    ranks: Vec<Few>,
    queues: Vec<Queue>,
}

impl Posted {
    pub(super) fn new(entry_ps: u64, ranks: u64) -> Posted {
        let ranks = if entry_ps > 0 { ranks as usize } else { 0 };
        Posted {
            entry_ps,
            ranks: vec![
                Few {
                    posted: NONE,
                    early: NONE,
                    queue: 0,
                };
                ranks
            ],
            queues: Vec::new(),
        }
    }

    /// The queue of a rank that has more than one of something.
    fn queue(&mut self, rank: usize) -> &mut Queue {
        let few = &mut self.ranks[rank];
        if few.queue == 0 {
            let known = |from: u32| (from != NONE).then_some(from).into_iter().collect();
            self.queues.push(Queue {
                posted: known(few.posted),
                early: known(few.early),
            });
            few.queue = self.queues.len() as u32;
        }
        &mut self.queues[few.queue as usize - 1]
    }

    /// A rank will post a receive soon, or look for one.
    #[inline]
    pub(super) fn look_at<O: Observer>(&self, rank: u32) {
        if let Some(few) = self.ranks.get(rank as usize) {
            O::soon(few, |few| few.queue as usize);
        }
    }

    /// A rank posts a receive.
    pub(super) fn post(&mut self, rank: u32, from: u32) {
        let Some(few) = self.ranks.get_mut(rank as usize) else {
            return;
        };
        if few.queue == 0 {
            if few.early == from {
                few.early = NONE;
                return;
            }
            if few.posted == NONE {
                few.posted = from;
                return;
            }
        }
        let queue = self.queue(rank as usize);
        match queue.early.iter().position(|early| *early == from) {
            Some(at) => drop(queue.early.remove(at)),
            None => queue.posted.push(from),
        }
    }

    /// A message comes; says how long its rank looks at receives for others.
    pub(super) fn search_ps(&mut self, rank: u32, from: u32) -> u64 {
        let Some(few) = self.ranks.get_mut(rank as usize) else {
            return 0;
        };
        if few.queue == 0 {
            if few.posted == from {
                few.posted = NONE;
                return 0;
            }
            if few.early == NONE {
                few.early = from;
                return u64::from(few.posted != NONE) * self.entry_ps;
            }
        }
        let queue = self.queue(rank as usize);
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
