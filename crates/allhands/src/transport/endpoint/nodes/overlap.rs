//! Overlap of steps: which messages with other nodes begin before their step, and which end after it.
//!
//! ```text
//!          step 0        step 1        step 2
//! send     a ▶ 1 ─────────────┤                      may end when step 1 does: nothing in step 1 writes what it reads
//! receive  b ◀ 7
//! receive  ├──────────── c ◀ 7                       began with step 0, as the next one did: nothing before uses the memory
//! receive  ├────────────────────────── d ◀ 7
//! ```
//!
//! The sender of a long message waits until its receiver is ready. If that is said only when the step before is over, it comes
//! half a round trip later, and behind whatever the receiver is sending; and a send has ended half a round trip after its receive.
//! In a ring each step would wait for both, and the wires with it.
//!
//! A receive that lands in a bounce buffer disturbs nothing, nor does a send from one. Messages of one sender and channel are
//! received in their order.

use allhands_core::schedule::{Extent, OpKind, Plan, PlanItem, PlanOp, Space};
use std::ops::Range;

/// How many steps before its own a receive begins, at most: one is sent while another is under way and a third is announced.
const STEPS_AHEAD: usize = 2;

/// The most operations of a step that overlaps with others: where a step has many, there is always one that is ready.
const MOST_OPERATIONS: u32 = 32;

/// The most operations of a plan of several strands, each of which is compared with all of other strands.
const MOST_BESIDE: usize = 512;

/// What an operation has to do with other steps.
#[derive(Clone, Debug, Default)]
struct Of {
    /// Which of [`Overlap::receives`] begin after it.
    early: Range<u32>,
    /// The sends of the step before, which are over before it is.
    due: Range<u32>,
    /// Whether it is a send that may be over one step later.
    is_late: bool,
}

/// How the steps of a plan overlap.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    /// By the operation's number.
    operations: Box<[Of]>,
    /// Numbers of receives.
    receives: Box<[u32]>,
}

impl Overlap {
    /// How the steps of a plan overlap on a node of `here` ranks.
    pub(crate) fn of(plan: &Plan, here: u32) -> Overlap {
        let is_single = plan.strands.len() == 1;
        if !is_single && plan.ops.len() > MOST_BESIDE {
            return Overlap::default();
        }
        let mut operations = vec![Of::default(); plan.ops.len()];
        let mut receives = Vec::new();
        for (number, (first, end)) in plan.strands.iter().enumerate() {
            let strand = Strand {
                plan,
                here,
                items: &plan.items[*first as usize..*end as usize],
                beside: beside(plan, number),
            };
            strand.add_late_sends(&mut operations);
            strand.add_early_receives(&mut operations, &mut receives);
        }
        Overlap {
            operations: operations.into(),
            receives: receives.into(),
        }
    }

    /// The receive number `nth` of those that begin when operation `ticket` has begun.
    #[inline]
    pub(crate) fn early(&self, ticket: u32, nth: u32) -> Option<u32> {
        let begin = &self.operations.get(ticket as usize)?.early;
        let at = begin.start + nth;
        (at < begin.end).then(|| self.receives[at as usize])
    }

    /// Whether operation `ticket` is a send that may be over one step later.
    #[inline]
    pub(crate) fn is_late(&self, ticket: u32) -> bool {
        let operation = self.operations.get(ticket as usize);
        operation.is_some_and(|operation| operation.is_late)
    }

    /// Operations of the step before, of which the late sends are to be over before operation `ticket` is.
    #[inline]
    pub(crate) fn due(&self, ticket: u32) -> Range<u32> {
        let operation = self.operations.get(ticket as usize);
        operation.map_or(0..0, |operation| operation.due.clone())
    }
}

fn operations<'p>(plan: &'p Plan, step: &PlanItem) -> &'p [PlanOp] {
    &plan.ops[step.start as usize..step.end as usize]
}

/// A strand whose steps are to overlap.
struct Strand<'p> {
    plan: &'p Plan,
    here: u32,
    items: &'p [PlanItem],
    /// The operations of other strands that may run at any moment of it; of those that move with the iteration it is not known where.
    beside: Vec<&'p PlanOp>,
}

impl<'p> Strand<'p> {
    /// Finds the sends that may be over one step later, and the operation of that step which waits for them: its last message.
    fn add_late_sends(&self, all: &mut [Of]) {
        for pair in self.items.windows(2) {
            let (step, next) = (&pair[0], &pair[1]);
            if !self.may_overlap(step) || !self.may_overlap(next) {
                continue;
            }
            let mut messages = operations(self.plan, next).iter();
            let Some(last) = messages.rposition(|op| self.is_remote(op)) else {
                continue;
            };
            for ticket in step.start..step.end {
                let op = &self.plan.ops[ticket as usize];
                all[ticket as usize].is_late = matches!(op.kind, OpKind::Send { .. })
                    && self.is_remote(op)
                    && self.is_kept(op, next);
            }
            all[next.start as usize + last].due = step.start..step.end;
        }
    }

