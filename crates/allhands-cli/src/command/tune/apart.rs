//! Tuning between hosts: the forecast proposes what deserves measuring, and only what is measurably faster replaces what it chooses.

mod contest;

use self::contest::{Contest, Outcome};
use super::store::Store;
use super::{Arguments, RANKED};
use crate::command::bench::cell::Among;
use crate::command::bench::rows::Ground;
use crate::command::paired;
use crate::command::together::{self, Say};
use crate::sizes::say as said;
use crate::{interrupt, names};
use allhands::policy::{self, compare_between_nodes};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Cell as Choice, Entry, Question, Row, Site};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

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
        (names::typed(name, parameters), *us)
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

/// Tunes collective by collective with the other ranks, all that the table has not got.
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
    let places = places(arguments, known, among, &site)?;
    let begin = Instant::now();
    let mut to_come = places.len();
    // How long contests took, and what they had been given.
    let (mut took_s, mut given_s) = (0.0, 0.0);
    for group in places.chunk_by(|one, other| one.0 == other.0) {
        let left = budget.saturating_sub(begin.elapsed());
        if !paired::agreed(among, !left.is_zero() && !interrupt::is_asked())? {
            break;
        }
        let share = left / to_come as u32;
        to_come -= group.len();
        // Where calls take longer than is forecast fewer are measured, so that there is time for all collectives.
        let slow = if took_s > given_s {
            took_s / given_s
        } else {
            1.0
        };
        let afforded = share.div_f64(slow);
        let group_begin = Instant::now();
        let mut contests = Vec::new();
        let mut forecast = Vec::new();
        for &(collective, bytes) in group {
            let question = Question::new(Call::new(collective, ranks), bytes as u64);
            let compared = compare_between_nodes(&question, &among.comm.nodes(), &times);
            if let Some(contest) = Contest::new((collective, bytes), &compared, among, afforded)? {
                let chosen = compared.iter().find(|compared| compared.chosen);
                let name = chosen.map(|chosen| names::typed(chosen.algorithm, &chosen.parameters));
                forecast.push(name.unwrap_or_default());
                contests.push(contest);
            }
        }
        if !contest::hold(&mut contests, among, share * group.len() as u32)? {
            break;
        }
        took_s += group_begin.elapsed().as_secs_f64();
        given_s += share.as_secs_f64() * group.len() as f64;
        contest::compare_nearby(&mut contests);
        for (contest, forecast) in contests.into_iter().zip(forecast) {
            let bytes = contest.bytes;
            let Outcome { ranking, ratio } = contest.outcome(RANKED)?;
            let [ratio, least, most] = ratio;
            say(Tuned {
                collective: group[0].0.name().to_string(),
                bytes,
                ranks,
                nodes: site.nodes.clone(),
                latency_ns: site.latency_ns,
                burst_overhead_ns: site.burst_overhead_ns,
                byte_fs: site.byte_fs,
                ranking,
                forecast,
                ratio,
                least,
                most,
            })?;
        }
    }
    Ok(())
}

/// What the table has not got, by the sizes of each collective.
fn places(
    arguments: &Arguments,
    known: &allhands_core::choose::Table,
    among: &Among,
    site: &Site,
) -> anyhow::Result<Vec<(Collective, usize)>> {
    let ranks = among.comm.size() as u32;
    let mut places = Vec::new();
    for collective in super::collectives(arguments) {
        let sizes = match collective {
            Collective::Barrier => &[0][..],
            _ => &arguments.bytes,
        };
        let row = known.row_at(collective, ranks, site);
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
    Ok(places)
}
