//! Learned counts: what a rank hears of blocks that pass through it is what it must know to lower its schedule.
//!
//! The schedules are run over one element a pair, each of which says whose it is, and every rank learns the counts of a layout from what
//! it then has in scratch. Its plan must be the one that a rank makes that knows all counts, which the [lowered form](super::lowered) proves.

use super::lowered::{ELEMENT_BYTES, MOST_RANKS_EVERY_LAYOUT, run_plans};
use crate::call::{Call, Collective};
use crate::elements::Memory;
use crate::schedule::{Extent, Layout, LowerError, Plan, Schedule, Space, learned};
use crate::symbolic::{Failure, Law};
use alloc::format;
use alloc::vec::Vec;

/// Whether every rank learns what it must know, up to [`MOST_RANKS_EVERY_LAYOUT`] ranks; in place, where all counts of an
/// alltoall that has been proved are the same, there is nothing to learn.
///
/// # Errors
/// What went wrong, as a broken law.
pub(super) fn check(call: &Call, schedules: &[Schedule]) -> Result<(), Failure> {
    let is_asked = call.collective == Collective::Alltoall && !call.in_place;
    if !is_asked || call.ranks > MOST_RANKS_EVERY_LAYOUT {
        return Ok(());
    }
    let p = call.ranks as usize;
    let counts: Vec<usize> = (0..p * p).map(|pair| pair * 7 % 11).collect();
    let one = Layout::Regular(1);
    let lower =
        |schedule: &Schedule, layout: &Layout| Plan::lower(schedule, call, layout, ELEMENT_BYTES);
    let plans: Result<Vec<Plan>, _> = schedules.iter().map(|s| lower(s, &one)).collect();
    let plans = plans.map_err(|why| failure(0, why))?;
    let parts: Vec<u32> = schedules.iter().map(|schedule| schedule.parts).collect();
    let memory = run_plans(Memory::new(call, &parts, &plans, &one), &plans, None)?;
    for schedule in schedules {
        let rank = schedule.rank;
        let own = Layout::Exchange {
            rank,
            send: counts[rank as usize * p..][..p].to_vec(),
            receive: (0..p)
                .map(|from| counts[from * p + rank as usize])
                .collect(),
        };
        let count_at = |offset| {
            let extent = Extent {
                space: Space::Scratch,
                offset,
                bytes: ELEMENT_BYTES,
            };
            let element = memory.gather(rank, &[extent])[0];
            counts.get(Memory::unit(element)? as usize).copied()
        };
        let learned = learned(schedule, call, &own, ELEMENT_BYTES, count_at)
            .map_err(|why| failure(rank, why))?;
        let plan = lower(schedule, &learned).map_err(|why| failure(rank, why))?;
        if Ok(plan) != lower(schedule, &Layout::Pairs(counts.clone())) {
            return Err(Failure {
                law: Law::Result,
                rank,
                what: format!(
                    "learns other counts than those of what passes through it: {learned:?}"
                ),
            });
        }
    }
    Ok(())
}

fn failure(rank: u32, why: LowerError) -> Failure {
    Failure {
        law: Law::Matching,
        rank,
        what: format!("lowering with learned counts: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use crate::schedule::{Region, Units};

    #[test]
    fn who_learns_nothing_or_of_other_blocks_is_found() {
        let call = Call::new(Collective::Alltoall, 7);
        let found = algorithm::find(Collective::Alltoall, "two-phase-bruck").expect("it is there");
        let world = found.world(&found.shape(call, "").expect("it has defaults"));
        assert_eq!(check(&call, &world), Ok(()));
        // A rank that sends the blocks of a step in another order; sizes tell, where all blocks are equally long nothing would.
        let mut wrong = world.clone();
        let sent = wrong[2].ops.iter().position(|op| op.from.len > 2);
        let from = wrong[2].ops[sent.expect("it sends several runs")].from;
        wrong[2].blocks[from.start as usize..][..from.len as usize].reverse();
        let failure = check(&call, &wrong).expect_err("it has swapped blocks");
        assert!(failure.what.contains("learns other counts"), "{failure:?}");
        // A block of scratch into which nothing comes, of what rank 0 has for rank 1.
        let mut idle = world;
        let first = idle[3].scratch.iter().map(|r| r.blocks).sum();
        let modulo = u32::MAX;
        idle[3].scratch.push(Region {
            first,
            blocks: 1,
            units: Units::Run { first: 1, modulo },
        });
        assert!(check(&call, &idle).is_err());
    }
}
