//! A contest: what is chosen for a call, by turns with whatever may be better.

use super::{Arguments, Record};
use crate::command::bench::cell::{Among, By, Cell, Least};
use crate::command::bench::processes;
use crate::command::bench::rows::Ground;
use crate::command::memory;
use crate::command::paired::{self, Runner};
use crate::{interrupt, names};
use allhands::policy::{Compared, compare_between_nodes};
use allhands_core::algorithm::{self, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::Question;
use anyhow::Context;
use std::time::{Duration, Instant};

/// What is forecast between hosts to take so many times as long as what is chosen is not measured at all.
const FAR: f64 = 2.0;
/// What takes so many times as long as the best in the first round is not measured again, …
const NEAR: f64 = 1.25;
/// … nor what is not among so many.
const MOST_RUNNERS: usize = 6;
/// A part of a contest's time for its first round.
const FIRST_PART: f64 = 0.3;
/// How many rounds follow: at least so many, in which calls take their time, and otherwise as many as there is time for, to that many.
const FEWEST_ROUNDS: usize = 6;
const MOST_ROUNDS: usize = 12;
/// How many times its share a contest may take.
const PATIENCE: f64 = 1.5;
/// Between hosts, where calls take long, the first round is of those that are forecast to be the nearest, so many at least.
const FEWEST_RUNNERS: usize = 3;

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

/// What is forecast of a cell.
fn forecast<'a>(cell: &Cell, compared: &'a [Compared]) -> Option<&'a Compared> {
    let (name, parameters) = (cell.algorithm.name, &cell.parameters);
    let mut all = compared.iter();
    all.find(|found| found.algorithm == name && found.parameters == *parameters)
}

/// Whether a cell is forecast to take much longer than what is chosen; what is not forecast is not.
fn is_far(cell: &Cell, chosen: &Cell, compared: &[Compared]) -> bool {
    match (forecast(cell, compared), forecast(chosen, compared)) {
        (Some(cell), Some(chosen)) => cell.cost_ns > FAR * chosen.cost_ns,
        _ => false,
    }
}

/// How many of the cells, the nearest first, there is time for in the first round of a contest that has so long.
fn nearest(cells: &[Cell], compared: &[Compared], budget: Duration) -> usize {
    let calls = Least::One.iterations() as f64;
    let patience_s = PATIENCE * FIRST_PART * budget.as_secs_f64();
    let takes_s = cells.iter().scan(0.0, |all_s, cell| {
        let time_ns = forecast(cell, compared).map_or(0.0, |found| found.time_ns);
        *all_s += time_ns * 1e-9 * calls;
        Some(*all_s)
    });
    let fitting = takes_s.take_while(|all_s| *all_s <= patience_s).count();
    fitting.max(FEWEST_RUNNERS).min(cells.len())
}

/// How many of `many` runners, the chosen one and another at least, can be measured in the time that is left, each of whose calls takes
/// about `us`, and by how many calls a round: fewer calls come before fewer runners.
fn fitting(many: usize, us: f64, left: Duration) -> (usize, Least) {
    let takes_s =
        |many: usize, least: Least| (many * least.iterations() * FEWEST_ROUNDS) as f64 * us * 1e-6;
    let patience_s = PATIENCE * left.as_secs_f64();
    if takes_s(many, Least::Three) <= patience_s {
        return (many, Least::Three);
    }
    let fits = |fewer: &usize| takes_s(*fewer, Least::One) <= patience_s;
    let found = (2..=many).rev().find(fits);
    (found.unwrap_or(many.min(2)), Least::One)
}

