//! Folding: removing ranks until a power of two (or of a radix) is left, which then represent the others.
//!
//! The p ranks form p′ groups; one rank of each group stays and takes the new rank that numbers the group, the
//! others leave and are its guests. With p′ the next lower power of two a group has one or two ranks (T 4.4, T 5.1,
//! C 4); a smaller p′ makes larger groups, of sizes as even as possible.
//!
//! ```text
//! p = 6, p′ = 4     neighbour, first stays   (0 1) (2 3) (4) (5)   new ranks 0 1 2 3 are 0 2 4 5
//!                   neighbour, last stays    (0 1) (2 3) (4) (5)                         1 3 4 5
//!                   high                     (0 4) (1 5) (2) (3)                         0 1 2 3
//! ```

use super::math::previous_power;

/// Which ranks form a group, and which of them stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// The first ranks form groups of neighbours (pairs, for a power of two), the rest stand alone. Keeps rank
    /// order, so operators that do not commute are safe.
    Neighbour(Keeper),
    /// The ranks from p′ on fold onto the ranks below it, p′ + i onto i mod p′ (C 4); for commutative operators.
    High,
}

/// Which rank of a group of neighbours stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keeper {
    /// The first: of a pair, the even rank (T 5.1).
    First,
    /// The last: of a pair, the odd rank (T 4.4).
    Last,
}

/// What one rank does in a folding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Takes part, for itself and for its guests.
    Stays {
        /// Its rank among those that stay, below p′.
        new_rank: u32,
        /// The ranks it represents besides itself.
        guests: Guests,
    },
    /// Hands its part to another rank and waits for the result.
    Leaves {
        /// The rank that represents it.
        host: u32,
    },
}

/// The ranks that one staying rank represents besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guests {
    group: Group,
    host: u32,
}

impl Guests {
    /// How many they are; 0 or 1 when folding to the next lower power of two.
    pub fn len(&self) -> u32 {
        self.group.len - 1
    }

    /// Whether the staying rank represents only itself.
    pub fn is_empty(&self) -> bool {
        self.group.len == 1
    }

    /// Their ranks, rising.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        let host = self.host;
        self.group.ranks().filter(move |&rank| rank != host)
    }

    /// The first of them: the only one when folding to the next lower power of two.
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }
}

/// The ranks of one group: `first`, `first` + `stride`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    first: u32,
    stride: u32,
    len: u32,
}

impl Group {
    fn ranks(self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.len).map(move |i| self.first + i * self.stride)
    }
}

/// A folding of `p` ranks onto fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folding {
    p: u32,
    kept: u32,
    fold: Fold,
    always_stays: Option<u32>,
}

impl Folding {
    /// Folds `p` ranks onto `kept` of them.
    ///
    /// # Panics
    /// If not 1 ≤ `kept` ≤ `p`.
    pub fn new(p: u32, kept: u32, fold: Fold) -> Self {
        assert!(1 <= kept && kept <= p, "{p} ranks cannot fold onto {kept}");
        Self {
            p,
            kept,
            fold,
            always_stays: None,
        }
    }

    /// Folds `p` ranks onto the next lower (or equal) power of `radix`.
    ///
    /// # Panics
    /// If `p` is 0 or `radix` is below 2.
    pub fn to_power(p: u32, radix: u32, fold: Fold) -> Self {
        Self::new(p, previous_power(radix, p), fold)
    }

    /// The same folding with the roles in `root`'s group interchanged where needed, so that `root` stays (T 5.1).
    ///
    /// # Panics
    /// If `root` is not a rank.
    pub fn keeping(self, root: u32) -> Self {
        assert!(root < self.p, "rank {root} of {}", self.p);
        Self {
            always_stays: Some(root),
            ..self
        }
    }

    /// The number of ranks that stay: p′.
    pub fn kept(&self) -> u32 {
        self.kept
    }

    /// The number of ranks that leave: r = p − p′.
    pub fn extra(&self) -> u32 {
        self.p - self.kept
    }

    /// What `rank` does.
    ///
    /// # Panics
    /// If `rank` is not a rank.
    pub fn role(&self, rank: u32) -> Role {
        let new_rank = self.representative(rank);
        let host = self.actual(new_rank);
        if host == rank {
            Role::Stays {
                new_rank,
                guests: self.guests(new_rank),
            }
        } else {
            Role::Leaves { host }
        }
    }

    /// The new rank that represents `rank`, which is its own if it stays.
    ///
    /// # Panics
    /// If `rank` is not a rank.
    pub fn representative(&self, rank: u32) -> u32 {
        assert!(rank < self.p, "rank {rank} of {}", self.p);
        match self.fold {
            Fold::High => rank % self.kept,
            Fold::Neighbour(_) => {
                let small = self.p / self.kept;
                let large_groups = self.p % self.kept;
                // At most p, as there are `large_groups` groups of that size.
                let in_large = large_groups * (small + u32::from(large_groups > 0));
                if rank < in_large {
                    rank / (small + 1)
                } else {
                    large_groups + (rank - in_large) / small
                }
            }
        }
    }

    /// The rank that takes the new rank `new_rank`.
    ///
    /// # Panics
    /// If `new_rank` is not below [`Self::kept`].
    pub fn actual(&self, new_rank: u32) -> u32 {
        let group = self.group(new_rank);
        if let Some(root) = self.always_stays
            && self.representative(root) == new_rank
        {
            return root;
        }
        match self.fold {
            Fold::High | Fold::Neighbour(Keeper::First) => group.first,
            Fold::Neighbour(Keeper::Last) => group.first + group.len - 1,
        }
    }

