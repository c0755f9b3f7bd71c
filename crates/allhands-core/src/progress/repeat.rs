//! Repeats: pipelines as the interpreter takes them, in rounds in which each operation has one turn.
//!
//! ```text
//! a root that sends to 1 and 2       round 0: a₀ ▶ 1, b₀ ▶ 2     round 1: a₁ ▶ 1, b₁ ▶ 2     …
//! ```
//!
//! An operation has no more than one turn in a round even if it is done at once, as a send is that is copied: otherwise all that is for 1
//! would go before anything for 2, who would have nothing to pass on until then. So do strands: each goes one round at a time.

use super::{Cursor, Engine, Status, Went, post};
use crate::schedule::readiness::{Lane, Pipeline, is_left_out, over};
use crate::schedule::{Extent, Plan, PlanItem, PlanOp, PlanRepeat};

/// Gives each operation of a repeat one turn.
pub(super) fn round<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
    (item, repeat): (PlanItem, PlanRepeat),
) -> Result<Went, E::Error> {
    let lanes = &mut cursor.lanes[item.start as usize..item.end as usize];
    let mut turn = Turn {
        plan,
        pipeline: Pipeline {
            times: repeat.times,
            window: repeat.window,
            over: over(repeat.window, lanes),
            waits: &plan.waits[repeat.waits as usize..][..lanes.len()],
        },
        lanes,
        moving: &mut cursor.moving,
    };
    let (mut moved, mut least) = (false, repeat.times);
    for at in 0..turn.lanes.len() {
        moved |= turn.take(engine, at, item.start + at as u32)?;
        least = least.min(turn.lanes[at].done);
    }
    Ok(match moved {
        _ if least == repeat.times => Went::Done,
        true => Went::Further,
        false => Went::AsFarAsItGoes,
    })
}

/// What an operation has in its turn.
struct Turn<'a> {
    plan: &'a Plan,
    pipeline: Pipeline<'a>,
    /// Of the operations of the body.
    lanes: &'a mut [Lane],
    moving: &'a mut [Extent],
}

impl Turn<'_> {
    /// Operation `at` of the body ends the iteration that is under way, if it is done, and starts no more than the next; whether
    /// one finished.
    #[inline(always)]
    fn take<E: Engine>(
        &mut self,
        engine: &mut E,
        at: usize,
        ticket: u32,
    ) -> Result<bool, E::Error> {
        let was_under_way = self.lanes[at].is_under_way;
        if was_under_way {
            if engine.poll(&post(self.plan, self.moving, ticket))? == Status::Pending {
                return Ok(false);
            }
            self.lanes[at].end();
        }
        if !self.pipeline.may_start(self.lanes, at, &mut 0) {
            return Ok(was_under_way);
        }
        let op = &self.plan.ops[ticket as usize];
        move_extents(self.plan, self.moving, op, self.lanes[at].done);
        let post = post(self.plan, self.moving, ticket);
        if is_left_out(post.bytes as u64, op.is_token()) || engine.start(&post)? == Status::Done {
            self.lanes[at].end();
            return Ok(true);
        }
        self.lanes[at].is_under_way = true;
        Ok(was_under_way)
    }
}

#[inline(always)]
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
