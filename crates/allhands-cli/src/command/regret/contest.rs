//! A contest: what is chosen for a call, by turns with whatever may be better.

use super::{Arguments, Record};
use crate::command::bench::cell::{Among, By, Cell, Least};
use crate::command::bench::processes;
use crate::command::bench::rows::Ground;
use crate::command::memory;
use crate::command::paired::{self, Runner};
use crate::{interrupt, names};
use allhands_core::algorithm::{self, Requirement};
use allhands_core::call::{Call, Collective};
use anyhow::Context;
use std::time::{Duration, Instant};

/// What takes so many times as long as the best in the first round is not measured again, …
const NEAR: f64 = 1.25;
/// … nor what is not among so many.
const MOST_RUNNERS: usize = 6;
/// A part of a contest's time for its first round.
const FIRST_PART: f64 = 0.3;
/// How many rounds follow: at least so many, in which calls take their time, and otherwise as many as there is time for, to that many.
const FEWEST_ROUNDS: usize = 6;
const MOST_ROUNDS: usize = 12;

/// Measures all of them.
pub fn all(
    arguments: &Arguments,
    (among, ground): (&mut Among, &Ground),
    budget: Duration,
    say: &mut dyn FnMut(Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let collectives = match &arguments.collectives[..] {
        [] => &Collective::ALL[..],
        named => named,
    };
    let mut places = Vec::new();
    for &collective in collectives {
        match collective {
            Collective::Barrier => places.push((collective, 0)),
            _ => places.extend(arguments.bytes.iter().map(|bytes| (collective, *bytes))),
        }
    }
    let begin = Instant::now();
    for (at, &(collective, bytes)) in places.iter().enumerate() {
        let left = budget.saturating_sub(begin.elapsed()) / (places.len() - at) as u32;
        if !paired::agreed(among, !interrupt::is_asked())? {
            break;
        }
        if let Some(record) = contend(arguments, (among, ground), (collective, bytes), left)? {
            say(record)?;
        }
    }
    Ok(())
}

/// Everything that serves a call here, and has room.
fn candidates(call: Call, bytes: usize, ground: &Ground) -> anyhow::Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for algorithm in algorithm::of(call.collective) {
        // Where all ranks share memory such an algorithm is only a part of itself.
        if ground.apart.is_none() && algorithm.requires.contains(&Requirement::Nodes) {
            continue;
        }
        for setting in algorithm.settings {
            let shape = names::shape(algorithm, call, setting)?;
            let held = || memory::of_call(algorithm, &shape, bytes);
            let fits = || ground.held(held(), call.ranks) <= ground.most_bytes;
            if ground.admits(algorithm, &shape).is_ok() && fits() {
                cells.push(Cell::regular((algorithm, setting), call.ranks, bytes));
            }
        }
    }
    Ok(cells)
}

/// One contest; none where there is no room for any algorithm.
fn contend(
    arguments: &Arguments,
    (among, ground): (&mut Among, &Ground),
    (collective, bytes): (Collective, usize),
    budget: Duration,
) -> anyhow::Result<Option<Record>> {
    let call = Call::new(collective, among.comm.size() as u32);
    let cells = candidates(call, bytes, ground)?;
    let Some(any) = cells.first() else {
        return Ok(None);
    };
    let mut chosen = any.clone();
    processes::choose(&mut chosen, &among.comm)?;
    let is_chosen = |cell: &Cell| cell.name() == chosen.name();
    let runner = |cell: Cell| Runner::new(vec![cell], By::Name);
    let mut others: Vec<Runner> = cells
        .into_iter()
        .filter(|cell| !is_chosen(cell))
        .map(runner)
        .collect();
    paired::round(&mut others, among, (budget.mul_f64(FIRST_PART), Least::One))?;
    others.sort_by(|one, other| one.us(0, 1).total_cmp(&other.us(0, 1)));
    let best_us = others.first().map_or(0.0, |first| first.us(0, 1));
    others.truncate(MOST_RUNNERS);
    others.retain(|runner| runner.us(0, 1) <= NEAR * best_us);
    let mut runners = vec![Runner::new(vec![chosen.clone()], By::Policy)];
    runners.extend(others);
    // What the first round said of them was lucky, as they were picked by it.
    runners
        .iter_mut()
        .for_each(|runner| runner.rounds_us.clear());
    let rest = (budget.mul_f64(1.0 - FIRST_PART), FEWEST_ROUNDS, MOST_ROUNDS);
    paired::rounds(&mut runners, among, rest)?;
    let best = (0..runners.len())
        .min_by(|one, other| runners[*one].us(0, 2).total_cmp(&runners[*other].us(0, 2)));
    let best = best.context("the chosen one is among them")?;
    let of = |runner: &Runner| -> Vec<f64> {
        runner
            .rounds_us
            .iter()
            .skip(1)
            .step_by(2)
            .copied()
            .collect()
    };
    let pairs = of(&runners[0]).into_iter().zip(of(&runners[best]));
    let ratio = paired::ratio(pairs)?;
    let (regret, least, most) = match best {
        0 => (0.0, 0.0, 0.0),
        _ => (ratio.mean - 1.0, ratio.least - 1.0, ratio.most - 1.0),
    };
    Ok(Some(Record {
        collective: collective.name().to_string(),
        ranks: call.ranks,
        bytes,
        chosen: chosen.name(),
        best: runners[best].calls[0].name(),
        chosen_us: runners[0].us(1, 2),
        best_us: runners[best].us(1, 2),
        regret,
        least,
        most,
        counts: least > 0.0 || most < 0.0,
        rounds: runners[0].rounds_us.len(),
        transport: arguments.team.transport.name().to_string(),
    }))
}