    /// The ranks that the holder of `new_rank` represents besides itself.
    ///
    /// # Panics
    /// If `new_rank` is not below [`Self::kept`].
    pub fn guests(&self, new_rank: u32) -> Guests {
        Guests {
            group: self.group(new_rank),
            host: self.actual(new_rank),
        }
    }

    /// All ranks that `new_rank` stands for, rising: its holder and the guests. A contiguous range for
    /// [`Fold::Neighbour`].
    ///
    /// # Panics
    /// If `new_rank` is not below [`Self::kept`].
    pub fn members(&self, new_rank: u32) -> impl DoubleEndedIterator<Item = u32> {
        self.group(new_rank).ranks()
    }

    fn group(&self, new_rank: u32) -> Group {
        assert!(new_rank < self.kept, "new rank {new_rank} of {}", self.kept);
        let small = self.p / self.kept;
        let large_groups = self.p % self.kept;
        let len = small + u32::from(new_rank < large_groups);
        match self.fold {
            Fold::High => Group {
                first: new_rank,
                stride: self.kept,
                len,
            },
            Fold::Neighbour(_) => {
                let first = new_rank * small + new_rank.min(large_groups);
                Group {
                    first,
                    stride: 1,
                    len,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    const FOLDS: [Fold; 3] = [
        Fold::Neighbour(Keeper::First),
        Fold::Neighbour(Keeper::Last),
        Fold::High,
    ];

    fn check(folding: Folding) {
        let mut seen = vec![false; folding.p as usize];
        for new_rank in 0..folding.kept() {
            let members: Vec<u32> = folding.members(new_rank).collect();
            let host = folding.actual(new_rank);
            let guests = folding.guests(new_rank);
            assert_eq!(folding.role(host), Role::Stays { new_rank, guests });
            assert_eq!(guests.iter().count() as u32, guests.len());
            assert_eq!(guests.is_empty(), guests.first().is_none());
            for guest in guests.iter() {
                assert_eq!(folding.role(guest), Role::Leaves { host });
            }
            assert!(members.is_sorted_by(|a, b| a < b));
            assert_eq!(members.len() as u32, guests.len() + 1);
            for member in members {
                assert_eq!(folding.representative(member), new_rank);
                assert!(!core::mem::replace(&mut seen[member as usize], true));
                assert!(member == host || guests.iter().any(|guest| guest == member));
            }
        }
        assert!(seen.iter().all(|&once| once), "{folding:?}");
    }

    #[test]
    fn every_rank_stays_or_leaves_to_one_host() {
        for p in 1..=70 {
            for fold in FOLDS {
                for radix in 2..=5 {
                    check(Folding::to_power(p, radix, fold));
                    for root in 0..p {
                        let folding = Folding::to_power(p, radix, fold).keeping(root);
                        check(folding);
                        assert!(matches!(folding.role(root), Role::Stays { .. }));
                    }
                }
                for kept in 1..=p {
                    check(Folding::new(p, kept, fold));
                }
            }
        }
    }

    #[test]
    fn thirteen_ranks_fold_as_figure_12_of_thakur() {
        let first = Folding::to_power(13, 2, Fold::Neighbour(Keeper::First));
        assert_eq!((first.kept(), first.extra()), (8, 5));
        let actual: Vec<u32> = (0..8).map(|new_rank| first.actual(new_rank)).collect();
        assert_eq!(actual, [0, 2, 4, 6, 8, 10, 11, 12]);
        let last = Folding::to_power(13, 2, Fold::Neighbour(Keeper::Last));
        let actual: Vec<u32> = (0..8).map(|new_rank| last.actual(new_rank)).collect();
        assert_eq!(actual, [1, 3, 5, 7, 9, 10, 11, 12]);
        assert_eq!(first.keeping(3).actual(1), 3);
        assert_eq!(first.keeping(3).role(2), Role::Leaves { host: 3 });
    }

    #[test]
    fn powers_of_two_follow_the_papers_formulas() {
        for p in 1_u32..=70 {
            let kept = 1 << p.ilog2();
            let extra = p - kept;
            for rank in 0..p {
                let paired = rank < 2 * extra;
                let leaves_first = paired && rank % 2 == 1;
                let leaves_last = paired && rank % 2 == 0;
                let role = |fold| Folding::to_power(p, 2, fold).role(rank);
                let expect = |leaves, host, role| match role {
                    Role::Leaves { host: found } => assert!(leaves && found == host),
                    Role::Stays { guests, .. } => assert!(!leaves && guests.len() < 2),
                };
                expect(leaves_first, rank.wrapping_sub(1), role(FOLDS[0]));
                expect(leaves_last, rank + 1, role(FOLDS[1]));
                expect(rank >= kept, rank.wrapping_sub(kept), role(FOLDS[2]));
                if let Role::Stays { new_rank, .. } = role(FOLDS[0]) {
                    assert_eq!(new_rank, if paired { rank / 2 } else { rank - extra });
                }
            }
        }
    }

    #[test]
    fn huge_foldings_do_not_overflow() {
        for fold in FOLDS {
            let folding = Folding::to_power(u32::MAX, 2, fold);
            assert_eq!(folding.kept(), 1 << 31);
            assert_eq!(
                folding.representative(folding.actual((1 << 31) - 1)),
                (1 << 31) - 1
            );
            assert_eq!(folding.representative(folding.actual(0)), 0);
        }
    }
}
