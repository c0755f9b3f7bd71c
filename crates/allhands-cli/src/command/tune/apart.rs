//! Tuning between hosts: the forecast proposes what deserves measuring, and only what is measurably faster replaces what it chooses.

use super::store::Store;
use super::{Arguments, RANKED};
use crate::command::bench::cell::{Among, By, Cell, Least};
use crate::command::bench::rows::Ground;
use crate::command::paired::{self, Runner};
use crate::command::together::{self, Say};
use crate::sizes::say as said;
use crate::{interrupt, names};
use allhands::policy::{self, Compared, compare_between_nodes};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Cell as Choice, Entry, Question, Row, Site};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What is forecast to take so many times as long as the best is not measured, nor what is not among so many: the first where there is
/// time for that, and otherwise the second.
const NEAR: [(f64, usize); 2] = [(2.0, 8), (1.3, 5)];
/// What is faster by less than this part is as fast.
const MORE: f64 = 0.97;
const FEWEST_ROUNDS: usize = 4;
const MOST_ROUNDS: usize = 8;
/// Calls of a round: those that warm up, and a median of three.
const CALLS: f64 = 5.0;
/// How many times its share a place may take.
const PATIENCE: f64 = 2.0;

/// What came of a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tuned {
    collective: String,
    bytes: usize,
    ranks: u32,
    nodes: String,
    latency_ns: u64,
    burst_overhead_ns: u64,
    byte_fs: u64,
    /// The best first, each with its microseconds; without these where nothing was measured, as the forecast has no second or calls take long.
    ranking: Vec<(String, String, Option<f64>)>,
    /// What was forecast to be the best.
    forecast: String,
    /// How many times as long that takes, and the interval of it.
    ratio: f64,
    least: f64,
    most: f64,
}

