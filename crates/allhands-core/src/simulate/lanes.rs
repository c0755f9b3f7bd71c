//! Lanes: where the messages of a channel and the receives for them meet, first in, first out.

use crate::schedule::{OpKind, Plan};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// What waits in a lane: messages, or receives, never both.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    /// A receive, by its ticket.
    Receive(u32),
    /// A message, by its length.
    Message(u64),
}

/// All lanes of a world: one for each (receiver, sender, channel) of which there is a receive.
#[derive(Debug)]
pub(super) struct Lanes {
    /// Where each rank's lanes start.
    starts: Vec<usize>,
    /// Rank by rank in order.
    keys: Vec<(u32, u16)>,
    /// What is first in each lane; there is hardly ever more.
    first: Vec<Option<Waiting>>,
    /// What is behind it, by lane.
    more: BTreeMap<u32, VecDeque<Waiting>>,
}

impl Lanes {
    pub(super) fn new(plans: &[Plan]) -> Lanes {
        let (mut starts, mut keys) = (alloc::vec![0], Vec::new());
        for plan in plans {
            let first = keys.len();
            keys.extend(plan.ops.iter().filter_map(|op| match op.kind {
                OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
                    Some((from, channel))
                }
                _ => None,
            }));
            keys[first..].sort_unstable();
            let mut own = keys.split_off(first);
            own.dedup();
            keys.extend(own);
            starts.push(keys.len());
        }
        Lanes {
            starts,
            first: alloc::vec![None; keys.len()],
            more: BTreeMap::new(),
            keys,
        }
    }

    /// The lane to rank `to` from rank `from`, if `to` receives from there at all.
    pub(super) fn find(&self, to: u32, from: u32, channel: u16) -> Option<u32> {
        let ranks = self.starts.len() as u64 - 1;
        let own = self.starts[to as usize]..*self.starts.get(to as usize + 1)?;
        let keys = &self.keys[own.clone()];
        // Where a rank receives from nearly all, the lane lies where the sender stands among all, or beside that.
        let near = (u64::from(from) * keys.len() as u64 / ranks) as usize;
        let is_it = |at: &usize| keys.get(*at) == Some(&(from, channel));
        let at = [near, near + 1].into_iter().find(is_it);
        let at = at.or_else(|| keys.binary_search(&(from, channel)).ok())?;
        Some((own.start + at) as u32)
    }

    /// A receive is there: gives the length of its message, if that is there.
    pub(super) fn receive(&mut self, lane: u32, ticket: u32) -> Option<u64> {
        let Some(Waiting::Message(bytes)) = self.first[lane as usize] else {
            self.push(lane, Waiting::Receive(ticket));
            return None;
        };
        self.pop(lane);
        Some(bytes)
    }

    /// A message is there: gives its receive, if that is there.
    pub(super) fn arrive(&mut self, lane: u32, bytes: u64) -> Option<u32> {
        let Some(Waiting::Receive(ticket)) = self.first[lane as usize] else {
            self.push(lane, Waiting::Message(bytes));
            return None;
        };
        self.pop(lane);
        Some(ticket)
    }

    fn push(&mut self, lane: u32, waiting: Waiting) {
        match &mut self.first[lane as usize] {
            first @ None => *first = Some(waiting),
            Some(_) => self.more.entry(lane).or_default().push_back(waiting),
        }
    }

    fn pop(&mut self, lane: u32) {
        let next = match self.more.is_empty() {
            true => None,
            false => self.behind(lane),
        };
        self.first[lane as usize] = next;
    }

    /// Takes what is next behind the first.
    fn behind(&mut self, lane: u32) -> Option<Waiting> {
        let behind = self.more.get_mut(&lane)?;
        let next = behind.pop_front();
        if behind.is_empty() {
            self.more.remove(&lane);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_meets_what_comes_first() {
        let mut lanes = Lanes {
            starts: alloc::vec![0, 2],
            keys: alloc::vec![(0, 0), (0, 1)],
            first: alloc::vec![None; 2],
            more: BTreeMap::new(),
        };
        assert_eq!((1..=3).find_map(|bytes| lanes.arrive(0, bytes)), None);
        assert_eq!(lanes.receive(1, 9), None);
        assert_eq!(
            [4, 5].map(|ticket| lanes.receive(0, ticket)),
            [Some(1), Some(2)]
        );
        assert_eq!(lanes.arrive(1, 8), Some(9));
        assert_eq!(
            [6, 7].map(|ticket| lanes.receive(0, ticket)),
            [Some(3), None]
        );
        assert_eq!(lanes.arrive(0, 4), Some(7));
        assert!(lanes.more.is_empty());
    }

    #[test]
    fn a_lane_is_found_by_its_ends() {
        let plans = Vec::new();
        let mut lanes = Lanes::new(&plans);
        // Rank 0 receives from all others, rank 1 from two, one of them on two channels, rank 2 from nobody.
        lanes.starts = alloc::vec![0, 2, 5, 5];
        lanes.keys = alloc::vec![(1, 0), (2, 0), (0, 0), (2, 0), (2, 3)];
        let find = |to, from, channel| lanes.find(to, from, channel);
        assert_eq!(
            [find(0, 1, 0), find(0, 2, 0), find(0, 0, 0)],
            [Some(0), Some(1), None]
        );
        assert_eq!(
            [find(1, 0, 0), find(1, 2, 0), find(1, 2, 3)],
            [Some(2), Some(3), Some(4)]
        );
        assert_eq!([find(1, 2, 1), find(2, 0, 0)], [None, None]);
    }
}
