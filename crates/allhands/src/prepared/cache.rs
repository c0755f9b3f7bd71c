//! The plan cache: the plans of recent shapes of a communicator.

use super::{Entry, Key, Prepared, Running};
use crate::operation::Operation;
use crate::transport::shm::failure::member::Stamp;
use allhands_core::call::Collective;
use allhands_core::schedule::Layout;
use std::sync::Arc;

/// The plans of recent shapes.
///
/// Ranks keep plans with windows alike, as a window is laid out by all of them: they see the same shapes in the same order.
/// Irregular shapes they may lawfully see differently, so plans for those, unless they have windows (for which
/// all ranks know all lengths), are kept apart and do not push others out.
#[derive(Debug)]
pub(crate) struct PlanCache {
    regular: Shelf,
    /// The entry of each collective's last call: a call that is repeated, among those of others, compares with this alone.
    last: [usize; Collective::ALL.len()],
    /// Irregular shapes without windows.
    irregular: Shelf,
    /// The irregular entry of the last irregular call.
    last_irregular: usize,
    /// The ranks that share windows.
    ranks: u32,
}

/// Where an entry stands, as long as no other has its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Whether it is kept apart.
    apart: bool,
    at: usize,
    id: u64,
}

impl PlanCache {
    /// An empty one, on a node with so many ranks of the communicator.
    pub(crate) fn new(ranks: u32) -> PlanCache {
        PlanCache {
            regular: Shelf::default(),
            last: [0; Collective::ALL.len()],
            irregular: Shelf::default(),
            last_irregular: 0,
            ranks,
        }
    }

    /// Where the entry of a call stands for which ranks tell one another no lengths, if its shape has been called.
    pub(crate) fn place(&self, operation: &Operation<'_>) -> Option<Place> {
        let fits = |entry: &Entry| entry.key.fits(operation, None);
        let find = |shelf: &Shelf, last: usize| match shelf.entries.get(last).is_some_and(fits) {
            true => Some((last, shelf.entries[last].id)),
            false => shelf
                .search(operation, None)
                .map(|at| (at, shelf.entries[at].id)),
        };
        let place = |apart, (at, id)| Place { apart, at, id };
        let regular = find(&self.regular, self.last[operation.collective as usize]);
        regular.map(|found| place(false, found)).or_else(|| {
            let is_irregular = operation.lengths().is_some();
            let found = is_irregular.then(|| find(&self.irregular, self.last_irregular));
            found.flatten().map(|found| place(true, found))
        })
    }

    /// The entry at a place, if it still stands there.
    #[inline]
    pub(crate) fn at(&mut self, place: Place) -> Option<&mut Entry> {
        let shelf = match place.apart {
            false => &mut self.regular,
            true => &mut self.irregular,
        };
        let entry = shelf.entries.get_mut(place.at)?;
        (entry.id == place.id).then_some(entry)
    }

    /// The entry of a call, if its shape has been called; `exchanged` are the lengths that ranks told one another.
    #[inline]
    pub(crate) fn find(
        &mut self,
        operation: &Operation<'_>,
        exchanged: Option<&Layout>,
    ) -> Option<&mut Entry> {
        let fits = |entry: &Entry| entry.key.fits(operation, exchanged);
        let irregular = &self.irregular.entries;
        if operation.lengths().is_some() && irregular.get(self.last_irregular).is_some_and(fits) {
            return self.irregular.entries.get_mut(self.last_irregular);
        }
        let last = self.last[operation.collective as usize];
        if self.regular.entries.get(last).is_some_and(fits) {
            return self.regular.entries.get_mut(last);
        }
        self.search(operation, exchanged)
    }

    #[cold]
    fn search(
        &mut self,
        operation: &Operation<'_>,
        exchanged: Option<&Layout>,
    ) -> Option<&mut Entry> {
        if let Some(found) = self.regular.search(operation, exchanged) {
            self.last[operation.collective as usize] = found;
            return self.regular.entries.get_mut(found);
        }
        operation.lengths()?;
        self.last_irregular = self.irregular.search(operation, exchanged)?;
        self.irregular.entries.get_mut(self.last_irregular)
    }

