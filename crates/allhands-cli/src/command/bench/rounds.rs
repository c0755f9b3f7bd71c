//! Rounds: all cells once, by ranks that were started for it; and what several rounds say together.
//!
//! How long a short call takes depends on where memory lies after a start and on what the machine does meanwhile, so the calls of
//! one round are more alike than those of two: what one round knows of itself says little of the next.

use super::cell::{self, Least, Record};
use super::key::Key;
use super::pace::two_calls;
use super::report::Summary;
use super::rows::{Ground, Rows, least, rows};
use super::{Arguments, hosts, processes, progress_bar};
use crate::interrupt;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// What is to be measured.
pub struct Job {
    /// Among how many ranks.
    pub numbers: Vec<u32>,
    /// Which cells, if not those of the arguments.
    pub keys: Option<Vec<Key>>,
}

/// What is said of a round while it goes on.
#[derive(Serialize, Deserialize)]
pub enum Said {
    /// There are so many cells, and these were left out.
    Begins(usize, Vec<String>),
    /// A row.
    Row(Vec<Record>),
}

/// Who hears it.
pub type Hear<'a> = &'a mut dyn FnMut(Said) -> anyhow::Result<()>;

impl Job {
    /// What the arguments ask for.
    pub fn asked(arguments: &Arguments) -> anyhow::Result<Job> {
        let numbers = hosts::numbers(&arguments.team)?;
        Ok(Job {
            numbers,
            keys: None,
        })
    }

    /// Finds out whether there is anything that can be measured.
    pub fn check(&self, arguments: &Arguments) -> anyhow::Result<()> {
        if !arguments.team.transport.is_processes()
            && let Some(ranks) = self.numbers.iter().find(|ranks| **ranks > 256)
        {
            anyhow::bail!("ranks are threads here: at most 256, not {ranks}");
        }
        self.rows(arguments)?.check()
    }

    fn rows(&self, arguments: &Arguments) -> anyhow::Result<Rows> {
        let ground = |ranks| match arguments.team.transport.network() {
            Some(network) => hosts::ground(&arguments.team, network, ranks),
            None => Ok(Ground::one(ranks)),
        };
        listed(arguments, &self.numbers, self.keys.as_deref(), &ground)
    }

    /// Measures everything once.
    ///
    /// # Errors
    /// When ranks fail, or `hear` does.
    pub fn round(
        &self,
        arguments: &Arguments,
        budget: Duration,
        hear: Hear<'_>,
    ) -> anyhow::Result<()> {
        if !arguments.team.transport.is_processes() {
            return among_threads(self.rows(arguments)?, budget, hear);
        }
        let begin = Instant::now();
        for (at, ranks) in self.numbers.iter().enumerate() {
            if !interrupt::is_asked() {
                let left = budget.saturating_sub(begin.elapsed());
                let left = left / (self.numbers.len() - at) as u32;
                let keys = self.keys.as_deref();
                let keys = keys.map(|keys| keys.iter().filter(|key| key.ranks == *ranks));
                let keys = keys.map(|keys| keys.cloned().collect());
                processes::collect(arguments, *ranks, keys, left, hear)?;
            }
        }
        Ok(())
    }
}

/// The rows of the keys, or those of the arguments.
pub fn listed(
    arguments: &Arguments,
    numbers: &[u32],
    keys: Option<&[Key]>,
    ground: &dyn Fn(u32) -> anyhow::Result<Ground>,
) -> anyhow::Result<Rows> {
    let Some(keys) = keys else {
        return rows(arguments, numbers, ground);
    };
    let here = keys.iter().filter(|key| numbers.contains(&key.ranks));
    let cells: Result<_, _> = here.map(|key| key.cell(arguments.torus)).collect();
    Rows::listed(cells?, ground)
}

fn among_threads(mut rows: Rows, budget: Duration, hear: Hear<'_>) -> anyhow::Result<()> {
    hear(Said::Begins(rows.len(), std::mem::take(&mut rows.left_out)))?;
    let (mut pace, bar) = (rows.pace(budget, None), progress_bar(rows.len()));
    for row in &rows.cells {
        let mut records = Vec::new();
        for cell in row {
            // Every cell is taken from the pace, whether or not it is measured.
            let Some(share) = pace.next().filter(|_| !interrupt::is_asked()) else {
                continue;
            };
            let begin = Instant::now();
            let record = cell::measure(cell, (share, Least::One));
            pace.learn(least(cell, None), two_calls(&record, begin.elapsed()));
            records.push(record);
            bar.inc(1);
        }
        bar.suspend(|| hear(Said::Row(records)))?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Measures everything so often; a record for each cell.
pub fn several(
    arguments: &Arguments,
    job: &Job,
    times: u32,
    budget: Duration,
    summary: &mut Summary,
) -> anyhow::Result<Vec<Record>> {
    let begin = Instant::now();
    let mut all = Several::default();
    for round in 0..times {
        if interrupt::is_asked() {
            break;
        }
        let left = budget.saturating_sub(begin.elapsed()) / (times - round);
        job.round(arguments, left, &mut |said| {
            match said {
                Said::Begins(cells, left_out) if round == 0 => summary.expect(cells, left_out),
                Said::Begins(..) => {}
                Said::Row(row) => row.into_iter().for_each(|record| all.add(record)),
            }
            Ok(())
        })?;
    }
    Ok(all.records())
}

/// The records of cells that were measured in several rounds, in the order in which they came first.
#[derive(Default)]
pub struct Several {
    cells: Vec<(Key, Vec<Record>)>,
}

impl Several {
    /// Adds a record of a round.
    pub fn add(&mut self, record: Record) {
        let key = Key::of(&record);
        match self.cells.iter_mut().find(|(own, _)| *own == key) {
            Some((_, records)) => records.push(record),
            None => self.cells.push((key, vec![record])),
        }
    }

    /// A record for each cell.
    pub fn records(&self) -> Vec<Record> {
        let all = self.cells.iter().map(|(_, records)| together(records));
        all.flatten().collect()
    }
}

/// What the rounds of one cell say together: of every time the median of what the rounds have, and the least of the least.
fn together(rounds: &[Record]) -> Option<Record> {
    let measured: Vec<&Record> = rounds.iter().filter(|round| round.iterations > 0).collect();
    let first = rounds
        .iter()
        .find(|round| !round.correct)
        .or(rounds.first());
    let mut whole = first?.clone();
    let median = |of: fn(&Record) -> f64| {
        let mut times: Vec<f64> = measured.iter().map(|round| of(round)).collect();
        middle(&mut times)
    };
    whole.iterations = measured.iter().map(|round| round.iterations).sum();
    let least = measured.iter().map(|round| round.min_us);
    whole.min_us = least.reduce(f64::min).unwrap_or(f64::NAN);
    whole.median_us = median(|round| round.median_us);
    whole.p99_us = median(|round| round.p99_us);
    whole.q1_us = median(|round| round.q1_us);
    whole.q3_us = median(|round| round.q3_us);
    whole.rank_min_us = median(|round| round.rank_min_us);
    whole.rank_avg_us = median(|round| round.rank_avg_us);
    whole.rank_max_us = median(|round| round.rank_max_us);
    let wrong_by = measured.iter().filter_map(|round| round.clock_us);
    whole.clock_us = wrong_by.reduce(f64::max);
    whole.correct = rounds.iter().all(|round| round.correct);
    whole.rounds_us = match measured.len() {
        0 | 1 => Vec::new(),
        _ => measured.iter().map(|round| round.median_us).collect(),
    };
    Some(whole)
}

/// The middle value, or the mean of the two in the middle; NaN where there is none.
pub fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}
