//! That what a text names exists: ranks, blocks, flags, strands.

use super::ParseError;
use super::lex::Lexer;
use super::print::space_name;
use crate::call::Call;
use crate::schedule::{Blocks, Item, Op, OpKind, Region, Schedule, Space, Units};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What is wrong, and what would be right.
type Fault = (String, String);

/// Checks every operation of every rank; `places` says where in the text each stands.
pub(super) fn check(
    lexer: &Lexer<'_>,
    call: &Call,
    schedules: &[Schedule],
    places: &[Vec<usize>],
) -> Result<(), ParseError> {
    for (schedule, places) in schedules.iter().zip(places) {
        for item in schedule.strands.iter().flat_map(|s| &s.items) {
            let times = match *item {
                Item::Step { .. } => 1,
                Item::Repeat { times, .. } => times,
            };
            for at in item.ops() {
                let fault = op(call, schedules, schedule, &schedule.ops[at], times);
                fault.map_err(|(what, right)| lexer.error(places[at], what, right))?;
            }
        }
    }
    Ok(())
}

fn op(
    call: &Call,
    schedules: &[Schedule],
    own: &Schedule,
    op: &Op,
    times: u32,
) -> Result<(), Fault> {
    let peer = |rank: u32| {
        schedules.get(rank as usize).ok_or_else(|| {
            let right = format!("a rank, 0 to {}", schedules.len() - 1);
            (format!("there is no rank {rank}"), right)
        })
    };
    let (mut into_of, mut other_of) = (own, own);
    match op.kind {
        OpKind::Send { to: rank, .. }
        | OpKind::Recv { from: rank, .. }
        | OpKind::RecvReduce { from: rank, .. } => {
            peer(rank)?;
        }
        OpKind::Combine { .. } | OpKind::Copy | OpKind::Reduce => {}
        OpKind::Put { to, .. } | OpKind::PutReduce { to, .. } => into_of = peer(to)?,
        OpKind::Get { from, .. } | OpKind::GetReduce { from, .. } => other_of = peer(from)?,
        OpKind::Notify { to, flag } => has_flag(peer(to)?, flag)?,
        OpKind::Wait { at, flag, .. } => has_flag(peer(at)?, flag)?,
        OpKind::Await { strand, .. } => {
            if strand as usize >= own.strands.len() {
                let right = format!("one of {} strands", own.strands.len());
                return Err((format!("there is no strand {strand}"), right));
            }
        }
    }
    let put = matches!(op.kind, OpKind::Put { .. } | OpKind::PutReduce { .. });
    let get = matches!(op.kind, OpKind::Get { .. } | OpKind::GetReduce { .. });
    for (list, schedule, remote) in [
        (op.from, own, false),
        (op.into, into_of, put),
        (op.other, other_of, get),
    ] {
        all_there(call, own.list(list), schedule, remote, times)?;
    }
    Ok(())
}

fn has_flag(schedule: &Schedule, flag: u16) -> Result<(), Fault> {
    if flag < schedule.flags {
        return Ok(());
    }
    let what = format!("rank {} has no flag {flag}", schedule.rank);
    Err((what, format!("one of its {} flags", schedule.flags)))
}

/// Whether the blocks lie in `schedule`'s spaces in the first and in the last iteration (and so in all), each
/// run in one region; those of a peer lie in its window.
fn all_there(
    call: &Call,
    sets: &[Blocks],
    schedule: &Schedule,
    remote: bool,
    times: u32,
) -> Result<(), Fault> {
    for set in sets {
        let space = space_name(set.space);
        if remote && set.space != Space::Window {
            let what = format!("blocks of {space} in a peer's memory");
            return Err((what, "blocks of window".to_string()));
        }
        for moved in [0, i64::from(times) - 1] {
            let first = i64::from(set.first) + i64::from(set.advance) * moved;
            for run in 0..i64::from(set.times) {
                let start = first + run * i64::from(set.stride);
                let end = start + i64::from(set.run);
                if !in_one_region(call, schedule, set.space, start, end) {
                    let what = format!(
                        "rank {} has no run {start}..{end} of {space}",
                        schedule.rank
                    );
                    return Err((what, right_blocks(call, schedule, set.space)));
                }
            }
        }
    }
    Ok(())
}

fn in_one_region(call: &Call, schedule: &Schedule, space: Space, start: i64, end: i64) -> bool {
    let within =
        |r: &Region| i64::from(r.first) <= start && end <= i64::from(r.first) + i64::from(r.blocks);
    match space {
        Space::Input => {
            start >= 0 && end <= i64::from(call.input_blocks(schedule.rank, schedule.parts))
        }
        Space::Output => {
            start >= 0 && end <= i64::from(call.output_blocks(schedule.rank, schedule.parts))
        }
        Space::Scratch => schedule.scratch.iter().any(within),
        Space::Window => schedule.window.iter().any(within),
    }
}

fn right_blocks(call: &Call, schedule: &Schedule, space: Space) -> String {
    let regions = match space {
        Space::Input => {
            let blocks = call.input_blocks(schedule.rank, schedule.parts);
            return format!("within in[0..{blocks}]");
        }
        Space::Output => {
            let blocks = call.output_blocks(schedule.rank, schedule.parts);
            return format!("within out[0..{blocks}]");
        }
        Space::Scratch => &schedule.scratch,
        Space::Window => &schedule.window,
    };
    let name = space_name(space);
    let each = |r: &Region| format!("{name}[{}..{}]", r.first, r.first + r.blocks);
    let regions: Vec<String> = regions.iter().map(each).collect();
    if regions.is_empty() {
        return format!("a region of {name}, said before the strands");
    }
    format!("within one of {}", regions.join(", "))
}

/// Whether the region's rule gives every block a unit.
pub(super) fn units(region: &Region) -> Result<(), Fault> {
    let positive = |numbers: &[(&str, u32)]| {
        let zero = numbers.iter().find(|(_, n)| *n == 0);
        zero.map_or(Ok(()), |(key, _)| {
            Err((format!("{key}=0"), format!("a {key} of at least 1")))
        })
    };
    match region.units {
        Units::Slots => Ok(()),
        Units::Run { modulo, .. } => positive(&[("modulo", modulo)]),
        Units::Pairs { ranks, width, .. } | Units::PairsByDestination { ranks, width, .. } => {
            positive(&[("ranks", ranks), ("width", width)])
        }
        Units::Transit {
            ranks,
            weight,
            radix,
            digit,
            ..
        } => {
            positive(&[("ranks", ranks), ("weight", weight), ("radix", radix)])?;
            let last = u64::from(region.blocks.saturating_sub(1));
            let (high, low) = (last / u64::from(weight), last % u64::from(weight));
            let digits = u128::from(high) * u128::from(radix) + u128::from(digit);
            let displacement = digits * u128::from(weight) + u128::from(low);
            let place = u128::from(weight) * u128::from(radix);
            if displacement >= u128::from(ranks) || place > u128::from(u32::MAX) {
                let what = format!("the last block stands for displacement {displacement}");
                return Err((what, format!("one below {ranks}, the number of ranks")));
            }
            Ok(())
        }
    }
}
