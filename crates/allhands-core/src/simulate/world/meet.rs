//! A rank's part in a meeting of all, in virtual time.

use super::{Moment, Network, World};
use crate::machine::Fabric;
use crate::simulate::meetings::Comes;
use crate::simulate::observer::Observer;

impl<N: Network, O: Observer> World<'_, N, O> {
    /// A rank comes to a meeting of all; gives when that ends, if it is known.
    pub(super) fn meet(
        &mut self,
        (rank, ticket): (u32, u32),
        (fabric, gives): (Fabric, bool),
        takes_ps: u64,
    ) -> Option<Moment> {
        let start_ps = self.queue.now_ps().max(*self.free_ps(rank));
        match self.meetings.come(fabric, (rank, ticket), gives, start_ps) {
            Comes::Waits => None,
            Comes::Then(last_ps) => Some(self.met(rank, last_ps.max(start_ps) + takes_ps)),
            Comes::Now(waiting) => {
                let last_ps = self.meetings.last_ps(fabric, rank);
                let mut own_ps = None;
                for (other, ticket) in waiting {
                    let free_ps = *self.free_ps(other);
                    let end_ps = self.met(other, last_ps.max(free_ps) + takes_ps);
                    if other == rank {
                        own_ps = Some(end_ps);
                    } else if self.known(other, ticket, end_ps).is_some() {
                        self.wake(other, self.queue.now_ps());
                    }
                }
                own_ps
            }
        }
    }

    /// A rank's processor is busy with a meeting until that ends.
    fn met(&mut self, rank: u32, end_ps: Moment) -> Moment {
        *self.free_ps(rank) = end_ps;
        end_ps
    }
}
