//! Links: which pairs of ranks have a ring of their own.
//!
//! Up to [`ALL_PAIRS_MOST`] ranks every pair has one. Beyond, those have whose distance in either direction is a power of two:
//! the pairs of dissemination, recursive doubling, halving, binomial trees of any root, and rings. All others share the
//! receiver's inbox. So memory grows with p log p, not with p².
//!
//! ```text
//! 17 ranks or more      to rank 0: rings from 1, 2, 4, 8, … and from p−1, p−2, p−4, p−8, …; the inbox for the rest
//! ```

use crate::transport::shm::tuning::ALL_PAIRS_MOST;

/// The rings among some number of ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    ranks: u32,
    /// Powers of two below the number of ranks.
    powers: u32,
}

/// What two ranks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// The ring with this number.
    Ring(u32),
    /// The receiver's inbox.
    Inbox,
}

impl Links {
    pub(crate) fn new(ranks: u32) -> Links {
        Links {
            ranks,
            powers: ranks.next_power_of_two().ilog2(),
        }
    }

    /// The rings that end at one rank.
    fn each(&self) -> u32 {
        if self.ranks <= ALL_PAIRS_MOST {
            self.ranks
        } else {
            2 * self.powers
        }
    }

    /// How many rings there are.
    pub(crate) fn rings(&self) -> u32 {
        self.ranks * self.each()
    }

    /// How many rings there are whose ends are two ranks.
    pub(crate) fn between(&self) -> u32 {
        match self.ranks <= ALL_PAIRS_MOST {
            true => self.ranks * (self.ranks - 1),
            // None of these leads from a rank to itself.
            false => self.rings(),
        }
    }

    /// The number among those of the ring with this number, from one rank to another.
    pub(crate) fn between_others(&self, number: u32, from: u32, to: u32) -> u32 {
        match self.ranks <= ALL_PAIRS_MOST {
            true => to * (self.ranks - 1) + from - u32::from(from > to),
            false => number,
        }
    }

    /// How many inboxes there are: one a rank, or none if nobody needs one.
    pub(crate) fn inboxes(&self) -> u32 {
        if self.ranks <= ALL_PAIRS_MOST {
            0
        } else {
            self.ranks
        }
    }

    /// What carries messages from `from` to `to`.
    #[inline]
    pub(crate) fn link(&self, from: u32, to: u32) -> Link {
        if self.ranks <= ALL_PAIRS_MOST {
            return Link::Ring(to * self.ranks + from);
        }
        let ahead = if to >= from {
            to - from
        } else {
            to + self.ranks - from
        };
        let behind = self.ranks - ahead;
        let first = to * self.each();
        if ahead.is_power_of_two() {
            Link::Ring(first + ahead.ilog2())
        } else if behind.is_power_of_two() && ahead > 0 {
            Link::Ring(first + self.powers + behind.ilog2())
        } else {
            Link::Inbox
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_ring_serves_one_pair_and_memory_is_not_quadratic() {
        for ranks in (1..=40).chain([64, 100, 256]) {
            let links = Links::new(ranks);
            let (mut seen, mut others) = (BTreeSet::new(), BTreeSet::new());
            for (from, to) in (0..ranks).flat_map(|f| (0..ranks).map(move |t| (f, t))) {
                match links.link(from, to) {
                    Link::Ring(number) => {
                        assert!(number < links.rings());
                        assert!(seen.insert(number), "{ranks}: {from} to {to}");
                        if from != to {
                            let number = links.between_others(number, from, to);
                            assert!(number < links.between());
                            assert!(others.insert(number), "{ranks}: {from} to {to}");
                        }
                    }
                    Link::Inbox => assert!(to < links.inboxes()),
                }
            }
            assert!(links.rings() <= ranks * 16.max(2 * ranks.next_power_of_two().ilog2()));
        }
    }
}