    /// What served a call that was the last of its collective.
    pub(crate) fn latest(&self, operation: &Operation<'_>) -> Option<&Prepared> {
        let of = |entry: &&Entry| entry.key.is_of(operation);
        let irregular = self.irregular.entries.get(self.last_irregular).filter(of);
        let last = self.last[operation.collective as usize];
        let entry = irregular.or_else(|| self.regular.entries.get(last).filter(of))?;
        Some(&entry.prepared)
    }

    /// Keeps a plan, in the place of another of its kind if there are too many.
    pub(crate) fn insert(&mut self, key: Key, prepared: Prepared, stamp: Stamp) -> &mut Entry {
        let apart = key.lengths.is_some() && !prepared.has_window();
        let collective = key.shape.collective as usize;
        let entry = Entry::new(key, prepared, stamp, self.ranks);
        match apart {
            true => {
                self.last_irregular = self.irregular.insert(entry);
                &mut self.irregular.entries[self.last_irregular]
            }
            false => {
                let at = self.regular.insert(entry);
                self.last[collective] = at;
                &mut self.regular.entries[at]
            }
        }
    }

    /// Takes back what an ended call ran with, if its shape is still kept.
    pub(crate) fn give_back(&mut self, prepared: &Arc<Prepared>, running: Box<Running>) {
        let of_plan = |entry: &&mut Entry| Arc::ptr_eq(&entry.prepared, prepared);
        let (regular, irregular) = (&mut self.regular.entries, &mut self.irregular.entries);
        // Mostly it is the collective's last call that has ended.
        let last = self.last[prepared.algorithm.collective as usize];
        if let Some(entry) = regular.get_mut(last).filter(of_plan) {
            return entry.give_back(running);
        }
        if let Some(entry) = regular.iter_mut().chain(irregular).find(of_plan) {
            entry.give_back(running);
        }
    }
}

/// Entries of one kind, as many as there is room for.
///
/// Who gives way to a new one: places are considered in turn, and an entry whose shape was called again since it was
/// considered last is spared once. All ranks count the same calls, and so choose alike.
#[derive(Debug, Default)]
struct Shelf {
    entries: Vec<Entry>,
    /// What each entry's shape comes to, to be looked through fast.
    digests: Vec<u32>,
    /// The place that is considered next.
    hand: usize,
    /// The bytes of all entries' windows.
    window_bytes: usize,
}

impl Shelf {
    /// How many entries are kept, whatever their windows.
    const LEAST: usize = 64;
    /// How many are kept.
    const MOST: usize = 512;
    /// The bytes of windows beyond which no more than the least are kept.
    const MOST_WINDOW_BYTES: usize = 32 << 20;

    fn search(&self, operation: &Operation<'_>, exchanged: Option<&Layout>) -> Option<usize> {
        let digest = operation.shape().digest();
        let mut alike = (self.digests.iter().enumerate()).filter(|(_, known)| **known == digest);
        alike
            .find(|(at, _)| self.entries[*at].key.fits(operation, exchanged))
            .map(|(at, _)| at)
    }

    fn has_room(&self, entry: &Entry) -> bool {
        let count = self.entries.len();
        let bytes = self.window_bytes + entry.window_bytes;
        count < Self::LEAST || (count < Self::MOST && bytes <= Self::MOST_WINDOW_BYTES)
    }

    /// Keeps an entry; gives its place.
    fn insert(&mut self, entry: Entry) -> usize {
        let (digest, has_room) = (entry.key.digest(), self.has_room(&entry));
        self.window_bytes += entry.window_bytes;
        if has_room {
            // Most communicators call a few shapes alone, and entries are long.
            if self.entries.len() == self.entries.capacity() {
                let more = 1 + self.entries.len() / 2;
                self.entries.reserve_exact(more);
                self.digests.reserve_exact(more);
            }
            self.entries.push(entry);
            self.digests.push(digest);
            return self.entries.len() - 1;
        }
        let at = self.next_to_go();
        self.window_bytes -= self.entries[at].window_bytes;
        self.entries[at] = entry;
        self.digests[at] = digest;
        at
    }

