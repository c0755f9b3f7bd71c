//! New communicators out of old ones: duplicating and splitting.

use super::Communicator;
use crate::error::Error;
use crate::operation;
use crate::transport::TransportError;
use crate::transport::threads::{Fabric, Port};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What all communicators of one run share: fabrics on their way to the ranks of a new communicator.
#[derive(Default)]
pub(crate) struct World {
    /// By (parent's number, its how-manieth split, colour): number, fabric, and how many ranks have not taken it yet.
    opening: Mutex<BTreeMap<(u64, u64, u64), Opening>>,
    communicators: AtomicU64,
}

struct Opening {
    number: u64,
    fabric: Arc<Fabric>,
    missing: usize,
}

impl Communicator {
    /// A communicator of the same ranks, whose calls are apart from this one's.
    ///
    /// # Errors
    /// As any call: every rank must duplicate.
    pub fn dup(&self) -> Result<Communicator, Error> {
        let new = self.split(Some(0), self.rank as u64)?;
        new.ok_or(Error::NoRanks)
    }

    /// Divides the ranks by colour: those of one colour form a new communicator, ordered by `key` and then by rank.
    ///
    /// A rank whose colour is `None` gets none.
    ///
    /// # Errors
    /// As any call: every rank must split.
    pub fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Communicator>, Error> {
        let mine = [colour.map_or(u64::MAX, u64::from), key];
        let mut all = vec![0; 2 * self.size];
        self.run(operation::allgather(&mine, &mut all))?;
        let (parent, split) = {
            let mut inner = self.inner.borrow_mut();
            inner.splits += 1;
            (inner.number, inner.splits)
        };
        let Some(colour) = colour.map(u64::from) else {
            return Ok(None);
        };
        let mut members: Vec<(u64, usize)> = (0..self.size)
            .filter(|r| all[2 * r] == colour)
            .map(|r| (all[2 * r + 1], r))
            .collect();
        members.sort_unstable();
        let rank = members.iter().position(|m| m.1 == self.rank).unwrap_or(0);
        let (fabric, number) = self.world.fabric((parent, split, colour), members.len())?;
        let port = Port::new(fabric, rank as u32)?;
        let policy = self.inner.borrow().policy.clone();
        let new = Communicator::new(port, Arc::clone(&self.world), number);
        new.set_policy(policy);
        Ok(Some(new))
    }
}

impl World {
    /// The fabric of a new communicator of `ranks` ranks, each of which asks once.
    fn fabric(
        &self,
        key: (u64, u64, u64),
        ranks: usize,
    ) -> Result<(Arc<Fabric>, u64), TransportError> {
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match opening.entry(key) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let number = 1 + self.communicators.fetch_add(1, Ordering::Relaxed);
                place.insert(Opening { number, fabric: Fabric::new(ranks as u32)?, missing: ranks })
            }
        };
        found.missing -= 1;
        let taken = (Arc::clone(&found.fabric), found.number);
        if found.missing == 0 {
            opening.remove(&key);
        }
        Ok(taken)
    }
}
