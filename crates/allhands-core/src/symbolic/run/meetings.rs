//! Meetings of a symbolic run: all ranks in the machine's own hardware, and the copies that packets leave on their way.

use super::blocks::{Named, named};
use super::{Clock, Failure, Instance, Knowledge, Law, OpKind, Runner, Value, Vec, format};
use crate::machine::Fabric;
use alloc::collections::BTreeMap;

/// What has come to each fabric's meetings so far.
#[derive(Clone, Default)]
pub(super) struct Meetings {
    /// The meetings that each rank has come to.
    come: BTreeMap<(Fabric, u32), u32>,
    /// Those that have come to a meeting that not all have come to.
    present: BTreeMap<(Fabric, u32), Vec<Instance>>,
}

impl Runner<'_, '_> {
    /// A rank comes to its next meeting in a fabric; the last one that comes ends it for all.
    pub(super) fn start_combine(
        &mut self,
        mut instance: Instance,
        (fabric, gives): (Fabric, bool),
        (from, into): (&[Named], &[Named]),
        clock: &Clock,
    ) -> Result<(), Failure> {
        let rank = instance.rank;
        if !gives && !from.is_empty() {
            let what = format!(
                "op {}: gives blocks and says that it gives none",
                instance.op
            );
            return self.fail(Law::Matching, rank, what);
        }
        instance.values = self.read_all(&instance, from, clock)?;
        self.claim_all(&instance, into, clock, &[from])?;
        self.ranks[rank as usize].sent += from.len() as u64;
        self.ranks[rank as usize].received += into.len() as u64;
        let come = self.meetings.come.entry((fabric, rank)).or_default();
        let key = (fabric, *come);
        *come += 1;
        let present = self.meetings.present.entry(key).or_default();
        present.push(instance);
        if present.len() < self.ranks.len() {
            return Ok(());
        }
        let mut all = self.meetings.present.remove(&key).unwrap_or_default();
        all.sort_by_key(|instance| instance.rank);
        self.conclude(&all)
    }

    /// All have come: what was given is combined, in rank order, and everyone gets it.
    fn conclude(&mut self, all: &[Instance]) -> Result<(), Failure> {
        let mut result: Option<Vec<Value>> = None;
        let (mut round, mut told) = (0, Knowledge::default());
        for instance in all {
            let OpKind::Combine { gives, .. } = self.op(instance).1.kind else {
                continue;
            };
            // Who gives nothing need not have come for others to go on, so nobody learns anything of it.
            if !gives {
                continue;
            }
            round = round.max(instance.round);
            told.join(&instance.knowledge);
            self.outcome.messages += 1;
            result = Some(match result {
                None => instance.values.clone(),
                Some(before) => {
                    self.same_count(instance, before.len(), instance.values.len())?;
                    self.combine_all(instance, &before, &instance.values)?
                }
            });
        }
        let Some(result) = result else {
            let what = "meets all others, of whom none gives anything".into();
            return self.fail(Law::Matching, all[0].rank, what);
        };
        for instance in all {
            let (schedule, op) = self.op(instance);
            let into = named(schedule, op.into, 0);
            if !into.is_empty() {
                self.same_count(instance, result.len(), into.len())?;
                self.write_all(instance, &into, &result)?;
            }
            self.complete(instance, round.max(instance.round) + 1, &told)?;
        }
        Ok(())
    }

    /// A copy that packets leave on their way has a message before it in its step whose packets they are.
    pub(super) fn is_carried(&self, instance: &Instance) -> Result<(), Failure> {
        let (schedule, op) = self.op(instance);
        let state = &self.ranks[instance.rank as usize].strands[instance.strand as usize];
        let item = &schedule.strands[instance.strand as usize].items[state.cursor.item()];
        let before = item.ops().start..instance.op as usize;
        let sends = |deposited: bool| move |kind: &OpKind| matches!(kind, OpKind::Send { deposited: d, .. } if *d == deposited);
        let mut earlier = schedule.ops[before].iter().rev();
        let blocks = |list| named(schedule, list, instance.iteration);
        let carrier = earlier.find(|op| !sends(true)(&op.kind));
        match carrier.filter(|carrier| sends(false)(&carrier.kind)) {
            Some(carrier) if blocks(carrier.from) == blocks(op.from) => Ok(()),
            _ => {
                let what = format!(
                    "op {} is deposited by no message: right before it, and other copies, stands no send of the same data",
                    instance.op
                );
                self.fail(Law::Matching, instance.rank, what)
            }
        }
    }
}
