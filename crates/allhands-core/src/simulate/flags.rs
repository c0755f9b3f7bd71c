//! Flags in virtual time: how often each was raised, as every rank that waits for it sees it.

use crate::schedule::{OpKind, Plan};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// A flag as one rank sees it.
#[derive(Clone, Debug, Default)]
struct Sight {
    raised: u64,
    taken: u64,
    /// Waits: their tickets, and how often it must be raised for them.
    waits: VecDeque<(u32, u64)>,
}

/// All flags that some rank waits for: by (rank, flag), and by the rank that waits.
#[derive(Debug, Default)]
pub(super) struct Flags {
    flags: BTreeMap<(u32, u16), BTreeMap<u32, Sight>>,
}

impl Flags {
    pub(super) fn new(plans: &[Plan]) -> Flags {
        let mut flags = Flags::default();
        // Who waits has a credit for every flag, if only of nothing.
        for plan in plans.iter().filter(|plan| !plan.credits.is_empty()) {
            for op in &plan.ops {
                if let OpKind::Wait { at, flag, .. } = op.kind {
                    let sight = Sight {
                        raised: u64::from(plan.credits[usize::from(flag)]),
                        ..Sight::default()
                    };
                    let seen = flags.flags.entry((at, flag)).or_default();
                    seen.insert(plan.rank, sight);
                }
            }
        }
        flags
    }

    /// The ranks that wait for a flag of `at`.
    pub(super) fn watchers(&self, at: u32, flag: u16) -> Vec<u32> {
        let seen = self.flags.get(&(at, flag));
        seen.map_or(Vec::new(), |seen| seen.keys().copied().collect())
    }

    /// Whether a wait is over at once; otherwise it is kept.
    pub(super) fn wait(&mut self, rank: u32, flag: (u32, u16), count: u32, ticket: u32) -> bool {
        let sight = self.flags.entry(flag).or_default().entry(rank).or_default();
        sight.taken += u64::from(count);
        let over = sight.taken <= sight.raised;
        if !over {
            sight.waits.push_back((ticket, sight.taken));
        }
        over
    }

    /// Rank `rank` sees that a flag was raised once more; gives the wait that is over.
    pub(super) fn see(&mut self, rank: u32, flag: (u32, u16)) -> Option<u32> {
        let sight = self.flags.get_mut(&flag)?.get_mut(&rank)?;
        sight.raised += 1;
        let raised = sight.raised;
        let (ticket, _) = *sight.waits.front().filter(|wait| wait.1 <= raised)?;
        sight.waits.pop_front();
        Some(ticket)
    }
}