    /// Whether an item is a step with something to do, but not much, and that waits for no other strand.
    fn may_overlap(&self, item: &PlanItem) -> bool {
        let waits = |op: &PlanOp| matches!(op.kind, OpKind::Await { .. });
        item.repeat.is_none()
            && (1..=MOST_OPERATIONS).contains(&(item.end - item.start))
            && !operations(self.plan, item).iter().any(waits)
    }

    /// Whether what a send reads stays as it is until `next` is over.
    fn is_kept(&self, send: &PlanOp, next: &PlanItem) -> bool {
        let (plan, source) = (self.plan, send.source());
        let after = operations(plan, next).iter();
        let mut others = after.chain(self.beside.iter().copied());
        // One of several extents leaves from a bounce buffer.
        source.len() != 1
            || !(is_in_window(plan, source.clone())
                || others.any(|op| op.moves() || overlap(plan, op.target(), source.clone())))
    }

    fn is_remote(&self, op: &PlanOp) -> bool {
        op.kind.is_two_sided() && op.kind.peer() >= Some(self.here)
    }

    /// Finds the receives that may begin before their step, and the operation after which each does: the last of a step.
    fn add_early_receives(&self, all: &mut [Of], receives: &mut Vec<u32>) {
        let (plan, items) = (self.plan, self.items);
        let mut has_begun = vec![false; plan.ops.len()];
        for at in 0..items.len() {
            let steps = items[at..].iter().take_while(|item| self.may_overlap(item));
            let steps = &items[at..at + steps.take(STEPS_AHEAD + 1).count()];
            let Some(last) = steps.first().map(|step| step.end as usize - 1) else {
                continue;
            };
            // Of the step before, sends may be under way.
            let before = at.checked_sub(1).map(|before| &items[before]);
            let start = receives.len() as u32;
            self.begin_with(before, steps, |ticket| {
                let begins = !std::mem::replace(&mut has_begun[ticket as usize], true);
                receives.extend(begins.then_some(ticket));
            });
            all[last].early = start..receives.len() as u32;
        }
    }

    /// Says which receives of later steps may begin with the first of these, in order.
    fn begin_with(
        &self,
        before: Option<&PlanItem>,
        steps: &[PlanItem],
        mut begin: impl FnMut(u32),
    ) {
        // Of these nothing begins any more: what is next of them does not.
        let mut waiting: Vec<(u32, u16)> = Vec::new();
        for (later, step) in steps.iter().enumerate().skip(1) {
            for ticket in step.start..step.end {
                let op = &self.plan.ops[ticket as usize];
                let Some(sender) = sender(op, self.here) else {
                    continue;
                };
                let others = before.into_iter().chain(&steps[..later]);
                let others = others.flat_map(|step| operations(self.plan, step));
                if waiting.contains(&sender) || self.is_used(op, others) {
                    waiting.push(sender);
                } else {
                    begin(ticket);
                }
            }
        }
    }

    /// Whether any of these, or anything beside, reads or writes the memory in which a receive lands.
    fn is_used(&self, receive: &PlanOp, others: impl Iterator<Item = &'p PlanOp>) -> bool {
        let target = receive.target();
        let mut others = others.chain(self.beside.iter().copied());
        // All else lands in a bounce buffer.
        let lands_at_once = matches!(receive.kind, OpKind::Recv { .. }) && target.len() == 1;
        lands_at_once
            && (is_in_window(self.plan, target.clone())
                || others.any(|op| op.moves() || overlap(self.plan, op.all(), target.clone())))
    }
}

/// The operations of other strands that may run at any moment of this one: all but those for which it waits first, and those that
/// wait for its end.
fn beside(plan: &Plan, number: usize) -> Vec<&PlanOp> {
    let items = |(first, end): (u32, u32)| &plan.items[first as usize..end as usize];
    let own = items(plan.strands[number]);
    let awaits = |item: &PlanItem| {
        operations(plan, item)
            .iter()
            .filter_map(|op| match op.kind {
                OpKind::Await { strand, items } => Some((usize::from(strand), items as usize)),
                _ => None,
            })
    };
    let mut all = Vec::new();
    for (other, range) in plan.strands.iter().enumerate() {
        if other == number {
            continue;
        }
        let first = own.first().into_iter().flat_map(awaits);
        let before = first.filter(|(strand, _)| *strand == other);
        let before = before.map(|(_, items)| items).max().unwrap_or(0);
        let ends = |item: &&PlanItem| awaits(item).any(|awaited| awaited == (number, own.len()));
        let others = items(*range)
            .iter()
            .take_while(|item| !ends(item))
            .skip(before);
        all.extend(others.flat_map(|item| operations(plan, item)));
    }
    all
}

