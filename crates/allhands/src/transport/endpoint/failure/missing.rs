//! Missing ranks: who has not come to a call, on this node and on others.

use crate::transport::endpoint::state::endpoint::Endpoint;

impl Endpoint {
    /// The ranks of this node that have not come to call `call`.
    pub(crate) fn missing_here(&self, call: u64) -> Vec<u32> {
        let has_come = |rank: u32| self.segment.member(rank).entered() > call;
        (0..self.ranks()).filter(|rank| !has_come(*rank)).collect()
    }

    /// The ranks of other nodes, as the communicator calls them, that are not known to have come to call `call`: nobody on
    /// their nodes who waits there has seen them.
    pub(crate) fn missing_elsewhere(&self, call: u64) -> Vec<u32> {
        let Some(cluster) = &self.cluster else {
            return Vec::new();
        };
        let (state, places) = (cluster.state(), &cluster.places);
        let has_come = |rank: &u32| {
            let (number, local) = (cluster.numbers[*rank as usize], places.local(*rank));
            let (word, bit) = (local as usize / 64, local % 64);
            state.waiting.iter().any(|(teller, in_call, missing)| {
                let is_there = *teller == number && *in_call >= call;
                let shares = places.node(cluster.name(*teller)) == places.node(*rank);
                let is_missing = missing.get(word).is_some_and(|m| m >> bit & 1 == 1);
                is_there || shares && *in_call == call && !is_missing
            })
        };
        let others = cluster.others().iter().copied();
        others.filter(|rank| !has_come(rank)).collect()
    }

    /// Whether a rank of another node with a lower number has said that it waits in call `call`.
    pub(crate) fn has_heard_of_lower(&self, call: u64) -> bool {
        let Some(cluster) = &self.cluster else {
            return false;
        };
        let state = cluster.state();
        let mut waiting = state.waiting.iter();
        waiting.any(|(teller, in_call, _)| *in_call == call && cluster.name(*teller) < cluster.rank)
    }
}
