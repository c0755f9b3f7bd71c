//! Processors of a walk: what they do when something is there, one thing after another.

use super::super::model::{Deed, Model};
use super::{Instance, Walker, What};
use crate::schedule::OpKind;

impl<M: Model> Walker<'_, M> {
    /// Whether what an operation brings is combined with what is there.
    pub(super) fn combines(&self, instance: Instance) -> bool {
        let op = &self.schedules[instance.rank as usize].ops[instance.op as usize];
        matches!(
            op.kind,
            OpKind::RecvReduce { .. } | OpKind::PutReduce { .. } | OpKind::GetReduce { .. }
        )
    }

    /// The data of a receive, a get or a put are there; if it combines them, its rank's processor does that now.
    pub(super) fn take_in(&mut self, receive: Instance, units: u64, path: M::Path) {
        if self.combines(receive) {
            self.compute(receive, &[Deed::Reduce], units, path);
        } else {
            self.complete(receive, path);
        }
    }

    /// The processor of a receiver takes a message in that is there.
    pub(super) fn receive(&mut self, receive: Instance, from: u32, units: u64, path: M::Path) {
        let deeds = [Deed::Receive(from), Deed::Reduce];
        let many = if self.combines(receive) { 2 } else { 1 };
        self.compute(receive, &deeds[..many], units, path);
    }

    /// Lets the rank's processor do something as soon as it is free.
    pub(super) fn compute(
        &mut self,
        instance: Instance,
        deeds: &[Deed],
        units: u64,
        path: M::Path,
    ) {
        self.compute_on(instance.rank, instance, deeds, units, path);
    }

    /// Lets the processor of `rank` do it.
    pub(super) fn compute_on(
        &mut self,
        rank: u32,
        instance: Instance,
        deeds: &[Deed],
        units: u64,
        path: M::Path,
    ) {
        let end = self.worked(rank, deeds, units, path);
        if self.time_us(&end) <= self.time_us(&path) {
            self.complete(instance, path);
        } else {
            self.push_event(end, What::Done(instance));
        }
    }

    /// When the processor of `rank` has done something, one thing after another, which it begins as soon as it is free.
    pub(super) fn worked(
        &mut self,
        rank: u32,
        deeds: &[Deed],
        units: u64,
        path: M::Path,
    ) -> M::Path {
        let busy = self.ranks[rank as usize].busy_until;
        let start = if self.time_us(&busy) > self.time_us(&path) {
            busy
        } else {
            path
        };
        let lengths = (units, self.unit_bytes);
        let end = deeds.iter().fold(start, |path, deed| {
            self.machine.worked(path, rank, *deed, lengths)
        });
        if self.time_us(&end) > self.time_us(&path) {
            self.ranks[rank as usize].busy_until = end;
        }
        end
    }
}