    fn next_to_go(&mut self) -> usize {
        loop {
            let at = self.hand % self.entries.len();
            self.hand = at + 1;
            let entry = &mut self.entries[at];
            if entry.calls == entry.calls_then {
                return at;
            }
            entry.calls_then = entry.calls;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interposition::Interposition;
    use crate::{Communicator, Sum, operation, threads};

    fn sum_of(comm: &Communicator, count: usize) {
        let (input, mut output) = (vec![1u64; count], vec![0; count]);
        let sum = operation::allreduce(&input, &mut output, &Sum).algorithm("shared-memory");
        comm.run(sum).unwrap();
        assert_eq!(output, vec![comm.size() as u64; count]);
    }

    fn kept(comm: &Communicator) -> Vec<usize> {
        comm.with_plans(|plans| plans.regular.entries.iter().map(|e| e.calls).collect())
    }

    #[test]
    fn what_is_called_again_outlasts_what_was_called_once() {
        threads::run(3, |comm| {
            for count in 1..=2 * super::Shelf::MOST {
                sum_of(&comm, 7);
                sum_of(&comm, 7 + count);
            }
            let calls = kept(&comm);
            assert_eq!(calls.len(), super::Shelf::MOST);
            let again = calls
                .iter()
                .filter(|calls| **calls == 2 * super::Shelf::MOST);
            assert_eq!(
                again.count(),
                1,
                "one entry has served all calls of one shape"
            );
        })
        .unwrap();
    }

    #[test]
    fn few_plans_with_long_windows_are_kept() {
        threads::run(2, |comm| {
            const COUNT: usize = 1 << 15;
            for count in 0..2 * super::Shelf::LEAST {
                sum_of(&comm, COUNT + count);
            }
            assert_eq!(kept(&comm).len(), super::Shelf::LEAST);
        })
        .unwrap();
    }

    #[test]
    fn what_served_a_call_is_told() {
        threads::run(3, |comm| {
            let input = vec![comm.rank() as u32; 2];
            for irregular in [false, true] {
                let mut output = vec![0; 6];
                let gather = match irregular {
                    false => operation::allgather(&input, &mut output),
                    true => operation::allgather_v(&input, &mut output, &[2, 2, 2]),
                };
                let gather = gather.algorithm("ring");
                assert_eq!(comm.served_by(&gather), None);
                comm.run(gather.clone()).unwrap();
                assert_eq!(comm.served_by(&gather).as_deref(), Some("ring"));
            }
        })
        .unwrap();
    }

    #[test]
    fn a_place_is_good_until_another_has_it() {
        threads::run(2, |comm| {
            sum_of(&comm, 5);
            let (input, mut output) = ([1u64; 5], [0; 5]);
            let sum = operation::allreduce(&input, &mut output, &Sum).algorithm("shared-memory");
            let place = comm.with_plans(|plans| plans.place(&sum)).unwrap();
            assert!(comm.with_plans(|plans| plans.at(place).is_some()));
            let mut own = vec![0; comm.rank()];
            let parts = operation::reduce_scatter_v(&input[..1], &[0, 1], &mut own, &Sum);
            for (algorithm, is_apart) in [("shared-memory", false), ("ring", true)] {
                let parts = parts.clone().algorithm(algorithm);
                comm.run(parts.clone()).unwrap();
                let place = comm.with_plans(|plans| plans.place(&parts)).unwrap();
                assert_eq!(place.apart, is_apart, "{algorithm}");
                assert!(comm.with_plans(|plans| plans.at(place).is_some()));
            }
            (6..=super::Shelf::MOST + 5).for_each(|count| sum_of(&comm, count));
            assert!(comm.with_plans(|plans| plans.at(place).is_none()));
            assert!(comm.with_plans(|plans| plans.place(&sum).is_none()));
        })
        .unwrap();
    }
}
