//! The rows of a benchmark: which algorithms are measured at which sizes, and what the machine has no memory for.

use super::cell::{Cell, Least};
use super::pace::Pace;
use super::spread::{self, Spread};
use super::{Arguments, Subject, report};
use crate::command::memory;
use crate::names;
use allhands::policy::{self, predict};
use allhands_core::algorithm::{self, Algorithm, print_parameters};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{self, Question};
use std::time::Duration;

/// The collectives to measure: those that were named, or all that fit.
fn collectives(arguments: &Arguments) -> anyhow::Result<Vec<Collective>> {
    let named = |subject: &Subject| match subject {
        Subject::Of(collective) => Some(*collective),
        Subject::Limit => None,
    };
    let mut collectives: Vec<_> = arguments.collectives.iter().filter_map(named).collect();
    let irregular = arguments.layout != Spread::Regular;
    if collectives.is_empty() {
        collectives.extend(Collective::ALL);
        // Nothing goes through a barrier.
        collectives.retain(|c| !arguments.bandwidth || *c != Collective::Barrier);
        collectives.retain(|c| !irregular || spread::has_irregular(*c));
    }
    if let Some(collective) = collectives.iter().find(|c| !spread::has_irregular(**c)) {
        anyhow::ensure!(
            !irregular,
            "--layout {}: {collective} has no irregular form; scatter, gather, allgather, alltoall and reduce-scatter have",
            arguments.layout
        );
    }
    anyhow::ensure!(
        arguments.algorithm.is_none() || collectives.len() == 1,
        "--algorithm needs one collective, as in: allhands bench allreduce --algorithm ring"
    );
    Ok(collectives)
}

/// What is to be measured, and what is not.
pub struct Rows {
    /// The cells: a row for each collective, number of ranks and size.
    pub cells: Vec<Vec<Cell>>,
    /// What would need more memory than the machine lends, in words.
    pub left_out: Vec<String>,
}

impl Rows {
    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.cells.iter().map(Vec::len).sum()
    }

    /// A pace at which all cells end within `budget`.
    pub fn pace(&self, budget: Duration) -> Pace {
        Pace::new(budget, self.cells.iter().flatten().map(least_seconds))
    }
}

/// A guess of the seconds that the two calls take which a cell needs at least, with all that is filled and checked.
pub fn least_seconds(cell: &Cell) -> f64 {
    /// For a byte of input or output, …
    const BYTE_S: f64 = 2e-9;
    /// … and for ranks that are started.
    const START_S: f64 = 0.002;
    let ranks = cell.ranks as usize;
    let data = memory::of_data(cell.algorithm.collective, ranks, cell.bytes);
    START_S + Least::One.iterations() as f64 * data as f64 * BYTE_S
}

/// The cells to measure, those that the machine's memory holds.
pub fn rows(arguments: &Arguments) -> anyhow::Result<Rows> {
    let collectives = collectives(arguments)?;
    let sizes = if arguments.quick {
        vec![8, 4 << 10, 256 << 10]
    } else {
        arguments.bytes.clone()
    };
    let most_bytes = memory::most();
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for &ranks in &arguments.ranks.0 {
        anyhow::ensure!(
            arguments.root < ranks,
            "--root {}: the ranks are 0 to {}",
            arguments.root,
            ranks - 1
        );
        if let Some(torus) = arguments.torus {
            torus.check(ranks)?;
        }
        for &collective in &collectives {
            let sizes = if collective == Collective::Barrier {
                vec![0]
            } else {
                sizes.clone()
            };
            let root = if collective.rooted() {
                arguments.root
            } else {
                0
            };
            let call = Call {
                root,
                ..Call::new(collective, ranks)
            };
            for bytes in sizes {
                let mut row = Vec::new();
                for (algorithm, parameters) in candidates(arguments, call, bytes)? {
                    let shape =
                        names::shape(algorithm, call, &parameters)?.on_torus(arguments.torus);
                    if algorithm.admits(&shape).is_err() {
                        continue;
                    }
                    let cell = Cell {
                        algorithm,
                        parameters,
                        ranks,
                        root,
                        bytes,
                        spread: arguments.layout,
                        torus: arguments.torus,
                        fresh: arguments.fresh,
                    };
                    let held = memory::of_call(algorithm, &shape, bytes);
                    if held <= most_bytes {
                        row.push(cell);
                    } else {
                        left_out.push(report::left_out(&cell, held, most_bytes));
                    }
                }
                rows.push(row);
            }
        }
    }
    rows.retain(|row| !row.is_empty());
    Ok(Rows {
        cells: rows,
        left_out,
    })
}

fn candidates(
    arguments: &Arguments,
    call: Call,
    bytes: usize,
) -> anyhow::Result<Vec<(&'static Algorithm, String)>> {
    let collective = call.collective;
    if let Some(text) = &arguments.algorithm {
        let (algorithm, parameters) = names::algorithm(collective, text)?;
        return Ok(vec![(algorithm, parameters.to_string())]);
    }
    if arguments.latency || arguments.bandwidth {
        return Ok(vec![chosen(arguments, call, bytes)?]);
    }
    let all = algorithm::of(collective).flat_map(|a| {
        let most = if arguments.settings { usize::MAX } else { 1 };
        let settings = a.settings.iter().take(most);
        settings.map(move |setting| (a, (*setting).to_string()))
    });
    Ok(all.collect())
}

/// What serves such a call if no algorithm is named.
fn chosen(
    arguments: &Arguments,
    call: Call,
    bytes: usize,
) -> anyhow::Result<(&'static Algorithm, String)> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let question = Question {
        irregular: arguments.layout != Spread::Regular,
        oversubscribed: call.ranks as usize > cores,
        ..Question::new(call, bytes as u64)
    };
    let choice = choose::choose(&policy::installed()?, &question, &predict)?;
    let (algorithm, shape) = (choice.algorithm, &choice.shape);
    Ok((
        algorithm,
        print_parameters(algorithm.keys, &shape.parameters),
    ))
}
