//! Guidelines measured: both sides by turns, and those that seem to be violated once more.

use super::list::{self, Calls, Guideline, How};
use super::{Arguments, Record, called};
use crate::command::bench::cell::{Among, By, Cell, Least};
use crate::command::bench::processes;
use crate::command::bench::rows::Ground;
use crate::command::bench::spread::Spread;
use crate::command::memory;
use crate::command::paired::{self, Ratio, Runner};
use crate::interrupt;
use allhands_core::algorithm;
use allhands_core::call::Collective;
use anyhow::Context;
use std::time::{Duration, Instant};

/// What takes less than so many times as long is as fast.
const MORE: f64 = 1.05;
/// Rounds of both sides.
const FEWEST_ROUNDS: usize = 4;
const MOST_ROUNDS: usize = 10;
/// What takes so many times as long in each of two rounds of one call is no violation, and is not measured any longer; nor is what these two
/// rounds say so by their interval, as they do where calls are long and alike.
const CLEARLY: f64 = 1.5;
/// How many times its time one may take that is measured again.
const AGAIN: u32 = 3;

/// Measures all that there is room for.
pub fn all(
    arguments: &Arguments,
    (among, ground): (&mut Among, &Ground),
    budget: Duration,
    say: &mut dyn FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let ranks = among.comm.size() as u32;
    let collectives = match &arguments.collectives[..] {
        [] => &Collective::ALL[..],
        named => named,
    };
    let mut guidelines = list::all(collectives, &arguments.bytes, ranks);
    let has_room = |calls: &Calls| {
        let held = calls
            .iter()
            .map(|(collective, bytes)| memory::of_data(*collective, ranks as usize, *bytes));
        ground.held(held.sum(), ranks) <= ground.most_bytes
    };
    if let Some(cells) = processes::asked_for() {
        let named: Vec<(String, String, usize)> = serde_json::from_str(&cells)?;
        guidelines.retain(|guideline| named.contains(&guideline.key()));
    }
    guidelines.retain(|guideline| has_room(&guideline.left) && has_room(&guideline.right));
    let begin = Instant::now();
    for (at, guideline) in guidelines.iter().enumerate() {
        // Calls that are served for the first time are prepared then, and everything is measured again that seems to be violated.
        let left = budget.saturating_sub(begin.elapsed()) / (guidelines.len() - at) as u32;
        if !paired::agreed(among, !interrupt::is_asked())? {
            break;
        }
        say(Record {
            transport: arguments.team.transport.name().to_string(),
            ..measured(guideline, among, left)?
        })?;
    }
    Ok(())
}

/// A guideline, measured for about `budget`, and once more if it seems to be violated.
fn measured(guideline: &Guideline, among: &mut Among, budget: Duration) -> anyhow::Result<Record> {
    let ranks = among.comm.size() as u32;
    let is_more = |ratio: &Ratio| ratio.middle > MORE && ratio.least > 1.0;
    let (right, spread) = match guideline.how {
        How::Alike => (By::Policy, Spread::Regular),
        How::Combined => (By::PolicyAndReduction, Spread::Regular),
        How::Irregular(spread) => (By::Policy, spread),
    };
    let sides = || -> anyhow::Result<[Runner; 2]> {
        Ok([
            runner((&guideline.left, Spread::Regular), ranks, By::Policy)?,
            runner((&guideline.right, spread), ranks, right)?,
        ])
    };
    let (mut runners, mut ratio) = both(sides()?, among, budget)?;
    let seems = is_more(&ratio);
    if seems {
        (runners, ratio) = both(sides()?, among, budget * AGAIN)?;
    }
    let violated = seems && is_more(&ratio);
    let said = |calls: &Calls, spread| {
        let words = calls.iter().map(|call| called(*call, spread));
        words.collect::<Vec<_>>().join(" + ")
    };
    Ok(Record {
        guideline: guideline.name.clone(),
        collective: guideline.left[0].0.name().to_string(),
        ranks,
        bytes: guideline.bytes,
        left: said(&guideline.left, Spread::Regular),
        right: match guideline.how {
            How::Combined => said(&guideline.right, spread) + " + reduction",
            How::Alike | How::Irregular(_) => said(&guideline.right, spread),
        },
        left_us: runners[0].us(0, 1),
        right_us: runners[1].us(0, 1),
        ratio: ratio.middle,
        least: ratio.least,
        most: ratio.most,
        violated,
        noise: seems && !violated,
        rounds: runners[0].rounds_us.len(),
        transport: String::new(),
    })
}

fn both(
    mut sides: [Runner; 2],
    among: &mut Among,
    budget: Duration,
) -> anyhow::Result<([Runner; 2], Ratio)> {
    let begin = Instant::now();
    paired::rounds(&mut sides, among, (Duration::ZERO, 2, 2), Least::One)?;
    let is_clear = pairs(&sides).all(|(left, right)| CLEARLY * left < right);
    let is_certain = paired::ratio(pairs(&sides))?.most < MORE;
    if !paired::agreed(among, is_clear || is_certain)? {
        let calls = |least: Least, rounds: usize| (least.iterations() * rounds) as f64;
        let three = calls(Least::Three, FEWEST_ROUNDS) / calls(Least::One, 2);
        let has_time = begin.elapsed().mul_f64(three) <= budget;
        let least = match paired::agreed(among, has_time)? {
            true => Least::Three,
            false => Least::One,
        };
        sides.iter_mut().for_each(|side| side.rounds_us.clear());
        let rounds = (budget, FEWEST_ROUNDS, MOST_ROUNDS);
        paired::rounds(&mut sides, among, rounds, least)?;
    }
    let ratio = paired::ratio(pairs(&sides))?;
    Ok((sides, ratio))
}

/// What both sides took in each round.
fn pairs([left, right]: &[Runner; 2]) -> impl Iterator<Item = (f64, f64)> {
    let (left, right) = (left.rounds_us.iter(), right.rounds_us.iter());
    left.copied().zip(right.copied())
}

/// What makes these calls, with blocks of such lengths, by whatever is chosen for them.
fn runner((calls, spread): (&Calls, Spread), ranks: u32, by: By) -> anyhow::Result<Runner> {
    let cell = |(collective, bytes): &(Collective, usize)| {
        let any = algorithm::of(*collective).next();
        let any = any.with_context(|| format!("no algorithm for {collective}"))?;
        let bytes = match collective {
            Collective::Barrier => 0,
            _ => *bytes,
        };
        Ok(Cell {
            spread,
            ..Cell::regular((any, ""), ranks, bytes)
        })
    };
    let cells = calls
        .iter()
        .map(cell)
        .collect::<anyhow::Result<Vec<Cell>>>();
    Ok(Runner::new(cells?, by))
}
