//! Lanes: where the messages of a channel and the receives for them meet, first in, first out.

use super::SimulateError;
use crate::schedule::{OpKind, Plan, PlanOp};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// A receive that waits for its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Receive {
    /// Its ticket.
    pub(super) ticket: u32,
    /// Whether it combines what it receives.
    pub(super) combines: bool,
}

/// What waits in a lane: messages, or receives, never both.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Receive(Receive),
    /// A message, by its length.
    Message(u64),
}

/// The lanes of a rank: one for each (sender, channel) of which there is a receive.
#[derive(Clone, Debug, Default)]
struct Own {
    /// In order.
    keys: Vec<(u32, u16)>,
    /// What is first in each lane; there is hardly ever more.
    first: Vec<Option<Waiting>>,
    /// What is behind it, by lane.
    more: BTreeMap<usize, VecDeque<Waiting>>,
}

/// All lanes of a world; a rank's are made when something has to wait in them.
#[derive(Debug)]
pub(super) struct Lanes {
    own: Vec<Own>,
}

impl Lanes {
    pub(super) fn new(ranks: usize) -> Lanes {
        Lanes {
            own: alloc::vec![Own::default(); ranks],
        }
    }

    /// The lanes of a rank, made if they are not there.
    fn of(&mut self, plan: &Plan) -> &mut Own {
        let own = &mut self.own[plan.rank as usize];
        if own.keys.is_empty() {
            *own = Own::new(plan);
        }
        own
    }

    /// A receive of the rank with this plan is there: gives the length of its message, if that is there.
    pub(super) fn receive(
        &mut self,
        plan: &Plan,
        key: (u32, u16),
        receive: Receive,
    ) -> Option<u64> {
        let ranks = self.own.len();
        let own = self.of(plan);
        let lane = own.find(key, ranks)?;
        let Some(Waiting::Message(bytes)) = own.first[lane] else {
            own.push(lane, Waiting::Receive(receive));
            return None;
        };
        own.pop(lane);
        Some(bytes)
    }

    /// A message for the rank with this plan is there: gives its receive, if that is there.
    ///
    /// # Errors
    /// The rank never receives from there.
    pub(super) fn arrive(
        &mut self,
        plan: &Plan,
        key: (u32, u16),
        bytes: u64,
    ) -> Result<Option<Receive>, SimulateError> {
        let ranks = self.own.len();
        let own = self.of(plan);
        let unexpected = SimulateError::Unexpected {
            from: key.0,
            to: plan.rank,
        };
        let lane = own.find(key, ranks).ok_or(unexpected)?;
        let Some(Waiting::Receive(receive)) = own.first[lane] else {
            own.push(lane, Waiting::Message(bytes));
            return Ok(None);
        };
        own.pop(lane);
        Ok(Some(receive))
    }
}

impl Own {
    fn new(plan: &Plan) -> Own {
        let key = |op: &PlanOp| match op.kind {
            OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
                Some((from, channel))
            }
            _ => None,
        };
        let mut keys: Vec<(u32, u16)> = plan.ops.iter().filter_map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        Own {
            first: alloc::vec![None; keys.len()],
            keys,
            more: BTreeMap::new(),
        }
    }

    /// The lane from rank `from` on `channel`, among so many ranks, if there is a receive from there at all.
    fn find(&self, (from, channel): (u32, u16), ranks: usize) -> Option<usize> {
        // Where a rank receives from nearly all, the lane lies where the sender stands among all, or beside that.
        let near = (u64::from(from) * self.keys.len() as u64 / ranks as u64) as usize;
        let is_it = |at: &usize| self.keys.get(*at) == Some(&(from, channel));
        let at = [near, near + 1].into_iter().find(is_it);
        at.or_else(|| self.keys.binary_search(&(from, channel)).ok())
    }

    fn push(&mut self, lane: usize, waiting: Waiting) {
        match &mut self.first[lane] {
            first @ None => *first = Some(waiting),
            Some(_) => self.more.entry(lane).or_default().push_back(waiting),
        }
    }

    fn pop(&mut self, lane: usize) {
        let next = match self.more.is_empty() {
            true => None,
            false => self.behind(lane),
        };
        self.first[lane] = next;
    }

    /// Takes what is next behind the first.
    fn behind(&mut self, lane: usize) -> Option<Waiting> {
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
    use super::super::tests::named;
    use super::*;
    use crate::call::Collective;

    #[test]
    fn what_comes_first_meets_what_comes_first() {
        // Rank 0 receives from rank 1, and from rank 2.
        let plans = named(Collective::Gather, "direct", 3, 1);
        let (plan, mut lanes) = (&plans[0], Lanes::new(3));
        let (near, far) = ((1, 0), (2, 0));
        let receive = |ticket| Receive {
            ticket,
            combines: false,
        };
        for bytes in 1..=3 {
            assert_eq!(lanes.arrive(plan, near, bytes), Ok(None));
        }
        assert_eq!(lanes.receive(plan, far, receive(9)), None);
        assert_eq!(lanes.receive(plan, near, receive(4)), Some(1));
        assert_eq!(lanes.receive(plan, near, receive(5)), Some(2));
        assert_eq!(lanes.arrive(plan, far, 8), Ok(Some(receive(9))));
        assert_eq!(lanes.receive(plan, near, receive(6)), Some(3));
        assert_eq!(lanes.receive(plan, near, receive(7)), None);
        assert_eq!(lanes.arrive(plan, near, 4), Ok(Some(receive(7))));
        assert!(lanes.own[0].more.is_empty());
        let unexpected = SimulateError::Unexpected { from: 1, to: 0 };
        assert_eq!(lanes.arrive(plan, (1, 3), 4), Err(unexpected));
    }

    #[test]
    fn a_lane_is_found_by_its_ends() {
        let own = |keys: &[(u32, u16)]| Own {
            keys: keys.to_vec(),
            ..Own::default()
        };
        // From all others of three ranks; from two, one of them on two channels; from nobody.
        let find = |own: &Own, from, channel| own.find((from, channel), 3);
        let all = own(&[(1, 0), (2, 0)]);
        let found = [(1, 0), (2, 0), (0, 0)].map(|(from, channel)| find(&all, from, channel));
        assert_eq!(found, [Some(0), Some(1), None]);
        let two = own(&[(0, 0), (2, 0), (2, 3)]);
        let found = [(0, 0), (2, 0), (2, 3)].map(|(from, channel)| find(&two, from, channel));
        assert_eq!(found, [Some(0), Some(1), Some(2)]);
        assert_eq!([find(&two, 2, 1), find(&own(&[]), 0, 0)], [None, None]);
    }
}