/// Measures with ranks on hosts, and puts what was found into the table.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        arguments.time.is_finite() && arguments.time > 0.0,
        "--time {}: how many seconds there are, more than 0",
        arguments.time
    );
    let mut store = super::open(arguments)?;
    let budget = Duration::from_secs_f64(arguments.time);
    let transport = arguments.team.transport.name();
    let bar = super::progress_bar(arguments.bytes.len() * Collective::ALL.len());
    let known = store.table().clone();
    let mut measure = |among: &mut Among, _: &Ground, say: Say<'_, Tuned>| {
        tune(arguments, &known, (among, budget), say)
    };
    let mut is_first = true;
    let mut show = |tuned: &Tuned| -> anyhow::Result<()> {
        if std::mem::take(&mut is_first) {
            writeln!(
                out,
                "{:<15}{:>5}{:>6}  {:<34}{:>12}  forecast's choice",
                "collective", "ranks", "bytes", "fastest", "median µs"
            )?;
        }
        bar.suspend(|| writeln!(out, "{}", line(tuned)))?;
        bar.inc(1);
        add(&mut store, tuned, transport)
    };
    let found = together::run((&arguments.team, budget), &mut measure, &mut show)?;
    bar.finish_and_clear();
    let Some(found) = found else {
        return Ok(ExitCode::SUCCESS);
    };
    if interrupt::is_asked() {
        let (many, file) = (found.len(), store.partial());
        writeln!(
            out,
            "\ninterrupted: {many} places measured, kept in {}; --resume goes on",
            file.display()
        )?;
        return Ok(ExitCode::from(interrupt::STATUS));
    }
    store.finish()?;
    writeln!(
        out,
        "\n{} places; wrote {}",
        found.len(),
        store.file().display()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Puts what was found into the table: what was not measured stands there too, so that it is not asked again, and takes nothing's place.
fn add(store: &mut Store, tuned: &Tuned, transport: &str) -> anyhow::Result<()> {
    let collective = names::collective(&tuned.collective).map_err(anyhow::Error::msg)?;
    let site = Site {
        transport: transport.to_string(),
        nodes: tuned.nodes.clone(),
        latency_ns: tuned.latency_ns,
        burst_overhead_ns: tuned.burst_overhead_ns,
        byte_fs: tuned.byte_fs,
    };
    let entry = |(name, parameters, us): &(String, String, Option<f64>)| Entry {
        name: name.clone(),
        parameters: parameters.clone(),
        time_ns: us.map(|us| (us * 1e3).round() as u64),
    };
    let ranking = tuned.ranking.iter().map(entry).collect();
    let bytes = tuned.bytes as u64;
    let row = Row::new(collective, tuned.ranks, false).on(Some(site));
    store.add(row, Choice { bytes, ranking })
}

fn line(tuned: &Tuned) -> String {
    let best = tuned.ranking.first();
    let (best, us) = best.map_or((String::new(), None), |(name, parameters, us)| {
        (typed(name, parameters), *us)
    });
    let than = match us {
        None => "not measured: nothing is near it, or calls take long".to_string(),
        Some(_) if best == tuned.forecast => "the same".to_string(),
        Some(_) => format!(
            "{} {:.2}× [{:.2}, {:.2}]",
            tuned.forecast, tuned.ratio, tuned.least, tuned.most
        ),
    };
    let us = us.map_or_else(String::new, |us| format!("{us:.2}"));
    format!(
        "{:<15}{:>5}{:>6}  {best:<34}{us:>12}  {than}",
        tuned.collective,
        tuned.ranks,
        said(tuned.bytes)
    )
}

fn typed(name: &str, parameters: &str) -> String {
    match parameters {
        "" => name.to_string(),
        parameters => format!("{name}:{parameters}"),
    }
}

/// Tunes place by place with the other ranks, all that the table has not got.
fn tune(
    arguments: &Arguments,
    known: &allhands_core::choose::Table,
    (among, budget): (&mut Among, Duration),
    say: Say<'_, Tuned>,
) -> anyhow::Result<()> {
    let ranks = among.comm.size() as u32;
    let times = among.comm.network_times();
    let times = times.context("the network's times are not known, so nothing is forecast: up to 64 ranks on several hosts are")?;
    let site = policy::site("", &among.comm.nodes(), &times);
    let mut places = Vec::new();
    for collective in super::collectives(arguments) {
        let sizes = match collective {
            Collective::Barrier => &[0][..],
            _ => &arguments.bytes,
        };
        let row = known.row_at(collective, ranks, &site);
        let has = |bytes: usize| {
            row.is_some_and(|row| row.cells().iter().any(|cell| cell.bytes == bytes as u64))
        };
        for &bytes in sizes {
            // Rank 0's file is what counts.
            if !paired::agreed(among, has(bytes))? {
                places.push((collective, bytes));
            }
        }
    }
    let begin = Instant::now();
    for (at, &(collective, bytes)) in places.iter().enumerate() {
        let left = budget.saturating_sub(begin.elapsed());
        if !paired::agreed(among, !left.is_zero() && !interrupt::is_asked())? {
            break;
        }
        let question = Question::new(Call::new(collective, ranks), bytes as u64);
        let compared = compare_between_nodes(&question, &among.comm.nodes(), &times);
        let share = left / (places.len() - at) as u32;
        let found = contend((collective, bytes), &compared, among, share)?;
        let Some((ranking, [ratio, least, most])) = found else {
            continue;
        };
        let chosen = compared.iter().find(|compared| compared.chosen);
        say(Tuned {
            collective: collective.name().to_string(),
            bytes,
            ranks,
            nodes: site.nodes.clone(),
            latency_ns: site.latency_ns,
            burst_overhead_ns: site.burst_overhead_ns,
            byte_fs: site.byte_fs,
            ranking,
            forecast: chosen.map_or_else(String::new, |c| typed(c.algorithm, &c.parameters)),
            ratio,
            least,
            most,
        })?;
    }
    Ok(())
}

/// The best first, each with its microseconds if these were measured; and how many times as long the forecast's choice takes, with the
/// interval of that.
type Contest = (Vec<(String, String, Option<f64>)>, [f64; 3]);

/// What is forecast to be near the best, by turns: the forecast's choice stays the first unless another is measurably faster; none where
/// nothing is forecast.
fn contend(
    (collective, bytes): (Collective, usize),
    compared: &[Compared],
    among: &mut Among,
    share: Duration,
) -> anyhow::Result<Option<Contest>> {
    let Some(chosen) = compared.iter().find(|compared| compared.chosen) else {
        return Ok(None);
    };
    let [many, few] = NEAR.map(|near| proposed((compared, chosen), near));
    let least_s = |all: &[&Compared]| {
        all.iter().map(|one| one.time_ns * 1e-9).sum::<f64>() * CALLS * FEWEST_ROUNDS as f64
    };
    let has_time_for_many = least_s(&many) <= share.as_secs_f64();
    let all = match paired::agreed(among, has_time_for_many)? {
        true => many,
        false => few,
    };
    let is_worth_it = all.len() > 1 && least_s(&all) <= PATIENCE * share.as_secs_f64();
    if !paired::agreed(among, is_worth_it)? {
        let (name, parameters) = (chosen.algorithm.to_string(), chosen.parameters.clone());
        return Ok(Some((vec![(name, parameters, None)], [1.0; 3])));
    }
    let ranks = among.comm.size() as u32;
    let runner = |compared: &&Compared| -> anyhow::Result<Runner> {
        let (algorithm, _) = names::algorithm(collective, compared.algorithm)?;
        let cell = Cell::regular((algorithm, &compared.parameters), ranks, bytes);
        Ok(Runner::new(vec![cell], By::Name))
    };
    let mut runners = all.iter().map(runner).collect::<anyhow::Result<Vec<_>>>()?;
    let rounds = (share, FEWEST_ROUNDS, MOST_ROUNDS);
    paired::rounds(&mut runners, among, rounds, Least::Three)?;
    let mut order: Vec<usize> = (0..runners.len()).collect();
    order.sort_by(|one, other| runners[*one].us(0, 1).total_cmp(&runners[*other].us(0, 1)));
    let of = |at: usize| runners[at].rounds_us.iter().copied();
    let ratio = paired::ratio(of(0).zip(of(order[0])))?;
    if ratio.least <= 1.0 || ratio.mean * MORE < 1.0 {
        order.retain(|at| *at != 0);
        order.insert(0, 0);
    }
    let entry = |at: usize| {
        let (name, parameters) = (all[at].algorithm.to_string(), all[at].parameters.clone());
        (name, parameters, Some(runners[at].us(0, 1)))
    };
    let ranking = order.into_iter().take(RANKED).map(entry).collect();
    Ok(Some((ranking, [ratio.mean, ratio.least, ratio.most])))
}

/// What deserves measuring: the forecast's choice, its algorithm as it is by itself, and the best setting of each other algorithm that is near
/// it; others of their settings mostly do the same. More segments save time on the network and take it from processors: exscan of 32 KB
/// among eight hosts that share two took 9.0 ms by all-pairs in two segments, and 4.5 in one.
fn proposed<'a>(
    (compared, chosen): (&'a [Compared], &'a Compared),
    (near, most): (f64, usize),
) -> Vec<&'a Compared> {
    let mut all = vec![chosen];
    for other in compared {
        let is_near = other.cost_ns <= near * chosen.cost_ns;
        let is_plain = other.algorithm == chosen.algorithm && other.parameters.is_empty();
        let is_new = (is_plain && !other.chosen)
            || all.iter().all(|known| known.algorithm != other.algorithm);
        if is_near && is_new && all.len() < most {
            all.push(other);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(algorithm: &'static str, parameters: &str, cost_ns: f64) -> Compared {
        Compared {
            algorithm,
            parameters: parameters.to_string(),
            time_ns: cost_ns,
            busy_ns: 0.0,
            cost_ns,
            chosen: false,
        }
    }

    #[test]
    fn the_chosen_algorithm_by_itself_is_measured_and_the_best_of_each_other_one() {
        let mut all = [
            compared("all-pairs", "segments=2", 100.0),
            compared("all-pairs", "segments=4", 105.0),
            compared("linear", "segments=16", 110.0),
            compared("linear", "", 115.0),
            compared("all-pairs", "", 120.0),
            compared("direct", "", 300.0),
        ];
        all[0].chosen = true;
        let named = |near| -> Vec<String> {
            let proposed = proposed((&all, &all[0]), near);
            let name = |one: &&Compared| format!("{}:{}", one.algorithm, one.parameters);
            proposed.iter().map(name).collect()
        };
        let three = ["all-pairs:segments=2", "linear:segments=16", "all-pairs:"];
        assert_eq!(named((1.5, 8)), three);
        assert_eq!(named((1.5, 2)), three[..2]);
        assert_eq!(named((4.0, 8)).last().unwrap(), "direct:");
    }

    #[test]
    fn a_choice_that_is_plain_is_measured_once() {
        let mut all = [compared("ring", "", 100.0), compared("direct", "", 101.0)];
        all[0].chosen = true;
        assert_eq!(proposed((&all, &all[0]), (1.5, 8)).len(), 2);
    }
}
