//! The interpreter alone: runs a cached 8-byte allreduce again and again on an engine whose operations are done at once.
//!
//! `cargo xtask instructions` counts its instructions for two numbers of calls; the difference is the
//! interpreter's own overhead. Arguments: calls, ranks.

use allhands_core::algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::progress::{Cursor, Engine, Post, Status, advance};
use allhands_core::schedule::{Layout, Plan};
use std::convert::Infallible;
use std::hint::black_box;

/// An engine that has nothing to do.
struct Nothing;

impl Engine for Nothing {
    type Error = Infallible;

    #[inline(always)]
    fn start(&mut self, post: &Post<'_>) -> Result<Status, Infallible> {
        black_box(post.bytes);
        Ok(Status::Done)
    }

    fn poll(&mut self, _: &Post<'_>) -> Result<Status, Infallible> {
        Ok(Status::Done)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| arguments.next().map_or(Ok(default), |text| text.parse());
    let (calls, ranks) = (number(1000)?, number(8)?);
    let call = Call::new(Collective::Allreduce, ranks);
    let found =
        algorithm::find(Collective::Allreduce, "recursive-doubling").ok_or("not registered")?;
    let schedule = found.schedule(&found.shape(call, "")?, 0);
    let plan = Plan::lower(&schedule, &call, &Layout::Even(1), 8)?;
    let mut cursor = Cursor::new(&plan);
    for _ in 0..calls {
        cursor.reset(&plan);
        let done = advance(black_box(&plan), &mut cursor, &mut Nothing)?;
        assert_eq!(done, Status::Done);
    }
    println!(
        "{calls} calls of {} steps, {} operations",
        plan.items.len(),
        plan.ops.len()
    );
    Ok(())
}
