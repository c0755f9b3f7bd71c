//! Meetings of all ranks in the machine's own hardware, on elements.

use super::{Element, Memory};
use crate::machine::Fabric;
use crate::symbolic::{Failure, Law};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// What each rank that has come to a meeting has given, if it gives.
type Given = BTreeMap<u32, Option<Vec<Element>>>;

/// What has come to each fabric's meetings so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meetings {
    /// The meeting to which an operation of a rank has come.
    of: BTreeMap<(u32, u32), (Fabric, u32)>,
    /// The meetings that each rank has come to.
    come: BTreeMap<(Fabric, u32), u32>,
    given: BTreeMap<(Fabric, u32), Given>,
}

impl Meetings {
    /// A rank comes to its next meeting in a fabric with operation `ticket`, and gives something or nothing.
    pub(crate) fn come(
        &mut self,
        fabric: Fabric,
        (rank, ticket): (u32, u32),
        given: Option<Vec<Element>>,
    ) {
        let come = self.come.entry((fabric, rank)).or_default();
        let key = (fabric, *come);
        *come += 1;
        self.of.insert((rank, ticket), key);
        self.given.entry(key).or_default().insert(rank, given);
    }

    /// How many have come to the meeting of a rank's operation.
    pub(crate) fn present(&self, place: (u32, u32)) -> usize {
        self.of(place).map_or(0, BTreeMap::len)
    }

    /// What has been given at the meeting of a rank's operation, combined in the order of the ranks.
    ///
    /// # Errors
    /// What is wrong with it, as a broken law.
    pub(crate) fn result(
        &self,
        memory: &Memory,
        place: (u32, u32),
    ) -> Result<Vec<Element>, Failure> {
        let mut result: Option<Vec<Element>> = None;
        for data in self
            .of(place)
            .into_iter()
            .flat_map(BTreeMap::values)
            .flatten()
        {
            result = Some(match result {
                None => data.clone(),
                Some(before) => memory.combine(place.0, &before, data)?,
            });
        }
        result.ok_or_else(|| Failure {
            law: Law::Matching,
            rank: place.0,
            what: String::from("meets all others, of whom none gives anything"),
        })
    }

    fn of(&self, place: (u32, u32)) -> Option<&Given> {
        self.given.get(self.of.get(&place)?)
    }
}