/// One contest; none where there is no room for any algorithm.
fn contend(
    arguments: &Arguments,
    (among, ground): (&mut Among, &Ground),
    (collective, bytes): (Collective, usize),
    budget: Duration,
) -> anyhow::Result<Option<Record>> {
    let call = Call::new(collective, among.comm.size() as u32);
    let mut cells = candidates(call, bytes, ground)?;
    let Some(any) = cells.first() else {
        return Ok(None);
    };
    let mut chosen = any.clone();
    processes::choose(&mut chosen, &among.comm)?;
    let is_chosen = |cell: &Cell| cell.name() == chosen.name();
    if let Some(times) = among.comm.network_times() {
        let question = Question::new(call, bytes as u64);
        let compared = compare_between_nodes(&question, &among.comm.nodes(), &times);
        cells.retain(|cell| !is_far(cell, &chosen, &compared) && !is_chosen(cell));
        let cost = |cell: &Cell| forecast(cell, &compared).map_or(0.0, |found| found.cost_ns);
        cells.sort_by(|one, other| cost(one).total_cmp(&cost(other)));
        // Every rank has its own clock.
        let mut said = [nearest(&cells, &compared, budget) as u32];
        among.comm.broadcast(&mut said, 0)?;
        cells.truncate(said[0] as usize);
    }
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
    let left = budget.mul_f64(1.0 - FIRST_PART);
    let (many, least) = fitting(runners.len(), best_us, left);
    // Every rank has its own clock, and rank 0's says how many there are.
    let mut said = [many as u32, least.iterations() as u32];
    among.comm.broadcast(&mut said, 0)?;
    runners.truncate(said[0] as usize);
    let least = match said[1] as usize {
        two if two == Least::One.iterations() => Least::One,
        _ => Least::Three,
    };
    paired::rounds(
        &mut runners,
        among,
        (left, FEWEST_ROUNDS, MOST_ROUNDS),
        least,
    )?;
    let record = judged(&runners, &chosen)?;
    Ok(Some(Record {
        transport: arguments.team.transport.name().to_string(),
        ..record
    }))
}

/// What came of rounds: one half of them says which runner is the best, the other how long that and the first, the chosen one, take.
fn judged(runners: &[Runner], chosen: &Cell) -> anyhow::Result<Record> {
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
        _ => (ratio.middle - 1.0, ratio.least - 1.0, ratio.most - 1.0),
    };
    Ok(Record {
        collective: chosen.algorithm.collective.name().to_string(),
        ranks: chosen.ranks,
        bytes: chosen.bytes,
        chosen: chosen.name(),
        best: runners[best].calls[0].name(),
        chosen_us: runners[0].us(1, 2),
        best_us: runners[best].us(1, 2),
        regret,
        least,
        most,
        counts: least > 0.0 || most < 0.0,
        rounds: runners[0].rounds_us.len(),
        transport: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_fewer_calls_and_then_fewer_runners() {
        let of = |us, s| {
            let (many, least) = fitting(7, us, Duration::from_secs_f64(s));
            (many, least.iterations())
        };
        assert_eq!(of(100.0, 1.0), (7, 5));
        // 7 runners by 5 calls in 6 rounds take 21 s, by 2 calls 8.4.
        assert_eq!(of(1e5, 14.0), (7, 5));
        assert_eq!(of(1e5, 13.9), (7, 2));
        assert_eq!(of(1e5, 4.0), (5, 2));
        assert_eq!(of(1e5, 0.1), (2, 2));
        assert_eq!(fitting(1, 1e6, Duration::ZERO).0, 1);
    }

    fn cell(name: &str) -> Cell {
        let found = algorithm::find(Collective::Allreduce, name).expect("it is registered");
        Cell::regular((found, ""), 8, 64)
    }

    fn compared(algorithm: &'static str, cost_ns: f64) -> Compared {
        Compared {
            algorithm,
            parameters: String::new(),
            time_ns: cost_ns,
            busy_ns: 0.0,
            cost_ns,
            chosen: false,
        }
    }

    #[test]
    fn where_calls_take_long_the_nearest_are_measured() {
        let names = [
            "rabenseifner",
            "ring",
            "swing",
            "recursive-doubling",
            "all-pairs",
        ];
        let cells = names.map(cell);
        // Two calls of each are 0.2 s.
        let all = names.map(|name| compared(name, 1e8));
        let nearest = |seconds| nearest(&cells, &all, Duration::from_secs_f64(seconds));
        assert_eq!(nearest(100.0), 5);
        // 1.5 times 0.3 of 2 s are 0.9 s.
        assert_eq!(nearest(2.0), 4);
        assert_eq!(nearest(0.1), 3);
        // What is not forecast is measured as long as there is time.
        assert_eq!(super::nearest(&cells, &[], Duration::ZERO), 5);
        assert_eq!(super::nearest(&cells[..1], &all, Duration::ZERO), 1);
    }

    #[test]
    fn only_what_is_forecast_can_be_far() {
        let all = [compared("ring", 41.0), compared("rabenseifner", 20.0)];
        let chosen = cell("rabenseifner");
        assert!(is_far(&cell("ring"), &chosen, &all));
        assert!(!is_far(&chosen, &chosen, &all));
        assert!(!is_far(&cell("swing"), &chosen, &all));
        assert!(!is_far(&cell("ring"), &cell("swing"), &all));
    }
}
