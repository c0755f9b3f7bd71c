//! Differing calls of ranks on different nodes: whoever receives a message of another call finds out with its sender which.

use crate::transport::TransportError;
use crate::transport::endpoint::nodes::cluster::Cluster;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::failure::fault::Fault;
use std::time::Duration;

/// How many calls before the one with the message the sender is told of: it may be one of them that differs.
const BACK: u64 = 16;

/// How long the sender has time to say which call it is. It may be busy with something else.
const EXPLAINED_WITHIN: Duration = Duration::from_millis(500);

impl Endpoint {
    /// Tells the sender of a message of another call what this rank has called, so that it compares.
    ///
    /// # Errors
    /// That the calls differ, if nobody has found out in what for some time.
    pub(crate) fn look_for_difference(&self, cluster: &Cluster) -> Result<(), TransportError> {
        let mut state = cluster.state();
        let Some(differing) = &mut state.differing else {
            return Ok(());
        };
        let (other, call, since) = (differing.peer, differing.call, differing.since);
        if !std::mem::replace(&mut differing.is_told, true) {
            for call in call.saturating_sub(BACK)..=call {
                if let Some(word) = self.word_of(call) {
                    let notice = word.notice();
                    state.network.notify(cluster.name(other), &notice);
                }
            }
        }
        if since.elapsed() < EXPLAINED_WITHIN {
            return Ok(());
        }
        drop(state);
        let rank = self.rank;
        let mine = self.segment.record(rank).entry(call).unwrap_or_default();
        let fault = Fault::Mismatch {
            rank,
            other,
            mine,
            theirs: None,
        };
        Err(self.segment.poison_from(call, rank, fault))
    }
}
