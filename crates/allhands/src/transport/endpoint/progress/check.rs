//! Checks: whether a call can complete at all, which who waits or tests asks now and then.

use crate::transport::TransportError;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::Presence;

impl Endpoint {
    /// Looks now and then whether call `call` can complete at all, for those who test and never wait.
    ///
    /// # Errors
    /// Whatever stops the communicator. The caller then stops the requests that it drove.
    pub fn look_out(&mut self, call: u64) -> Result<(), TransportError> {
        match self.patience.is_check_due(&mut self.looked_out) {
            true => self.check(call).inspect_err(|_| self.spread()),
            false => Ok(()),
        }
    }

    /// Looks whether the calls waited for can complete at all.
    #[cold]
    pub(crate) fn check(&mut self, call: u64) -> Result<(), TransportError> {
        if let Some(cluster) = &self.cluster {
            self.hear(cluster, call)?;
            self.look_for_difference(cluster)?;
        }
        if let Some(error) = self.segment.stopped(self.rank, call) {
            return Err(error);
        }
        match self.segment.trouble(self.rank, call) {
            // A rank that leaves when another has died: the reason is what counts. One that has left in order may end badly afterwards.
            Some((_, Fault::Left { .. })) if self.segment.has_lost_any() => {
                self.segment.stop_if_dead(self.rank, Some(call))
            }
            Some((first, fault)) => {
                Err(self.segment.poison_from(first.min(call), self.rank, fault))
            }
            None => {
                self.look_for_refusal(call)?;
                self.segment.stop_if_dead(self.rank, Some(call))
            }
        }
    }

    /// Looks whether messages that are no part of a call can come at all: not if a rank has died or panicked, or the
    /// communicator has stopped. One that has left is missed by those alone who wait for it.
    #[cold]
    pub(crate) fn check_for_messages(&self) -> Result<(), TransportError> {
        let mut panicked = None;
        if let Some(cluster) = &self.cluster {
            self.listen(cluster);
            let state = cluster.state();
            panicked = state
                .left
                .iter()
                .find(|left| left.panicked)
                .map(|left| left.rank);
        }
        if let Some(error) = self.segment.error(self.rank) {
            return Err(error);
        }
        let has_panicked = |rank: &u32| self.segment.presence(*rank) == Presence::Panicked;
        match panicked.or_else(|| (0..self.ranks()).find(has_panicked)) {
            Some(rank) => Err(self.segment.poison(self.rank, Fault::Panicked { rank })),
            None => self.segment.stop_if_dead(self.rank, None),
        }
    }
}