/// Whose message an operation receives, if it is of another node.
fn sender(op: &PlanOp, here: u32) -> Option<(u32, u16)> {
    match op.kind {
        OpKind::Recv { from, .. } | OpKind::RecvReduce { from, .. } if from >= here => {
            Some((from, op.kind.channel()))
        }
        _ => None,
    }
}

/// Whether other ranks of the node may read and write what stands there.
fn is_in_window(plan: &Plan, extents: Range<usize>) -> bool {
    let mut all = plan.extents[extents].iter();
    all.any(|extent| extent.space == Space::Window)
}

/// Whether two lists of extents have a byte in common.
fn overlap(plan: &Plan, one: Range<usize>, other: Range<usize>) -> bool {
    let meet = |one: &Extent, other: &Extent| {
        one.space == other.space
            && one.offset < other.offset + other.bytes
            && other.offset < one.offset + one.bytes
    };
    let (one, other) = (&plan.extents[one], &plan.extents[other]);
    one.iter()
        .any(|one| other.iter().any(|other| meet(one, other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands_core::algorithm::{self, Algorithm};
    use allhands_core::call::{Call, Collective};
    use allhands_core::schedule::Layout;
    use std::collections::HashSet;

    const RANKS: u32 = 8;

    fn lowered(algorithm: &Algorithm, call: Call, parameters: &str, rank: u32) -> Option<Plan> {
        let shape = algorithm.shape(call, parameters).ok()?;
        let layout = Layout::regular(call.collective, 240);
        Plan::lower(&algorithm.schedule(&shape, rank), &call, &layout, 4).ok()
    }

    fn plan(collective: Collective, name: &str, rank: u32) -> Plan {
        let algorithm = algorithm::find(collective, name).unwrap();
        lowered(algorithm, Call::new(collective, RANKS), "", rank).unwrap()
    }

    /// Plans of two ranks for every registered setting, each with its name.
    fn all_plans() -> impl Iterator<Item = (String, Plan)> {
        let all = Collective::ALL.into_iter().flat_map(algorithm::of);
        let settings = all.flat_map(|of| of.settings.iter().map(move |setting| (of, *setting)));
        let ranks = settings.flat_map(|(of, setting)| [(of, setting, 0), (of, setting, 5)]);
        ranks.filter_map(|(of, setting, rank)| {
            let name = format!("{} {} {setting}", of.collective, of.name);
            let plan = lowered(of, Call::new(of.collective, RANKS), setting, rank)?;
            Some((name, plan))
        })
    }

    /// The receives that begin early, with the step in which each begins, and its own.
    fn steps(plan: &Plan, here: u32) -> Vec<(u32, usize, usize)> {
        let overlap = &Overlap::of(plan, here);
        let step_of = |ticket: u32| {
            plan.items
                .iter()
                .position(|item| ticket < item.end)
                .unwrap()
        };
        let tickets = 0..plan.ops.len() as u32;
        let begun =
            |after: u32| (0..).map_while(move |nth| Some((after, overlap.early(after, nth)?)));
        let pairs = tickets.flat_map(begun);
        pairs
            .map(|(after, ticket)| (ticket, step_of(after), step_of(ticket)))
            .collect()
    }

    #[test]
    fn a_ring_receives_two_steps_ahead() {
        let ring = plan(Collective::Allgather, "ring", 3);
        let messages = steps(&ring, 0);
        let receives = ring.ops.iter().filter(|op| sender(op, 0).is_some()).count();
        // All but that of the first step with one.
        assert_eq!(messages.len(), receives - 1, "{messages:?}");
        assert!(
            messages
                .iter()
                .all(|(_, begun, used)| (1..=2).contains(&(used - begun)))
        );
        assert!(
            messages
                .iter()
                .filter(|(_, begun, used)| used - begun == 2)
                .count()
                >= receives - 2
        );
    }

    #[test]
    fn what_is_combined_lands_in_a_bounce_buffer_and_so_may_begin() {
        let halving = plan(Collective::ReduceScatter, "recursive-halving", 0);
        assert_eq!(steps(&halving, 0).len(), 2);
    }

    /// The bytes of a list of extents.
    fn bytes(extents: &[Extent]) -> impl Iterator<Item = (usize, usize)> + '_ {
        extents.iter().flat_map(|extent| {
            let bytes = extent.offset..extent.offset + extent.bytes;
            bytes.map(move |byte| (extent.space.index(), byte))
        })
    }

    /// Whether a receive that lands in the call's memory may begin with step `begun`, byte by byte.
    fn is_free(plan: &Plan, ticket: u32, begun: usize, used: usize) -> bool {
        let op = &plan.ops[ticket as usize];
        let target: HashSet<_> = match plan.extents[op.target()] {
            [target] if matches!(op.kind, OpKind::Recv { .. }) => bytes(&[target]).collect(),
            _ => HashSet::new(),
        };
        // Of the step before, sends may be under way.
        let items = &plan.items[begun.saturating_sub(1)..used];
        let ops = &plan.ops[items[0].start as usize..items[items.len() - 1].end as usize];
        let mut touched = ops.iter().flat_map(|op| bytes(&plan.extents[op.all()]));
        !touched.any(|byte| target.contains(&byte))
    }

    #[test]
    fn nothing_is_received_into_memory_that_is_in_use() {
        let (mut early, mut in_time) = (0, 0);
        for (name, plan) in all_plans() {
            let all = steps(&plan, 0);
            for (ticket, begun, used) in &all {
                assert!(is_free(&plan, *ticket, *begun, *used), "{name}: {ticket}");
            }
            early += all.len();
            in_time += plan.ops.iter().filter(|op| sender(op, 0).is_some()).count() - all.len();
        }
        assert!(early > 100 && in_time > 100, "{early} early, {in_time} not");
    }

    #[test]
    fn a_block_that_is_sent_is_not_received_before() {
        // Three ranks: what the second half of a ring receives was combined one or two steps before.
        let call = Call::new(Collective::Allreduce, 3);
        let ring = algorithm::find(Collective::Allreduce, "ring").unwrap();
        let plan = lowered(ring, call, "", 0).unwrap();
        let begun = steps(&plan, 0);
        let at_once = begun.iter().filter(|(_, begun, used)| used - begun == 2);
        assert!(at_once.count() < begun.len(), "{begun:?}");
    }

    /// The sends that may end a step late, with the operation that waits for each.
    fn late(plan: &Plan, here: u32) -> Vec<(u32, u32)> {
        let overlap = &Overlap::of(plan, here);
        let waiting = 0..plan.ops.len() as u32;
        let late = |at| {
            overlap
                .due(at)
                .filter(|send| overlap.is_late(*send))
                .map(move |send| (send, at))
        };
        waiting.flat_map(late).collect()
    }

    #[test]
    fn a_ring_ends_each_send_with_the_next_step() {
        let ring = plan(Collective::Allgather, "ring", 3);
        let sends = ring
            .ops
            .iter()
            .filter(|op| matches!(op.kind, OpKind::Send { .. }));
        // All but that of the last step.
        assert_eq!(late(&ring, 0).len(), sends.count() - 1);
        assert_eq!(late(&ring, RANKS), []);
    }

    #[test]
    fn so_do_the_strands_of_a_window() {
        let direct = algorithm::find(Collective::Alltoall, "direct").unwrap();
        let call = Call::new(Collective::Alltoall, RANKS);
        let window = lowered(direct, call, "window=4", 3).unwrap();
        // Seven messages each way in strands of two steps, but for one of a single step.
        assert_eq!(late(&window, 0).len(), 3);
        assert_eq!(steps(&window, 0).len(), 3);
    }

    #[test]
    fn what_is_sent_late_is_not_written_and_each_late_send_is_waited_for() {
        let mut count = 0;
        for (name, plan) in all_plans() {
            let (all, overlap) = (late(&plan, 0), Overlap::of(&plan, 0));
            let marked = (0..plan.ops.len() as u32).filter(|op| overlap.is_late(*op));
            assert_eq!(all.len(), marked.count(), "{name}");
            count += all.len();
            for (send, waiting) in all {
                let source = &plan.extents[plan.ops[send as usize].source()];
                if source.len() != 1 {
                    continue;
                }
                let source: HashSet<_> = bytes(source).collect();
                let item = plan.items.iter().find(|item| waiting < item.end).unwrap();
                let step = &plan.ops[item.start as usize..item.end as usize];
                let mut written = step.iter().flat_map(|op| bytes(&plan.extents[op.target()]));
                assert!(!written.any(|byte| source.contains(&byte)), "{name}");
            }
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn ranks_of_the_own_node_are_not_received_from_early() {
        let ring = plan(Collective::Allgather, "ring", 3);
        assert_eq!(steps(&ring, RANKS), []);
    }
}
