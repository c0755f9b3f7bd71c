//! Order: that what ranks match by counting is counted in an order which no timing changes.
//!
//! The n-th send of a channel meets its n-th receive, a wait takes the notifications after those that earlier waits took, and a
//! rank's n-th meeting in a fabric is every other rank's n-th. Strands run beside one another, and so do operations of a
//! pipeline; were two of them to count together, which comes first would depend on timing, and one run would decide nothing.

use super::{Failure, Law, World};
use crate::machine::Fabric;
use crate::schedule::{Item, OpKind, Schedule, take_turns};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What operations of a rank are matched by in the order in which they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Counted {
    /// Sends: (receiver, number).
    To(u32, u16),
    /// Receives: (sender, number).
    From(u32, u16),
    /// Waits: (rank, its flag).
    Flag(u32, u16),
    /// Meetings.
    Met(Fabric),
}

impl Counted {
    fn of(kind: OpKind) -> Option<Counted> {
        match kind {
            OpKind::Send { to, channel, .. } => Some(Counted::To(to, channel)),
            OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
                Some(Counted::From(from, channel))
            }
            OpKind::Wait { at, flag, .. } => Some(Counted::Flag(at, flag)),
            OpKind::Combine { fabric, .. } => Some(Counted::Met(fabric)),
            OpKind::Copy
            | OpKind::Reduce
            | OpKind::Put { .. }
            | OpKind::PutReduce { .. }
            | OpKind::Get { .. }
            | OpKind::GetReduce { .. }
            | OpKind::Notify { .. }
            | OpKind::Await { .. } => None,
        }
    }
}

/// What `rank` does there.
struct Does(u32, Counted);

impl fmt::Display for Does {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Does(rank, counted) = self;
        match counted {
            Counted::To(to, channel) => {
                write!(f, "send on channel {channel} from rank {rank} to rank {to}")
            }
            Counted::From(from, channel) => {
                write!(
                    f,
                    "receive on channel {channel} from rank {from} to rank {rank}"
                )
            }
            Counted::Flag(at, flag) => write!(f, "wait for flag {flag} of rank {at}"),
            Counted::Met(fabric) => write!(f, "meet all other ranks in the {}", fabric.name()),
        }
    }
}

/// Checks every rank's part.
pub(super) fn check(world: &World<'_>) -> Result<(), Failure> {
    world.schedules.iter().try_for_each(|schedule| {
        let repeats = |items: &[Item]| items.iter().any(|i| matches!(i, Item::Repeat { .. }));
        // Steps of one strand are in order, and so are the operations of a step, which start as they stand.
        match &schedule.strands[..] {
            [one] if !repeats(&one.items) => return Ok(()),
            [_] => {}
            _ => one_strand(schedule)?,
        }
        pipelines(schedule)
    })
}

/// That each channel, flag and fabric belongs to one strand.
fn one_strand(schedule: &Schedule) -> Result<(), Failure> {
    let mut all: Vec<(Counted, usize)> = Vec::new();
    for (number, strand) in schedule.strands.iter().enumerate() {
        let ops = strand.items.iter().flat_map(|i| &schedule.ops[i.ops()]);
        all.extend(ops.filter_map(|op| Some((Counted::of(op.kind)?, number))));
    }
    all.sort_unstable();
    match all
        .windows(2)
        .find(|w| w[0].0 == w[1].0 && w[0].1 != w[1].1)
    {
        None => Ok(()),
        Some(two) => {
            let does = Does(schedule.rank, two[0].0);
            fail(
                schedule,
                format!("strands {} and {} both {does}", two[0].1, two[1].1),
            )
        }
    }
}

/// That operations of a pipeline which share a channel wait for one another.
fn pipelines(schedule: &Schedule) -> Result<(), Failure> {
    for item in schedule.strands.iter().flat_map(|s| &s.items) {
        let Item::Repeat { window, waits, .. } = item else {
            continue;
        };
        let mut all: Vec<(Counted, usize)> = Vec::new();
        for (at, op) in schedule.ops[item.ops()].iter().enumerate() {
            all.extend(Counted::of(op.kind).map(|counted| (counted, at)));
        }
        all.sort_unstable();
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            let ops: Vec<usize> = same.iter().map(|(_, op)| *op).collect();
            if !take_turns(waits, *window, &ops) {
                let first = item.ops().start;
                let (does, last) = (Does(schedule.rank, same[0].0), ops[ops.len() - 1]);
                let (a, b) = (first + ops[0], first + last);
                return fail(
                    schedule,
                    format!("ops {a} to {b} of a repeat {does} in no order: either may be ahead"),
                );
            }
        }
    }
    Ok(())
}

fn fail(schedule: &Schedule, what: String) -> Result<(), Failure> {
    Err(Failure {
        law: Law::Matching,
        rank: schedule.rank,
        what,
    })
}
