//! Meetings of all ranks in the machine's own hardware, on real elements.

use super::{Element, Failure, Law, RankEngine};
use crate::machine::Fabric;
use crate::progress::{Post, Status};
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;

/// What each rank that has come to a meeting has given, if it gives.
type Given = BTreeMap<usize, Option<Vec<Element>>>;

/// What has come to each fabric's meetings so far.
#[derive(Default)]
pub(super) struct Meetings {
    /// The meeting to which an operation of a rank has come.
    of: BTreeMap<(usize, u32), (Fabric, u32)>,
    /// The meetings that each rank has come to.
    come: BTreeMap<(Fabric, usize), u32>,
    given: BTreeMap<(Fabric, u32), Given>,
}

impl RankEngine<'_> {
    /// Comes to a meeting, or asks whether all have come and takes what they have given.
    pub(super) fn meet(
        &mut self,
        post: &Post<'_>,
        (fabric, gives): (Fabric, bool),
        started: bool,
    ) -> Result<Status, Failure> {
        if !started {
            let given = gives.then(|| self.world.gather(self.rank, post.source()));
            let meetings = &mut self.world.meetings;
            let come = meetings.come.entry((fabric, self.rank)).or_default();
            let key = (fabric, *come);
            *come += 1;
            meetings.of.insert((self.rank, post.ticket), key);
            let present = meetings.given.entry(key).or_default();
            present.insert(self.rank, given);
            return Ok(Status::Pending);
        }
        let meetings = &self.world.meetings;
        let key = meetings.of.get(&(self.rank, post.ticket));
        let present = key.and_then(|key| meetings.given.get(key));
        let Some(present) = present.filter(|p| p.len() == self.world.spaces.len()) else {
            return Ok(Status::Pending);
        };
        let mut result: Option<Vec<Element>> = None;
        for data in present.values().flatten() {
            result = Some(match result {
                None => data.clone(),
                Some(before) => self.world.combine(self.rank, &before, data)?,
            });
        }
        let result = result.ok_or_else(|| Failure {
            law: Law::Matching,
            rank: self.rank as u32,
            what: "meets all others, of whom none gives anything".to_string(),
        })?;
        if !post.target().is_empty() {
            self.world.scatter(self.rank, post.target(), &result)?;
        }
        self.world.events += 1;
        Ok(Status::Done)
    }
}
