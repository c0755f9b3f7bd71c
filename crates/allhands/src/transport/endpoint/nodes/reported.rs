//! Reported refusals: what the ranks of other nodes have said of calls that they did not make, and of those that they come to.

use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::failure::refusals::Refusals;

/// What a rank of another node has refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refuser {
    /// Its number in plans.
    pub(crate) rank: u32,
    /// The call that it makes next, and those that it did not make before it.
    pub(crate) call: u64,
    pub(crate) refusals: Refusals,
    /// The hash of the call that it has come with.
    pub(crate) came_with: Option<u64>,
    /// Whether it was told what this rank made as that call.
    pub(crate) is_answered: bool,
}

/// What the ranks of other nodes have told of refusals.
#[derive(Debug, Default)]
pub(crate) struct ReportedRefusals {
    pub(crate) refusers: Vec<Refuser>,
    /// The call that each rank that said so has come to, and its stamp.
    pub(crate) came: Vec<(u32, u64, Stamp)>,
}

impl ReportedRefusals {
    /// Notes what a rank has refused.
    pub(crate) fn note(&mut self, rank: u32, call: u64, refusals: u64) {
        self.refusers.retain(|refuser| refuser.rank != rank);
        if refusals != 0 {
            self.refusers.push(Refuser {
                rank,
                call,
                refusals: Refusals(refusals),
                came_with: None,
                is_answered: false,
            });
        }
    }

    /// Notes what a rank makes as call `call`; whether it had refused calls before that.
    pub(crate) fn comes(&mut self, rank: u32, call: u64, stamp: Stamp) -> bool {
        self.came.retain(|(other, ..)| *other != rank);
        self.came.push((rank, call, stamp));
        let mut refusers = self.refusers.iter_mut();
        let refuser = refusers.find(|refuser| (refuser.rank, refuser.call) == (rank, call));
        refuser
            .map(|refuser| refuser.came_with = Some(stamp.hash))
            .is_some()
    }
}
