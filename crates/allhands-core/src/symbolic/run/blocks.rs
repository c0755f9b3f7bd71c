//! The blocks of an operation in a symbolic run: read, claimed, combined and written one by one.

use super::{
    Access, Clock, Failure, Instance, Law, List, Runner, Schedule, Space, Value, Vec, format,
};
use core::num::NonZeroU32;

/// A block, named.
pub(super) type Named = (Space, u32);

/// The blocks of a list in iteration `iteration`, one by one.
pub(super) fn named(schedule: &Schedule, list: List, iteration: u32) -> Vec<Named> {
    Spare::default().named(schedule, list, iteration)
}

/// Lists that are empty and have room: a run makes two or three for each operation, one of which waits for its counterpart.
#[derive(Default)]
pub(super) struct Spare {
    names: Vec<Vec<Named>>,
    values: Vec<Vec<Value>>,
}

impl Spare {
    /// The blocks of a list in iteration `iteration`, one by one.
    pub(super) fn named(&mut self, schedule: &Schedule, list: List, iteration: u32) -> Vec<Named> {
        let mut blocks = self.names.pop().unwrap_or_default();
        for set in schedule.list(list) {
            for (first, run) in set.runs(iteration) {
                blocks.extend((first..first + run).map(|block| (set.space, block)));
            }
        }
        blocks
    }

    /// Room for values.
    fn room(&mut self) -> Vec<Value> {
        self.values.pop().unwrap_or_default()
    }

    /// Takes names back that nobody needs any more.
    pub(super) fn keep_names(&mut self, mut names: Vec<Named>) {
        names.clear();
        self.names.push(names);
    }

    /// Takes values back that nobody needs any more.
    pub(super) fn keep_values<const N: usize>(&mut self, lists: [Vec<Value>; N]) {
        for mut values in lists.into_iter().filter(|list| list.capacity() > 0) {
            values.clear();
            self.values.push(values);
        }
    }
}

impl Runner<'_, '_> {
    fn access(&self, instance: &Instance) -> Access {
        let state = &self.ranks[instance.rank as usize];
        match instance.lane {
            None => {
                let item = state.strands[instance.strand as usize].cursor.item() as u32;
                Access {
                    lane: instance.strand,
                    place: NonZeroU32::MIN.saturating_add(item),
                    op: instance.op,
                }
            }
            Some(_) => {
                let lane = (state.strands.len() + instance.op as usize) as u16;
                Access {
                    lane,
                    place: NonZeroU32::MIN.saturating_add(instance.iteration),
                    op: instance.op,
                }
            }
        }
    }

    pub(super) fn same_count(
        &self,
        instance: &Instance,
        sent: usize,
        expected: usize,
    ) -> Result<(), Failure> {
        if sent == expected {
            return Ok(());
        }
        self.fail(
            Law::Matching,
            instance.rank,
            format!(
                "op {} expects {expected} blocks and gets {sent}",
                instance.op
            ),
        )
    }

    pub(super) fn read_all(
        &mut self,
        instance: &Instance,
        blocks: &[Named],
        clock: &Clock,
    ) -> Result<Vec<Value>, Failure> {
        let access = self.access(instance);
        let mut values = self.spare.room();
        for &(space, block) in blocks {
            values.push(if space == Space::Window {
                let stamp = self.stamp(instance, None);
                let world = self.world(instance);
                self.one_sided
                    .read(instance.rank, (instance.rank, block), stamp, &world)?
            } else {
                self.ranks[instance.rank as usize]
                    .memory
                    .read(space, block, access, clock)?
            });
        }
        Ok(values)
    }

    pub(super) fn claim_all(
        &mut self,
        instance: &Instance,
        blocks: &[Named],
        clock: &Clock,
        sources: &[&[Named]],
    ) -> Result<(), Failure> {
        let access = self.access(instance);
        let memory = &mut self.ranks[instance.rank as usize].memory;
        for (at, &(space, block)) in blocks
            .iter()
            .enumerate()
            .filter(|(_, b)| b.0 != Space::Window)
        {
            let aligned: [Option<Named>; 2] =
                [0, 1].map(|s| sources.get(s).and_then(|s| s.get(at)).copied());
            let mut list = [(space, u32::MAX); 2];
            let mut len = 0;
            for source in aligned
                .into_iter()
                .flatten()
                .filter(|s| s.0 != Space::Window)
            {
                list[len] = source;
                len += 1;
            }
            memory.claim((space, block), access, clock, &list[..len])?;
        }
        Ok(())
    }

    pub(super) fn write_all(
        &mut self,
        instance: &Instance,
        blocks: &[Named],
        values: &[Value],
    ) -> Result<(), Failure> {
        self.same_count(instance, values.len(), blocks.len())?;
        for (&(space, block), &value) in blocks.iter().zip(values) {
            if space == Space::Window {
                let stamp = self.stamp(instance, None);
                let world = self.world(instance);
                self.one_sided.write(
                    instance.rank,
                    (instance.rank, block),
                    value,
                    stamp,
                    &world,
                )?;
            } else {
                self.ranks[instance.rank as usize]
                    .memory
                    .write(space, block, value)?;
            }
        }
        Ok(())
    }

    pub(super) fn combine_all(
        &mut self,
        instance: &Instance,
        left: &[Value],
        right: &[Value],
    ) -> Result<Vec<Value>, Failure> {
        self.same_count(instance, left.len(), right.len())?;
        let mut values = self.spare.room();
        for (&l, &r) in left.iter().zip(right) {
            match self.sets.combine(l, r) {
                Some(value) => values.push(value),
                None => {
                    let (l, r) = (self.sets.describe(l), self.sets.describe(r));
                    return self.fail(
                        Law::Result,
                        instance.rank,
                        format!("op {} combines {l} with {r}", instance.op),
                    );
                }
            }
        }
        Ok(values)
    }
}
