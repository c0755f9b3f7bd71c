//! Repeats: pipelines as the interpreter takes them, in rounds in which each operation has one turn.
//!
//! ```text
//! a root that sends to 1 and 2       round 0: a₀ ▶ 1, b₀ ▶ 2     round 1: a₁ ▶ 1, b₁ ▶ 2     …
//! ```
//!
//! An operation has no more than one turn in a round even if it is done at once, as a send is that is copied: otherwise all that is for 1
//! would go before anything for 2, who would have nothing to pass on until then. So do strands: each goes one round at a time.

use super::{Cursor, Engine, Status, Went, post};
use crate::schedule::{Extent, Plan, PlanItem, PlanOp, PlanRepeat};

/// An operation of a repeat: iterations done, and whether the next is under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lane {
    done: u32,
    pub(super) flying: bool,
}

impl Lane {
    /// Ends an iteration.
    fn end(&mut self) {
        self.done += 1;
        self.flying = false;
    }
}

/// Gives each operation of a repeat one turn.
pub(super) fn round<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
    repeat: (PlanItem, PlanRepeat),
) -> Result<Went, E::Error> {
    let (item, PlanRepeat { times, .. }) = repeat;
    let (mut moved, mut least) = (false, times);
    for op in item.start..item.end {
        moved |= lane(plan, cursor, engine, repeat, op)?;
        least = least.min(cursor.lanes[op as usize].done);
    }
    Ok(match moved {
        _ if least == times => Went::Done,
        true => Went::Further,
        false => Went::AsFarAsItGoes,
    })
}

/// One operation's turn: ends the iteration that is under way, if it is done, and starts no more than the next; whether one finished.
fn lane<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
    repeat: (PlanItem, PlanRepeat),
    op: u32,
) -> Result<bool, E::Error> {
    let was_flying = cursor.lanes[op as usize].flying;
    if was_flying {
        if engine.poll(&post(plan, &cursor.moving, op))? == Status::Pending {
            return Ok(false);
        }
        cursor.lanes[op as usize].end();
    }
    let Lane { done, .. } = cursor.lanes[op as usize];
    if done == repeat.1.times || !may_start(plan, cursor, repeat, op, done) {
        return Ok(was_flying);
    }
    move_extents(plan, &mut cursor.moving, &plan.ops[op as usize], done);
    let post = post(plan, &cursor.moving, op);
    // An empty segment is no message: both ends compute that it is empty.
    let is_empty = post.bytes == 0 && !plan.ops[op as usize].is_token();
    if is_empty || engine.start(&post)? == Status::Done {
        cursor.lanes[op as usize].end();
        return Ok(true);
    }
    cursor.lanes[op as usize].flying = true;
    Ok(was_flying)
}

/// Whether iteration `iteration` of operation `op` has what it waits for.
fn may_start(
    plan: &Plan,
    cursor: &Cursor,
    (item, repeat): (PlanItem, PlanRepeat),
    op: u32,
    iteration: u32,
) -> bool {
    let waits = &plan.waits[(repeat.waits + (op - item.start)) as usize];
    let ready = waits.iter().all(|w| {
        iteration < w.back || cursor.lanes[(item.start + w.op) as usize].done > iteration - w.back
    });
    let oldest = || {
        cursor.lanes[item.start as usize..item.end as usize]
            .iter()
            .map(|l| l.done)
            .min()
    };
    ready
        && (repeat.window == 0
            || iteration < repeat.window
            || oldest().unwrap_or(0) + repeat.window > iteration)
}

fn move_extents(plan: &Plan, moving: &mut [Extent], op: &PlanOp, iteration: u32) {
    if op.moves() {
        for (extent, rule) in moving[op.all()].iter_mut().zip(&plan.moving[op.all()]) {
            *extent = rule.at(iteration);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use crate::call::{Call, Collective};
    use crate::progress::{Post, advance};
    use crate::schedule::{Layout, OpKind};
    use alloc::vec::Vec;
    use core::convert::Infallible;

    /// A network that is done with a message as soon as it is sent; to whom each went.
    #[derive(Default)]
    struct Copying(Vec<u32>);

    impl Engine for Copying {
        type Error = Infallible;

        fn start(&mut self, post: &Post<'_>) -> Result<Status, Infallible> {
            if let OpKind::Send { to, .. } = post.kind() {
                self.0.push(to);
            }
            Ok(Status::Done)
        }

        fn poll(&mut self, _: &Post<'_>) -> Result<Status, Infallible> {
            unreachable!("all is done at once")
        }
    }

    /// To whom the root of a broadcast sends, one after another.
    fn sent(name: &str, parameters: &str, ranks: u32) -> Vec<u32> {
        let call = Call::new(Collective::Broadcast, ranks);
        let algorithm = algorithm::find(call.collective, name).unwrap();
        let shape = algorithm.shape(call, parameters).unwrap();
        let layout = Layout::regular(call.collective, 1000);
        let plan = Plan::lower(&algorithm.schedule(&shape, 0), &call, &layout, 4).unwrap();
        let mut engine = Copying::default();
        let status = advance(&plan, &mut Cursor::new(&plan), &mut engine);
        assert_eq!(status, Ok(Status::Done));
        engine.0
    }

    #[test]
    fn operations_take_turns_though_each_is_done_at_once() {
        assert_eq!(sent("mutualcast", "segments=3", 4), [1, 2, 3].repeat(3));
    }

    #[test]
    fn strands_take_turns_though_each_is_done_at_once() {
        let all = sent("double-tree", "segments=8", 7);
        assert!(all.len() >= 8 && all[0] != all[1], "{all:?}");
        let first_half = &all[..all.len() / 2];
        for to in &all {
            let (before, in_all) = (
                first_half.iter().filter(|one| *one == to).count(),
                all.iter().filter(|one| *one == to).count(),
            );
            assert!(before.abs_diff(in_all - before) <= 1, "{to}: {all:?}");
        }
    }
}
